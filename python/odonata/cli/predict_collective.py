"""``odonata predict-collective``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli.numeric import Whole
from odonata.cli.shared import (
    changes_option,
    debug_option,
    escape,
    hosts_option,
    json_option,
    new_table,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.machines.prediction import Case, Prediction, Predictor


@click.command("predict-collective")
@click.argument("machine", type=click.Path(path_type=Path))
@hosts_option("The allocation, in rank order", required=True)
@click.option(
    "--collective",
    required=True,
    metavar="NAME",
    help="Which collective: allreduce, allgather, alltoall, broadcast, gather, reduce, "
    "reduce-scatter, scatter; MPI's names work, too.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Which algorithm: a name of Odonata's or a benchmark's (ring, ring_ompi, "
    "recursive_doubling_over, …), or auto: the rules of the machine's library. May be given "
    "several times.  [default: all algorithms of the collective, and which is fastest]",
)
@click.option(
    "--bytes",
    "sizes",
    required=True,
    multiple=True,
    metavar="SIZE",
    help="Size of a rank's vector, all blocks together: 8388608 or 8MiB. May be given several "
    "times.",
)
@click.option(
    "--per-node",
    type=Whole(1, 4096),
    default=1,
    show_default=True,
    metavar="N",
    help="Ranks on each host; consecutive ranks share a host.",
)
@click.option(
    "--engine",
    type=click.Choice(list(names.ENGINE)),
    help="What simulates the network.  [default: the machine's]",
)
@click.option(
    "--background",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Simulate the percentiles: calls run beside other jobs, placed on nodes that real jobs "
    "had. FILE has one job's list of hosts per line (squeue -h -t R -o %N), or is a folder "
    "or archive with one file per job.  [default: machine.background.jobs; without it the "
    "measured spread]",
)
@click.option(
    "--calls",
    type=Whole(16, 100_000),
    default=100,
    show_default=True,
    metavar="N",
    help="How many calls to simulate with --background.",
)
@changes_option(
    "Change a key of the machine's scenario. May be given several times.",
)
@json_option
@debug_option
def predict_collective(
    machine: Path,
    hosts: str,
    collective: str,
    algorithms: tuple[str, ...],
    sizes: tuple[str, ...],
    per_node: int,
    engine: Any,
    background: Path | None,
    calls: int,
    changes: tuple[str, ...],
    as_json: bool,
) -> None:
    """Predict how long a collective takes on hosts of a real machine.

    MACHINE is the scenario of a machine with its hosts, such as examples/machines/leonardo.toml.
    With --json: one object with median_ns, p10_ns and p90_ns for one size and algorithm, a list of
    such objects for several. Without --algorithm each object names the fastest algorithm and lists
    all of them under "predictions", the fastest first.
    """
    from odonata.machines.hosts import read_hosts
    from odonata.machines.names import operation_of
    from odonata.machines.prediction import Predictor, candidates

    names_of_hosts = read_hosts(hosts)
    scenario = read_scenario(machine, changes)
    predictor = Predictor(scenario, engine=engine, jobs=background, calls=calls)
    operation = operation_of(collective)
    counts = [_bytes(size) for size in sizes]
    first = predictor.case(names_of_hosts, operation, "auto", counts[0], per_node)
    names = algorithms or candidates(operation, first.ranks)
    rows = [
        [predictor.case(names_of_hosts, operation, name, size, per_node) for name in names]
        for size in counts
    ]
    predicted = _predict(predictor, rows)
    if algorithms:
        found = [one for row in predicted for one in row]
        if as_json:
            content = [one.to_dict() for one in found]
            print_json(content[0] if len(content) == 1 else content)
            return
        _show(predictor.name, found)
        return
    objects: list[dict[str, Any]] = []
    for row in predicted:
        ordered = sorted(row, key=lambda one: one.median_ns)
        objects.append(
            {
                **ordered[0].to_dict(),
                "fastest": ordered[0].algorithm,
                "predictions": [one.to_dict() for one in ordered],
            }
        )
        if not as_json:
            _show(predictor.name, ordered)
    if as_json:
        print_json(objects[0] if len(objects) == 1 else objects)


def _predict(predictor: Predictor, rows: list[list[Case]]) -> list[list[Prediction]]:
    from odonata.progress import PredictionsBar

    done = 0
    found: list[list[Prediction]] = []
    with PredictionsBar(progress_terminal(), sum(map(len, rows))) as bar:
        for row in rows:
            found.append([])
            for case in row:
                bar(done, f"{case.algorithm}, {case.size:,} B")
                found[-1].append(predictor.predict(case))
                done += 1
    return found


def _bytes(text: str) -> int:
    """A size: bytes, or a quantity with unit."""
    from odonata.errors import MachineError
    from odonata.units import Size, UnitError

    if text.strip().isdecimal():
        return int(text)
    try:
        return int(Size(text))
    except UnitError:
        raise MachineError(
            f'--bytes: found "{text}"; allowed: a number of bytes, or a size such as 8MiB'
        ) from None


def _show(machine: str, found: list[Prediction]) -> None:
    from rich.text import Text

    table = new_table()
    for heading in ("collective", "algorithm"):
        table.add_column(heading)
    for heading in ("bytes", "nodes", "ranks", "median", "p10", "p90"):
        table.add_column(heading, justify="right")

    def time(value: float | None) -> str:
        return "–" if value is None else f"{value / 1_000:,.1f} µs"

    for one in found:
        table.add_row(
            one.collective,
            Text(one.algorithm),
            f"{one.bytes:,}",
            f"{one.nodes:,}",
            f"{one.ranks:,}",
            time(one.median_ns),
            time(one.p10_ns),
            time(one.p90_ns),
        )
    out = terminal()
    out.print(f"{escape(machine)}, {found[0].engine} engine")
    out.print(table)
