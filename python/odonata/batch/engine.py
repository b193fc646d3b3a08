"""Calls of the engine about job logs, with its errors as those of the package."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
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


def to_json(options: Mapping[str, Any]) -> str:
    """Options as the engine takes them.

    Raises:
        JobLogError: If one is not finite.
    """
    for key, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise JobLogError(f"{key}: found {value}; allowed: a finite number")
    return json.dumps(options)
