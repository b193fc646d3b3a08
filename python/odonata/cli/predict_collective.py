"""``odonata predict-collective``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.numeric import QuantityType, Whole
from odonata.cli.shared import (
    command,
    escape,
    new_table,
    notices,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odonata.machines.predicted import Prediction
    from odonata.units import Duration, Size


_SIZE, _DURATION = QuantityType("Size", "SIZE"), QuantityType("Duration", "TIME")


@command("predict-collective")
@click.argument("machine", type=click.Path(path_type=Path))
@options.hosts("The allocation, in rank order", required=True)
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
    help="Size of a rank's vector, all blocks together (of an all-to-all: what it sends to all "
    "ranks, not to each): 8388608 or 8MiB. May be given several times.",
)
@click.option(
    "--per-node",
    type=Whole(1, 4096),
    default=1,
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
    help="How many calls to simulate with --background.",
)
@click.option(
    "--beside",
    type=click.Choice(["incast", "all-to-all"]),
    help="Predict as well how much longer calls take beside a job that sends as much as it can: "
    "incast, all to the first of its hosts, or all-to-all.",
)
@click.option("--beside-hosts", metavar="HOSTS", help="With --beside: the job's hosts, as --hosts.")
@click.option(
    "--beside-bytes",
    type=_SIZE,
    default="2 MiB",
    help="With --beside: size of each of its messages.",
)
@click.option(
    "--burst",
    type=_DURATION,
    help="With --beside: the job sends what its links carry in this time, then pauses.",
)
@click.option("--pause", type=_DURATION, help="With --burst: for this long.")
@click.option(
    "--beside-calls",
    type=Whole(1, 1000),
    default=5,
    help="With --beside: how many calls to simulate, each in another phase of the job.",
)
@options.changes("Change a key of the machine's scenario. May be given several times.")
@options.out(
    "Directory for the predictions as tables, for `odonata report` and `odonata show`. Default: "
    "none."
)
@options.json
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
    beside: Any,
    beside_hosts: str | None,
    beside_bytes: Size,
    burst: Duration | None,
    pause: Duration | None,
    beside_calls: int,
    changes: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Predict how long a collective takes on hosts of a real machine.

    MACHINE is the scenario of a machine with its hosts, such as examples/machines/leonardo.toml.
    With --json: one object with median_ns, p10_ns and p90_ns for one size and algorithm, a list of
    such objects for several. Without --algorithm each object names the fastest algorithm and lists
    all of them under "predictions", the fastest first.
    """
    from odonata.machines.aggressor import Aggressor
    from odonata.machines.hostmodel import HostModel
    from odonata.machines.hosts import read_hosts
    from odonata.machines.prediction import predict_collective as predict
    from odonata.progress import PredictionsBar

    aggressor = None
    if beside is not None:
        if beside_hosts is None:
            raise click.UsageError("--beside needs --beside-hosts: where the other job runs")
        on = tuple(read_hosts(beside_hosts))
        aggressor = Aggressor(beside, on, beside_bytes, burst, pause, beside_calls)
    elif beside_hosts is not None or burst is not None or pause is not None:
        raise click.UsageError("--beside-hosts, --burst and --pause need --beside")
    scenario = read_scenario(machine, changes)
    host = HostModel.of(scenario, per_node)
    if not (host.send_ns or host.receive_ns or host.delay_ns or host.times or host.call_ns):
        text = (
            "the hosts of this machine are not calibrated: times are those of the network alone; "
            "`odonata machine new` makes a machine of measurements"
        )
        notices(progress_terminal())(text)
    with PredictionsBar(progress_terminal()) as bar:
        found = predict(
            scenario,
            hosts,
            collective,
            sizes,
            algorithm=algorithms,
            per_node=per_node,
            engine=engine,
            background=background,
            calls=calls,
            beside=aggressor,
            out=out,
            progress=bar,
        )
    name = (scenario.machine.name if scenario.machine else "") or "the machine"
    rows = [found] if algorithms else [[*row] for _, row in groupby(found, lambda one: one.bytes)]
    if not as_json:
        for row in rows:
            print_predictions(name, row)
        if out is not None:
            terminal().print(f"Results: {out}", markup=False, soft_wrap=True)
        return
    content = [one.to_dict() for one in found]
    if not algorithms:
        content = [
            {
                **row[0].to_dict(),
                "fastest": row[0].algorithm,
                "predictions": [one.to_dict() for one in row],
            }
            for row in rows
        ]
    print_json(content[0] if len(content) == 1 else content)


def print_predictions(machine: str, found: Sequence[Prediction]) -> None:
    """Prints predictions as a table."""
    of_nccl = any(one.of_nccl for one in found)
    bus = ("bus bandwidth",) if of_nccl else ()
    table = new_table("algorithm", right=("bytes", "median", "p10", "p90", *bus))

    def time(value: float | None) -> str:
        return "–" if value is None else f"{value / 1_000:,.1f} µs"

    for one in found:
        table.add_row(
            escape(" ".join(filter(None, (one.algorithm, one.protocol)))),
            f"{one.bytes:,}",
            time(one.median_ns),
            time(one.p10_ns),
            time(one.p90_ns),
            *([f"{one.bus_bandwidth:.2f} GB/s"] if of_nccl else []),
        )
    out = terminal()
    first = found[0]
    out.print(
        f"{escape(machine)}, {first.engine} engine: {first.collective} of {first.ranks:,} ranks on "
        f"{first.nodes:,} hosts"
    )
    out.print(table)
    for one in found:
        if (other := one.beside) is not None:
            out.print(
                f"{escape(one.algorithm)}, {one.bytes:,} B, beside an {other.kind} on "
                f"{other.hosts} hosts: {other.median:.2f} times as long ({other.least:.2f} to "
                f"{other.most:.2f} in {other.calls} calls)"
            )
            if other.most < 1.005:
                out.print(
                    "  Its queues never reach these calls: both share no link that it fills. Hosts "
                    "nearer by, or --set network.routing=… that spreads traffic, may change that.",
                    soft_wrap=True,
                )
