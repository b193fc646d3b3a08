"""``odonata cluster advise``: whether now is a bad time to submit."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.numeric import SIZE, Whole
from odonata.cli.shared import command, escape, new_table, print_json
from odonata.errors import ClusterError
from odonata.terminal import terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import count_nodes, read_hosts, read_queue, read_topology

if TYPE_CHECKING:
    from odonata_live.cluster.advice import Advice
    from odonata_live.cluster.evaluation import Evaluation
    from odonata_live.cluster.nodes import Topology
    from odonata_live.cluster.outcomes import History, Kind, Outcome


@command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--watch",
    "watched",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Samples of `odonata cluster watch`: they say what utilisation is usual and what to "
    "expect next.",
)
@click.option(
    "--collective",
    metavar="NAME",
    help=("Only for this collective.  [default: all that were measured]"),
)
@click.option("--size", "size_bytes", type=SIZE, help="Only for this size.")
@click.option("--placement", metavar="NAME", help="Only for nodes placed this way.")
@options.hosts(
    "The nodes that the job would get, if known: shows the load on the links that leave their "
    "groups, which needs a topology"
)
@click.option(
    "--evaluate",
    is_flag=True,
    help=("Show how good this advice was for the later half of the runs."),
)
@cluster_options.squeue
@cluster_options.sinfo()
@cluster_options.topology()
@click.option(
    "--horizon",
    type=Whole(1, 168),
    default=24,
    metavar="HOURS",
    help="How far ahead to look for a better time.",
)
@cluster_options.timeout
@options.json
def advise(
    store: Path,
    watched: Path | None,
    collective: str | None,
    size_bytes: int | None,
    placement: str | None,
    hosts: str | None,
    evaluate: bool,
    squeue: Path | None,
    sinfo: Path | None,
    topology: Path | None,
    horizon: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Say whether now is a bad time to submit, from the probe measurements in STORE.

    Prints, for each kind of communication that was measured, the expected time, an interval that
    contains the time in nine of ten cases, the probability of a long-tailed run (one whose mean is
    above the 85th percentile of its kind), and whether to submit now or wait.
    """
    from odonata_live.cluster.advice import Advisor
    from odonata_live.cluster.advice import advise as advise_on
    from odonata_live.cluster.evaluation import evaluate as evaluate_on
    from odonata_live.cluster.outcomes import History, Outcome, outcomes_of
    from odonata_live.cluster.probes import Probes
    from odonata_live.cluster.watch import Store

    with Probes(store) as kept:
        outcomes = outcomes_of(kept.runs())
    history = History()
    if watched is not None:
        with Store(watched) as samples:
            history = History(samples.samples())
    if evaluate:
        judged = evaluate_on(outcomes, history)
        if as_json:
            print_json(judged.to_dict())
        else:
            _show_evaluation(judged)
        return
    advisor = Advisor(outcomes, history)
    kinds = [
        kind
        for kind in sorted(advisor.scale)
        if (collective is None or kind.collective == collective)
        and (size_bytes is None or kind.size_bytes == size_bytes)
        and (placement is None or kind.placement == placement)
    ]
    if not kinds:
        raise ClusterError(
            "nothing of this kind was measured; there are: "
            + "; ".join(_name(kind) for kind in sorted(advisor.scale))
        )
    busy = _busy_now(squeue, sinfo, _topology(topology, timeout, hosts is not None), hosts, timeout)
    jobs = [Outcome(time.time(), kind, busy) for kind in kinds]
    advices = [advise_on(advisor, job, history, horizon) for job in jobs]
    if as_json:
        rows = [
            {
                "collective": kind.collective,
                "bytes": kind.size_bytes,
                "placement": kind.placement,
                "ranks": kind.ranks,
                **advice.to_dict(),
            }
            for kind, advice in zip(kinds, advices, strict=True)
        ]
        print_json({"busy": busy, "outcomes": len(advisor.used), "advice": rows})
    else:
        _show(jobs, advices, len(advisor.used), busy, history)


