"""What a report shows of one run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from bokeh.models import ColumnDataSource, HoverTool, LegendItem, LinearColorMapper

from odonata import display
from odonata.bounded import read_text
from odonata.columns import codes, column_of, labels, numbers
from odonata.errors import OutputError
from odonata.plots.groups import MOST_ROWS, mean_utilisation
from odonata.plots.layout import lay_out
from odonata.plots.waits import wait_rows
from odonata.plots.wiring import Wiring
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, folded, paragraph, source, table
from odonata.report.summaries import (
    COLLECTIVES,
    PARALLELISM,
    aborted,
    bubbles,
    collective_rows,
    cut_off,
    parallelism_rows,
    placed_on,
    readable,
    size_of,
    skipped,
)
from odonata.results import RESULT_FILE, SCENARIO_FILE, Result
from odonata.results.summary import RouterNames, saturated_jobs
from odonata.scenario.files import named_files
from odonata.study import replication

#: Links that a reader can look at one by one: the most loaded ones.
MOST_LINKS = 12_000
#: Links and nodes drawn in the network, the most loaded ones.
MOST_LINES, MOST_NODES = 8_000, 6_000
#: Jobs that have a line of their own.
MOST_JOBS = 12
#: Places at which jobs waited, in the table.
MOST_WAITS = 40


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of the run in a directory, or of the first of replications.

    Modules of other kinds have the same function.

    Args:
        directory: The results'.
        brief: Whether it is one of several: with less in detail, and the directory in the title.

    Raises:
        OutputError: If it holds none.
    """
    whole = directory
    repeated: list[Part] = []
    if (directory / replication.TABLE_FILE).exists():
        runs = sorted(directory.glob(f"seed-*/{RESULT_FILE}"))
        if not runs:
            raise OutputError(f"{directory}: holds no seed-*/{RESULT_FILE}")
        repeated = [_replications(directory, runs[0].parent.name)]
        directory = runs[0].parent
    result = Result.load(directory)
    most = MOST_LINKS // 4 if brief else MOST_LINKS
    chosen = _listed_links(result, most)
    parts = [
        *repeated,
        _summary(result),
        _latency(result),
        _link_load(result, chosen),
        _timeline(result),
        _waits(result),
        _jobs(result),
        _network(result, brief),
        _reproducible(result, directory),
    ]
    title = str(result.meta["title"] or directory.name)
    if brief:
        title += f" ({whole.name})"
    return Section("run", title, parts, {"links": _link_data(result, chosen)})


# --- Summary ------------------------------------------------------------------------------


