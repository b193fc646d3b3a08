"""The `[schedule]` table of a scenario: a job log, and the schedules that it asks for.

The engine declares its keys (``crates/odonata/src/spec/schedule.rs``). Here is what it means to
compare schedules that differ in some of them. :mod:`odonata.batch.from_scenario` runs it.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata import _engine
from odonata.batch.declared import Schedule
from odonata.errors import ScenarioError
from odonata.plug_ins import find, is_known, known
from odonata.scenario.problem import refused
from odonata.table import CLASSES

#: As a schedule to compare with: that which the log records.
RECORDED = "recorded"


@dataclass(frozen=True)
class Which:
    """One of the schedules of a log, as ``POLICY[/ORDER][+grap][,KEY=VALUE…]``.

    Attributes:
        policy: Its policy.
        order: Its order of the queue.
        grap: Whether it places jobs by GRAP.
        changes: Other keys of `[schedule]` that it changes, and their values as texts.
    """

    policy: str
    order: str = "fcfs"
    grap: bool = False
    changes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Which:
        """What a text names that the engine has checked."""
        parts = json.loads(_engine.written("schedule", text, known("order")))
        changes = tuple((key, value) for key, value in parts.pop("changes"))
        return cls(**parts, changes=changes)

    @property
    def name(self) -> str:
        """Its name, by which two are the same."""
        order = "" if self.order == "fcfs" else f"/{self.order}"
        grap = "+grap" if self.grap else ""
        changes = "".join(f",{key}={value}" for key, value in self.changes)
        return f"{self.policy}{order}{grap}{changes}"


class _ContradictionError(ValueError):
    """What is allowed in place of a schedule that says nothing, or contradicts itself."""


class ScheduleTable(Schedule):
    """A job log, and when its jobs start: see [scheduling](scheduling.md)."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """What the schedule depends on, sources of plug-ins included."""
        form = super().engine_form(directory)
        plug_ins = {
            one.order: find("order", one.order).source
            for one in self.variants.values()
            if one is not None and is_known("order", one.order)
        }
        return {**form, "plug-ins": plug_ins} if plug_ins else form

    @property
    def _own(self) -> str:
        """The name of the schedule of its own policy and order."""
        return Which(self.policy, self.order, self.grap is not None).name

    @property
    def variants(self) -> dict[str, ScheduleTable | None]:
        """The schedules that are made, by name: the table of each, ``None`` if it is recorded."""
        return {
            which if which == RECORDED else Which.read(which).name: self._variant(which)
            for which in (self._own, *self.compare)
        }

    def _variant(self, which: str) -> ScheduleTable | None:
        """The table of one of the schedules.

        Raises:
            ScenarioError: If keys that it changes have no such values.
            _ContradictionError: If it says nothing, or contradicts itself.
        """
        from odonata.scenario import set_key, typed_value

        if which == RECORDED:
            return None
        one = Which.read(which)
        data = self.as_written()
        data.pop("compare", None)
        data |= {"policy": one.policy, "order": one.order}
        if not one.grap:
            data.pop("grap", None)
        if one.order != "multifactor":
            data.pop("multifactor", None)
        before = copy.deepcopy(data)
        for key, value in one.changes:
            set_key(data, key, typed_value(value))
        if one.grap != ("grap" in data):
            raise _ContradictionError("+grap if, and only if, `grap` has its groups")
        changed = ScheduleTable(**data)
        if one.changes and changed == ScheduleTable(**before):
            raise _ContradictionError("changes; its keys have these values anyway")
        return changed

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        orders = {self.order} | {Which.read(one).order for one in self.compare if one != RECORDED}
        if self.multifactor is not None and "multifactor" not in orders:
            allowed = "no value: weights and their times have a meaning with multifactor only"
            raise refused("multifactor", "a table", allowed)
        if self.compare:
            self._check_compare()

    def _check_compare(self) -> None:
        made = [(self._own, self._variant(self._own))]
        for position, which in enumerate(self.compare):
            place, found = f"compare[{position}]", f'"{which}"'
            try:
                one = self._variant(which)
            except ScenarioError as error:
                said = "; ".join(f"{p.path}: {p.message}" for p in error.problems)
                raise refused(place, found, f"values that the keys take ({said})") from None
            except _ContradictionError as error:
                raise refused(place, found, str(error)) from None
            twice = next((name for name, other in made if one == other), None)
            if twice is not None:
                allowed = (
                    f"schedules that differ; {twice} is there twice. What differs follows, such as "
                    "easy,estimates=perfect"
                )
                raise refused(place, found, allowed)
            made.append((which, one))


CLASSES["ScheduleTable"] = ScheduleTable
