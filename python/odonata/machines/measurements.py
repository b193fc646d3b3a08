"""Measured times of collectives, from the files of benchmarks, as one table.

Read are the folders and archives of PICO (De Sensi, Pasqualoni: one CSV file of all iterations for
every size and algorithm, ``metadata.csv`` beside them), what the OSU Micro-Benchmarks, the
Intel MPI Benchmarks and nccl-tests (and rccl-tests) print, and what Netgauge (Hoefler, Mehlan,
Lumsdaine, Rehm 2007) writes.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from odonata.bounded import csv_rows, members, read_text
from odonata.errors import MachineError
from odonata.machines.names import OPERATIONS, measured_name

#: Bytes of an element, by the name at the end of a file of PICO's.
_ELEMENTS = {"int8": 1, "char": 1, "int32": 4, "int": 4, "float": 4, "int64": 8, "double": 8}

#: Ends of the names of archives.
_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".tar.xz", ".tar.bz2", ".tar.zst")

#: Ends of the names of files of what benchmarks have printed, as of several runs.
_PRINTED = re.compile(r"\.(txt|out|log|dat)(\.[0-9]+)?$")

#: What Open MPI and its descendants print of an algorithm's name that they do not know.
_REFUSED = b"invalid-value-enum"
_STATISTICS = ("median", "mean")
_SERIES = re.compile(r"(?P<count>[0-9]+)_(?P<algorithm>.+)_(?P<type>[a-z]+[0-9]*)\.csv")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
#: Largest number of bytes, ranks and iterations, and time in the unit of a file.
_MOST, _LONGEST = 10**15, 1e15


@dataclass(frozen=True)
class Measurement:
    """One size of one algorithm, measured many times.

    Attributes:
        source: Archive or file.
        test: Folder in it, or the benchmark's name.
        operation: Ours, such as ``reduce-scatter``.
        name: Of the algorithm, as measured.
        algorithm: Ours; ``auto`` for a library's choice, ``None`` if it is not simulated.
        library: Who carried it out; see :class:`odonata.machines.names.Measured`.
        bytes: Size of the vector of a rank, all blocks together.
        ranks: How many took part.
        per_node: Ranks on each node; 0 if unknown.
        iterations: How many calls were measured.
        median_ns: Median over them of the time of the slowest rank.
        p10_ns: 10th percentile; NaN where the benchmark prints a mean only.
        p90_ns: 90th percentile.
        statistic: Whether ``median_ns`` is a ``median`` or a ``mean``.
        hosts: Of the ranks, in order; one per node. Empty if unknown.
        segment: Bytes of the segments that the algorithm sends in, where its name says so, or the
            version of the benchmark.
    """

    source: str
    test: str
    operation: str
    name: str
    algorithm: str | None
    library: str
    bytes: int
    ranks: int
    per_node: int
    iterations: int
    median_ns: float
    p10_ns: float
    p90_ns: float
    statistic: str
    hosts: tuple[str, ...]
    segment: int | None = None

    @property
    def nodes(self) -> int:
        """Nodes that took part."""
        return len(self.hosts) or self.ranks // max(self.per_node, 1)


_SCHEMA = pa.schema(
    [
        pa.field("source", pa.string(), False),
        pa.field("test", pa.string(), False),
        pa.field("collective", pa.string(), False),
        pa.field("name", pa.string(), False),
        pa.field("algorithm", pa.string()),
        pa.field("library", pa.string(), False),
        pa.field("bytes", pa.int64(), False),
        pa.field("nodes", pa.int64(), False),
        pa.field("ranks", pa.int64(), False),
        pa.field("per_node", pa.int64(), False),
        pa.field("iterations", pa.int64(), False),
        pa.field("median_ns", pa.float64(), False),
        pa.field("p10_ns", pa.float64()),
        pa.field("p90_ns", pa.float64()),
        pa.field("statistic", pa.string(), False),
        pa.field("hosts", pa.string(), False),
        pa.field("segment", pa.int64()),
    ]
)

#: How a table of measurements begins that was written as CSV.
_OF_TABLE = ",".join(_SCHEMA.names[:5])


def to_table(measurements: Iterable[Measurement]) -> pa.Table:
    """Measurements as an Arrow table, one row each; hosts separated by blanks."""
    rows = list(measurements)

    def number(value: float) -> float | None:
        return None if np.isnan(value) else float(value)

    columns = {
        "collective": [row.operation for row in rows],
        "hosts": [" ".join(row.hosts) for row in rows],
        "p10_ns": [number(row.p10_ns) for row in rows],
        "p90_ns": [number(row.p90_ns) for row in rows],
    }
    for name in _SCHEMA.names:
        columns.setdefault(name, [getattr(row, name, None) for row in rows])
    return pa.table({name: columns[name] for name in _SCHEMA.names}, schema=_SCHEMA)


def read_measurements(
    paths: Iterable[str | os.PathLike[str]],
) -> list[Measurement]:
    """Reads what benchmarks measured.

    Args:
        paths: Folders or archives of PICO, files of the OSU or Intel MPI Benchmarks' output or of
            nccl-tests', tables that ``odonata measurements`` has written as CSV, or folders of
            such; folders are searched in full.

    Returns:
        One for each size, algorithm and test, in the order of their names.

    Raises:
        MachineError: If nothing is found, or a file is damaged.
    """
    found: list[Measurement] = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise MachineError(f"{path}: no such file or folder")
        before = len(found)
        found += _of_folder(path) if path.is_dir() else _of_file(path)
        if len(found) == before:
            raise MachineError(
                f"{path}: holds no measurements; allowed: folders and archives of PICO (SIZE_"
                "ALGORITHM_TYPE.csv with a column of times), or output of the OSU or Intel MPI "
                "Benchmarks, nccl-tests or Netgauge"
            )
    return found


def _of_folder(folder: Path) -> Iterator[Measurement]:
    plain: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        if path.name.endswith(_ARCHIVES):
            yield from _of_file(path)
        elif path.suffix == ".csv":
            text = _text(path)
            if _is_table(text):
                yield from _of_table(text, path)
            elif text.startswith(_OF_NETGAUGE):
                yield from _netgauge_calls(text, path)
            else:
                plain[path.relative_to(folder).as_posix()] = text
        elif _PRINTED.search(path.name):
            yield from _printed(_text(path), path)
    yield from _pico(plain, folder, _metadata(folder))


def _of_file(path: Path) -> Iterator[Measurement]:
    if not path.name.endswith(_ARCHIVES):
        text = _text(path)
        if _is_table(text):
            yield from _of_table(text, path)
        else:
            named = path.suffix == ".csv"
            yield from _netgauge_calls(text, path) if named else _printed(text, path)
        return
    files: dict[str, str] = {}
    printed: dict[str, str] = {}
    refused: set[str] = set()
    ends = (".csv", ".out", ".err")
    for name, content in members(path, lambda name: name.endswith(ends), MachineError):
        if name.endswith(".err"):
            if _REFUSED in content:
                refused.add(name.removesuffix(".err") + ".csv")
        else:
            into = files if name.endswith(".csv") else printed
            into[name] = content.decode("utf-8", "replace")
    calls = {name: text for name, text in files.items() if text.startswith(_OF_NETGAUGE)}
    for name, text in calls.items():
        yield from _netgauge_calls(text, path / name)
    for name, text in printed.items():
        if text.startswith(_OF_NETGAUGE_ONE):
            yield from _netgauge_one(text, path / name)
    yield from _pico(
        {name: text for name, text in files.items() if name not in calls},
        path,
        _metadata(path.parent),
        refused,
    )


def _text(path: Path) -> str:
    return read_text(path, MachineError, errors="replace")


def _whole(text: str, where: str, what: str, least: int = 0) -> int:
    """A whole number of a file, of which `where` names the place."""
    sound = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST))
    if not sound or not least <= int(text) <= _MOST:
        allowed = f"a whole number from {least} to {_MOST:,}"
        raise MachineError(f'{where}: found {what} "{text:.40}"; allowed: {allowed}')
    return int(text)


def _time(text: str, where: str) -> float:
    """A time of a file, in its unit."""
    if not _NUMBER.fullmatch(text) or not float(text) <= _LONGEST:
        raise MachineError(
            f'{where}: found the time "{text:.40}"; allowed: numbers from 0 to {_LONGEST:,.0f}'
        )
    return float(text)


# --- Tables of measurements -----------------------------------------------------------------


def _is_table(text: str) -> bool:
    return text.partition("\n")[0].replace('"', "").startswith(_OF_TABLE)


def _of_table(text: str, path: Path) -> Iterator[Measurement]:
    """What :func:`to_table` was written from; columns may be in any order after the first five."""
    rows = csv_rows(text, str(path), MachineError)
    _, header = next(rows)
    needed = [name for name in _SCHEMA.names if not _SCHEMA.field(name).nullable]
    if missing := [name for name in needed if name not in header]:
        raise MachineError(f"{path}: has no column {', '.join(missing)}")
    for line, cells in rows:
        where = f"{path}:{line}"
        if len(cells) != len(header):
            raise MachineError(
                f"{where}: found {len(cells)} cells; allowed: {len(header)}, as in the header"
            )
        row = dict(zip(header, cells, strict=True))
        operation = OPERATIONS.get(row["collective"].lower())
        if operation is None:
            allowed = ", ".join(sorted(set(OPERATIONS.values())))
            raise MachineError(
                f'{where}: found the collective "{row["collective"]}"; allowed: {allowed}'
            )
        if row["statistic"] not in _STATISTICS:
            raise MachineError(
                f'{where}: found the statistic "{row["statistic"]}"; allowed: '
                f"{' or '.join(_STATISTICS)}"
            )
        p10, p90 = (
            _time(text, where) if (text := row.get(name, "")) else float("nan")
            for name in ("p10_ns", "p90_ns")
        )
        hosts = tuple(row["hosts"].split())
        per_node = _whole(row["per_node"], where, "ranks per node")
        ranks = _whole(row["ranks"], where, "ranks", least=1)
        if hosts and len(hosts) * per_node != ranks:
            raise MachineError(
                f"{where}: found {ranks} ranks, {per_node} on each of {len(hosts)} hosts; allowed: "
                f"{len(hosts) * per_node}"
            )
        meaning = measured_name(operation, row["name"])
        segment = row.get("segment", "")
        yield Measurement(
            source=row["source"],
            test=row["test"],
            operation=operation,
            name=row["name"],
            # What is simulated by this name today, not when the table was written; a name that its
            # library did not know stays a choice of that library's.
            algorithm="auto" if row.get("algorithm") == "auto" else meaning.algorithm,
            library=row["library"],
            bytes=_whole(row["bytes"], where, "bytes", least=1),
            ranks=ranks,
            per_node=per_node,
            iterations=_whole(row["iterations"], where, "iterations"),
            median_ns=_time(row["median_ns"], where),
            p10_ns=p10,
            p90_ns=p90,
            statistic=row["statistic"],
            hosts=hosts,
            segment=_whole(segment, where, "segment", least=1) if segment else None,
        )


# --- PICO ---------------------------------------------------------------------------------

#: What is read of ``metadata.csv``.
_COLUMNS = ("timestamp", "test_id", "collective_type", "nnodes", "tasks_per_node")
#: Until this day PICO's segmented allreduce, where no size is said, sends in segments of the block
#: of a rank; since then it sends halves whole (its commit ea067fb, `libswing_allreduce.c`).
_WHOLE_SINCE = "2025_05_27"
_Tests = Mapping[tuple[str, str], Mapping[str, str]]


def _metadata(folder: Path) -> _Tests:
    """Rows of ``metadata.csv`` by time stamp and number of the test."""
    path = folder / "metadata.csv"
    if not path.is_file():
        return {}
    rows = csv_rows(_text(path), str(path), MachineError)
    _, header = next(rows, (1, []))
    if missing := [name for name in _COLUMNS if name not in header]:
        raise MachineError(f"{path}: has no column {', '.join(missing)}")
    found = {}
    for line, cells in rows:
        if len(cells) != len(header):
            raise MachineError(
                f"{path}:{line}: found {len(cells)} cells; allowed: {len(header)}, as in the header"
            )
        row = dict(zip(header, cells, strict=True))
        found[row["timestamp"], row["test_id"]] = {**row, "where": f"{path}:{line}"}
    return found


def _pico(
    files: Mapping[str, str], source: Path, tests: _Tests, refused: Container[str] = ()
) -> Iterator[Measurement]:
    hosts = {
        str(Path(name).parent): _allocation(text)
        for name, text in files.items()
        if Path(name).name.startswith("alloc")
    }
    for name in sorted(files, key=_in_order):
        path = Path(name)
        series = _SERIES.fullmatch(path.name)
        if series is None:
            continue
        test, run = path.parent.name, path.parent.parent
        stamp = run.name or source.name.split(".")[0]
        row = tests.get((stamp, test))
        if row is None:
            raise MachineError(
                f"{source}: {name}: metadata.csv has no row of timestamp {stamp} and test_id "
                f"{test}, which says what was measured"
            )
        element = _ELEMENTS.get(series["type"])
        if element is None:
            allowed = ", ".join(_ELEMENTS)
            raise MachineError(
                f'{source}: {name}: found elements of type "{series["type"]}"; allowed: {allowed}'
            )
        operation = OPERATIONS.get(row["collective_type"].lower())
        if operation is None:
            continue
        times = _iterations(files[name], f"{source}: {name}")
        if times.size == 0:
            continue
        ranks_hosts = hosts.get(str(run), ())
        where = row["where"]
        parts = row["nnodes"].split("x")
        nodes = math.prod(_whole(part, where, "nnodes", least=1) for part in parts)
        # Allocations with several ranks on a node list each host as often.
        per_node = _whole(row["tasks_per_node"], where, "tasks_per_node", least=1)
        ranks = len(ranks_hosts) or _whole(str(nodes * per_node), where, "ranks")
        distinct = tuple(dict.fromkeys(ranks_hosts))
        meaning = measured_name(operation, series["algorithm"])
        size = _whole(series["count"], f"{source}: {name}", "elements") * element
        segment = meaning.segment
        if meaning.algorithm == "bine-segmented" and segment is None and stamp < _WHOLE_SINCE:
            segment = max(size // ranks, 1)
        yield Measurement(
            source=source.name if stamp in source.name else f"{source.name}/{stamp}",
            test=test,
            operation=operation,
            name=series["algorithm"],
            # A library that does not know the name goes on with its own choice.
            algorithm="auto" if name in refused else meaning.algorithm,
            library=meaning.library,
            bytes=size,
            ranks=ranks,
            per_node=ranks // (len(distinct) or nodes),
            iterations=int(times.size),
            median_ns=float(np.median(times)),
            p10_ns=float(np.percentile(times, 10)),
            p90_ns=float(np.percentile(times, 90)),
            statistic="median",
            hosts=distinct,
            segment=segment,
        )


def _in_order(name: str) -> tuple[str, str, tuple[int, str]]:
    path = Path(name)
    series = _SERIES.fullmatch(path.name)
    if series is None:
        return str(path.parent), path.name, (0, "")
    # By size: shorter numbers first.
    count = series["count"].lstrip("0")
    return str(path.parent), series["algorithm"], (len(count), count)


def _allocation(text: str) -> tuple[str, ...]:
    """Hosts in the order of ranks; what is no row (some files are padded with zeros) is left."""
    rows = []
    for line in text.replace("\0", "").splitlines():
        parts = line.strip().split(",")
        if len(parts) >= 2 and re.fullmatch(r"\s*[0-9]{1,9}\s*", parts[0]):
            rows.append((int(parts[0]), parts[1].strip().split(".")[0]))
    return tuple(host for _, host in sorted(rows))


#: How it begins: with a word that is none of those that stand for a number.
_SUMMARY = re.compile(r"\s*(?!(nan|inf|infinity)\b)[A-Za-z]", re.IGNORECASE)


def _iterations(text: str, where: str) -> np.ndarray:
    """Times of all iterations in ns: the slowest rank's. A summary behind them does not count."""
    lines = text.splitlines()
    header = lines[0].split(",") if lines else []
    if "highest" not in header:
        found = ", ".join(header)
        raise MachineError(f'{where}: found columns {found:.200}; allowed: one, "highest"')
    column = header.index("highest")
    times = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        if _SUMMARY.match(line):
            break
        if not line.strip():
            continue
        here = f"{where}: line {number}"
        if len(cells) != len(header):
            raise MachineError(f"{here}: found {len(cells)} cells; allowed: {len(header)}")
        times.append(_time(cells[column].strip(), here))
    return np.array(times)


