"""What the levels of a schedule's network have in common beside their keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from odonata.batch.network import BY_MODE
from odonata.scenario.model import Table


class LevelBase(Table):
    """A level of the network of a schedule."""

    @property
    def is_by_mode(self) -> bool:
        """Whether traffic follows from the job's GRAP mode."""
        return bool(getattr(self, "mix", None) == [BY_MODE])

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form: the machine's network in place of its file."""
        from odonata.scenario import Scenario

        form = super().engine_form(directory)
        named = getattr(self, "machine", None)
        if named is not None:
            machine = Scenario.from_file(directory / named).normalised()
            form["machine"] = {
                "network": machine["network"],
                "packet_bytes": machine["simulation"]["packet_bytes"],
            }
        return form
