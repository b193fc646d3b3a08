"""The libraries that are installed on request."""

from __future__ import annotations

import importlib
import shlex
import sys
from importlib.util import find_spec
from typing import Any

from odonata.errors import LibraryError

#: What pip is asked for, by the module that is imported.
REQUIREMENTS = {
    "cryptography": "cryptography>=42",
    "dask_jobqueue": "dask-jobqueue>=0.9",
    "distributed": "distributed>=2024.2",
    "networkx": "networkx>=3.2",
    "os_ken": "os-ken>=4.0",
    "polars": "polars>=1.0",
}


def advice(*requirements: str) -> str:
    """The command that installs packages where this program looks for them."""
    return shlex.join([sys.executable, "-m", "pip", "install", *requirements])


def check_installed(purpose: str, *modules: str) -> None:
    """Looks for libraries that are needed later, before any work begins; imports none.

    Args:
        purpose: What needs them: the subject of the error's sentence.
        modules: Keys of :data:`REQUIREMENTS`.

    Raises:
        LibraryError: If some are not installed.
    """
    missing = [REQUIREMENTS[one] for one in modules if find_spec(one) is None]
    if missing:
        raise LibraryError(
            f"{purpose} needs {', '.join(missing)}, not installed here: {advice(*missing)}"
        )


def library(module: str, purpose: str) -> Any:
    """A module of a library that is installed on request.

    Args:
        module: Its full name, such as ``"os_ken.ofproto"``.
        purpose: What needs it: the subject of the error's sentence.

    Raises:
        LibraryError: If it is not installed.
    """
    check_installed(purpose, module.partition(".")[0])
    return importlib.import_module(module)
