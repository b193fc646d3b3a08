"""What tables have in common of which a key says the kind: motifs and traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from odonata.model import Table
from odonata.plug_ins.forms import with_plug_in
from odonata.problem import problem


def with_kinds(part: Any, data: dict[str, Any]) -> dict[str, Any]:
    """The keys of a motif, traffic or phase with its kind first, also of those in it.

    Args:
        part: The table.
        data: Its keys, perhaps without those that are as by default.
    """
    inner = getattr(part, "phases", None)
    if inner is not None:
        pairs = zip(inner, data["phases"], strict=True)
        data = {**data, "phases": [with_kinds(one, table) for one, table in pairs]}
    if not isinstance(part, KindBase):
        return data
    return {part.chooser: getattr(part, part.chooser), **data}


class KindBase(Table):
    """A table of which a key says the kind."""

    #: Name of the kind of tables, as the engine declares it.
    kinds: ClassVar[str]
    #: The key that says the kind.
    chooser: ClassVar[str]

    def as_written(self) -> dict[str, Any]:
        """The keys that were given, and that which says the kind, as a TOML reader has them."""
        return with_kinds(self, super().as_written())

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form; files are found relative to `directory`."""
        from odonata import _engine

        data = with_plug_in(self.kinds, self.as_written())
        form = _engine.kind_form(self.kinds, json.dumps(data), str(directory))
        found: dict[str, Any] = json.loads(form)
        return found


class MotifBase(KindBase):
    """What every motif has."""

    kinds: ClassVar[str] = "Motif"
    chooser: ClassVar[str] = "kind"


class TrafficBase(KindBase):
    """What all open-loop traffic has."""

    kinds: ClassVar[str] = "Traffic"
    chooser: ClassVar[str] = "pattern"


def no_plug_in(phase: Any) -> Any:
    """Refuses plug-ins, of which the engine gets a program for all that a job does."""
    if isinstance(phase, MotifBase) and "parameters" in type(phase).model_fields:
        allowed = "a motif of ours: a plug-in is the motif of a whole job"
        raise problem("kind", f'the plug-in "{phase.as_written()["kind"]}"', allowed)
    return phase
