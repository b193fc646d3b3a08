"""Puts a report together: one HTML file that needs nothing besides itself."""

from __future__ import annotations

import base64
import importlib
import json
import os
import re
from collections.abc import Sequence
from html import escape
from importlib import metadata, resources
from pathlib import Path

from odonata import _engine
from odonata.bounded import read_bytes
from odonata.errors import OutputError
from odonata.output import new_file, unused_file, write_file
from odonata.report.html.parts import Chart, Part, Section
from odonata.results.kinds import kind_of

#: Name of the cells of a map that lead to links.
PAIRS = "pairs"
#: No report is larger: what could be is cut down where it is made, and said.
MOST_BYTES = 5_000_000

#: The module that shows each kind of result, where its name is another.
_MODULES = {"replications": "run"}

#: The page may load nothing at all, from anywhere; a browser holds it to that.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def write_report(
    *directories: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    title: str | None = None,
) -> Path:
    """Writes one HTML file that shows what is in result directories.

    Opens in any browser without a network and without Odonata; at most 5 MB. Of several runs it
    shows first how they differ.

    Args:
        *directories: Directories that commands have left: of runs, comparisons, studies, schedules
            …, in the order in which they are shown.
        out: The file, which must not exist yet. Default: ``results/report-1.html``,
            ``results/report-2.html`` …
        title: Headline. Default: the title of what is shown.

    Returns:
        The file.

    Raises:
        OutputError: If a directory holds no such results, the file exists or cannot be written, or
            would be too large.
        ValueError: If no directory is given.
    """
    if not directories:
        raise ValueError("found no directory; allowed: at least one with results")
    paths = [Path(directory) for directory in directories]
    kinds = [_MODULES.get(kind, kind) for kind in map(kind_of, paths)]
    sections: list[Section] = []
    runs = [path for path, kind in zip(paths, kinds, strict=True) if kind == "run"]
    if len(runs) > 1:
        from odonata.report.html.comparison import compared

        sections.append(compared(runs))
    for path, kind in zip(paths, kinds, strict=True):
        module = importlib.import_module(f"odonata.report.html.{kind}")
        sections.append(module.section(path, brief=len(paths) > 1))
    file = unused_file("report", ".html") if out is None else Path(out)
    if file.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{file}: found the ending {file.suffix!r}; allowed for reports: .html")
    with new_file(file) as partial:
        page = render(sections, title or sections[0].title)
        if len(page.encode()) > MOST_BYTES:
            raise OutputError(
                f"{file}: the report would have {len(page.encode()) / 1e6:.1f} MB; allowed: "
                f"{MOST_BYTES / 1e6:g} MB. Give fewer directories."
            )
        write_file(partial, page)
    return file


def render(sections: Sequence[Section], title: str) -> str:
    """The page.

    Args:
        sections: What it shows.
        title: Its headline.
    """
    from bokeh.embed import components
    from bokeh.resources import Resources

    charts: dict[str, Chart] = {}
    bodies, contents = [], []
    for number, section in enumerate(sections):
        bodies.append(_section(section, number, charts))
        contents.append(_contents(section, number))
    script, places = (
        components({key: chart.model for key, chart in charts.items()}, wrap_script=False)
        if charts
        else ("", {})
    )
    body = "\n".join(bodies)
    for key, place in places.items():
        body = body.replace(f"<!-- chart {key} -->", place)
    (library,) = Resources(mode="inline", components=["bokeh"], minified=True).js_raw[:1]
    data = json.dumps({f"s{n}": dict(s.data) for n, s in enumerate(sections)}, allow_nan=False)
    return _PAGE.format(
        title=escape(title),
        policy=escape(_POLICY),
        style=_read("page.css"),
        contents="\n".join(contents),
        body=body,
        licence=escape(_licence()),
        library=_in_script(library),
        data=data.replace("<", "\\u003c"),
        charts=_in_script(script),
        script=_in_script(_read("page.js")),
        version=escape(_engine.VERSION),
        icon=_ICON,
    )


