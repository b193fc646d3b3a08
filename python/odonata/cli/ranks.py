"""``odonata ranks``: where the time of ranks went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import display
from odonata.cli import options
from odonata.cli.shared import command, escape, new_table, print_json
from odonata.errors import NotRecordedError
from odonata.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.results import Result


@command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--perfetto",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the timeline of all ranks for trace viewers such as https://ui.perfetto.dev: as "
    "protocol buffers if the name ends in .pftrace, which is several times smaller than "
    ".json; compressed if the name ends in .gz. The file must not exist yet.",
)
@click.option(
    "--pipit",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the timeline as a CSV file of events, which Pipit reads. The file must not exist "
    "yet.",
)
@click.option(
    "--otf2",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the timeline as an OTF2 archive, which Vampir opens: DIR/traces.otf2. DIR must not "
    "exist yet, or be empty.",
)
@options.json
def ranks(
    directory: Path, perfetto: Path | None, pipit: Path | None, otf2: Path | None, as_json: bool
) -> None:
    """Print what the ranks of a run did with their time, and what its critical path consists of.

    DIRECTORY is the result of an earlier run of closed-loop jobs. Critical path and timeline need
    `[record] rank_activity = true` in its scenario; messages in the timeline also need `messages =
    "all"`.
    """
    from odonata.results import Result
    from odonata.results.perfetto import write_trace

    result = Result.load(directory)
    times, paths = _times(result), _paths(result)
    if not times:
        raise NotRecordedError(
            f"{directory}: none of its jobs has ranks that wait for each other: all offer traffic"
        )
    events = None
    if any(file is not None for file in (perfetto, pipit, otf2)) and not paths:
        raise NotRecordedError(
            f"{directory}: nothing was recorded of what its ranks did when; set "
            "[record] rank_activity = true in the scenario, or run it with "
            "--set record.rank_activity=true"
        )
    if perfetto is not None:
        events = write_trace(result, perfetto)
    if pipit is not None:
        from odonata.results.pipit import write_events

        write_events(result, pipit)
    if otf2 is not None:
        from odonata.results.otf2 import write_archive

        write_archive(result, otf2)
    if as_json:
        print_json({"directory": str(directory), "jobs": times, "critical_paths": paths})
        return
    console = terminal()
    _print_times(console, times)
    _print_paths(console, paths)
    if events is not None:
        console.print(f"\nTimeline: [bold]{escape(str(perfetto))}[/] ({events:,} events)")
        console.print("          open it at https://ui.perfetto.dev", style="dim")
    if otf2 is not None:
        console.print(f"\nTimeline: [bold]{escape(str(otf2 / 'traces.otf2'))}[/]")


def _times(result: Result) -> list[dict[str, Any]]:
    """Mean, least and most time of the ranks of each closed-loop job, by what they did."""
    import numpy as np

    from odonata.columns import numbers
    from odonata.plots.ranks import PARTS

    table = result.table("ranks")
    job_of_row = numbers(table, "job")
    names = result.jobs["name"].to_pylist()
    jobs = []
    for job in np.unique(job_of_row).tolist():
        chosen = job_of_row == job
        total = numbers(table, "total_ps")[chosen]
        parts = {}
        for column, name in PARTS:
            values = numbers(table, column)[chosen]
            parts[name] = {
                "mean_ps": float(values.mean()),
                "min_ps": int(values.min()),
                "max_ps": int(values.max()),
                "share": float(values.sum() / max(int(total.sum()), 1)),
            }
        jobs.append({"job": names[job], "ranks": int(chosen.sum()), "time": parts})
    return jobs


def _paths(result: Result) -> list[dict[str, Any]]:
    import numpy as np

    from odonata.columns import numbers
    from odonata.results.critical_path import critical_path, shares

    names = result.jobs["name"].to_pylist()
    paths = []
    for job in np.unique(numbers(result.table("rank_activity"), "job")).tolist():
        path = critical_path(result, job)
        parts = shares(path)
        visited = np.unique(numbers(path, "rank"))
        paths.append(
            {
                "job": names[job],
                "total_ps": sum(parts.values()),
                "parts_ps": dict(parts),
                "messages": int((numbers(path, "rank") != numbers(path, "to_rank")).sum()),
                "ranks": len(visited),
            }
        )
    return paths


def _print_times(console: Console, jobs: list[dict[str, Any]]) -> None:
    figures = ("mean", "least", "most", "share")
    table = new_table("Job", "Time of its ranks in", right=figures, keys=2, sections=True)
    for job in jobs:
        name = f"{escape(job['job'])} ({job['ranks']:,} ranks)"
        for part, time in job["time"].items():
            if time["max_ps"]:
                table.add_row(
                    name,
                    part,
                    display.duration(time["mean_ps"]),
                    display.duration(time["min_ps"]),
                    display.duration(time["max_ps"]),
                    display.percent(time["share"]),
                )
                name = ""
    console.print(table)


def _print_paths(console: Console, paths: list[dict[str, Any]]) -> None:
    for path in paths:
        console.print(
            f"[bold]Critical path of {escape(path['job'])}[/]: "
            f"{display.duration(path['total_ps'])}, {path['messages']:,} messages, "
            f"over {path['ranks']:,} ranks"
        )
        for part, time in path["parts_ps"].items():
            if time:
                share = display.percent(time / path["total_ps"])
                console.print(f"  {share:>7}  {display.duration(time):>9}  {part}")