def _topology(file: Path | None, timeout: float, needed: bool) -> Topology | None:
    from odonata_live.cluster import survey

    if file is not None:
        return read_topology(file)
    try:
        return survey.ask_topology(timeout)
    except ClusterError:
        if needed:
            raise
        return None


def _busy_now(
    squeue: Path | None,
    sinfo: Path | None,
    topology: Topology | None,
    hosts: str | None,
    timeout: float,
) -> dict[str, float]:
    from odonata_live.cluster.probe import figures_of

    jobs, total = read_queue(squeue, timeout), count_nodes(sinfo, timeout)
    own = read_hosts(hosts) if hosts else ()
    if topology is not None and (
        unknown := [name for name in own if name not in topology.leaf_of_node]
    ):
        raise ClusterError(f"--hosts: node {unknown[0]} is not in the topology")
    inside = os.environ.get("SLURM_JOB_ID")
    exclude = (inside,) if inside and squeue is None else ()
    return figures_of(jobs, total, topology, own, exclude)


def _name(kind: Kind) -> str:
    if kind.collective == "command":
        return f"command, {kind.placement}, {kind.ranks} ranks"
    return f"{kind.collective} of {kind.size_bytes} B, {kind.placement}, {kind.ranks} ranks"


def _show(
    jobs: list[Outcome],
    advices: list[Advice],
    outcomes: int,
    busy: dict[str, float],
    history: History,
) -> None:
    out = terminal()
    answer = ", ".join(
        f"{name} = {busy[name]:.3f}"
        for name in ("b", "b_between_groups", "exposure")
        if name in busy
    )
    out.print(f"now: {answer}")
    if history.times and history.times[0] < jobs[0].time_s - 86_400:
        values = history.values["b"]
        below = float((values <= busy["b"]).mean())
        out.print(f"b was so low or lower {100 * below:.0f} % of the time")
    for job, advice in zip(jobs, advices, strict=True):
        out.print(f"[bold]{escape(_name(job.kind))}[/bold]")
        now = advice.now
        out.print(
            f"  expected {_time(now.expected_us)} ({_time(now.low_us)} to {_time(now.high_us)}); "
            f"long-tailed (above {_time(now.long_us)}) with {100 * now.p_long:.0f} %"
        )
        if advice.wait_h:
            at = time.strftime("%a %H:00", time.localtime(job.time_s + 3600 * advice.wait_h))
            out.print(
                f"  wait until about {at}: then {_time(advice.then.expected_us)}, "
                f"{100 * advice.then.p_long:.0f} %; {advice.reason}"
            )
        else:
            out.print(f"  submit now: {advice.reason}")
    out.print(f"from {outcomes} measured outcomes")


def _time(us: float) -> str:
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if us >= factor:
            return f"{us / factor:.3g} {unit}"
    return f"{us:.3g} µs"


def _show_evaluation(judged: Evaluation) -> None:
    out = terminal()
    out.print(
        f"{judged.runs} outcomes predicted from earlier ones; "
        f"{100 * judged.long_share:.0f} % were long-tailed"
    )
    table = new_table("predictor", right=("Brier score", "precision", "recall"))
    rows: list[tuple[str, Any]] = [
        ("model", judged.model),
        ("b above a threshold", judged.b_threshold),
        ("the same, yes or no", judged.b_hard),
        ("base rate", judged.base_rate),
    ]
    for name, score in rows:
        parts = (score.precision, score.recall)
        answer = ("none" if part is None else f"{part:.2f}" for part in parts)
        table.add_row(name, f"{score.brier:.4f}", *answer)
    out.print(table)
    out.print(
        f"better than the threshold by {judged.advantage:+.4f} "
        f"({judged.advantage_low:+.4f} to {judged.advantage_high:+.4f}, 95 %)"
    )
    out.print(f"inside the interval of nine in ten: {100 * judged.coverage:.0f} %")
    for predicted, seen, count in judged.calibration:
        if not math.isnan(predicted):
            out.print(f"  said {100 * predicted:.0f} %, were {100 * seen:.0f} % of {count}")
