"""``odonata mapping``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import display, names
from odonata.cli import options
from odonata.cli.shared import (
    command,
    escape,
    new_table,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.output import check_new_file, new_file, write_file
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.report.tables import WholeTable


@command()
@options.scenario
@click.option(
    "--compare",
    is_flag=True,
    help="Compare the mappings that Odonata knows, instead of the scenario's.",
)
@click.option("--job", "name", metavar="NAME", help="Only the job of this name.")
@options.out(
    "Write the mapping of the job as a file that mapping = { file = … } reads; must not exist yet.",
    metavar="FILE",
)
@options.json
def mapping(
    scenario: Path,
    changes: tuple[str, ...],
    compare: bool,
    name: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Say what the jobs' mappings of ranks to nodes cost, without simulating.

    The traffic matrix follows from what each job does. Routes are minimal, with equal probability
    for every choice on the way; jobs do not affect each other. Hop-bytes are bytes times links
    between routers. The last columns show how long the busiest link of each kind is occupied,
    which is a lower bound on the time of the exchange.
    """
    from odonata.mapping import compare_mappings, mapping_costs

    what = read_scenario(scenario, changes)
    if compare and out is not None:
        raise click.UsageError("--out writes the scenario's own mapping; leave --compare out")
    if out is not None:
        check_new_file(out)
    found: list[dict[str, Any]] = []
    if compare:
        for compared, costs, why in compare_mappings(what):
            if costs is None:
                message = f"{compared}: {why.splitlines()[0] if why else why}"
                progress_terminal().print(f"[yellow]Left out:[/] {escape(message)}")
            found += costs or []
    else:
        found = mapping_costs(what)
    if name is not None:
        known = list(dict.fromkeys(job["job"] for job in found))
        found = [job for job in found if job["job"] == name]
        if not found:
            raise click.UsageError(f"--job: there is no job {name}; there are: {', '.join(known)}")
    if out is not None:
        _write(found, out)
    if as_json:
        print_json({"jobs": found})
        return
    console = terminal()
    for job in dict.fromkeys(row["job"] for row in found):
        rows = [row for row in found if row["job"] == job]
        first = rows[0]
        sent = display.size(first["bytes"])
        period = "an iteration" if first["per_iteration"] else "in all"
        own = "" if compare else f", mapping {escape(first['mapping'])}"
        console.print(
            f"[bold]{escape(job)}[/]: {first['ranks']:,} ranks on {first['nodes']:,} nodes "
            f"send {sent} {period}{own}",
            soft_wrap=True,
        )
        console.print(_table(rows, compare))
    if out is not None:
        console.print(f"Written: [bold]{escape(str(out))}[/]", soft_wrap=True)


def _table(rows: list[dict[str, Any]], compare: bool) -> WholeTable:
    table = new_table(*(["Mapping"] if compare else []), gap=1, keys=1 if compare else 0)
    for column in ("node", "router", "group"):
        table.add_column(column, over="within", justify="right")
    for column in ("hop-\nbytes", "mean\nhops"):
        table.add_column(column, justify="right")
    for column in names.LINK_KIND:
        table.add_column(column, over="busiest", justify="right")
    for row in rows:
        shares = [row[f"share_in_{where}"] for where in ("node", "router", "group")]
        busiest = [row[f"busiest_{kind}_ns"] for kind in names.LINK_KIND]
        # The rows of swaps follow the mapping from which they start.
        name = row["mapping"].replace("graph-bisection, swapped for ", " + swap, ")
        name = name.replace("hop-bytes", "bytes").replace("link load", "load")
        table.add_row(
            *([escape(name)] if compare else []),
            *(display.percent(share) for share in shares),
            display.size(row["hop_bytes"]),
            display.decimal(row["mean_hops"]),
            *(display.duration(None if ns is None else ns * 1e3) for ns in busiest),
        )
    return table


def _write(found: list[dict[str, Any]], path: Path) -> None:
    """Writes the mapping of the only job."""
    if len(found) != 1:
        names = ", ".join(job["job"] for job in found)
        raise click.UsageError(f"--out writes one job's mapping; choose it with --job: {names}")
    job = found[0]
    text = (
        f"# {job['job']}: {job['ranks']} ranks, {job['mapping']}\n"
        "# Index of each rank's node among the job's nodes, rank after rank.\n"
    )
    text += "".join(f"{node}\n" for node in job["node_of_rank"])
    with new_file(path) as partial:
        write_file(partial, text)
