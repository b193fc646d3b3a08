"""The `[network]` table of a scenario: what is wired, and how packets are routed on it.

The engine declares the tables; :mod:`odonata.declared` makes the classes, on first use here, as the
modules beside need none of them. What every family has is in ``bases.py``. ``cost.py``,
``bisection.py`` and ``steering.py`` compute what a network costs, carries and is steered to;
``exporting.py`` writes it for other programs.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    from odonata.declared import classes_of

    try:
        return classes_of(__name__)[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    from odonata.declared import classes_of

    return sorted(classes_of(__name__))
