"""The files that a scenario names: found by its schema, known by what they hold.

A key names a file if its declaration says so. Whatever has to know
whether two scenarios give the same result asks here: studies, saturation, interference and
validation, checkpoints, and what saves a scenario in another directory.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.errors import Problem
from odonata.scenario.problem import key_path
from odonata.table import Table

if TYPE_CHECKING:
    from odonata.scenario import Scenario

#: Keys of the engine's form on which no result depends.
_IDLE_KEYS = ("title", "threads")


@dataclass(frozen=True)
class NamedFile:
    """A file that a scenario names.

    Attributes:
        place: Keys and indices that lead to its name in the scenario; of what a file of phases or
            of a machine names, those of that file, a colon, and those in it.
        name: As the scenario has it.
        path: Where it is; absolute if the scenario's directory is.
        parts: What belongs to it.
    """

    place: tuple[str | int, ...]
    name: str
    path: Path
    parts: str

    @property
    def key(self) -> str:
        """Key path, such as ``job[0].mapping.matrix``."""
        if ":" not in self.place:
            return key_path(self.place)
        colon = self.place.index(":")
        return f"{key_path(self.place[:colon])}: {key_path(self.place[colon + 1 :])}"

    def table_in(self, scenario: dict[str, Any]) -> dict[str | int, Any]:
        """The table that has its key, in a scenario that is nested dicts and lists."""
        here: Any = scenario
        for part in self.place[:-1]:
            here = here[part]
        table: dict[str | int, Any] = here
        return table

    def files(self) -> list[Path]:
        """All that it consists of, itself first."""
        from odonata import _engine

        if self.parts == "tables" and self.path.is_dir():
            return [Path(part) for part in _engine.parts_of_tables(str(self.path))] or [self.path]
        parts = {"trace": _engine.parts_of_trace, "codes": _engine.parts_of_codes}.get(self.parts)
        if parts is None or not self.path.is_file():
            return [self.path]
        return [Path(part) for part in parts(str(self.path))]

    def contents(self) -> str:
        """SHA-256 of what it holds, of several files of what each holds.

        What is missing is known as such, what is a directory by its name.
        """
        digests = [_digest(file) for file in self.files()]
        return digests[0] if len(digests) == 1 else _hash(digests)


@functools.cache
def _keys(table: type[Table]) -> list[tuple[str, str, str | None]]:
    """Attribute and key of all that a table may hold, and what belongs to the file it names."""
    return [(name, key.key, key.file_parts) for name, key in table.keys.items()]


def named_files(scenario: Scenario) -> list[NamedFile]:
    """Every file that a scenario names, in the order of its keys.

    Raises:
        ScenarioError: If it names a file of phases that is none.
    """
    return list(_named(scenario, (), scenario.directory.resolve()))


def _named(value: Any, place: tuple[str | int, ...], directory: Path) -> Iterator[NamedFile]:
    if isinstance(value, Table):
        for name, key, parts in _keys(type(value)):
            inner = getattr(value, name)
            if inner is None:
                continue
            if parts is None:
                yield from _named(inner, (*place, key), directory)
            else:
                file = NamedFile((*place, key), inner, directory / inner, parts)
                yield file
                if parts == "phases" and file.path.is_file():
                    yield from _named_by_phases(file)
                if parts == "machine" and file.path.is_file():
                    yield from _named_by_machine(file)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _named(inner, (*place, key), directory)
    elif isinstance(value, list) and value and isinstance(value[0], (Table, dict, list)):
        for index, inner in enumerate(value):
            yield from _named(inner, (*place, index), directory)


def _named_by_phases(file: NamedFile) -> Iterator[NamedFile]:
    from odonata.scenario.phases import read_phases

    phases = read_phases(file.path)
    yield from _named(phases, (*file.place, ":", "phases"), file.path.parent)


def _named_by_machine(file: NamedFile) -> Iterator[NamedFile]:
    from odonata.scenario import Scenario

    machine = Scenario.from_file(file.path)
    directory = machine.directory.resolve()
    yield from _named(machine.network, (*file.place, ":", "network"), directory)


def missing_files(scenario: Scenario) -> list[Problem]:
    """What is wrong with the files that a scenario names: those that do not exist."""
    problems = []
    for file in named_files(scenario):
        if not (file.path.is_file() or file.path.is_dir()):
            found = f'"{file.name}", which is no file ({file.path})'
            allowed = "a file that exists, relative to the scenario"
            problems.append(
                Problem(file.key, f"found {found}; allowed: {allowed}", file.name, allowed)
            )
    return problems


def essence(scenario: Scenario) -> dict[str, Any]:
    """All of a scenario on which its result depends, whatever machine and directory it is in.

    The engine's form without title and number of threads, and with what files hold in place of
    their names.
    """
    contents = {str(file.path): file.contents() for file in named_files(scenario)}
    form = scenario.normalised() if scenario.schedule is None else scenario.schedule_form()
    found: dict[str, Any] = _what_counts(form, contents)
    return found


def _what_counts(form: Any, contents: Mapping[str, str]) -> Any:
    if isinstance(form, Mapping):
        return {k: _what_counts(v, contents) for k, v in form.items() if k not in _IDLE_KEYS}
    if isinstance(form, (list, tuple)):
        return [_what_counts(value, contents) for value in form]
    return contents.get(form, form) if isinstance(form, str) else form


def fingerprint_of(scenario: Scenario) -> str:
    """SHA-256 of all that a run's result depends on, whatever machine and directory it is in."""
    return _hash(essence(scenario))


