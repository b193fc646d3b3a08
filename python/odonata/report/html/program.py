"""What a report shows of a study that is a program."""

from __future__ import annotations

from pathlib import Path

from odonata.bounded import csv_rows, read_text
from odonata.errors import OutputError
from odonata.output import reading
from odonata.report.html.parts import Part, Section, folded, paragraph, source, table
from odonata.report.html.study import pictures
from odonata.results.kinds import TABLES_OF_PROGRAMS
from odonata.results.stored import refusal


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of a study that is a program; if `brief`, without its own pictures."""
    with reading(directory):
        name = next((one for one in TABLES_OF_PROGRAMS if (directory / one).is_file()), None)
        if name is None:
            raise refusal(directory, f"none of {', '.join(TABLES_OF_PROGRAMS)}")
        file = directory / name
        head, *rows = (row for _, row in csv_rows(read_text(file), str(file), OutputError))
        pages = {page.name: read_text(page, OutputError) for page in directory.glob("*.md")}
    if "verdict" not in head:
        raise refusal(file, 'no column "verdict"')
    for number, row in enumerate(rows):
        if len(row) != len(head):
            raise refusal(file, f"{len(row)} cells in row {number}; the header has {len(head)}")
    texts = {"section", "case", "series", "claim", "source"}
    first = sum(1 for column in head if column in texts)
    verdicts = [row[head.index("verdict")] for row in rows]
    counts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    parts = [
        Part(
            "Summary",
            [
                paragraph(f"{len(rows)}: {counts}."),
                table(head, rows, TABLES_OF_PROGRAMS[name], texts=first),
            ],
        )
    ]
    if not brief:
        parts += pictures(directory)
    parts.append(Part("Page", [folded(name, source(text)) for name, text in sorted(pages.items())]))
    text = next(iter(pages.values()), "")
    title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), directory.name)
    return Section("study", f"{title} ({directory.name})" if brief else title, parts)
