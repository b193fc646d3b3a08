"""``odonata replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.numeric import Number, Whole
from odonata.cli.shared import command, notices, print_json, progress_terminal, read_scenario
from odonata.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.simulate.replaying import ReplayedTrace


@command()
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--network",
    type=click.Path(path_type=Path),
    metavar="SCENARIO",
    help="Replay on the network of this scenario; the traces replace its jobs. Default: the "
    "smallest balanced dragonfly with enough nodes.",
)
@options.changes(
    "Change a key of the scenario, e.g. network.routing=ugal-l or job.0.placement=spread. "
    "May be given several times."
)
@click.option(
    "--compute-scale",
    type=Number(),
    metavar="X",
    help="Factor for the time between calls; 0 replays only the communication.  [default: 1]",
)
@click.option(
    "--gap", metavar="TIME", help="Replace every time between two calls by this, e.g. 1us."
)
@click.option("--ranks-per-node", type=Whole(1), default=1, help="Ranks on each node.")
@click.option(
    "--repeat-rank",
    type=click.Choice(list(names.REPEAT_RANK)),
    help="Let the DUMPI trace of one rank (.bin) stand for all ranks: peers are at the same "
    "distance as the recorded ones (offset), or differ in the same bits (xor).",
)
@click.option(
    "--ranks",
    type=Whole(1),
    help="With --repeat-rank: number of ranks.  [default: as the trace says]",
)
@click.option(
    "--start",
    metavar="BORDER",
    help="Replay MPI traces from here on: time=10ms (after the trace's start), region=NAME (where "
    "a rank first enters a function, of the program or of MPI), region=NAME,iteration=11 "
    "(the 11th time), marker=NAME (OTF2).",
)
@click.option(
    "--end",
    metavar="BORDER",
    help="Replay MPI traces up to here: time=20ms, region=NAME (where a rank leaves the function "
    "for the last time), region=NAME,iteration=20, marker=NAME.",
)
@click.option(
    "--workload",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replay the jobs of a CODES workload file instead of FILE...",
)
@click.option(
    "--allocation",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --workload: the allocation file, which gives each job's nodes.",
)
@click.option(
    "--tracer",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Replay the jobs of a TraceR configuration with its rank maps, instead of FILE...",
)
@click.option("--check", is_flag=True, help="Only check the traces and print what they hold.")
@options.out("Directory for the results. Default: results/NAME-1, results/NAME-2 …")
@options.threads
@options.json
@options.pictures
@options.trace_formats
def replay(
    files: tuple[Path, ...],
    network: Path | None,
    changes: tuple[str, ...],
    compute_scale: float | None,
    gap: str | None,
    ranks_per_node: int,
    repeat_rank: names.RepeatRank | None,
    ranks: int | None,
    start: str | None,
    end: str | None,
    workload: Path | None,
    allocation: Path | None,
    tracer: Path | None,
    check: bool,
    out: Path | None,
    threads: int | None,
    as_json: bool,
    no_plots: bool,
    all_plots: bool,
    quiet: bool,
) -> None:
    """Replay traces of real applications side by side, each as a job.

    Every trace is first read once, to check that every message sent is also received.
    """
    drawn = options.pictures_to_draw(no_plots=no_plots, all_plots=all_plots)
    if compute_scale is not None and gap is not None:
        raise click.UsageError("--gap replaces what --compute-scale scales; leave one of them out")
    if (workload is None) != (allocation is None):
        raise click.UsageError("--workload and --allocation go together")
    if sum((workload is not None, tracer is not None, bool(files))) != 1:
        message = "name traces, or a workload of CODES with --workload, or --tracer with its file"
        raise click.UsageError(message)
    if ranks is not None and repeat_rank is None:
        raise click.UsageError("--ranks has a meaning with --repeat-rank only")
    borders = {"start": _border("--start", start), "end": _border("--end", end)}
    if not files and (start is not None or end is not None):
        message = "--start and --end are for traces, not for a workload of CODES or TraceR"
        raise click.UsageError(message)

    from odonata.simulate.replaying import check_trace, codes_traces, replay_scenario, tracer_traces

    console = progress_terminal()
    if quiet:
        console.quiet = True
    with console.status("Reading traces"):
        if workload is not None and allocation is not None:
            traces = codes_traces(workload, allocation)
        elif tracer is not None:
            traces = tracer_traces(tracer)
        else:
            traces = [
                check_trace(file, ranks=ranks, repeat_rank=repeat_rank, **borders) for file in files
            ]
    if check:
        if as_json:
            print_json({"traces": [_as_json(trace) for trace in traces]})
        else:
            _print(terminal(), traces)
        return
    scenario = replay_scenario(
        traces,
        network=None if network is None else read_scenario(network, ()),
        compute_scale=compute_scale,
        gap=gap,
        ranks_per_node=ranks_per_node,
        repeat_rank=repeat_rank,
        **borders,
    )
    if changes:
        scenario = scenario.with_set(changes)

    from odonata.output import claim
    from odonata.progress import ProgressBar
    from odonata.report.summaries import print_summary
    from odonata.simulate import run as simulate

    with claim(out, scenario.job_names()[0]) as held:
        directory = held.directory
        if not quiet and not as_json:
            _print(terminal(), traces)
        with ProgressBar(console) as bar:
            result = simulate(scenario, threads=threads, progress=bar)
        result.claim = held
        with console.status("Writing results"):
            result.save(directory, plots=drawn, notice=notices(console))
    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    elif not quiet:
        print_summary(terminal(), result, directory)


def _border(option: str, text: str | None) -> dict[str, Any] | None:
    """Reads a border such as ``region=timestep,iteration=11``.

    Raises:
        click.BadParameter: If it is none.
    """
    if text is None:
        return None
    kind, equals, rest = text.partition("=")
    allowed = "time=DURATION, region=NAME or marker=NAME, the latter two with ,iteration=N"
    if not equals or kind not in ("time", "region", "marker") or not rest:
        raise click.BadParameter(f"{text!r} is no border; allowed: {allowed}", param_hint=option)
    # Names of functions may have commas of their own.
    name, separator, number = rest.rpartition(",iteration=")
    if kind == "time" or not separator:
        return {kind: rest}
    if not number.isdecimal() or int(number) < 1:
        message = f"iteration {number!r} in {text!r}; allowed: a whole number from 1"
        raise click.BadParameter(message, param_hint=option)
    return {kind: name, "iteration": int(number)}


def _as_json(trace: ReplayedTrace) -> dict[str, object]:
    return {
        "file": str(trace.file),
        "format": trace.format,
        "ranks": trace.ranks,
        "facts": dict(trace.facts),
    }


def _print(console: Console, traces: list[ReplayedTrace]) -> None:
    """Prints what traces hold, for people."""
    from odonata.report.summaries import print_figures

    for trace in traces:
        print_figures(console, f"{trace.file}: {trace.format}", dict(trace.facts))
        console.print()
