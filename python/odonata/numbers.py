"""Numbers without a unit, as people and programs write them."""

from __future__ import annotations

import math


def finite(text: str) -> float:
    """A number that a text holds.

    Raises:
        ValueError: If it holds none, or one that is not finite.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f'found "{text:.40}"; allowed: a finite number')
    return number
