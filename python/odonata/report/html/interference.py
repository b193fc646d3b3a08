"""What a report shows of an analysis of interference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from odonata import display
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, paragraph, source, table
from odonata.report.html.run import waits
from odonata.study.interference import load, saturated, unfinished

#: Pairs of nodes that are shown at most.
MOST_HELD = 40


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of the analysis that ``odonata interference`` has left in a directory."""
    found = load(directory)
    names = list(found.names)
    target = "all jobs" if found.target is None else names[found.target]
    rows = [
        [
            row["name"],
            row["quantity"],
            display.duration(row["alone_ps"]),
            display.duration(row["together_ps"]),
            f"{row['slowdown']:.3g}×" if row["slowdown"] is not None else display.NO_VALUE,
        ]
        for row in found.slowdowns.to_pylist()
    ]
    parts = [
        Part(
            "Summary",
            [
                facts([("about", target), ("jobs", ", ".join(names))]),
                table(
                    ["job", "figure", "alone", "with all others", "slowdown"],
                    rows,
                    "Message latencies and run times of each job alone and with all others",
                    texts=2,
                ),
                *(
                    paragraph(sentence, "warning")
                    for sentence in (*saturated(found).values(), *unfinished(found))
                ),
            ],
        )
    ]
    slowed: list[Any] = []
    if found.matrix.num_rows:
        caused = found.caused()
        chart = charts.matrix(
            "Slowdown of mean message latency",
            caused,
            names,
            names,
            ("by", "of"),
            "times as long",
            format="0.[000]",
        )
        slowed.append(Chart(chart, "By how much each job slows each other one down"))
        pairs = [
            [names[job], names[by], f"{caused[job, by]:.3g}×"]
            for job, by in zip(*np.nonzero(np.isfinite(caused)), strict=True)
        ]
        slowed.append(table(["job", "beside", "slowdown"], pairs, "By pairs", texts=2))
    else:
        slowed.append(paragraph("Pairs of jobs were not simulated."))
    if found.waits.num_rows:
        slowed += waits(found.waits.to_pylist(), names)
    if found.held.num_rows:
        texts = [
            [
                row["name"],
                f"{row['source_node']} → {row['destination_node']}",
                display.duration(row["held_ps"]),
                display.size(row["held_bytes"]),
                f"{row['notifications']:,}",
            ]
            for row in found.held.slice(0, MOST_HELD).to_pylist()
        ]
        columns = ["job", "from node to node", "waited", "bytes that waited", "notices"]
        what = f"{found.held.num_rows:,} pairs of nodes held back by congestion control"
        slowed.append(table(columns, texts, f"{what}, the longest first", texts=2))
    parts.append(Part("Who slows whom", slowed))
    parts.append(
        Part(
            "Scenario, and how to repeat it",
            [
                facts([("seed", str(found.scenario.seed))]),
                paragraph("Save as scenario.toml, then: odonata interference scenario.toml"),
                source(found.scenario.to_toml()),
            ],
        )
    )
    title = found.scenario.title or directory.name
    return Section("interference", f"{title} ({directory.name})" if brief else title, parts)
