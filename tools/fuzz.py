"""Looks for inputs that crash Odonata: forged checkpoints, changed scenarios, files and results.

    make fuzz                         # 10,000 forgeries, 5,000 scenarios, 500 of each other kind
    .venv/bin/python tools/fuzz.py --checkpoints 500 --scenarios 0 --inputs 0 --seed 7
    .venv/bin/python tools/fuzz.py --kind squeue --minutes 15 --workers 1

A forgery is a checkpoint of a small run of which bytes, numbers or whole records were changed,
and whose hash is right again: only what reads the state can refuse it. A mutated scenario has
keys removed, or with values of other keys, types and sizes. Other inputs (:mod:`fuzz_inputs`) are
files and directories that commands accept, of which one was changed. Whatever comes of an input is
in order if it is a result, or an error with an exit code of its own (``docs/cli.md``). A crash is
a signal, an internal error, an exception that is none of Odonata's, an index outside a table of
the engine (which the engine with all checks notices, ``make test``), an escape sequence that
reaches the terminal, or more than the limits of time and memory. Crashes leave their input behind,
and the exit code is 1.

The cases of a seed are always the same, whatever the number of workers: a case is drawn from
the seed, its kind and its number, and the checkpoints that are forged are those of seeded runs.
Many cases run in one process; one that crashes is replaced.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import math
import multiprocessing
import multiprocessing.connection
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import fuzz_inputs

import odonata
from odonata.errors import ExitCode, OdonataError
from odonata.output import CHECKPOINT_FILE
from odonata.scenario.toml_source import parse_toml

#: CPU seconds after which a case counts as one without end; so many seconds on the clock as
#: well, for one that sleeps.
CPU_LIMIT = 30
CLOCK_LIMIT = 600
#: CPU seconds after which a run is stopped that tells of its progress: it runs.
ENOUGH = 2
#: Address space of a worker in bytes.
MEMORY_LIMIT = 6 << 30

# --- What is changed ------------------------------------------------------------------------------

#: Small runs over what the engine can do. All have a duration.
SCENARIOS = {
    "requests": """
[network]
family = "dragonfly"
p = 2
a = 2
h = 1
g = 3
[network.links]
terminal = { buffer = "1 KiB" }
local = { buffer = "1 KiB" }
global = { buffer = "1 KiB" }
[simulation]
packet = "256 B"
duration = "30 us"
[mpi]
eager_limit = "500 B"
send_overhead = "50 ns"
receive_overhead = "50 ns"
[record]
messages = "all"
rank_activity = true
communication = true
[[job]]
nodes = 12
motif = { kind = "all-to-all", message = "900 B", iterations = 20, window = 3 }
""",
    "crossbar": """
[network]
family = "dragonfly"
p = 1
a = 3
h = 1
g = 4
router = { crossbar = 1.0, output_buffer = "512 B", credit_use = "crossbar" }
routing = { algorithm = "ugal-l", via = "router" }
[network.links]
terminal = { buffer = "512 B" }
local = { buffer = "512 B" }
global = { buffer = "512 B" }
[simulation]
packet = "256 B"
duration = "30 us"
[[job]]
nodes = 8
motif = { kind = "shift", offset = 3, message = "3 KiB", iterations = 40 }
[[job]]
nodes = 4
traffic = { pattern = "uniform-random", message = "600 B", load = 0.7 }
""",
    "learning": """
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
g = 3
routing = "q-adaptive"
[simulation]
packet = "256 B"
duration = "20 us"
[record]
attribution = true
arrivals = { interval = "1 us" }
[[job]]
nodes = 6
traffic = { pattern = "uniform-random", message = "256 B", load = 0.8 }
""",
    "per message": """
[network]
family = "dragonfly"
p = 2
a = 2
h = 1
g = 3
routing = { algorithm = "valiant", per = "message" }
[simulation]
packet = "256 B"
duration = "20 us"
[[job]]
nodes = 12
traffic = { pattern = "uniform-random", message = "1 KiB", load = 0.6 }
""",
    "leaves and spines": """
[network]
family = "dragonfly+"
leaves = 2
spines = 2
p = 1
h = 2
g = 3
routing = "fpar"
[simulation]
packet = "256 B"
duration = "20 us"
[[job]]
nodes = 6
motif = { kind = "all-to-all", message = "2 KiB", iterations = 30 }
""",
    "snapshot": """
