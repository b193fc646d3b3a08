"""Linux as an optical switch: what comes in at one interface goes out at another (`tc mirred`).

A connection is a filter on the ingress of an interface that redirects every frame to the egress
of another. The interfaces lie in a network namespace or in the host's own; nothing else may use
their ingress qdiscs.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from odonata.errors import ControlError, DeviceError
from odonata_live.control.circuits import Connection, Connections
from odonata_live.control.driver import only
from odonata_live.control.plant import Switch, ports_of_device

#: Preference of our filters; others are not ours.
PREFERENCE = 20
#: How Linux names interfaces, as far as commands can take them.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")


class Mirred:
    """Sets and reads filters by `tc`, which answers when the kernel has done it.

    Args:
        timeout_s: How long a command may take.
        lock: Descriptor of the lock, which commands inherit: if we are killed, the lock stays with
            a command that is at work, until it has ended.
    """

    keeps_jobs = True

    def __init__(self, timeout_s: float, lock: int) -> None:
        self._timeout_s = timeout_s
        self._lock = lock
        self._prepared: set[str] = set()

    def read(self, switch: Switch) -> Connections:
        """As the interface says."""
        ingress, egress = _interfaces(switch)
        number_of = {name: port for port, name in enumerate(egress)}
        have = self._qdiscs(switch)
        ports = [port for port, name in enumerate(ingress) if name in have]
        if not ports:
            return frozenset()
        batch = "".join(f"filter show dev {ingress[port]} ingress\n" for port in ports)
        text = self._tc(switch, ["-json", "-batch", "-"], batch)
        # One JSON text after the other, one for each line of the batch.
        decoder, at, found = json.JSONDecoder(), 0, []
        try:
            for port in ports:
                rows, at = decoder.raw_decode(text, _skip(text, at))
                found += self._connections(switch, port, rows, number_of)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DeviceError(
                f"switch {switch.name}: tc said what is not understood: {error}"
            ) from (error)
        return frozenset(found)

    def _connections(
        self, switch: Switch, port: int, rows: Any, number_of: Mapping[str, int]
    ) -> list[Connection]:
        found = []
        for row in rows:
            for action in row.get("options", {}).get("actions", ()):
                if row.get("pref") != PREFERENCE or action.get("kind") != "mirred":
                    raise DeviceError(
                        f"switch {switch.name}: a filter that is no circuit is on the ingress of "
                        f"port {port}; remove it"
                    )
                to = action["to_dev"]
                if to not in number_of:
                    raise DeviceError(
                        f"switch {switch.name}: port {port} leads to {to}, which is none of its "
                        "ports"
                    )
                job = int(action.get("cookie", "0") or "0", 16)
                found.append(Connection(port, number_of[to], job))
        return found

    def make(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says."""
        ingress, egress = _interfaces(switch)
        self._prepare(switch, ingress)
        lines = [
            f"filter replace dev {ingress[c.ingress]} ingress protocol all pref {PREFERENCE} "
            "handle 800::800 u32 match u32 0 0 action mirred egress redirect dev "
            f"{egress[c.egress]} cookie {c.job:016x}"
            for c in connections
        ]
        self._tc(switch, ["-batch", "-"], "\n".join(lines) + "\n")

    def break_(self, switch: Switch, connections: Sequence[Connection]) -> None:
        """As the interface says."""
        ingress, _ = _interfaces(switch)
        lines = [
            f"filter del dev {ingress[c.ingress]} ingress pref {PREFERENCE}" for c in connections
        ]
        self._tc(switch, ["-batch", "-"], "\n".join(lines) + "\n")

    def barrier(self, switch: Switch) -> None:
        """As the interface says: the kernel had done it when the command ended."""

    def close(self) -> None:
        """As the interface says."""

    def _prepare(self, switch: Switch, ingress: Sequence[str]) -> None:
        """Gives every port the qdisc that filters are attached to."""
        if switch.name in self._prepared:
            return
        have = self._qdiscs(switch)
        lines = [f"qdisc add dev {name} ingress\n" for name in ingress if name not in have]
        if lines:
            self._tc(switch, ["-batch", "-"], "".join(lines))
        self._prepared.add(switch.name)

    def _qdiscs(self, switch: Switch) -> set[str]:
        """Interfaces on whose ingress filters can be."""
        answer = self._tc(switch, ["-json", "qdisc", "show"])
        try:
            rows = json.loads(answer or "[]")
            return {row["dev"] for row in rows if row.get("kind") == "ingress"}
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise DeviceError(f"switch {switch.name}: tc said what is not understood") from error

    def _tc(self, switch: Switch, arguments: Sequence[str], batch: str = "") -> str:
        command = ["tc", *arguments]
        namespace = switch.device.get("namespace")
        if namespace is not None:
            command = ["nsenter", f"--net={namespace}", *command]
        try:
            done = subprocess.run(
                command,
                input=batch,
                capture_output=True,
                text=True,
                timeout=self._timeout_s,
                check=False,
                pass_fds=(self._lock,),
            )
        except subprocess.TimeoutExpired:
            raise DeviceError(
                f"switch {switch.name}: tc gave no answer within {self._timeout_s:g} s"
            ) from None
        except OSError as error:
            raise DeviceError(f"switch {switch.name}: {command[0]}: {error.strerror}") from error
        if done.returncode != 0:
            raise DeviceError(f"switch {switch.name}: tc: {done.stderr.strip()[:300]}")
        return done.stdout


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _interfaces(switch: Switch) -> tuple[list[str], list[str]]:
    """Interfaces of the ingress and egress ports.

    Raises:
        ControlError: If a key of the switch is wrong.
    """
    for key, value in switch.device.items():
        if key not in ("namespace", "names", "ingress", "egress"):
            raise ControlError(
                f"switch {switch.name}: {key}: no such key; allowed: namespace, names, ingress, "
                "egress"
            )
        if key == "namespace" and (not isinstance(value, str) or not value.startswith("/")):
            raise ControlError(
                f"switch {switch.name}: namespace: found {value!r}; allowed: the path of one, such "
                "as /run/netns/ocs0"
            )
    sides = ports_of_device(switch, "ingress", str), ports_of_device(switch, "egress", str)
    for name in (*sides[0], *sides[1]):
        if not _NAME.fullmatch(name):
            raise ControlError(
                f"switch {switch.name}: found interface {name!r}; allowed: up to 15 letters, "
                "digits, dots, hyphens and underscores"
            )
    return sides


def driver(keys: Mapping[str, Any], lock: int) -> Mirred:
    """The driver; its key is `timeout`, seconds."""
    only(keys, {"timeout": (int, float)})
    return Mirred(float(keys.get("timeout", 10.0)), lock)