def _summary(result: Result) -> Part:
    found = result.summary_dict
    run = found["run"]
    size, placed = size_of(run, result.scenario), placed_on(result.scenario)
    answer = [
        ("network", f"{run['network']}"),
        ("routing", str(run["routing"])),
        ("size", f"{size}, {run['routers']:,} routers, {run['groups']:,} groups"),
        ("simulated", display.duration(run["simulated_ps"])),
        ("warm-up", display.duration(run["warmup_ps"]) if run["warmup_ps"] else "none"),
        ("packet-hops", display.count(run["packet_hops"])),
    ]
    full = saturated_jobs(found)
    content = [facts(answer)]
    if full:
        names = ", ".join(full)
        content.append(
            paragraph(
                f"The network cannot deliver what is offered: traffic of {names} piles up, and "
                "its latencies grow with the simulated time.",
                "warning",
            )
        )
    extrapolated = skipped(run)
    if extrapolated is not None:
        content.append(paragraph(extrapolated, "warning"))
    for job in found["jobs"]:
        how_far = aborted(job, result.scenario) or cut_off(job, found["run"])
        if how_far is not None:
            content.append(paragraph(f"{job['name']} {how_far}", "warning"))
    jobs = [
        [
            job["name"],
            f"{job['nodes']:,}",
            display.duration(job["run_time_ps"]),
            _with_interval(job["message_latency_mean_ps"], job["message_latency_mean_ps_ci95"]),
            display.duration(job["message_latency_median_ps"]),
            display.duration(job["message_latency_p99_ps"]),
            display.duration(job["message_latency_max_ps"]),
            display.rate(job["accepted_bytes_per_s_per_node"]),
            display.decimal(job["mean_routers_visited"]),
        ]
        for job in found["jobs"]
    ]
    head = ["job", f"{placed}s", "run time", "latency: mean", "median", "p99", "max"]
    head += [f"delivered per {placed}", "routers visited"]
    content.append(table(head, jobs, "Jobs: message latencies from creation to the last byte"))
    if found["parallelism"]:
        content.append(
            table(
                ["job", *(" ".join(names).strip() for names in PARALLELISM)],
                parallelism_rows(found),
                "Training: bytes and exposed communication of a step, and their shares",
            )
        )
        content += [paragraph(line) for line in bubbles(found)]
    if collectives := collective_rows(found):
        head = ["job", *COLLECTIVES]
        content.append(table(head, collectives, "Collectives of NCCL: mean of the calls"))
    links = [
        [
            one["class"],
            f"{one['links']:,}",
            display.rate(one["bandwidth_bytes_per_s"]),
            display.percent(one["utilisation_mean"]),
            display.percent(one["utilisation_p99"]),
            display.percent(one["utilisation_max"]),
            display.percent(one["stall_mean"]),
            display.percent(one["stall_max"]),
        ]
        for one in found["link_classes"]
    ]
    head = ["links", "number", "bandwidth", "busy: mean", "p99", "max", "blocked: mean", "max"]
    content.append(table(head, links, "Link classes: share of the measured time"))
    busiest = [
        [one["name"], display.percent(one["utilisation"]), display.percent(one["stall"])]
        for one in found["most_loaded_links"]
    ]
    if busiest:
        content.append(
            folded(
                "The most loaded links between routers",
                table(["link", "busy", "blocked"], busiest, "Most loaded links"),
            )
        )
    return Part("Summary", content)


def _replications(directory: Path, shown: str) -> Part:
    _, found = replication.load(directory)
    rows = []
    for row in found.to_pylist():
        if row["scope"] == "run" or row["mean"] is None:
            continue
        name, mean = readable(row["quantity"], row["mean"])
        width = row["ci95"]
        ends = (
            f"{readable(row['quantity'], row['mean'] - width)[1]} to "
            f"{readable(row['quantity'], row['mean'] + width)[1]}"
            if width is not None and math.isfinite(width)
            else display.NO_VALUE
        )
        rows.append([row["name"], name, mean, ends])
    head = ["of", "figure", "mean", "95 % interval"]
    return Part(
        "Replications",
        [
            table(head, rows, "Means over all seeds", texts=2),
            paragraph(f"What follows is of one run of them, {shown}."),
        ],
    )


def _with_interval(value: float | None, ci95: float | None) -> str:
    if value is None or not ci95:
        return display.duration(value)
    return f"{display.duration(value)} ± {display.percent(ci95 / value)}"


# --- Latency ------------------------------------------------------------------------------