[network]
family = "dragonfly"
p = 1
a = 2
h = 2
g = 3
routing = "ugal-g"
router = { crossbar = 1.5, output_buffer = "1 KiB", occupancy = "requests" }
[simulation]
packet = "256 B"
duration = "20 us"
[[job]]
nodes = 4
motif = { kind = "halo2d", message = "1 KiB", iterations = 50, compute = "200 ns" }
[[job]]
nodes = 2
traffic = { pattern = "uniform-random", message = "512 B", load = 0.4 }
""",
}

#: Numbers at which types and tables end.
EDGES = (
    *(0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 127, 128, 255, 256, 1_000, 65_535, 65_536),
    *(1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 63, (1 << 64) - 1),
)

#: Values of keys, beside those that other keys have.
VALUES = (
    *(0, 1, -1, 2, 3, 16, 17, 255, 256, 65_536, 1 << 31, 1 << 32, (1 << 63) - 1, 1 << 63, 1 << 64),
    *(0.0, -0.5, 0.5, 1.0, 1e-300, 1e300, math.inf, math.nan, True, False, "", "auto", "none"),
    *("0 s", "1 ps", "1 ns", "1 us", "59 min", "1 h", "2 h", "50 days", "51 days", "1e30 s"),
    *("-1 ns", "0 B", "1 B", "255 B", "64 KiB", "32 MiB", "4 GiB", "16 EiB", "1e40 B"),
    *("0 B/s", "1 B/s", "1 kB/s", "1 PB/s", "1e30 B/s", "0-3", "3-0", "0-4294967295", "é"),
    *([], {}, [0], [1 << 40], [[]], ["a"], {"kind": "ring"}, {"policy": "linear"}),
)


# --- BLAKE3, as in https://github.com/BLAKE3-team/BLAKE3-specs ------------------------------------

_IV = (
    *(0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A),
    *(0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19),
)
_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_MIXES = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8


def _compress(
    chain: Sequence[int], words: Sequence[int], counter: int, size: int, flags: int
) -> list[int]:
    mask = 0xFFFFFFFF
    state = [*chain, *_IV[:4], counter & mask, counter >> 32, size, flags]
    words = list(words)
    for number in range(7):
        for mix, (a, b, c, d) in enumerate(_MIXES):
            va, vb, vc, vd = state[a], state[b], state[c], state[d]
            va = (va + vb + words[2 * mix]) & mask
            vd ^= va
            vd = (vd >> 16 | vd << 16) & mask
            vc = (vc + vd) & mask
            vb ^= vc
            vb = (vb >> 12 | vb << 20) & mask
            va = (va + vb + words[2 * mix + 1]) & mask
            vd ^= va
            vd = (vd >> 8 | vd << 24) & mask
            vc = (vc + vd) & mask
            vb ^= vc
            vb = (vb >> 7 | vb << 25) & mask
            state[a], state[b], state[c], state[d] = va, vb, vc, vd
        if number < 6:
            words = [words[place] for place in _ORDER]
    return [state[place] ^ state[place + 8] for place in range(8)]


def blake3(data: bytes) -> bytes:
    """The hash of `data`, 32 bytes."""

    def chunk(number: int, root: int) -> list[int]:
        part = data[1024 * number : 1024 * (number + 1)]
        chain: Sequence[int] = _IV
        blocks = max(1, -(-len(part) // 64))
        for place in range(blocks):
            block = part[64 * place : 64 * (place + 1)]
            flags = _CHUNK_START if place == 0 else 0
            if place == blocks - 1:
                flags |= _CHUNK_END | root
            words = struct.unpack("<16I", block.ljust(64, b"\0"))
            chain = _compress(chain, words, number, len(block), flags)
        return list(chain)

    def tree(first: int, count: int, root: int) -> list[int]:
        if count == 1:
            return chunk(first, root)
        left = 1 << (count - 1).bit_length() - 1
        words = tree(first, left, 0) + tree(first + left, count - left, 0)
        return _compress(_IV, words, 0, 64, _PARENT | root)

    chunks = max(1, -(-len(data) // 1024))
    return struct.pack("<8I", *tree(0, chunks, _ROOT))


# --- Forgeries ------------------------------------------------------------------------------------

#: Magic, format and length of the file; the hash follows.
_LEAD = 8 + 4 + 8


@dataclass(frozen=True)
class Saved:
    """A checkpoint in its parts."""

    lead: bytes
    header: bytes
    records: tuple[bytes, ...]

    @classmethod
    def of(cls, file: bytes) -> Saved:
        """Takes a file apart."""
        rest = file[_LEAD + 32 :]
        (size,) = struct.unpack_from("<I", rest)
        header, rest = rest[4 : 4 + size], rest[4 + size :]
        records = []
        while rest:
            (size,) = struct.unpack_from("<I", rest)
            records.append(rest[4 : 4 + size])
            rest = rest[4 + size :]
        return cls(file[:_LEAD], header, tuple(records))

    def signed(self, records: Sequence[bytes]) -> bytes:
        """A file with other records, and a hash that is right."""
        body = struct.pack("<I", len(self.header)) + self.header
        body += b"".join(struct.pack("<I", len(record)) + record for record in records)
        lead = self.lead[:12] + struct.pack("<Q", _LEAD + 32 + len(body))
        return lead + blake3(body + lead) + body


def varint(number: int) -> bytes:
    """A number in the encoding of records."""
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def forged(saved: Saved, draw: random.Random) -> bytes:
    """A checkpoint of which some things were changed."""
    records = [bytearray(record) for record in saved.records]
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        record = records[draw.randrange(len(records))]
        if not record:
            continue
        place = draw.randrange(len(record))
        what = draw.random()
        if what < 0.25:
            record[place] ^= 1 << draw.randrange(8)
        elif what < 0.35:
            record[place] = draw.randrange(256)
        elif what < 0.4:
            # A part of it somewhere else, or gone.
            part = record[place : place + draw.randint(1, 60)]
            at = draw.randrange(len(record))
            record[at : at + draw.choice([0, len(part)])] = draw.choice([part, bytearray()])
        elif what < 0.42:
            other = draw.randrange(len(records))
            records[other] = bytearray(record)
        else:
            # The number that the place belongs to.
            begin = place
            while begin > 0 and record[begin - 1] & 128:
                begin -= 1
            end = place
            while end < len(record) - 1 and record[end] & 128:
                end += 1
            old = sum((byte & 127) << 7 * n for n, byte in enumerate(record[begin : end + 1]))
            near = max(0, old + draw.choice([-1, 1, 2, -2, 16, -16, 100]))
            record[begin : end + 1] = varint(draw.choice(EDGES) if draw.random() < 0.6 else near)
    return saved.signed(records)


def checkpoints(directory: Path) -> dict[str, list[Saved]]:
    """Some checkpoints of each of the :data:`SCENARIOS`, for which `directory` is a place."""
    found: dict[str, list[Saved]] = {}
    for name, text in SCENARIOS.items():
        saved: list[Saved] = []
        place = directory / "saved"

        def keep(event: Any, place: Path = place, saved: list[Saved] = saved) -> None:
            if event.kind == "written":
                saved.append(Saved.of((place / CHECKPOINT_FILE).read_bytes()))

        options = odonata.Checkpoint(place, simulated="1.1 us", on_event=keep)
        result = odonata.run(odonata.Scenario.from_toml(text), checkpoint=options)
        if result.claim is not None:
            result.claim.release()
        shutil.rmtree(place)
        found[name] = saved
    return found


# --- Mutated scenarios ----------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in nested dicts and lists."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


def _is_like(value: Any, present: Any) -> bool:
    """Whether two values are of a type, and texts of a unit, or words both."""
    if not isinstance(value, str) or not isinstance(present, str):
        return type(value) is type(present)
    return value[-1:] == present[-1:] and value[:1].isdigit() == present[:1].isdigit()


def mutated(draw: random.Random) -> dict[str, Any]:
    """A scenario of which some things were changed."""
    parsed = [parse_toml(text) for text in SCENARIOS.values()]
    scenario = copy.deepcopy(draw.choice(parsed))
    for _ in range(draw.choice([1, 1, 2, 3])):
        path = draw.choice(list(places(scenario)))
        parent = scenario
        for key in path[:-1]:
            parent = parent[key]
        other = draw.choice(parsed)
        what = draw.random()
        if what < 0.1:
            del parent[path[-1]]
        elif what < 0.35:
            # What another scenario has somewhere.
            # Often by the same name.
            paths = list(places(other))
            same = [there for there in paths if there[-1] == path[-1]]
            donor: Any = other
            for key in draw.choice(same if same and draw.random() < 0.7 else paths):
                donor = donor[key]
            parent[path[-1]] = copy.deepcopy(donor)
        elif what < 0.4 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
        elif what < 0.5 and isinstance(parent[path[-1]], (int, float)):
            parent[path[-1]] = parent[path[-1]] * draw.choice([-1, 2, 10, 1_000, 10**6, 10**12])
        else:
            # Mostly of the same type, which more of the program sees.
            like = [value for value in VALUES if _is_like(value, parent[path[-1]])]
            chosen = draw.choice(like if like and draw.random() < 0.8 else VALUES)
            parent[path[-1]] = copy.deepcopy(chosen)
        if not scenario:
            break
    return scenario


# --- Cases ----------------------------------------------------------------------------------------


class StoppedError(Exception):
    """A run that was stopped because it goes on."""


def _until_it_runs() -> Callable[[object], None]:
    begun = time.process_time()

    def report(_: object) -> None:
        if time.process_time() - begun > ENOUGH:
            raise StoppedError

    return report


def _outcome(run: Callable[[], object]) -> str:
    """What comes of a run, in a word or two; a crash says what it is after a colon."""
    try:
        run()
    except StoppedError:
        return "stopped, as it went on"
    except OdonataError as error:
        text = str(error)
        if error.exit_code is ExitCode.INTERNAL or "outside a table" in text:
            return f"crash: {text}"
        if "contradicts itself" in text:
            return "contradicted itself"
        return f"exit code {int(error.exit_code)}"
    except MemoryError:
        return f"exit code {int(ExitCode.SIMULATION)}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
    return "a result"


@dataclass
class Cases:
    """Everything that cases are made of; the same in all workers."""

    seed: int
    saved: dict[str, list[Saved]]
    directory: Path
    inputs: dict[str, list[fuzz_inputs.Seed]] = field(default_factory=dict)

    def draw(self, kind: str, number: int) -> random.Random:
        """The random numbers of a case."""
        return random.Random(f"{self.seed} {kind} {number}")

    def input(self, kind: str, number: int) -> tuple[str, bytes]:
        """The input of a case: of a forgery the name of its scenario, and the file."""
        draw = self.draw(kind, number)
        if kind == "scenario":
            return "", json.dumps(mutated(draw)).encode()
        name = draw.choice(list(self.saved))
        return name, forged(draw.choice(self.saved[name]), draw)

    def write(self, kind: str, number: int, place: Path) -> str:
        """Writes the files of a case that a command reads; returns the command."""
        draw = self.draw(kind, number)
        seed = draw.choice(self.inputs[kind])
        fuzz_inputs.write(seed, place, draw)
        return draw.choice(seed.commands)

    def run(self, kind: str, number: int) -> str:
        """What comes of a case."""
        if kind in self.inputs:
            place = self.directory / f"worker-{os.getpid()}"
            command = self.write(kind, number, place)

            def read() -> str:
                return fuzz_inputs.outcome(fuzz_inputs.run(place, command))

            try:
                outcome, peak = fuzz_inputs.peak_memory(read)
                if peak > fuzz_inputs.MOST_MEMORY:
                    return f"crash: {peak >> 20} MiB of memory"
                return outcome
            finally:
                shutil.rmtree(place, ignore_errors=True)
        name, given = self.input(kind, number)
        if kind == "scenario":
            scenario = json.loads(given)

            def simulate() -> object:
                read = odonata.Scenario.from_dict(scenario)
                return odonata.run(read, progress=_until_it_runs())

            return _outcome(simulate)
        place = self.directory / f"worker-{os.getpid()}"
        place.mkdir()
        (place / CHECKPOINT_FILE).write_bytes(given)
        threads = self.draw(kind + " threads", number).choice([1, 1, 1, 2])

        def resume() -> object:
            options = odonata.Checkpoint(place, resume=True, on_event=lambda _: None)
            result = odonata.run(
                odonata.Scenario.from_toml(SCENARIOS[name]),
                checkpoint=options,
                progress=_until_it_runs(),
                threads=threads,
            )
            if result.claim is not None:
                result.claim.release()
            return result

        try:
            return _outcome(resume)
        finally:
            shutil.rmtree(place, ignore_errors=True)


# --- Workers --------------------------------------------------------------------------------------


def _work(cases: Cases, tell: Connection) -> None:
    """Does what it is told until there is no more; says what comes of it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Whoever runs this may want to be told of crashes; here they are what is looked for.
    faulthandler.disable()
    # Ends the process, wherever it is.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while (case := tell.recv()) is not None:
        signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT)
        begun = time.process_time()
        outcome = cases.run(*case)
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell.send((outcome, time.process_time() - begun))


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    case: tuple[str, int]
    since: float = field(default_factory=time.monotonic)


