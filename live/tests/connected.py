"""Routers in memory in the place of those that are connected to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from odonata_live.control import Plant
from odonata_live.control.routers import Routers


class Connected(Routers):
    """Connections to these, by their numbers in the plant."""

    def __init__(self, plant: Plant, routers: Sequence[Any]) -> None:
        super().__init__(plant)
        self.routers = routers

    def session(self, number: int) -> Any:
        return self.routers[number]