def latencies(result: Result) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Message latencies of each job: upper ends of buckets (ps) and messages in them."""
    buckets = result.histograms
    wanted = np.zeros(len(buckets), bool)
    if "message_latency" in labels(buckets, "quantity"):
        place = labels(buckets, "quantity").index("message_latency")
        wanted = codes(buckets, "quantity") == place
    job, high = numbers(buckets, "job"), numbers(buckets, "high_ps")
    count = numbers(buckets, "count")
    found = {}
    for number, name in enumerate(result.jobs["name"].to_pylist()[:MOST_JOBS]):
        chosen = wanted & (job == number)
        if chosen.any():
            order = np.argsort(high[chosen])
            found[name] = (high[chosen][order], count[chosen][order])
    return found


def _latency(result: Result) -> Part:
    found = latencies(result)
    if not found:
        return Part("Latency", [paragraph("No message was measured.")])
    factor, unit = display.scale_for(
        max(float(value[-1]) for value, _ in found.values()) / 30, "duration"
    )
    scaled = {
        name: (np.maximum(value, 1) / factor, count.astype(float))
        for name, (value, count) in found.items()
    }
    ecdf, ccdf = charts.distributions(scaled, "latency", unit)
    content: list[Any] = [
        [
            Chart(ecdf, "Share of messages that take at most so long, by job"),
            Chart(ccdf, "Share of messages that take as long or longer, by job"),
        ]
    ]
    shares = (0.5, 0.9, 0.99, 0.999, 0.9999)
    rows = [
        [name, f"{int(count.sum()):,}", *(_quantile(value, count, share) for share in shares)]
        for name, (value, count) in found.items()
    ]
    head = ["job", "messages", *(f"{100 * share:g} %" for share in shares)]
    content.append(table(head, rows, "Latency within which so many messages arrive (to 0.8 %)"))
    jobs = len(result.jobs)
    if jobs > MOST_JOBS:
        content.append(paragraph(f"The first {MOST_JOBS} of {jobs} jobs."))
    return Part("Latency", content)


def _quantile(value: npt.NDArray[Any], count: npt.NDArray[Any], share: float) -> str:
    total = int(count.sum())
    if total * (1 - share) < 1:
        return display.NO_VALUE  # fewer messages than that
    place = int(np.searchsorted(np.cumsum(count), share * total))
    return display.duration(float(value[min(place, len(value) - 1)]))


# --- Links --------------------------------------------------------------------------------


def _listed_links(result: Result, most: int) -> npt.NDArray[np.int64]:
    """Rows of the links that are listed, the most loaded first."""
    order = np.argsort(-numbers(result.links, "utilisation"), kind="stable")
    return order[:most].astype(np.int64)


def _link_load(result: Result, listed: npt.NDArray[np.int64]) -> Part:
    links = result.links
    source_router, target_router = numbers(links, "from_router"), numbers(links, "to_router")
    between = (source_router >= 0) & (target_router >= 0)
    content: list[Any] = []
    by_router = _by_router(result)
    unit = "router" if by_router else "group"
    if between.any():
        ends = ("router", "router") if by_router else ("group", "group")
        source_end, target_end = (
            (source_router, target_router)
            if by_router
            else (numbers(links, "from_group"), numbers(links, "to_group"))
        )
        size = int(max(source_end[between].max(), target_end[between].max())) + 1
        joined = -(-size // MOST_ROWS)
        load = 100 * mean_utilisation(
            source_end[between] // joined,
            target_end[between] // joined,
            numbers(links, "utilisation")[between],
        )
        names = [str(place * joined) for place in range(len(load))]
        chart = charts.matrix(
            f"Mean utilisation of the links between {unit}s",
            load,
            names,
            names,
            (f"to {ends[1]}", f"from {ends[0]}"),
            "busy (%)",
            name="pairs" if joined == 1 else "",
        )
        content.append(
            Chart(chart, f"Heat map of the mean load from each {unit} to each other {unit}")
        )
        if joined > 1:
            content.append(paragraph(f"{joined} neighbouring {unit}s share a row."))
    content.append(
        '<div class="drill" data-unit="' + unit + '"><p class="pick">'
        f"<label>Links from {unit} <select class='from'></select></label> "
        f"<label>to {unit} <select class='to'></select></label> "
        "<label>listed by <select class='order'><option value='busy'>busy</option>"
        "<option value='blocked'>blocked</option><option value='bytes'>bytes</option></select>"
        "</label></p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Links">'
        "<table><caption></caption>"
        '<thead><tr><th scope="col">link</th><th scope="col">class</th>'
        '<th scope="col" class="figure">busy</th><th scope="col" class="figure">blocked</th>'
        '<th scope="col" class="figure">sent</th></tr></thead><tbody></tbody></table></div>'
        '<div class="one" aria-live="polite"></div></div>'
    )
    note = (
        f"Choose a cell of the map, or two {unit}s, and then a link. The diagonal stands for the "
        f"links within a {unit}, those of its nodes included."
    )
    if len(listed) < len(links):
        note += f" Of {len(links):,} links the {len(listed):,} most loaded are listed."
    content.append(paragraph(note))
    return Part("Link load", content)


def _by_router(result: Result) -> bool:
    return int(result.meta["groups"]) <= 1


def _link_data(result: Result, listed: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What the page's script needs to list links, as columns; the most loaded link first."""
    links = result.links.take(column_of(listed, pa.int64()))
    names = RouterNames(result.routers)
    measured = max(result.measured_ps, 1)
    group = names.group
    data: dict[str, Any] = {
        "byRouter": _by_router(result),
        "classes": labels(links, "class"),
        "kind": codes(links, "class").tolist(),
        "link": numbers(links, "link").tolist(),
        "bandwidth": [int(value) for value in numbers(links, "bandwidth_bytes_per_s")],
        "busy": np.round(numbers(links, "utilisation"), 4).tolist(),
        "blocked": np.round(numbers(links, "stall_ps") / measured, 4).tolist(),
        "bytes": numbers(links, "bytes").tolist(),
        "group": group.tolist(),
    }
    for end in ("from", "to"):
        data[f"{end}Router"] = numbers(links, f"{end}_router").tolist()
        data[f"{end}Node"] = numbers(links, f"{end}_node").tolist()
        data[f"{end}Group"] = numbers(links, f"{end}_group").tolist()
    jobs = result.table("link_jobs")
    if jobs.num_rows:
        data["jobNames"] = result.jobs["name"].to_pylist()
        place = np.full(result.links.num_rows, -1, np.int64)
        place[listed] = np.arange(len(listed))
        at = place[numbers(jobs, "link")]
        kept = at >= 0
        data["jobAt"] = at[kept].tolist()
        data["job"] = numbers(jobs, "job")[kept].tolist()
        data["jobBytes"] = numbers(jobs, "bytes")[kept].tolist()
    return data