def fingerprints_of(scenario: Scenario, seeds: Iterable[int]) -> list[str]:
    """The fingerprints of a scenario with each of several seeds, as :func:`fingerprint_of`.

    Most of the time goes into the form, which the seeds share unless another key of it follows
    from the seed as well: failures are drawn by it where they have no seed of their own.
    """
    seeds = list(seeds)
    forms = [essence(scenario.with_seed(seed)) for seed in seeds[:2]]
    shared = all(form | {"seed": None} == forms[0] | {"seed": None} for form in forms)
    for seed in seeds[2:]:
        one = forms[0] | {"seed": seed} if shared else essence(scenario.with_seed(seed))
        forms.append(one)
    return [_hash(form) for form in forms]


def _hash(what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


# --- What a file holds --------------------------------------------------------------------

#: By path: what identified the file when it was read, and the SHA-256 of what it held.
_known: dict[str, tuple[tuple[int, ...], str]] = {}
#: A file that was changed so shortly before it was read may change again within the resolution of
#: its time stamps, without being seen; it is read again.
_RESOLUTION_NS = 2_000_000_000


def _digest(file: Path) -> str:
    path = str(file)
    try:
        stat = file.stat()
        stamp = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        known = _known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        if not file.is_file():
            return f"directory {file.name}" if file.is_dir() else f"no file {file.name}"
        begun = time.time_ns()
        digest = hashlib.sha256()
        with file.open("rb") as opened:
            while part := opened.read(1 << 20):
                digest.update(part)
    except OSError:
        # The call that opens it reports why.
        return f"absent {file.name}"
    found = digest.hexdigest()
    if begun - max(stat.st_mtime_ns, stat.st_ctime_ns) > _RESOLUTION_NS:
        _known[path] = (stamp, found)
    return found


# --- In the words of people ---------------------------------------------------------------


def words(scenario: Scenario) -> dict[str, Any]:
    """A scenario as people write it, without what is as by default, to say how two differ.

    In place of a file's name stand its name and what it holds.
    """
    data = scenario.without_defaults()
    for file in named_files(scenario):
        known = {"file": file.name, "sha256": file.contents()}
        if ":" in file.place:
            data.setdefault("files of phases", {})[file.key] = known
        else:
            file.table_in(data)[file.place[-1]] = known
    data.pop("title", None)
    data.get("simulation", {}).pop("threads", None)
    return data


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How two scenarios differ, of which :func:`words` reports; ``None`` if nothing is seen."""
    return _difference(before, now, "")


def _difference(before: Any, now: Any, key: str) -> str | None:
    # The first key of a table that only one of them has.
    if before is None and isinstance(now, Mapping) and "sha256" not in now:
        before = {}
    if now is None and isinstance(before, Mapping) and "sha256" not in before:
        now = {}
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        if "sha256" in before and "sha256" in now:
            if before["sha256"] == now["sha256"]:
                return None
            return f"{key}: the file {now['file']} does not hold what it held then"
        for part in dict.fromkeys((*now, *before)):
            path = part if not key else f"{key}.{part}"
            found = _difference(before.get(part), now.get(part), path)
            if found is not None:
                return found
        return None
    if isinstance(before, list) and isinstance(now, list):
        for index in range(max(len(before), len(now))):
            pair = [side[index] if index < len(side) else None for side in (before, now)]
            found = _difference(pair[0], pair[1], f"{key}[{index}]")
            if found is not None:
                return found
        return None
    if before == now or _is_name_of(before, now) or _is_name_of(now, before):
        return None
    return f"{key} {_shown('was', before)} there and {_shown('is', now)} here"


def _is_name_of(text: Any, table: Any) -> bool:
    """Whether a name stands for the table, as ``"minimal"`` does for its algorithm alone."""
    return isinstance(table, Mapping) and isinstance(text, str) and [*table.values()] == [text]


def _shown(verb: str, value: Any) -> str:
    if value is None:
        return f"{verb} not given"
    if isinstance(value, Mapping) and "sha256" in value:
        return f'{verb} "{value["file"]}"'
    text = json.dumps(value, ensure_ascii=False)
    return f"{verb} {text if len(text) <= 60 else text[:60] + ' …'}"