# --- What the OSU and Intel MPI Benchmarks print ------------------------------------------

_OSU = re.compile(r"#\s*OSU MPI[^\n]*?(?P<name>\w+) Latency Test", re.IGNORECASE)
_OSU_NAMES = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "all-to-all": "alltoall",
    "alltoall": "alltoall",
    "bcast": "broadcast",
    "broadcast": "broadcast",
    "gather": "gather",
    "reduce": "reduce",
    "scatter": "scatter",
    "reduce_scatter": "reduce-scatter",
}
_IMB = re.compile(r"#\s*Benchmarking\s+(?P<name>\w+)")
_RANKS = re.compile(r"#\s*(?:#?processes\s*=|Number of (?:processes|ranks)\s*[:=])\s*(\S+)")
#: How rows of their tables begin, damaged ones too.
_ROW = re.compile(r"[+-]?\.?[0-9]|[+-]?(nan|inf|infinity)$", re.IGNORECASE)
#: Operations whose printed size is that of one block: the vector of a rank has one per rank.
_BY_BLOCK = ("allgather", "alltoall", "gather", "scatter")


def _printed(text: str, path: Path) -> Iterator[Measurement]:
    if text.startswith(_OF_NETGAUGE_ONE):
        yield from _netgauge_one(text, path)
        return
    if _OF_NCCL_TESTS.search(text):
        yield from _nccl_tests(text, path)
        return
    operation, columns, ranks, benchmark, rows = None, None, 0, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}: line {number}"
        osu, imb, counted = _OSU.search(line), _IMB.search(line), _RANKS.search(line)
        if osu:
            operation, benchmark = _OSU_NAMES.get(osu["name"].lower()), "osu"
            columns, rows = {"size": 0, "mean": 1, "iterations": 4}, 0
        elif imb:
            operation, benchmark = OPERATIONS.get(imb["name"].lower()), "imb"
            columns, rows = {"size": 0, "iterations": 1, "mean": 4}, 0
        if counted:
            ranks = _whole(counted[1], where, "processes", least=1)
        cells = line.split()
        if not cells and rows:
            # The table has ended; other numbers may come.
            columns = None
        if operation is None or columns is None or not cells or not _ROW.match(cells[0]):
            continue
        rows += 1
        size = _whole(cells[0], where, "bytes")
        if len(cells) <= columns["mean"]:
            raise MachineError(
                f"{where}: found {len(cells)} cells; allowed: {columns['mean'] + 1} and more, "
                "among them the mean time"
            )
        if size == 0:
            continue
        if not ranks:
            raise MachineError(
                f"{path}: does not say how many processes took part; allowed: a line such as "
                '"# Number of processes: 64" before the times'
            )
        more = columns["iterations"]
        whole = size * ranks if operation in _BY_BLOCK else size
        yield Measurement(
            source=path.name,
            test=benchmark,
            operation=operation,
            name="default",
            algorithm="auto",
            library="",
            bytes=_whole(str(whole), where, "bytes of all ranks"),
            ranks=ranks,
            per_node=0,
            iterations=_whole(cells[more], where, "iterations") if len(cells) > more else 0,
            median_ns=_time(cells[columns["mean"]], where) * 1_000,
            p10_ns=float("nan"),
            p90_ns=float("nan"),
            statistic="mean",
            hosts=(),
        )


