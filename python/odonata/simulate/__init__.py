"""Runs of scenarios: the engine is asked, watched, stopped, and goes on from checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odonata.lazy import on_first_use

if TYPE_CHECKING:
    from odonata.simulate.engine import Progress, ask_engine, run

__all__ = ["Progress", "ask_engine", "run"]

__getattr__, __dir__ = on_first_use(__name__, dict.fromkeys(__all__, "odonata.simulate.engine"))
