"""Daemons that end at once when somebody says so, whatever they are at."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class Stopped(BaseException):
    """Raised wherever the process is when somebody ends it.

    What was written down and asked of others by then holds, as after a kill.
    """


@contextlib.contextmanager
def stopping() -> Iterator[None]:
    """Lets SIGTERM and Ctrl-C end the block at any moment; only the first of them counts."""
    numbers = (signal.SIGINT, signal.SIGTERM)

    def stop(*_: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise Stopped

    before = [signal.signal(number, stop) for number in numbers]
    try:
        with contextlib.suppress(Stopped):
            yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
