"""A browser without a window, driven over its debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
#: Seconds after which something that does not come counts as a defect.
DEADLINE_S = 120.0


class Page:
    """A page in the browser.

    Attributes:
        problems: What its console said that is no mere information, and what it threw.
        requests: Addresses that it asked for.
    """

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.problems: list[str] = []
        self.requests: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the protocol."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        await self._socket.write_message(json.dumps(message))
        while True:
            read = await asyncio.wait_for(self._socket.read_message(), DEADLINE_S)
            assert read is not None, "the browser has ended"
            answer = json.loads(read)
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            self._event(answer.get("method", ""), answer.get("params", {}))

    def _event(self, method: str, reported: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(reported["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and reported["type"] in ("error", "warning"):
            self.problems.append(json.dumps(reported["args"]))
        elif method == "Log.entryAdded" and reported["entry"]["level"] in ("error", "warning"):
            self.problems.append(reported["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(reported["request"]["url"])

    async def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def until(self, script: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + DEADLINE_S
        while not await self.run(script):
            assert time.monotonic() < end, f"never came true: {script}"
            await asyncio.sleep(0.05)

    async def picture(self) -> bytes:
        """What is in the window, as PNG."""
        shot = await self.call("Page.captureScreenshot", format="png")
        return base64.b64decode(shot["data"])

    async def press(self, key: str, code: int, text: str = "") -> None:
        """Presses a key and lets it go."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            await self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more
            )


@asynccontextmanager
async def opened(file: Path, profile: Path, *, dark: bool = False) -> AsyncIterator[Page]:
    """A file in a browser of its own.

    Args:
        file: To open.
        profile: An empty directory for the browser.
        dark: Whether the system asks for dark pages.
    """
    assert PROGRAM is not None
    command = [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--disable-background-networking", "--disable-component-update", "--no-first-run"]
    command += ["--disable-dev-shm-usage", "--window-size=1200,1600"]
    command += [f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        reported = profile / "DevToolsActivePort"
        end = time.monotonic() + DEADLINE_S
        while not (reported.exists() and len(reported.read_text().splitlines()) >= 2):
            assert process.poll() is None, "the browser has ended"
            assert time.monotonic() < end, "the browser does not answer"
            await asyncio.sleep(0.05)
        port, _ = reported.read_text().splitlines()[:2]
        from tornado.httpclient import AsyncHTTPClient

        listed = await AsyncHTTPClient().fetch(f"http://127.0.0.1:{port}/json/list")
        target = next(one for one in json.loads(listed.body) if one["type"] == "page")
        socket = await websocket_connect(
            target["webSocketDebuggerUrl"], max_message_size=100_000_000
        )
        try:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Log", "Network"):
                await page.call(f"{domain}.enable")
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            await page.call("Emulation.setEmulatedMedia", features=[scheme])
            await page.call("Page.navigate", url=file.as_uri())
            await page.until("document.documentElement?.dataset.ready === 'true'")
            yield page
        finally:
            socket.close()
            while await asyncio.wait_for(socket.read_message(), DEADLINE_S) is not None:
                pass
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def look(
    file: Path, profile: Path, visit: Callable[[Page], Awaitable[None]], *, dark: bool = False
) -> None:
    """Opens a file in a browser, lets `visit` look at it, and ends the browser."""

    async def whole() -> None:
        profile.mkdir()
        async with opened(file, profile, dark=dark) as page:
            await visit(page)

    asyncio.run(whole())