def fuzz(
    cases: Cases, pending: Iterator[tuple[str, int]], workers: int
) -> Iterator[tuple[str, int, str, float]]:
    """Runs cases in processes of their own.

    Yields:
        Kind, number, outcome and CPU seconds of each, as they come.
    """
    context = multiprocessing.get_context("fork")

    def begin(case: tuple[str, int]) -> _Worker:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(cases, theirs), daemon=True)
        process.start()
        theirs.close()
        ours.send(case)
        return _Worker(process, ours, case)

    running = [begin(case) for _, case in zip(range(workers), pending, strict=False)]
    while running:
        ready = multiprocessing.connection.wait([worker.pipe for worker in running], timeout=5)
        for worker in list(running):
            if worker.pipe in ready:
                try:
                    (outcome, seconds), alive = worker.pipe.recv(), True
                except EOFError:
                    worker.process.join()
                    code = worker.process.exitcode
                    outcome, seconds, alive = f"crash: {_ended(code)}", CPU_LIMIT, False
            elif time.monotonic() - worker.since > CLOCK_LIMIT:
                worker.process.kill()
                worker.process.join()
                outcome, seconds, alive = f"crash: {CLOCK_LIMIT} s on the clock", CPU_LIMIT, False
            else:
                continue
            yield (*worker.case, outcome, seconds)
            running.remove(worker)
            case = next(pending, None)
            if not alive:
                shutil.rmtree(cases.directory / f"worker-{worker.process.pid}", ignore_errors=True)
            if case is None:
                if alive:
                    worker.pipe.send(None)
                    worker.process.join()
            elif alive:
                worker.pipe.send(case)
                running.append(_Worker(worker.process, worker.pipe, case))
            else:
                running.append(begin(case))


