"""Timelines as OTF2 archives, read back by our own reader and by the library of the format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import odonata
from command import call
from odonata import _engine
from odonata.errors import OutputError
from odonata.results import Result
from odonata.results.otf2 import write_archive
from test_ranks import scenario

#: What happens at a location: picoseconds, and what.
Happening = tuple[int, int, str]


@pytest.fixture(scope="module")
def recorded() -> Result:
    return odonata.run(scenario(messages="all", rank_activity=True))


@pytest.fixture(scope="module")
def archive(recorded: Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("otf2") / "traces"
    # Entering and leaving of every interval, both ends of every message.
    expected = 2 * recorded.table("rank_activity").num_rows + 2 * recorded.messages.num_rows
    assert write_archive(recorded, directory) == expected > 600
    return directory / "traces.otf2"


def happenings(result: Result) -> list[Happening]:
    """What the tables say; the 2 ranks of the first job come before the 8 of the second."""
    found = []
    for row in result.table("rank_activity").to_pylist():
        place = row["rank"] + 2 * row["job"]
        name = row["activity"]
        if row["collective"] is not None:
            name = f"{row['collective']}: {name}"
        found.append((place, row["begin_ps"], f"enter {name}"))
        found.append((place, row["end_ps"], f"leave {name}"))
    for row in result.messages.to_pylist():
        source, destination = row["source_rank"], row["destination_rank"]
        first, size = 2 * row["job"], row["bytes"]
        found.append((first + source, row["created_ps"], f"send {destination} {size}"))
        found.append((first + destination, row["delivered_ps"], f"receive {source} {size}"))
    return sorted(found)


def test_our_reader_finds_the_same_actions_at_the_same_picoseconds(
    recorded: Result, archive: Path
) -> None:
    summary = _engine.trace_summary(str(archive), 10_000)
    assert summary["ranks"] == 10
    assert len(summary["samples"]) == summary["records"]
    kinds = {kind for _, _, kind in happenings(recorded)}
    regions = sorted(kind.removeprefix("enter ") for kind in kinds if kind.startswith("enter "))
    assert sorted(_samples(summary["samples"], regions)) == happenings(recorded)


def _samples(lines: list[str], regions: list[str]) -> Iterator[Happening]:
    """The records of a summary; a tick is a picosecond, and regions are numbered by name."""
    for line in lines:
        found = re.fullmatch(r"location (\d+): (\d+) (\w+)\((.*)\)", line)
        assert found, line
        kind, numbers = found[3], [int(number) for number in re.findall(r"\d+", found[4])]
        if kind in ("Enter", "Leave"):
            what = f"{kind.lower()} {regions[numbers[0]]}"
        else:
            peer, _, _, size = numbers
            what = f"{'send' if kind == 'Send' else 'receive'} {peer} {size}"
        yield int(found[1]), int(found[2]), what


def test_the_formats_own_library_reads_the_same(recorded: Result, archive: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    found: list[Happening] = []
    ends: dict[tuple[object, ...], list[int]] = {}
    last: dict[int, int] = {}
    with otf2.reader.open(str(archive)) as trace:
        assert trace.timer_resolution == 10**12
        places = {of: place for place, of in enumerate(trace.definitions.locations)}
        assert [of.group.name for of in places][:3] == [
            "pair rank 0",
            "pair rank 1",
            "stencil rank 0",
        ]
        assert [comm.name for comm in trace.definitions.comms] == ["pair", "stencil"]
        for location, event in trace.events:
            place, kind = places[location], type(event).__name__
            assert event.time >= last.get(place, 0)
            last[place] = event.time
            if kind in ("Enter", "Leave"):
                what = f"{kind.lower()} {event.region.name}"
            else:
                sends = kind == "MpiSend"
                peer = event.receiver if sends else event.sender
                what = f"{'send' if sends else 'receive'} {peer} {event.msg_length}"
                first = 2 * (event.communicator.name == "stencil")
                pair = (place - first, peer) if sends else (peer, place - first)
                key = (event.communicator.name, *pair, event.msg_tag)
                ends.setdefault(key, []).append(event.time)
            found.append((place, event.time, what))
    assert sorted(found) == happenings(recorded)
    # A tag belongs to one message of two ranks: both of its ends, and no other's.
    rows = recorded.messages.to_pylist()
    assert sorted(tuple(sorted(times)) for times in ends.values()) == sorted(
        (row["created_ps"], row["delivered_ps"]) for row in rows
    )


def test_what_is_entered_is_left_before_the_next(archive: Path) -> None:
    inside: dict[str, str | None] = {}
    for line in _engine.trace_summary(str(archive), 10_000)["samples"]:
        place, _, what = line.removeprefix("location ").split(" ", 2)
        if what.startswith("Enter"):
            assert inside.get(place) is None
            inside[place] = what.removeprefix("Enter")
        elif what.startswith("Leave"):
            assert inside[place] == what.removeprefix("Leave")
            inside[place] = None
        elif what.startswith("Send"):
            # A message is handed over in what its sender does, not between.
            assert inside[place] is not None
    assert set(inside.values()) == {None}


def test_the_command_writes_the_same_archive_and_never_replaces_one(
    recorded: Result, archive: Path, tmp_path: Path
) -> None:
    recorded.save(tmp_path / "run")
    done = call("ranks", "run", "--otf2", "out", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "out/traces.otf2" in done.stdout
    written = {path.name: path for path in (tmp_path / "out").rglob("*") if path.is_file()}
    # Anchor, definitions, and two files of each of 10 ranks.
    assert len(written) == 2 + 20
    for path in archive.parent.rglob("*"):
        if path.is_file():
            assert written[path.name].read_bytes() == path.read_bytes()
    with pytest.raises(OutputError, match="already holds files"):
        write_archive(recorded, tmp_path / "out")


def test_a_run_that_recorded_nothing_of_its_ranks_is_refused(tmp_path: Path) -> None:
    odonata.run(scenario()).save(tmp_path / "run")
    done = call("ranks", "run", "--otf2", "out", directory=tmp_path)
    assert done.returncode != 0
    assert "record.rank_activity=true" in done.stderr
    assert not (tmp_path / "out").exists()
