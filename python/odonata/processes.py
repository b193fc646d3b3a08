"""Processes that compute for this one."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator


@contextlib.contextmanager
def isolated_main() -> Iterator[None]:
    """Lets processes that are spawned within not run the user's program again.

    A spawned process imports the main module of its parent, in case that it needs something of it.
    Ours do not; and a script of a few lines without ``if __name__ == "__main__"`` would begin once
    more in every one of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