def _ended(code: int) -> str:
    """How a process ended."""
    if code >= 0:
        return f"exit code {code}"
    if -code == signal.SIGPROF:
        return f"{CPU_LIMIT} s of CPU time"
    return signal.Signals(-code).name


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--checkpoints", type=int, default=10_000, metavar="N")
    parser.add_argument("--scenarios", type=int, default=5_000, metavar="N")
    parser.add_argument("--inputs", type=int, default=500, metavar="N", help="of each kind")
    parser.add_argument("--kind", action="append", help="inputs of this kind only")
    parser.add_argument("--minutes", type=float, help="CPU minutes of each kind of --kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", metavar="KIND:N", help="one case, e.g. checkpoint:17")
    parser.add_argument("--keep", type=Path, default=Path("target/fuzz"), metavar="DIR")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    spent: Counter[str] = Counter()
    crashes = 0
    with tempfile.TemporaryDirectory() as place:
        inputs = fuzz_inputs.seeds() if options.inputs else {}
        if options.inputs and "results" in (options.kind or ["results"]):
            made = Path(place) / "made"
            made.mkdir()
            inputs["results"] = fuzz_inputs.results(made)
        kinds = {"checkpoint": options.checkpoints, "scenario": options.scenarios}
        kinds |= dict.fromkeys(inputs, options.inputs)
        if options.kind is not None:
            kinds = {kind: sys.maxsize if options.minutes else kinds[kind] for kind in options.kind}
        counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
        fuzz_inputs.check_seeds(
            {kind: inputs[kind] for kind in kinds if kind in inputs}, Path(place) / "seed"
        )
        saved = checkpoints(Path(place)) if kinds.get("checkpoint") else {}
        cases = Cases(options.seed, saved, Path(place), inputs)

        def listed() -> Iterator[tuple[str, int]]:
            for kind, count in kinds.items():
                for number in range(count):
                    if options.minutes and spent[kind] > 60 * options.minutes:
                        break
                    yield kind, number

        pending = listed()
        if options.only:
            kind, number = options.only.split(":")
            pending = iter([(kind, int(number))])
        for kind, number, outcome, seconds in fuzz(cases, pending, options.workers):
            word, _, what = outcome.partition(":")
            counts[kind][word] += 1
            spent[kind] += seconds
            if word != "crash":
                continue
            crashes += 1
            options.keep.mkdir(parents=True, exist_ok=True)
            file = options.keep / f"{kind}-{options.seed}-{number}".replace(" ", "-")
            if kind in inputs:
                what = f" {cases.write(kind, number, file)}:{what}"
            elif kind == "scenario":
                file.with_suffix(".json").write_bytes(cases.input(kind, number)[1])
            else:
                name, given = cases.input(kind, number)
                file.with_suffix(".forged").write_bytes(given)
                file.with_suffix(".toml").write_text(SCENARIOS[name])
            print(f"{kind} {number} ({file}):{what[:600]}", flush=True)
    for kind, outcomes in counts.items():
        if outcomes:
            summary = ", ".join(f"{count} {word}" for word, count in outcomes.most_common())
            print(f"{outcomes.total()} of {kind} in {spent[kind]:.0f} CPU seconds: {summary}")
    print(f"{crashes} crashes in {time.monotonic() - begun:.0f} s")
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
