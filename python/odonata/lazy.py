"""Packages whose names are loaded on first use, as their modules take long to import."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def on_first_use(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Its ``__name__``.
        modules: By each name the module that defines it, such as ``odonata.results.result``, with
            what it is called there if it is called otherwise: ``odonata.batch:schedule_as_slurm``.
    """

    def get(name: str) -> Any:
        if name in modules:
            return _found(modules[name], name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted(modules)

    return get, names


def _found(place: str, name: str = "") -> Any:
    module, _, other = place.partition(":")
    return getattr(importlib.import_module(module), other or name)


class _CallableModule(ModuleType):
    """A module that is a command's function as well, as ``odonata.study("study.toml")``."""

    _function: str

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return _found(self._function)(*arguments, **named)


def callable_as(module: str, function: str) -> None:
    """Makes a module callable.

    Args:
        module: Its ``__name__``.
        function: What is called, such as ``odonata.study.sweeping:run_study``.
    """
    made = sys.modules[module]
    made.__class__ = _CallableModule
    made._function = function  # type: ignore[attr-defined]
