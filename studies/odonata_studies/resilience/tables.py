"""The study's tables, as data and as Markdown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from odonata.study.execution import Record
from odonata.study.intervals import Mean, interval
from odonata_studies.marked import markdown
from odonata_studies.resilience.plan import (
    FAILURES,
    LAYOUTS,
    NOTHING,
    ROUTINGS,
    SINGLA,
    SINGLA_FAILURES,
    TRAFFIC,
    Case,
    Failure,
    Layout,
)

#: What figures are of, as tables and pictures head them.
MEASURES: Mapping[str, str] = {
    "uniform": "uniform traffic, share delivered",
    "worst shift": "worst shift, share delivered",
    "latency": "99th percentile of latency, ns",
    "stencil": "scattered stencil, us",
}
#: Bandwidth between halves of a whole network by that of one half's nodes: in closed form, or at
#: least that much.
BISECTION: Mapping[str, tuple[str, float, str]] = {
    "fat tree, tapered 1:2": ("", 1 / 2, "the taper"),
    "HyperX 3-D": ("", 6 / (2 * 5), "K·S / 2T, Ahn et al. 2009"),
    "torus 3-D": ("", 2 * 64 / 512, "two links of each ring, Dally and Towles 2004"),
    "Jellyfish": (
        "≥ ",
        (12 / 2 - math.sqrt(12 * math.log(2))) / 4,
        "Bollobás 1988, by Singla et al. 2012",
    ),
}


def simulated(cases: Sequence[Case], records: Mapping[str, Record]) -> pd.DataFrame:
    """One row for each simulation that is done."""
    return pd.DataFrame(
        [
            {
                "network": case.layout.name,
                "routing": case.routing,
                "failed": case.failure.part,
                "percent": case.failure.percent,
                "traffic": case.traffic,
                "seed": case.seed,
                "bisection": case.left.bisection,
                **records[case.name],
            }
            for case in cases
            if case.name in records
        ]
    )


def values(
    found: pd.DataFrame, network: str, routing: str, failure: Failure, traffic: str
) -> pd.Series:
    """What was measured, by seed."""
    rows = found[
        (found.network == network)
        & (found.routing == routing)
        & (found.failed == failure.part)
        & (found.percent == failure.percent)
        & (found.traffic == traffic)
    ]
    return rows.set_index("seed")[TRAFFIC.get(traffic, "delivered")]


def change(
    found: pd.DataFrame, network: str, routing: str, failure: Failure, traffic: str
) -> Mean | None:
    """By how many percent failures change a figure: the mean over seeds, each by its own."""
    damaged = values(found, network, routing, failure, traffic)
    whole = values(found, network, routing, NOTHING, traffic)
    ratios = (damaged / whole).dropna()
    return interval(list(100 * (ratios - 1))) if len(ratios) else None


def _shown(mean: Mean | None) -> str:
    if mean is None:
        return "–"
    return f"{mean.mean:+.0f} ± {mean.half_width:.0f}" if mean.count > 1 else f"{mean.mean:+.0f}"


def _figure(figures: pd.Series) -> str:
    if figures.empty:
        return "–"
    mean = interval(list(figures))
    text = f"{mean.mean:,.0f}" if mean.mean >= 10 else f"{mean.mean:.2f}"
    wide = mean.half_width > 0.01 * mean.mean
    return f"{text} ± {mean.half_width:.2g}" if wide else text


def _rows(found: pd.DataFrame) -> list[tuple[Layout, str]]:
    known = set(zip(found.network, found.routing, strict=True))
    return [
        (layout, routing)
        for layout in LAYOUTS
        for routing in ROUTINGS
        if (layout.name, routing) in known
    ]


def _whole(found: pd.DataFrame) -> str:
    rows = [
        [
            layout.name,
            routing,
            *(_figure(values(found, layout.name, routing, NOTHING, one)) for one in TRAFFIC),
        ]
        for layout, routing in _rows(found)
    ]
    return markdown(["network", "routing", *MEASURES.values()], rows, labels=2)


def _changes(found: pd.DataFrame, columns: Sequence[tuple[str, str, Failure]]) -> str:
    """Changes in percent: header, traffic and failure of each column."""
    rows = []
    for layout, routing in _rows(found):
        cells = []
        for _, traffic, failure in columns:
            of = _where_alike(layout, failure)
            cells.append(_shown(change(found, layout.name, routing, of, traffic)))
        rows.append([layout.name, routing, *cells])
    return markdown(["network", "routing", *(name for name, _, _ in columns)], rows, labels=2)


def _where_alike(layout: Layout, failure: Failure) -> Failure:
    """Where all links are alike, those are the global ones."""
    if layout.global_class is None and failure.part == "links":
        return Failure(NOTHING.part, failure.percent)
    return failure


def _singla(found: pd.DataFrame) -> str:
    rows = []
    for layout in SINGLA:
        for routing in layout.routing:
            whole = _figure(values(found, layout.name, routing, NOTHING, "permutation"))
            cells = [
                _shown(change(found, layout.name, routing, one, "permutation"))
                for one in SINGLA_FAILURES[1:]
            ]
            paper = "less than −16" if layout.network["family"] == "jellyfish" else "–"
            rows.append([layout.name, routing, whole, *cells, paper])
    shares = [str(one) for one in SINGLA_FAILURES[1:]]
    return markdown(
        ["network", "routing", "share delivered", *shares, f"published of {shares[-1]}"],
        rows,
        labels=2,
    )


def _connectivity(held: pd.DataFrame) -> str:
    sizes = sorted(held.nodes.unique())
    rows = []
    for family in held.family.unique():
        cells = []
        for size in sizes:
            cell = held[(held.family == family) & (held.nodes == size)]
            cells += [
                f"{one.most:.0f} to {one.half:.0f} ({one.published})" for one in cell.itertuples()
            ] or ["–"]
        rows.append([family, *cells])
    return markdown(["family", *(f"{size} nodes" for size in sizes)], rows, labels=1)


def _bisection(found: pd.DataFrame) -> str:
    rows = []
    once = found[found.traffic == "uniform"].drop_duplicates(
        ["network", "failed", "percent", "seed"]
    )
    for layout in LAYOUTS:
        here = once[once.network == layout.name].set_index("seed")
        if here.empty:
            continue
        whole = here[here.percent == 0].bisection
        row = [layout.name, f"{whole.iloc[0]:.2f}"]
        sign, figure, source = BISECTION.get(layout.name, ("", 0.0, "–"))
        row += [f"{sign}{figure:.2f}" if figure else "–", source]
        for failure in (_where_alike(layout, one) for one in FAILURES[3:]):
            left = here[(here.failed == failure.part) & (here.percent == failure.percent)].bisection
            ratios = list(100 * (left / whole - 1).dropna())
            row.append(_shown(interval(ratios) if ratios else None))
        rows.append(row)
    header = ["network", "bisection", "published", "source"]
    table = markdown([*header, *(str(one) for one in FAILURES[3:])], rows, labels=1)
    return table.replace("|---|--:|--:|--:|", "|---|--:|--:|---|", 1)


def tables(found: pd.DataFrame, held: pd.DataFrame) -> dict[str, str]:
    """The tables of the page, by name."""
    return {
        "nothing failed": _whole(found),
        **{
            traffic: _changes(found, [(str(one), traffic, one) for one in FAILURES[1:]])
            for traffic in ("uniform", "stencil")
        },
        "worst shift and latency": _changes(
            found,
            [
                (f"{traffic}, {one}", traffic, one)
                for traffic in ("worst shift", "latency")
                for one in (FAILURES[3], FAILURES[5])
            ],
        ),
        "permutation": _singla(found),
        "connectivity": _connectivity(held),
        "bisection": _bisection(found),
    }


def within(held: pd.DataFrame) -> pd.Series:
    """Whether a published share lies where between 95 % and half of the networks hold together."""
    return held.published.between(held.most, held.half)


def conclusion(found: pd.DataFrame, held: pd.DataFrame) -> list[str]:
    """What the terminal says, line by line."""
    lines = []
    for layout in LAYOUTS:
        for routing in ROUTINGS:
            lost = change(found, layout.name, routing, FAILURES[3], "uniform")
            if lost is not None:
                lines.append(
                    f"{layout.name}, {routing}: {FAILURES[3]} change uniform throughput by "
                    f"{_shown(lost)} %"
                )
    lines.append(
        f"Links that may fail: what Besta and Hoefler 2014 published of {within(held).sum()} of "
        f"{len(held)} networks lies where between 95 % and half of them hold together"
    )
    return lines


def page(title: str, figure: str, found: pd.DataFrame, held: pd.DataFrame) -> str:
    """The page that the study leaves beside its results."""
    parts = [f"# {title}", *(f"- {line}" for line in conclusion(found, held))]
    parts = [parts[0], "\n".join(parts[1:]), f"![{title}]({figure})"]
    for name, table in tables(found, held).items():
        parts += [f"## {name[0].upper()}{name[1:]}", table]
    return "\n\n".join(parts) + "\n"