def _section(section: Section, number: int, charts: dict[str, Chart]) -> str:
    parts = []
    for place, part in enumerate(section.parts):
        parts.append(_part(part, f"s{number}-{place}", charts))
    return (
        f'<section id="s{number}" class="{section.kind}" aria-labelledby="s{number}-title">'
        f'<h2 id="s{number}-title">{escape(section.title)}</h2>\n' + "\n".join(parts) + "</section>"
    )


def _part(part: Part, key: str, charts: dict[str, Chart]) -> str:
    def placed(chart: Chart) -> str:
        name = f"{key}-{len(charts)}"
        charts[name] = chart
        for cells in chart.model.select({"name": PAIRS}):
            # By which the page's script knows whose links they lead to.
            cells.name = f"{PAIRS} {key.split('-')[0]}"
        return (
            f'<figure role="group" aria-label="{escape(chart.label)}"><!-- chart {name} -->'
            f"</figure>"
        )

    content = []
    for one in part.content:
        if isinstance(one, str):
            content.append(one)
        elif isinstance(one, Chart):
            content.append(placed(one))
        else:
            content.append(f'<div class="beside">{"".join(placed(chart) for chart in one)}</div>')
    return (
        f'<section id="{key}" class="part" aria-labelledby="{key}-title">'
        f'<h3 id="{key}-title">{escape(part.title)}</h3>\n' + "\n".join(content) + "</section>"
    )


def _contents(section: Section, number: int) -> str:
    entries = "".join(
        f'<li><a href="#s{number}-{place}">{escape(part.title)}</a></li>'
        for place, part in enumerate(section.parts)
    )
    return f'<li><a href="#s{number}">{escape(section.title)}</a><ol>{entries}</ol></li>'


def _in_script(text: str) -> str:
    """JavaScript that does not end the element in which it stands."""
    return re.sub(r"<(?=/script|!--)", r"<\\", text, flags=re.IGNORECASE)


def _read(name: str) -> str:
    return (resources.files("odonata.report.html") / name).read_text(encoding="utf-8")


def _licence() -> str:
    """Bokeh's licence, which asks to stand beside its code."""
    package = metadata.distribution("bokeh")
    for file in package.files or ():
        if file.name.startswith("LICENSE") and "dist-info" in str(file):
            return str(file.read_text()).strip()
    return "BSD-3-Clause"


def picture(file: Path, label: str) -> str:
    """A picture within the page."""
    content = base64.b64encode(read_bytes(file)).decode()
    return (
        f'<figure><img alt="{escape(label)}" src="data:image/png;base64,{content}">'
        f"<figcaption>{escape(label)}</figcaption></figure>"
    )


_ICON = (
    "data:image/svg+xml;base64,"
    + base64.b64encode(
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
        b'<path d="M8 2v12M2 5l12 3M2 8l12-3" stroke="#0072B2" stroke-width="2"/></svg>'
    ).decode()
)

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Odonata {version}">
<title>{title}</title>
<link rel="icon" href="{icon}">
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<noscript><p class="warning">Charts need JavaScript; tables do not.</p></noscript>
<header>
<h1>{title}</h1>
<p class="tools"><label>Colours <select id="scheme"><option value="">as the system</option>
<option value="light">light</option><option value="dark">dark</option></select></label>
<button id="print" type="button">Print</button></p>
</header>
<nav aria-label="Contents"><ol>
{contents}
</ol></nav>
<main id="main">
{body}
</main>
<footer>
<p>Written by Odonata {version}. This file is complete: it loads nothing from anywhere.
Charts: move with the mouse, zoom with the tools above them; every figure of them is also in a
table or in the result directory.</p>
<details><summary>Licence of the charts' library, Bokeh</summary><pre>{licence}</pre></details>
</footer>
<script type="application/json" id="data">{data}</script>
<script>{library}</script>
<script>{charts}</script>
<script>{script}</script>
</body>
</html>
"""


__all__ = ["MOST_BYTES", "picture", "render", "write_report"]