# --- Time ---------------------------------------------------------------------------------


def _timeline(result: Result) -> Part:
    rows = result.timeline
    step = int(result.meta.get("timeline_bin_ps") or 0)
    if not len(rows) or not step:
        return Part("Timeline", [paragraph("No time was recorded.")])
    time, job = numbers(rows, "time_ps"), numbers(rows, "job")
    factor, unit = display.scale_for(float(time.max()) + step, "duration")
    delivered: dict[str, Any] = {}
    slow: dict[str, Any] = {}
    amount = numbers(rows, "delivered_bytes")
    arrived, total = numbers(rows, "messages"), numbers(rows, "message_latency_sum_ps")
    largest = float(amount.max()) / (step / 1e12) if len(amount) else 1.0
    rate, rate_unit = display.scale_for(max(largest, 1.0), "rate")
    mean_all = total[arrived > 0] / arrived[arrived > 0]
    late, late_unit = display.scale_for(float(mean_all.max()) if len(mean_all) else 1.0, "duration")
    for number, name in enumerate(result.jobs["name"].to_pylist()[:MOST_JOBS]):
        chosen = job == number
        if not chosen.any():
            continue
        at = time[chosen] / factor
        delivered[name] = (at, amount[chosen] / (step / 1e12) / rate)
        came = arrived[chosen] > 0
        slow[name] = (at[came], total[chosen][came] / arrived[chosen][came] / late)
    above = charts.new("Delivered", f"simulated time ({unit})", f"all nodes together ({rate_unit})")
    charts.lines(
        above,
        delivered,
        [("time", f"@x{{0.[000]}} {unit}"), ("delivered", f"@y{{0.[00]}} {rate_unit}")],
        steps=True,
    )
    below = charts.new(
        "Mean latency of what arrived", f"simulated time ({unit})", f"latency ({late_unit})"
    )
    below.x_range = above.x_range
    charts.lines(
        below,
        slow,
        [("time", f"@x{{0.[000]}} {unit}"), ("latency", f"@y{{0.[00]}} {late_unit}")],
    )
    return Part(
        "Timeline",
        [
            Chart(above, "Bytes per second that each job receives over simulated time"),
            Chart(below, "Mean latency of the messages that arrive, over simulated time"),
            paragraph(
                f"Slices of {display.duration(step)}; the measured time begins at "
                f"{display.duration(result.meta['warmup_ps'])}."
            ),
        ],
    )


def _jobs(result: Result) -> Part:
    jobs = result.jobs.to_pylist()
    end = float(result.meta["end_ps"]) or 1.0
    factor, unit = display.scale_for(end, "duration")
    rows = []
    for number, job in enumerate(jobs[:60]):
        until = end if job["end_ps"] is None else float(job["end_ps"])
        answer = f"{job['nodes']:,} nodes, {display.duration(until - job['start_ps'])}"
        if job["end_ps"] is None:
            answer += ", until the run's end"
        rows.append((job["name"], job["start_ps"] / factor, until / factor, number, answer))
    chart = charts.bars("When jobs ran", rows, f"simulated time ({unit})", hover="@text")
    texts = [
        [
            job["name"],
            display.duration(job["start_ps"]),
            display.duration(job["end_ps"]),
            f"{job['nodes']:,}",
            f"{job['ranks']:,}",
        ]
        for job in jobs
    ]
    return Part(
        "Jobs",
        [
            Chart(chart, "When each job started and ended"),
            folded(
                "As a table",
                table(["job", "start", "end", "nodes", "ranks"], texts, "When jobs ran"),
            ),
        ],
    )


