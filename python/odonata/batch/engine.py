"""Calls of the engine about job logs, with its errors as those of the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from odonata import _engine
from odonata.errors import InternalError, JobLogError

T = TypeVar("T")


def ask(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function of the engine.

    Raises:
        JobLogError: If a log cannot be read, or not be scheduled as asked.
        InternalError: If the engine has a defect.
    """
    try:
        return function(*arguments)
    except _engine.SpecError as error:
        path, message = error.args[0], error.args[1]
        raise JobLogError(f"{path}: {message}" if path else message) from None
    except _engine.InternalError as error:
        raise InternalError(str(error)) from None
