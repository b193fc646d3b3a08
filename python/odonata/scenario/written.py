"""Values of scenarios as a TOML reader has them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from odonata.errors import Problem
from odonata.terminal import clean
from odonata.units import Quantity, describe


def as_written(value: Any, path: str = "", wrong: list[Problem] | None = None) -> Any:
    """A value as a TOML reader has it: quantities as texts, tables of code as mappings.

    Args:
        value: The value.
        path: Its key path.
        wrong: Gets what no TOML file for scenarios holds; it becomes ``False`` in the value.
    """
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, str):
        # Bytes of a command line that are no letters of its locale have no place in Unicode.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {
            as_written(_now(str(key), path)): as_written(one, f"{path}.{key}", wrong)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [as_written(one, f"{path}[{place}]", wrong) for place, one in enumerate(value)]
    if hasattr(value, "as_written"):
        return value.as_written()
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(value, bool) or (is_number and math.isfinite(value)):
        return value
    allowed = "a finite number" if is_number else "a text, number, true or false, list or table"
    if wrong is not None:
        message = f"found {describe(value)}; allowed: {allowed}"
        wrong.append(Problem(path, message, describe(value), allowed))
    return False


def _now(key: str, path: str) -> str:
    """What a key of the table at a path is called now; of a former name a warning tells."""
    if key == "pace" and path.endswith("background"):
        sentence = "machine.background.pace is called compute_rate now; pace will be an error"
        warnings.warn(clean(sentence), FutureWarning, stacklevel=2)
        return "compute_rate"
    return key