# --- Who slows whom -----------------------------------------------------------------------


def _waits(result: Result) -> Part:
    title = "Who slows whom"
    if not result.table("link_waits").num_rows:
        return Part(
            title,
            [
                paragraph(
                    "This run did not record for whom packets waited. With attribution = true "
                    "in the table [record] of its scenario it does; odonata interference finds "
                    "slowdowns."
                )
            ],
        )
    rows = wait_rows(result)
    return Part(title, waits(rows, result.jobs["name"].to_pylist()))


def waits(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Any]:
    """A map of who waited for whom, and the links where it cost most.

    Args:
        rows: As :func:`odonata.plots.waits.wait_rows` makes them.
        names: Of all jobs.
    """
    lost = np.full((len(names), len(names)), math.nan)
    for row in rows:
        at = (row["job"], row["by_job"])
        lost[at] = (0.0 if math.isnan(lost[at]) else lost[at]) + row["waited_ps"]
    factor, unit = display.scale_for(float(np.nanmax(lost)) if rows else 1.0, "duration")
    chart = charts.matrix(
        "Time that packets waited at links",
        lost / factor,
        names,
        names,
        ("for packets of", "packets of"),
        f"waited, summed over packets ({unit})",
    )
    worst = sorted(
        (row for row in rows if row["job"] != row["by_job"]), key=lambda row: -row["waited_ps"]
    )
    texts = [
        [
            row["name"],
            row["by_name"],
            row["link_name"],
            display.duration(row["sending_ps"]),
            display.duration(row["blocking_ps"]),
        ]
        for row in worst[:MOST_WAITS]
    ]
    pairs = [
        [names[job], names[by], display.duration(lost[job, by])]
        for job in range(len(names))
        for by in range(len(names))
        if np.isfinite(lost[job, by])
    ]
    return [
        Chart(chart, "For whom the packets of each job waited, summed over all links"),
        folded("As a table", table(["job", "waited for", "time"], pairs, "Waits", texts=2)),
        table(
            ["job", "waited for", "at", "while it sent", "while it held the buffer"],
            texts,
            "Where jobs lost most time to other jobs, summed over packets",
            texts=3,
        )
        if texts
        else paragraph("No job waited for another one."),
    ]


# --- Network ------------------------------------------------------------------------------


def _network(result: Result, brief: bool) -> Part:
    wiring = Wiring.of_result(result)
    layout = lay_out(wiring)
    chart = charts.new(
        str(result.meta["network"]),
        "",
        "",
        height=640,
        match_aspect=True,
        tools="pan,box_zoom,wheel_zoom,zoom_in,zoom_out,reset,save",
    )
    chart.axis.visible = False
    chart.grid.visible = False
    most = MOST_LINES // 2 if brief else MOST_LINES
    assert wiring.load is not None
    # The most loaded ones come last, above the others.
    links = np.arange(max(0, len(wiring.ends) - most), len(wiring.ends))
    names = RouterNames(result.routers)
    mapper = LinearColorMapper(
        palette=list(charts.PALETTE), low=0.0, high=max(100 * float(wiring.load.max(initial=0)), 1)
    )
    if len(links):
        paths, owner = layout.paths(wiring.ends[links])
        pieces = [np.column_stack([path[:-1], path[1:]]) for path in paths]
        ends = np.concatenate(pieces).astype(np.float32)
        link = links[np.repeat(owner, [len(piece) for piece in pieces])]
        texts = [f"{names.router(a)} – {names.router(b)}" for a, b in wiring.ends[links].tolist()]
        lines = chart.segment(
            "x0",
            "y0",
            "x1",
            "y1",
            source=ColumnDataSource(
                {
                    "x0": ends[:, 0],
                    "y0": ends[:, 1],
                    "x1": ends[:, 2],
                    "y1": ends[:, 3],
                    "load": (100 * wiring.load[link]).astype(np.float32),
                    "name": [texts[one - links[0]] for one in link],
                }
            ),
            line_color={"field": "load", "transform": mapper},
            line_width=1.6 if len(links) < 600 else 0.8,
        )
        chart.add_tools(
            HoverTool(
                renderers=[lines],
                tooltips=[("", "@name"), ("busier direction", "@load{0.0} %")],
                line_policy="interp",
            )
        )
    _routers_and_nodes(chart, result, wiring, layout)
    charts.add_scale(chart, mapper, "busier direction (%)")
    content: list[Any] = [
        Chart(chart, "The network: routers, links by their load, nodes by their job")
    ]
    if len(links) < len(wiring.ends):
        content.append(
            paragraph(f"The {len(links):,} most loaded of {len(wiring.ends):,} links are drawn.")
        )
    return Part("Network", content)


