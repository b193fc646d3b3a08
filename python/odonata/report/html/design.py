"""What a report shows of networks that were laid out for a number of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bokeh.models import HoverTool, LegendItem

from odonata import display
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, folded, paragraph, source, table
from odonata.study.design import TRAFFIC, Design, Laid, load, toml_of

#: Beside colours, which start again after seven.
_MARKERS = (
    *("circle", "square", "triangle", "inverted_triangle", "diamond", "hex", "star"),
    *("square_pin", "triangle_pin"),
)


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of the networks that ``odonata design`` has left in a directory."""
    found = load(directory)
    parts = [_summary(found), _delivered(found), _costs(found)]
    if found.left_out:
        rows = [[name, why] for name, why in found.left_out.items()]
        parts.append(Part("Left out", [table(["family", "because"], rows, "Left out", texts=2)]))
    parts.append(_scenarios(found))
    title = f"Networks for {found.who}"
    return Section("design", f"{title} ({directory.name})" if brief else title, parts)


def figure_heads(found: Design) -> list[str]:
    """Names of the columns of shares."""
    several = len(found.engines) > 1
    return [
        f"{traffic}, {engine}s" if several else traffic
        for traffic in found.traffic
        for engine in found.engines
    ]


def shares(found: Design, one: Laid) -> list[str]:
    """Shares of a network, in the order of `figure_heads`."""
    return [
        display.percent(one.share(traffic, engine))
        for traffic in found.traffic
        for engine in found.engines
    ]


def money(found: Design, one: Laid) -> list[str]:
    """What nodes get for the money, in the order of `figure_heads`."""
    return [
        display.decimal(found.per_money(one, traffic, engine))
        for traffic in found.traffic
        for engine in found.engines
    ]


def _summary(found: Design) -> Part:
    last = found.engines[-1]
    best = [
        (
            f"most for the money, {traffic}",
            max(found.networks, key=lambda one: _or_less(found.per_money(one, traffic, last))).name,
        )
        for traffic in found.traffic
    ]
    limit = "none" if found.budget is None else f"{found.budget:,.6g}"
    rule = {
        "nodes": "the cheapest layout of each family with full bandwidth for uniform traffic",
        "cost": "of each family the layout of most bandwidth for the budget",
    }
    return Part(
        "Summary",
        [
            facts(
                [
                    ("laid out for", found.who),
                    ("ports of a switch", f"at most {found.radix}"),
                    ("links", found.bandwidth),
                    ("compared", rule[found.equal]),
                    ("budget", limit),
                    *best,
                ]
            ),
            table(
                ["network", f"price, {found.dear_as_one} = 1", *figure_heads(found)],
                [
                    [one.name, f"{one.relative_price:.2f}", *shares(found, one)]
                    for one in found.networks
                ],
                "Price, and share of the nodes' bandwidth by traffic",
            ),
            table(
                ["network", *figure_heads(found)],
                [[one.name, *money(found, one)] for one in found.networks],
                f"For the same money as {found.reference.name}, which gets 1",
            ),
        ],
    )


def _or_less(value: float) -> float:
    return value if value == value else -1.0


def _delivered(found: Design) -> Part:
    content: list[Any] = [
        paragraph(
            "Share: the time of the messages on the nodes' own links, by the time on the network. "
            "By flows the fastest of some routings counts; packets are routed by the family's "
            "adaptive routing. Hollow marks are flows, where there are packets too."
        )
    ]
    beside = []
    for traffic in found.traffic:
        chart = charts.new(
            traffic,
            f"price, {found.dear_as_one} = 1",
            "share of the nodes' bandwidth",
            y_range=(0, 1.05),
        )
        items = []
        for number, one in enumerate(found.networks):
            for engine in found.engines:
                drawn = chart.scatter(
                    [one.relative_price],
                    [one.share(traffic, engine)],
                    marker=_MARKERS[number % len(_MARKERS)],
                    size=10,
                    line_color=charts.colour(number),
                    fill_color=charts.colour(number) if engine == found.engines[-1] else None,
                    name=f"{one.name}, {engine}s",
                )
            items.append(LegendItem(label=one.name, renderers=[drawn]))
        charts.legend_below(chart, items)
        chart.add_tools(HoverTool(tooltips=[("", "$name"), ("price", "@x"), ("share", "@y")]))
        label = f"Share of the nodes' bandwidth over price, {traffic}: {TRAFFIC[traffic]}"
        beside.append(Chart(chart, label))
    content.append(beside)
    rows = [[traffic, TRAFFIC[traffic]] for traffic in found.traffic]
    content.append(table(["traffic", "what it is"], rows, "Traffic", texts=2))
    rows = [
        [one.name, m.traffic, m.engine, _routing(m.routing), display.duration(m.run_time_ps)]
        for one in found.networks
        for m in one.measured
    ]
    heads = ["network", "traffic", "engine", "routing", "run time"]
    content.append(folded("Run times", table(heads, rows, "Run times", texts=4)))
    return Part("What nodes get", content)


def _routing(routing: Any) -> str:
    return routing if isinstance(routing, str) else " ".join(routing.values())


def _costs(found: Design) -> Part:
    rows = [
        [
            one.name,
            one.layout,
            f"{one.nodes:,}",
            f"{one.switches:,} of {one.radix}",
            f"{one.ports / found.nodes:.2f}",
            f"{one.optical_cables / found.nodes:.2f}",
            f"{one.static_watts / found.nodes:.1f}",
            f"{one.price:,.6g}",
        ]
        for one in found.networks
    ]
    heads = ["network", "layout", "nodes", "switches and their ports", "ports per node",
             "optical cables per node", "static W per node", "price"]  # fmt: skip
    prices = found.prices
    said = "Prices count in ports of a switch; an optical cable costs as much as one port."
    if prices is not None:
        given = (
            f"{part.replace('_', ' ')} {one:,.6g}"
            for part, one in prices.items()
            if one is not None
        )
        said = f"Prices of parts: {', '.join(given)}."
    return Part(
        "Layouts and what they cost", [paragraph(said), table(heads, rows, "Cost", texts=2)]
    )


def _scenarios(found: Design) -> Part:
    return Part(
        "Scenarios",
        [folded(one.name, source(toml_of(found, one))) for one in found.networks],
    )
