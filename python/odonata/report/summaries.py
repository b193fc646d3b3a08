"""What the terminal shows: summaries that a newcomer understands.

Each is printed on a console, with the directory where its tables and pictures lie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console
from rich.markup import escape

from odonata import display
from odonata.application import Training
from odonata.motif import Collective
from odonata.report.tables import WholeTable
from odonata.results import Result
from odonata.results.summary import aborted_jobs, is_open_loop, per_node, saturated_jobs
from odonata.scenario import Scenario
from odonata.terminal import has_edge

if TYPE_CHECKING:
    from odonata.study.design import Design
    from odonata.study.interference import Interference
    from odonata.study.saturation import Saturation


def print_summary(console: Console, result: Result, directory: Path | None) -> None:
    """Prints how a run went."""
    summary = result.summary_dict
    run = summary["run"]
    console.print()
    if run["title"]:
        console.print(f"[bold]{escape(run['title'])}[/]")
    machine = f"{run['network']}: {size_of(run, result.scenario)}, {run['routers']:,} routers"
    console.print(escape(machine), style="dim")
    console.print(f"{escape(run['routing'])} routing, seed {run['seed']}", style="dim")
    console.print(_cost(run, result.timing), style="dim", soft_wrap=True)
    console.print(_job_table(summary["jobs"], placed_on(result.scenario)))
    classes = result.table("traffic_classes").to_pylist()
    if classes:
        console.print(_class_table(classes))
    if summary["parallelism"]:
        console.print(_parallelism_table(summary))
        for line in (*bubbles(summary), *compute_rates(result.scenario)):
            console.print(line, style="dim", markup=False)
    if "collectives" in summary:
        console.print(_collectives_table(summary))
        one_order = one_order_inside(result.scenario)
        if one_order:
            console.print(one_order, style="dim", markup=False)
    for remark in _remarks(summary, result.scenario):
        console.print(remark)
    held = result.table("held_pairs").to_pylist()
    if held:
        console.print(_held_back(len(held), max(held, key=lambda pair: pair["held_ps"])))
    console.print(_link_table(summary["link_classes"]))
    busiest = summary["most_loaded_links"][:5]
    if busiest:
        console.print("[bold]Most loaded links between routers[/]")
        for link in busiest:
            console.print(
                f"  {display.percent(link['utilisation']):>7} busy, "
                f"{display.percent(link['stall']):>7} blocked   {escape(link['name'])}"
            )
    console.print(_conservation(summary), style="dim")
    if directory is not None:
        console.print(f"\nResults: [bold]{escape(str(directory))}[/]")
        overview = directory / "overview.png"
        if overview.exists():
            pictures = sorted(path.stem for path in directory.glob("*.png") if path != overview)
            console.print(f"Picture: [bold]{escape(str(overview))}[/]")
            if pictures:
                beside = f"         and beside it {', '.join(pictures)}"
                console.print(beside, style="dim", soft_wrap=True)


def print_comparison(
    console: Console, content: Mapping[str, Any], table: pa.Table, directory: Path
) -> None:
    """Prints what differs between results.

    Args:
        console: Where to.
        content: `Comparison.content`.
        table: `Comparison.table`.
        directory: Where its tables and its picture lie.
    """
    labels = list(content["results"])
    console.print()
    if content["settings"]:
        shown = _figures("Setting", *(escape(label) for label in labels))
        for key, values in content["settings"].items():
            shown.add_row(escape(key), *(escape(value) for value in values))
        console.print(shown)
    else:
        console.print("The scenarios are the same, but for the seed perhaps.", style="dim")
    shown = WholeTable(keys=2, gap=2, sections=True)
    shown.add_column("Job or links", style="bold")
    shown.add_column("figure", justify="right")
    for label in labels:
        shown.add_column(escape(label), justify="right")
        if label != labels[0]:
            shown.add_column("change", justify="right", joined=True)
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        rows.setdefault((row["scope"], row["name"], row["quantity"]), []).append(row)
    last = ""
    for (scope, name, quantity), group in rows.items():
        if not any(row["value"] for row in group):
            continue
        title = f"{name} links" if scope == "link_class" else name
        cells = []
        for row in group:
            words, value = _compared_value(quantity, row["value"])
            cells.append(value)
            if row["result"] != labels[0]:
                cells.append(_change(row))
        shown.add_row(escape(title) if title != last else "", words, *cells)
        last = title
    console.print(shown)
    for name in content["left_out"]:
        console.print(f"Not in all results: {escape(name)}", style="dim")
    for sentence in content.get("notices", ()):
        console.print(sentence, markup=False, soft_wrap=True)
    if any(row["differs"] is not None for row in table.to_pylist()):
        console.print("[bold]*[/]: the 95 % interval excludes that nothing changed.")
    elif "job" in {scope for scope, _, _ in rows}:
        console.print(
            "Single runs: there is no telling chance from effect. Run with --replications to know.",
            style="dim",
        )
    console.print(f"Results: [bold]{escape(str(directory))}[/]", soft_wrap=True)
    console.print(f"Picture: [bold]{escape(str(directory / 'comparison.png'))}[/]", soft_wrap=True)


def _compared_value(quantity: str, value: float) -> tuple[str, str]:
    """What a figure is called, and its value."""
    from odonata.plots.comparison import name_of

    if quantity.startswith(("utilisation", "stall")):
        return name_of(quantity), display.percent(value)
    return name_of(quantity), readable(quantity, value)[1]


def _change(row: Mapping[str, Any]) -> str:
    """A change in per cent with its interval, with a star if it is one for certain.

    An interval that is wider than the value itself says only that nothing can be told.
    """
    if row["change"] is None:
        return display.NO_VALUE
    text = f"{100 * row['change']:+.1f} %"
    if row["change_low"] is not None:
        half_width = (row["change_high"] - row["change_low"]) / 2
        if half_width > 1 and not row["differs"]:
            return "not told apart"
        text += f" ± {100 * half_width:.1f}"
    return f"[bold]* {text}[/]" if row["differs"] else text


#: Figures of a job that its replications show, and what people call them.
_REPLICATED = (
    ("run_time_ps", "run time"),
    ("message_latency_mean_ps", "mean latency"),
    ("message_latency_p99_ps", "99th percentile"),
    ("accepted_bytes_per_s", "delivered"),
    ("bus_bytes_per_s", "busbw"),
    ("mean_routers_visited", "routers visited"),
)


def print_replications(
    console: Console, scenario: Scenario, table: pa.Table, directory: Path
) -> None:
    """Prints the main figures of replications, a table of ``replicate``, with their intervals."""
    from odonata.study.replication import figures_of_jobs

    count = table["replications"][0].as_py()
    console.print()
    if scenario.title:
        console.print(f"[bold]{escape(scenario.title)}[/]")
    last = scenario.seed + count - 1
    console.print(f"{count} replications, seeds {scenario.seed} to {last}", style="dim")
    shown = _figures("Job", "figure", "mean", "± 95 %", "deviation", keys=2)
    for name, figures in figures_of_jobs(table).items():
        for quantity, words in _REPLICATED:
            row = figures.get(quantity)
            if row is None or not row["mean"]:
                continue
            shown.add_row(
                escape(name),
                words,
                readable(quantity, float(row["mean"]))[1],
                display.percent(row["ci95"] / row["mean"]),
                display.percent(row["deviation"] / row["mean"]),
            )
    console.print(shown)
    console.print(f"Results: [bold]{escape(str(directory))}[/]")


def print_saturation(console: Console, title: str, found: Saturation, directory: Path) -> None:
    """Prints a load-latency curve and where it ends."""
    console.print()
    if title:
        console.print(f"[bold]{escape(title)}[/]")
    shown = _figures("Offered load", "delivered", "mean latency", "± 95 %", "p99", "")
    for point in found.points:
        half = point.latency_ci95_ps / point.latency_ps if point.latency_ps else float("nan")
        shown.add_row(
            f"{point.load:.4g}",
            display.percent(point.accepted_bytes_per_s / point.offered_bytes_per_s),
            display.duration(point.latency_ps),
            display.percent(half),
            display.duration(point.latency_p99_ps),
            "saturated" if point.saturated else "",
        )
    console.print(shown)
    if any(math.isnan(point.latency_ps) for point in found.points):
        console.print(
            f"{display.NO_VALUE}: no message that was created after the warm-up arrived before "
            "the end.",
            style="dim",
        )
    from odonata.study.saturation import answer

    if found.by_seed:
        first = next(iter(found.by_seed))
        console.print(f"The table is of seed {first}; what follows, of all seeds.", style="dim")
    console.print(
        f"[bold]{answer(found).capitalize()}[/]; delivers a load of {found.mean_throughput:.4g} "
        "at most."
    )
    if math.isnan(found.load):
        console.print("--highest offers more.", style="dim")
    elif not found.by_seed:
        console.print(
            "These are the last loads of the search, with one seed; --seeds N gives a confidence "
            "interval.",
            style="dim",
        )
    console.print(f"Results: [bold]{escape(str(directory))}[/]")


def print_design(console: Console, found: Design, directory: Path) -> None:
    """Prints networks for a number of nodes side by side."""
    console.print()
    rule = "full bandwidth at the least cost" if found.budget is None else "most bandwidth"
    within = "" if found.budget is None else f" for at most {found.budget:,.6g}"
    console.print(
        f"[bold]{found.who}, switches of at most {found.radix} ports, {found.bandwidth}[/]"
    )
    text = f"Of each family {rule}{within}; price, {found.dear_as_one} = 1"
    console.print(text, style="dim", soft_wrap=True)
    for engine in found.engines:
        for per_money in (False, True):
            nodes = "nodes" if found.interfaces == 1 else "interfaces"
            shown = _figures("Network", nodes, "price", *found.traffic)
            for one in found.networks:
                figures = [
                    display.decimal(found.per_money(one, traffic, engine))
                    if per_money
                    else display.percent(one.share(traffic, engine))
                    for traffic in found.traffic
                ]
                price = f"{one.relative_price:.2f}"
                shown.add_row(escape(one.name), f"{one.nodes:,}", price, *figures)
            what = f"for the same money, {escape(found.reference.name)} = 1"
            what = what if per_money else "share of the nodes' bandwidth"
            # Said once, above the shares.
            is_last = len(found.engines) > 1 or engine != "flow" or per_money
            only = "" if is_last else "; --packets decides"
            console.print(f"[bold]By {engine}s{only}:[/] {what}")
            console.print(shown)
    shown = _figures("Network", "switches", "ports")
    shown.add_column("layout", prose=True)
    for one in found.networks:
        shown.add_row(escape(one.name), f"{one.switches:,}", str(one.radix), escape(one.layout))
    console.print(shown)
    for name, why in found.left_out.items():
        text = f"Left out: {name}: {why}"
        console.print(text, markup=False, soft_wrap=not has_edge(console))
    where = f"Results: {directory} (report.html, design.png, design.csv, a scenario of each)"
    console.print(where, markup=False, soft_wrap=True)


def print_interference(console: Console, found: Interference, directory: Path) -> None:
    """Prints how jobs slow each other down."""
    from odonata.study.interference import figures

    answer = figures(found)
    console.print()
    if found.scenario.title:
        console.print(f"[bold]{escape(found.scenario.title)}[/]")
    console.print(escape(_setting(found.scenario)), style="dim", soft_wrap=True)
    columns = ("alone", "with all", "mean", "median", "p99")
    shown = _figures("Message latency", *columns)
    for job in answer["jobs"]:
        slowdown = job["slowdown"]
        times = [display.duration(job[key]["mean"]) for key in ("alone_ps", "together_ps")]
        ratios = [_times(slowdown[key]) for key in ("mean", "p50", "p99")]
        mark = " (saturated)" if job["job"] in answer["saturated"] else ""
        shown.add_row(escape(job["job"]) + mark, *times, *ratios)
    console.print(shown)
    ended = [job for job in answer["jobs"] if (job["alone_ps"].get("run_time") or 0) > 0]
    if ended:
        shown = _figures("Run time", "alone", "with all", "slowdown")
        for job in ended:
            times = [display.duration(job[key]["run_time"]) for key in ("alone_ps", "together_ps")]
            shown.add_row(escape(job["job"]), *times, _times(job["slowdown"]["run_time"]))
        console.print(shown)
    runs = [f"{escape(one['run'])} {display.duration(one['end_ps'])}" for one in answer["lengths"]]
    if runs:
        console.print(f"Simulated: {', '.join(runs)}", style="dim", soft_wrap=True)
    for sentence in (*answer["saturated"].values(), *answer["unfinished"]):
        console.print(f"[yellow]Note:[/] {escape(sentence)}", soft_wrap=not has_edge(console))
    if answer["matrix"]:
        caused = found.caused()
        shown = _figures("Slowdown of the mean by", *(escape(name) for name in found.names))
        for number, name in enumerate(found.names):
            if any(not math.isnan(value) for value in caused[number]):
                shown.add_row(escape(name), *(_times(value) for value in caused[number]))
        console.print(shown)
    for job in answer["jobs"]:
        if not job["waited_for"]:
            continue
        shares = [f"{escape(by)} {display.percent(p)}" for by, p in job["waited_for"].items()]
        console.print(f"[bold]{escape(job['job'])}[/] waited at links for {', '.join(shares)}")
        for link in job["links"][:3]:
            waited = display.duration(link["waited_ps"])
            console.print(f"  {waited:>9} for {escape(link['by_name'])} at {link['link_name']}")
    for held in answer["held"]:
        whose = f" of [bold]{escape(held['name'])}[/]"
        console.print(_held_back(held["pairs"], held["longest"], whose))
    console.print(f"Results: [bold]{escape(str(directory))}[/]")


def _setting(scenario: Scenario) -> str:
    """Network, routing and placement of a scenario, defaults as well."""
    form = scenario.normalised()
    family, routing = form["network"]["topology"]["family"], form["network"]["routing"]["algorithm"]
    named = {"explicit": "listed nodes"}
    chosen = {job["name"]: job["placement"]["policy"] for job in form["jobs"]}
    policies = {name: named.get(policy, policy) for name, policy in chosen.items()}
    placed = ", ".join(dict.fromkeys(policies.values()))
    if len({*policies.values()}) > 1:
        placed = ", ".join(f"{name} {policy}" for name, policy in policies.items())
    return f"{family}, {routing} routing, seed {scenario.seed}; placement: {placed}"


def _times(ratio: float | None) -> str:
    """A slowdown, e.g. ``1.25×``."""
    if ratio is None or math.isnan(ratio):
        return display.NO_VALUE
    return f"{ratio:.3g}×" if ratio >= 100 else f"{ratio:.2f}×"


def print_figures(console: Console, title: str, figures: Mapping[str, Any]) -> None:
    """Prints named figures line by line; the unit at the end of a name becomes readable.

    Args:
        console: Where to.
        title: Headline.
        figures: By name, e.g. ``{"peak_rss_bytes": 1_000_000}``; nested ones are left out.
    """
    console.print(f"[bold]{escape(title)}[/]")
    rows = []
    for name, value in figures.items():
        least = name.removesuffix("_max") + "_min"
        if name.endswith("_max") and least in figures:
            # One line for both ends of a range.
            shown, high = readable(name.removesuffix("_max"), value)
            _, low = readable(name.removesuffix("_max"), figures[least])
            rows.append((shown, high if low == high else f"{low} to {high}"))
        elif not _nested(value) and f"{name.removesuffix('_min')}_max" not in figures:
            rows.append(readable(name, value))
    width = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        console.print(f"  {name:<{width}}  {escape(text)}", highlight=False)


def readable(name: str, value: Any) -> tuple[str, str]:
    """A figure's name in words and its value with a unit, by the unit in its name."""
    units: dict[str, Callable[[float], str]] = {
        "_bytes_per_s": display.rate,
        "_bytes": display.size,
        "_ps": display.duration,
        "_s": display.span,
    }
    if value is None or isinstance(value, bool):
        return display.words(name), {None: display.NO_VALUE, True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return display.words(name), value
    for ending, show in units.items():
        if name.endswith(ending):
            return display.words(name.removesuffix(ending)), show(float(value))
    if name.endswith("_seconds"):
        return display.words(name.removesuffix("_seconds")) + " time", display.duration(
            value * 1e12
        )
    if isinstance(value, float):
        return display.words(name), display.count(value) if value >= 1e5 else f"{value:.4g}"
    return display.words(name), display.count(value)


def link_class_table(classes: Iterable[Mapping[str, Any]]) -> WholeTable:
    """The link classes of a network, one row each, all figures that are there."""
    rows = [dict(entry) for entry in classes]
    table = WholeTable()
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        numeric = any(not isinstance(row.get(name), str) for row in rows)
        table.add_column(readable(name, 0)[0], justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(escape(readable(name, row.get(name))[1]) for name in names))
    return table


def _cost(run: Mapping[str, Any], timing: Mapping[str, Any]) -> str:
    parts = [
        f"{display.duration(run['simulated_ps'])} simulated",
        f"{display.count(run['packet_hops'])} packet-hops",
    ]
    if timing.get("cpu_seconds"):
        # Not the time by the clock, which is also that of what else the machine does.
        computing = f"{display.duration(timing['cpu_seconds'] * 1e12)} of CPU time"
        if not run.get("skipped"):
            rate = run["packet_hops"] / timing["cpu_seconds"]
            computing += f" ({display.count(rate)} packet-hops/s)"
        parts.append(computing)
    return ", ".join(parts)


def placed_on(scenario: Scenario | None) -> str:
    """What jobs are placed on: a node, or a rank of a node with an inside."""
    return "node" if scenario is None or scenario.node is None else "rank"


def size_of(run: Mapping[str, Any], scenario: Scenario | None) -> str:
    """How many nodes a run's machine has, and how many ranks they have if they have an inside."""
    if scenario is None or scenario.node is None:
        return display.machine_size(run["nodes"])
    return display.machine_size(run["nodes"], scenario.node.ranks)


def _job_table(jobs: Sequence[Mapping[str, Any]], placed: str) -> WholeTable:
    open_loop = any(job["end_ps"] is None and is_open_loop(job) for job in jobs)
    ends = any(job["end_ps"] is not None for job in jobs)
    table = _figures(
        "Job",
        f"{placed}s",
        *(["run\ntime"] if ends else []),
        *(("latency", which) for which in ("median", "p99", "max")),
        *([f"offered\nper {placed}"] if open_loop else []),
        f"delivered\nper {placed}",
        "routers\nvisited",
    )
    for job in jobs:
        offered = per_node(job["offered_bytes_per_s"], job["nodes"])
        run_time = [display.duration(job["run_time_ps"])] if ends else []
        table.add_row(
            escape(job["name"]),
            display.count(job["nodes"]),
            *run_time,
            display.duration(job["message_latency_median_ps"]),
            display.duration(job["message_latency_p99_ps"]),
            display.duration(job["message_latency_max_ps"]),
            *([display.rate(offered)] if open_loop else []),
            display.rate(job["accepted_bytes_per_s_per_node"]),
            display.decimal(job["mean_routers_visited"]),
        )
    return table


def _class_table(classes: Sequence[Mapping[str, Any]]) -> WholeTable:
    """What the jobs of each class of traffic sent, all together."""
    table = _figures("Traffic class", "jobs", "offered", "delivered")
    for one in classes:
        table.add_row(
            escape(one["name"]),
            display.count(one["jobs"]),
            display.rate(one["offered_bytes_per_s"]),
            display.rate(one["accepted_bytes_per_s"]),
        )
    return table


#: Columns of the shares of each parallelism: what neighbours have in common, and their own.
PARALLELISM = (
    ("", "parallelism"),
    *(("sent in a step", name) for name in ("bytes", "share")),
    *(("exposed", name) for name in ("mean", "slowest rank", "of a step")),
)


def parallelism_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """The training steps of a summary: job, what, and texts for :data:`PARALLELISM`.

    Args:
        summary: As ``Result.summary_dict``.
    """
    rows = []
    for job in summary["jobs"]:
        shares = [one for one in summary["parallelism"] if one["job"] == job["name"]]
        if not shares:
            continue
        exposed = job["exposed_mean_ps"]
        times = [display.duration(one) for one in (exposed, job["exposed_max_ps"])]
        total = display.size(sum(one["bytes"] for one in shares))
        part = exposed / job["iteration_ps"] if job["iteration_ps"] else None
        step = f"all: {display.duration(job['iteration_ps'])}"
        rows.append([job["name"], step, total, "", *times, display.percent(part)])
        rows += [
            [
                job["name"],
                one["parallelism"],
                display.size(one["bytes"]),
                display.percent(one["bytes_share"]),
                display.duration(one["exposed_mean_ps"]),
                display.duration(one["exposed_max_ps"]),
                display.percent(one["exposed_share"]),
            ]
            for one in shares
        ]
    return rows


def _parallelism_table(summary: Mapping[str, Any]) -> WholeTable:
    table = _figures("Training", *PARALLELISM, keys=2)
    before = None
    for name, *row in parallelism_rows(summary):
        table.add_row(*(escape(text) for text in ("" if name == before else name, *row)))
        before = name
    return table


def bubbles(summary: Mapping[str, Any]) -> list[str]:
    """What of exposed communication no network shortens, where there is any.

    Args:
        summary: As ``Result.summary_dict``.
    """
    if all(one["parallelism"] != "pipeline" for one in summary["parallelism"]):
        return []
    return [
        "Exposed: time in which a rank computes nothing. The pipeline's holds its bubble, in which "
        "stages wait for others to compute: no network shortens that."
    ]


def compute_rates(scenario: Scenario | None) -> list[str]:
    """How fast the ranks of each job of training steps are taken to compute.

    Args:
        scenario: What was simulated, if known.
    """
    found = []
    for name, job in zip(scenario.job_names(), scenario.job, strict=True) if scenario else ():
        motif = job.motif
        if not isinstance(motif, Training) or motif.compute is not None:
            continue
        share = 1.0 if motif.utilisation is None else motif.utilisation
        rate = f"{display.count(int(motif.flop_rate) * share)}FLOP/s"
        found.append(f"Ranks of {name} compute at {rate} (flop_rate, utilisation).")
    return found


def one_order_inside(scenario: Scenario | None) -> str | None:
    """That NCCL's channels use few of the links between ranks of a node, where that is so.

    Args:
        scenario: What was simulated, if known.
    """
    node = None if scenario is None else scenario.node
    network = None if node is None else node.network
    if node is None or network is None or node.ranks < 4:
        return None
    if network.kind not in ("mesh", "xgmi") or network.links:
        return None
    ranks = node.ranks
    return (
        f"All channels of NCCL take a node's ranks in one order: along rings {ranks} of the "
        f"{ranks * (ranks - 1)} links inside work, where NCCL may use all (docs/not-modelled.md)."
    )


def one_ring(scenario: Scenario | None) -> list[str]:
    """Jobs of collectives whose only ring is not NCCL's, where NCCL would have several.

    Args:
        scenario: What was simulated, if known.
    """
    node = None if scenario is None else scenario.node
    if scenario is None or node is None or node.interfaces < 2:
        return []
    usual = scenario.mpi.collectives
    library = usual if isinstance(usual, str) else usual.library
    if library != "nccl":
        return []
    found = []
    for name, job in zip(scenario.job_names(), scenario.job, strict=True):
        motif = job.motif
        if not isinstance(motif, Collective):
            continue
        named = motif.algorithm
        if named == "auto" and not isinstance(usual, str):
            named = getattr(usual, motif.operation.replace("-", "_"), named)
        if named == "ring":
            found.append(
                f'{name}: algorithm = "ring" is one ring, which leaves a node by one of its '
                f'{node.interfaces} interfaces; NCCL\'s, one for each channel, are "channel-rings".'
            )
    return found


#: Columns of NCCL's collectives; the bandwidths are called as by nccl-tests.
COLLECTIVES = ("operation", "size", "algorithm", "protocol", "channels", "time", "algbw", "busbw")


def collective_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """NCCL's collectives of a summary: job, and texts for :data:`COLLECTIVES`.

    Args:
        summary: As ``Result.summary_dict``.
    """
    return [
        [
            one["job"],
            one["operation"],
            display.size(one["bytes"]),
            one["algorithm"],
            one["protocol"] or "-",
            "-" if one["channels"] is None else str(one["channels"]),
            display.duration(one["time_ps"]),
            display.rate(one["algorithm_bytes_per_s"]),
            display.rate(one["bus_bytes_per_s"]),
        ]
        for one in summary.get("collectives", ())
    ]


def _collectives_table(summary: Mapping[str, Any]) -> WholeTable:
    table = _figures("Collective", *COLLECTIVES, keys=4)
    for row in collective_rows(summary):
        table.add_row(*map(escape, row))
    return table


def _remarks(summary: Mapping[str, Any], scenario: Scenario | None) -> list[str]:
    """What a reader should notice about the jobs: how sure their means are, and what is wrong."""
    run = summary["run"]
    full = saturated_jobs(summary)
    remarks = []
    for job in summary["jobs"]:
        name = f"[yellow]{escape(job['name'])}[/]"
        remarks += _confidence(job)
        how_far = aborted(job, scenario) or cut_off(job, run)
        if how_far is not None:
            remarks.append(f"{name} {how_far}")
        elif job["name"] in full:
            share = job["accepted_bytes_per_s"] / job["offered_bytes_per_s"]
            remarks.append(
                f"{name}: the network delivers {display.percent(share)} of what is offered; it is "
                "saturated, and latencies grow with the length of the run."
            )
        elif job["message_latency_mean_ps_ci95"] is not None and job["end_ps"] is None:
            remarks += _warmup(name, job, run)
    if run["warmup_found"] is False:
        remarks.append(
            "[yellow]No steady state was found[/] in the first half of the duration; what came "
            f"before {display.duration(run['warmup_ps'])} counts as warm-up all the same."
        )
    remarks += _free_messages(summary, scenario)
    remarks += [escape(text) for text in one_ring(scenario)]
    extrapolated = skipped(run)
    if extrapolated is not None:
        remarks.append(f"[yellow]{escape(extrapolated)}[/]")
    if run["precision_reached"] is not None:
        asked = display.percent(run["precision"])
        at = display.duration(run["simulated_ps"])
        remarks.append(
            f"The precision of {asked} was reached after {at}."
            if run["precision_reached"]
            else f"[yellow]The precision of {asked} was not reached[/] within the duration, {at}."
        )
    return remarks


#: What a message costs its sender, and its receiver, where somebody measured it: LUMI's
#: (examples/machines/lumi-c.toml); those of other machines are between 0.14 and 1.5 µs.
_OVERHEAD_PS = 405_000
#: The share of a run time from which on that matters to who reads it.
_MATTERS = 0.1


def _free_messages(summary: Mapping[str, Any], scenario: Scenario | None) -> list[str]:
    """A line on jobs of many messages whose ranks no message costs time, as nothing says so."""
    if scenario is None or scenario.node is not None:
        return []
    mpi = scenario.mpi
    costs = (mpi.send_overhead, mpi.receive_overhead, mpi.send_delay, mpi.gap, mpi.copy_bandwidth)
    if any(costs) or mpi.host_times or mpi.delay_times:
        return []
    found = []
    for job in summary["jobs"]:
        if job["run_time_ps"] and not is_open_loop(job):
            busy = 2 * _OVERHEAD_PS * job["messages_created"] / job["ranks"]
            if busy >= _MATTERS * job["run_time_ps"]:
                share = display.percent(busy / job["run_time_ps"])
                found.append(f"{share} of the run time of {escape(job['name'])}")
    if not found:
        return []
    cost = display.duration(_OVERHEAD_PS)
    return [
        f"[dim]Messages cost ranks no time, as \\[mpi] gives none; LUMI's {cost} to send and to "
        f"receive would add up to {', '.join(found)}.[/]"
    ]


def skipped(run: Mapping[str, Any]) -> str | None:
    """How much was extrapolated, and how sure that is; ``None`` where nothing was to be skipped.

    Args:
        run: The entry of a summary.
    """
    if "skipped" not in run:
        return None
    if not run["skipped"]:
        return "Nothing was skipped: too few iterations repeat themselves or have precise means."
    counts: dict[str, int] = {}
    for one in run["skipped"]:
        for job in one["jobs"]:
            counts[job["job"]] = counts.get(job["job"], 0) + job["iterations"]
    means = [one for one in run["skipped"] if not one["exact"]]
    how = "all that is counted had repeated exactly"
    if means:
        time, links = (
            display.percent(max(one[error] for one in means))
            for error in ("time_error", "link_error")
        )
        how = f"± {time} in their mean time, ± {links} of the busiest link's load (95 % confidence)"
    of_jobs = ", ".join(f"{count:,} of {job}" for job, count in counts.items())
    share = display.percent(run["skipped_ps"] / run["simulated_ps"])
    return f"{share} of the time is extrapolated, not simulated: iterations {of_jobs}; {how}."


def _held_back(pairs: int, longest: Mapping[str, Any], whose: str = "") -> str:
    """How many pairs of nodes congestion control held back, and which of them waited longest."""
    return (
        f"Congestion control held back {pairs:,} pairs of nodes{whose}, the longest from node "
        f"{longest['source_node']} to {longest['destination_node']} for "
        f"{display.duration(longest['held_ps'])}."
    )


def aborted(job: Mapping[str, Any], scenario: Scenario | None) -> str | None:
    """Why and when a job was aborted, and what was lost with it; ``None`` of others.

    Args:
        job: A job of a summary.
        scenario: What was simulated, if known: says how often packets are sent again.
    """
    if job["aborted_ps"] is None:
        return None
    given = {} if scenario is None else scenario.to_dict().get("failures", {})
    count = given.get("retries")
    tried = "all retries" if count is None else f"{count} {'retry' if count == 1 else 'retries'}"
    return (
        f"was aborted at {display.duration(job['aborted_ps'])}: a packet of it was lost once more "
        f"after {tried}; {display.size(job['bytes_lost'])} were lost with the job, whose figures "
        "are of the time before."
    )


def cut_off(job: Mapping[str, Any], run: Mapping[str, Any]) -> str | None:
    """How far a job with a motif got that the end of the run cut off; ``None`` of others.

    Args:
        job: A job of a summary.
        run: The run of that summary.
    """
    if is_open_loop(job) or job["end_ps"] is not None:
        return None
    at = display.duration(run["simulated_ps"])
    if job["start_ps"] >= run["simulated_ps"]:
        return f"had not started when the run ended, after {at}."
    done = f"{job['messages_delivered']:,} messages had arrived"
    if job["iterations"]:
        done = f"{job['iterations_ended']:,} of {job['iterations']:,} iterations had ended, {done}"
    return f"was not finished when the run ended, after {at}: {done}."


def _confidence(job: Mapping[str, Any]) -> list[str]:
    """The confidence intervals of a job with traffic."""
    half = job["message_latency_mean_ps_ci95"]
    if half is None:
        return []
    mean = job["message_latency_mean_ps"]
    load = job["accepted_bytes_per_s_ci95"]
    accepted = job["accepted_bytes_per_s"]
    latency_text = f"{display.duration(mean)} ± {display.percent(half / mean)}" if mean else "none"
    text = f"{escape(job['name'])}: mean latency {latency_text}"
    if load is not None and accepted:
        text += f", delivered {display.rate(accepted)} ± {display.percent(load / accepted)}"
    return [f"{text} (95 % confidence)"]


def _warmup(name: str, job: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """Whether the measured time was steady and long enough."""
    steady = job["steady_from_ps"]
    remarks = []
    if steady is None:
        remarks.append(
            f"{name}: no steady state within the run; give it a longer duration, or less load."
        )
    elif steady > run["warmup_ps"] + 0.05 * run["measured_ps"]:
        remarks.append(
            f"{name}: the first {display.duration(steady)} look like warm-up; "
            'set warmup = "auto", or as long.'
        )
    if not job["message_latency_mean_ps_uncorrelated"]:
        remarks.append(
            f"{name}: the run is too short for the interval of its latency, which may be too "
            "narrow; give it a longer duration."
        )
    return remarks


def _link_table(classes: Sequence[Mapping[str, Any]]) -> WholeTable:
    busy = [("busy", which) for which in ("mean", "p99", "max")]
    blocked = [("blocked", which) for which in ("mean", "max")]
    table = _figures("Links", "number", "bandwidth", *busy, *blocked)
    for entry in classes:
        table.add_row(
            escape(entry["class"]),
            display.count(entry["links"]),
            display.rate(entry["bandwidth_bytes_per_s"]),
            display.percent(entry["utilisation_mean"]),
            display.percent(entry["utilisation_p99"]),
            display.percent(entry["utilisation_max"]),
            display.percent(entry["stall_mean"]),
            display.percent(entry["stall_max"]),
        )
    return table


def _figures(first: str, *others: str | tuple[str, str], keys: int = 1) -> WholeTable:
    """A table of figures.

    Args:
        first: Head of the column that says what a row is.
        *others: Heads of the others; where neighbours have a line above in common, with that.
        keys: How many columns say what a row is.
    """
    table = WholeTable(keys=keys, gap=2)
    table.add_column(first, style="bold")
    for other in others:
        over, head = ("", other) if isinstance(other, str) else other
        table.add_column(head, over=over, justify="right")
    return table


def _conservation(summary: Mapping[str, Any]) -> str:
    run = summary["run"]
    text = f"{display.size(run['created_bytes'])} created, "
    text += f"{display.size(run['delivered_bytes'])} delivered"
    if run["backlog_bytes"] or run["in_flight_bytes"]:
        text += (
            f", {display.size(run['backlog_bytes'])} still waiting at their nodes, "
            f"{display.size(run['in_flight_bytes'])} still in the network"
        )
    if run["lost_bytes"]:
        text += f", {display.size(run['lost_bytes'])} lost with jobs that were aborted"
    if run["resent_bytes"]:
        text += f"; links sent {display.size(run['resent_bytes'])} again"
    lost = sum(job["packets_lost"] for job in summary["jobs"])
    if lost:
        packets = "1 packet was" if lost == 1 else f"{lost:,} packets were"
        unless = " unless their job was aborted" if aborted_jobs(summary) else ""
        text += f"; {packets} lost on the way and sent again{unless}"
    return f"Every byte is accounted for: {text}."


def _nested(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))