def _routers_and_nodes(chart: Any, result: Result, wiring: Wiring, layout: Any) -> None:
    names = RouterNames(result.routers)
    routers = len(wiring.group_of_router)
    if routers <= MOST_NODES:
        drawn = chart.circle(
            "x",
            "y",
            radius=0.6 * layout.router_radius,
            source=ColumnDataSource(
                {
                    "x": layout.router[:, 0].astype(np.float32),
                    "y": layout.router[:, 1].astype(np.float32),
                    "name": [names.router(router) for router in range(routers)],
                }
            ),
            fill_color="#888888",
            line_color=None,
        )
        chart.add_tools(HoverTool(renderers=[drawn], tooltips=[("router", "@name")]))
    if wiring.job_of_node is None or not 0 < len(layout.node) <= MOST_NODES:
        return
    jobs = result.jobs["name"].to_pylist()
    items: list[LegendItem] = []
    for job in [-1, *range(len(jobs))]:
        nodes = np.flatnonzero(wiring.job_of_node == job)
        if not len(nodes):
            continue
        drawn = chart.circle(
            "x",
            "y",
            radius=0.8 * layout.node_radius,
            source=ColumnDataSource(
                {
                    "x": layout.node[nodes, 0].astype(np.float32),
                    "y": layout.node[nodes, 1].astype(np.float32),
                    "node": nodes.astype(np.int32),
                    "job": [jobs[job] if job >= 0 else "idle"] * len(nodes),
                }
            ),
            fill_color=charts.colour(job) if job >= 0 else "#DDDDDD",
            line_color=None,
        )
        chart.add_tools(HoverTool(renderers=[drawn], tooltips=[("node", "@node"), ("job", "@job")]))
        if len(items) < MOST_JOBS:
            label = jobs[job] if job >= 0 else "idle"
            items.append(LegendItem(label={"value": label}, renderers=[drawn]))
    charts.legend_below(chart, items)


# --- How to repeat it ---------------------------------------------------------------------


def _reproducible(result: Result, directory: Path) -> Part:
    file = directory / SCENARIO_FILE
    answer = [
        ("version of Odonata", str(result.meta["version"])),
        ("seed", str(result.meta["seed"])),
        ("virtual channels", str(result.meta.get("virtual_channels", display.NO_VALUE))),
        ("computing time", display.duration(1e12 * result.timing.get("cpu_seconds", math.nan))),
        ("threads", str(result.timing.get("threads", display.NO_VALUE))),
    ]
    content = [
        facts(answer),
        paragraph(
            "Equal scenarios, seeds and versions give equal results, bit by bit, on any number of "
            "threads and any machine. Save the scenario below as scenario.toml, then: "
            "odonata run scenario.toml"
        ),
    ]
    if file.exists():
        text = read_text(file, OutputError)
        content.append(
            f'<div class="scenario"><button type="button" class="copy">Copy</button>'
            f"{source(text)}</div>"
        )
        named = [] if result.scenario is None else named_files(result.scenario)
        if named:
            names = "; ".join(f"{one.key} = {one.name}" for one in named)
            content.append(paragraph(f"It names files that are not in this report: {names}"))
    else:
        content.append(paragraph("The scenario is not in the directory."))
    return Part("Scenario, and how to repeat it", content)