# --- What nccl-tests and rccl-tests print -------------------------------------------------

_OF_NCCL_TESTS = re.compile(r"^#\s+nThread\s+\d+\s+nGpus\s+\d+", re.MULTILINE)
_NCCL_HEADER = re.compile(r"#\s+size\s+count\s+type\b")
_NCCL_DEVICE = re.compile(
    r"#\s+Rank\s+(?P<rank>\d+)\s.*\bPid\s+\d+\s+on\s+(?P<host>\S+)\s+device\b"
)
_NCCL_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )\biters:\s*(\d+)")
#: The test, from what newer versions say, from the command, or else from the name of the file.
_NCCL_NAME = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|gather|scatter|sendrecv|hypercube)"
    r"(?=_perf|[_.-]|$)"
)
_NCCL_OPERATIONS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "sendrecv": None,
    "hypercube": None,
}


def _nccl_tests(text: str, path: Path) -> Iterator[Measurement]:
    """The mean times of a test, out of place and in place, one row each.

    A size is that of all blocks together (PERFORMANCE.md of nccl-tests), as ours. Bandwidths follow
    from times and are not read.
    """
    said = re.search(r"\b(\w+)_perf\b", text)
    name = _NCCL_NAME.search(said[0] if said else path.name)
    if name is None:
        raise MachineError(
            f"{path}: does not say which collective nccl-tests measured; allowed: a line with the "
            "command, such as all_reduce_perf, or the collective in the file's name"
        )
    operation = _NCCL_OPERATIONS.get(name[1], OPERATIONS.get(name[1]))
    if operation is None:
        return
    hosts: dict[int, str] = {}
    iterations, titles = 0, [""]
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}: line {number}"
        if device := _NCCL_DEVICE.search(line):
            rank = _whole(device["rank"], where, "rank")
            if hosts.setdefault(rank, device["host"]) != device["host"]:
                raise MachineError(f"{where}: rank {rank} is there twice, on different hosts")
            continue
        if _OF_NCCL_TESTS.search(line) and (said := _NCCL_ITERATIONS.search(line)):
            iterations = _whole(said[1], where, "iterations")
        if _NCCL_HEADER.match(line):
            titles = line.removeprefix("#").split()
            continue
        cells = line.split()
        if not cells or not _ROW.match(cells[0]) or "time" not in titles:
            continue
        # Where there is no operation or root, older versions leave their columns blank.
        if not 0 <= len(titles) - len(cells) <= 2:
            allowed = f"{len(titles)}, as in the header"
            raise MachineError(f"{where}: found {len(cells)} cells; allowed: {allowed}")
        if sorted(hosts) != list(range(len(hosts))) or not hosts:
            raise MachineError(
                f"{path}: does not say which ranks took part; allowed: a line for each rank before "
                'the times, such as "#  Rank  0 Pid  1234 on host0 device  0 [0x07] NVIDIA A100"'
            )
        size, _ = _whole(cells[0], where, "bytes"), _whole(cells[1], where, "elements")
        columns = [at - len(titles) for at, title in enumerate(titles) if title == "time"]
        for place, at in zip(("out of place", "in place"), columns, strict=False):
            if size == 0 or cells[at] == "N/A":
                continue
            distinct = tuple(dict.fromkeys(hosts[rank] for rank in range(len(hosts))))
            yield Measurement(
                source=path.name,
                test="nccl-tests",
                operation=operation,
                name=place,
                algorithm="auto",
                library="nccl",
                bytes=size,
                ranks=len(hosts),
                per_node=len(hosts) // len(distinct),
                iterations=iterations,
                median_ns=_time(cells[at], where) * 1_000,
                p10_ns=float("nan"),
                p90_ns=float("nan"),
                statistic="mean",
                hosts=distinct,
            )


