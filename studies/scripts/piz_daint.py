"""Messages and collectives on Piz Daint: tables of pages/study-piz-daint.md, and its hosts' costs.

    .venv/bin/python studies/scripts/piz_daint.py # by ../shared

Takes what hosts cost from the ping-pong between two nodes of one rack, by the rule of
:func:`hosts_from`, prints that as it stands in examples/machines/piz-daint.toml, and predicts other
pairs and collectives. Where the measurements are absent it says so and changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from odonata.machines.calibration import MESSAGE_SIZES, message_costs
from odonata.machines.hostmodel import HostModel
from odonata.machines.measurements import Measurement, read_measurements
from odonata.machines.prediction import Case, Predictor
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import beside

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
PAGE = HOME / "pages" / "study-piz-daint.md"
MACHINE = ROOT / "examples" / "machines" / "piz-daint.toml"
DATA = "shared/data/network-noise"

#: Measured pairs: archive's folder, in words, and whether it is of one rack.
PAIRS = {
    "daint_mc_rush_hours_same_rack_default": ("one rack, rush hours", True),
    "daint_mc_rush_hours_diff_rack_default": ("two racks, rush hours", False),
    "daint_mc_quiet_hour_diff_rack_default": ("two racks, quiet hours", False),
}
#: Which nodes of a pair are not known. Taken are: of one rack, the first slots of two chassis,
#: which three cables join, as measured rates ask for more than one; of two racks, nodes of two
#: racks of one group, and of two groups.
SAME, GROUP, FAR = ("nid00000", "nid00064"), ("nid00000", "nid00200"), ("nid00000", "nid02120")
#: Time of a rank's part of a message, as for the other machines: what a core sends in a second.
OVERHEAD_NS = 150.0
#: Time of a byte that is moved into a buffer.
MOVE_NS = 0.1
SHOWN = (1, 256, 4096, 65536, 1 << 20, 1 << 24)


def main() -> None:
    """Calibrates, predicts, and writes the tables."""
    found = beside(DATA)
    if found is None:
        return
    predictor = Predictor.from_file(MACHINE)
    measured = {folder: messages(found / folder) for folder in PAIRS}
    one_rack = next(folder for folder, (_, same) in PAIRS.items() if same)
    host = hosts_from(predictor, measured[one_rack])
    print(toml(host))
    rows = read_measurements(sorted((found / "daint__collectives").glob("*.tar.xz")))
    tables = {
        "pairs": pairs(predictor, host, measured),
        "collectives": collectives(predictor, host, rows, names_of(found)),
    }
    write_tables(PAGE, tables)


def messages(folder: Path) -> dict[int, Measurement]:
    """The ping-pong of two nodes, by size: of one byte the long series of an hour."""
    rows = read_measurements(sorted(folder.glob("*.tar.xz")))
    one = [row for row in rows if row.algorithm == "linear" and "netnoise" not in row.test]
    # The first of the files with one message at a time.
    first = min({row.test for row in one})
    series = {row.bytes: row for row in one if row.test == first}
    series |= {row.bytes: row for row in rows if row.test == "ng_netnoise_mpi_lat"}
    return series


def hosts_from(predictor: Predictor, series: dict[int, Measurement]) -> HostModel:
    """What hosts cost, from the 10th percentiles of the ping-pong: nobody in the way.

    A message costs what is measured beyond what the network takes, by size, half of it each side;
    of one byte that is the overhead of either rank and a delay.
    """
    alone = HostModel(OVERHEAD_NS, OVERHEAD_NS, 0.0, (), 0.0, (), ())

    def beyond(size: int) -> float:
        row = series[min(series, key=lambda other: abs(other - size))]
        longer = max(size / row.bytes, 1.0)
        return longer * (row.p10_ns - time_ns(predictor, alone, SAME, row.bytes))

    delay = max(beyond(1), 0.0)
    sizes = MESSAGE_SIZES
    costs = list(itertools.accumulate((max(beyond(s) - delay, 0.0) / 2 for s in sizes), max))
    busy, delays = message_costs(costs, MOVE_NS)
    return HostModel(OVERHEAD_NS, OVERHEAD_NS, delay, busy, 0.0, (), (), delays=delays)


def time_ns(predictor: Predictor, host: HostModel, hosts: tuple[str, ...], size: int) -> float:
    """A message from the first of two hosts to the other."""
    nodes = tuple(predictor.hosts[name] for name in hosts)
    return predictor.time_ns(Case("broadcast", "linear", size, nodes), host)


def names_of(folder: Path) -> list[str]:
    """Hosts of the collectives, in the order of ranks."""
    import tarfile

    archive = next((folder / "daint__collectives").glob("*.tar.xz"))
    with tarfile.open(archive) as files:
        member = next(one for one in files if one.name.endswith("coord.txt"))
        stream = files.extractfile(member)
        assert stream is not None
        lines = stream.read().decode().splitlines()
    return [line.split()[1] for line in lines if line.startswith("Hostname:")]


def pairs(
    predictor: Predictor, host: HostModel, measured: dict[str, dict[int, Measurement]]
) -> str:
    """Measured and predicted messages between two nodes."""
    lines = []
    for folder, (title, same) in PAIRS.items():
        for size in SHOWN:
            row = measured[folder].get(size)
            if row is None:
                continue
            places = (SAME,) if same else (GROUP, FAR)
            predicted = [time_ns(predictor, host, place, size) / 1e3 for place in places]
            off = [f"{100 * (one / (row.p10_ns / 1e3) - 1):+.0f} %" for one in predicted]
            lines.append(
                [
                    title,
                    in_bytes(size),
                    f"{row.p10_ns / 1e3:.2f}",
                    f"{row.median_ns / 1e3:.2f}",
                    f"{row.p90_ns / 1e3:.2f}",
                    " to ".join(f"{one:.2f}" for one in predicted),
                    " to ".join(off),
                ]
            )
    header = [
        *("pair", "size", "measured p10, µs", "median", "p90"),
        *("predicted, µs", "difference from p10"),
    ]
    return markdown(header, lines)


def collectives(
    predictor: Predictor, host: HostModel, rows: Iterable[Measurement], names: list[str]
) -> str:
    """Measured and predicted collectives."""
    lines = []
    known = [row for row in rows if row.algorithm not in (None, "chain")]
    for row in sorted(known, key=lambda row: (row.operation, str(row.algorithm), row.ranks)):
        case = predictor.case(names[: row.ranks], row.operation, str(row.algorithm), row.bytes)
        time = predictor.time_ns(case, host)
        lines.append(
            [
                f"{row.operation}, {row.algorithm}",
                str(row.ranks),
                in_bytes(row.bytes),
                f"{row.p10_ns / 1e3:,.1f}",
                f"{row.median_ns / 1e3:,.1f}",
                f"{row.p90_ns / 1e3:,.1f}",
                f"{time / 1e3:,.1f}",
                f"{100 * (time / row.p10_ns - 1):+.0f} %",
            ]
        )
    header = [
        *("collective", "nodes", "vector", "measured p10, µs", "median", "p90"),
        *("predicted, µs", "difference from p10"),
    ]
    return markdown(header, lines)


def in_bytes(size: int) -> str:
    """A size in words."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size // factor} {unit}"
    return f"{size} B"


def toml(host: HostModel) -> str:
    """The hosts' costs as keys of ``[mpi]``."""

    def points(name: str, values: Iterable[tuple[int, float]]) -> str:
        entries = "".join(
            f'    {{ size = "{in_bytes(size)}", time = "{time:.0f} ns" }},\n'
            for size, time in values
        )
        return f"{name} = [\n{entries}]\n"

    return (
        f'send_overhead = "{host.send_ns:.0f} ns"\nreceive_overhead = "{host.receive_ns:.0f} ns"\n'
        f'send_delay = "{host.delay_ns:.0f} ns"\n'
        + points("host_times", host.times)
        + points("delay_times", host.delays)
    )


if __name__ == "__main__":
    main()