# --- What Netgauge writes ------------------------------------------------------------------

#: How its files begin: one message between two, and collectives with a time for each rank.
_OF_NETGAUGE_ONE, _OF_NETGAUGE = "#size\trtt", "#MessageSize Rank0Time(us)"
_NETGAUGE_OTHERS = re.compile(r"bidirect|(stripe|conc)(?!1$)|tcp|udp")
#: Its collectives, by the beginning of the name of their file. It pipelines a broadcast along a
#: chain, and disseminates to n others in every round, of which there is none here.
_NETGAUGE = {
    "binarytreebcast": ("broadcast", "binary"),
    "binomialtreebcast": ("broadcast", "binomial"),
    "linear_alltoall": ("alltoall", "linear"),
    "pipelinedring": ("broadcast", "chain"),
    "nwaydissemination": ("barrier", None),
}


def _netgauge_one(text: str, path: Path) -> Iterator[Measurement]:
    """Its pattern ``one_one``: half of the time there and back, in µs, of many messages a size.

    They are broadcasts among two ranks: one message from the root to the other, by MPI, unless the
    file's name says that there were several at a time, in stripes, both ways or over TCP or UDP.
    """
    algorithm = None if _NETGAUGE_OTHERS.search(path.stem) else "linear"
    times = _netgauge_times(text, 2, path)
    for size, found in sorted(times.items()):
        yield _netgauge(path, "broadcast", algorithm, size, 2, np.array(found))


def _netgauge_calls(text: str, path: Path) -> Iterator[Measurement]:
    """Its collectives: in a line the size, and the time of each rank in µs."""
    name = re.sub(r"(_\d+)*$", "", path.stem)
    lines = text.splitlines()
    ranks = lines[0].count("Time(us)") if lines else 0
    if not text.startswith(_OF_NETGAUGE) or name not in _NETGAUGE:
        allowed = ", ".join(_NETGAUGE)
        raise MachineError(
            f"{path}: is no file of a collective of Netgauge's; allowed: one that begins with "
            f'"{_OF_NETGAUGE} …", of the name of {allowed}'
        )
    operation, algorithm = _NETGAUGE[name]
    times = _netgauge_times(text, ranks + 1, path)
    if operation not in OPERATIONS.values():
        return
    for size, found in sorted(times.items()):
        whole = size * ranks if operation in _BY_BLOCK else size
        _whole(str(whole), str(path), "bytes of all ranks")
        yield _netgauge(path, operation, algorithm, whole, ranks, np.array(found))


def _netgauge_times(text: str, cells: int, path: Path) -> dict[int, list[float]]:
    """By size, the slowest time of each line in ns; remarks begin with a #."""
    times: dict[int, list[float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = line.split()
        if not found or found[0].startswith("#"):
            continue
        where = f"{path}: line {number}"
        if len(found) != cells:
            raise MachineError(f"{where}: found {len(found)} cells; allowed: {cells}")
        size = _whole(found[0], where, "bytes")
        slowest = max(_time(cell, where) for cell in found[1:])
        times.setdefault(size, []).append(slowest * 1_000)
    return times


def _netgauge(
    path: Path, operation: str, algorithm: str | None, size: int, ranks: int, times: np.ndarray
) -> Measurement:
    return Measurement(
        source=path.parent.name,
        test=path.stem,
        operation=operation,
        name=algorithm or "other",
        algorithm=algorithm,
        library="point-to-point",
        bytes=size,
        ranks=ranks,
        per_node=0,
        iterations=int(times.size),
        median_ns=float(np.median(times)),
        p10_ns=float(np.percentile(times, 10)),
        p90_ns=float(np.percentile(times, 90)),
        statistic="median",
        hosts=(),
    )


def with_hosts(
    measurements: Iterable[Measurement], hosts: tuple[str, ...], per_node: int
) -> list[Measurement]:
    """Measurements that do not say where they were taken, on these hosts.

    Args:
        measurements: Any; those with hosts stay as they are.
        hosts: One per node, in the order of ranks.
        per_node: Ranks on each.
    """
    return [
        row if row.hosts else replace(row, hosts=hosts, per_node=per_node) for row in measurements
    ]
