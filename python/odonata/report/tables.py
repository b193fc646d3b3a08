"""Tables on a terminal, of which nothing is cut: names and figures stand whole in one line.

In a pipe, a table is as wide as it needs to be. Where a terminal has less room, the words of its
heads go below each other, then its bars go, then it becomes several tables below each other, each
with the columns that say what a row is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from odonata.terminal import clean, has_edge

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

#: Lines of a column's head, where there is room.
_HEAD_LINES = 3
#: Letters around a table.
_EDGES = 2
#: The least letters in a line of prose.
_PROSE = 20
#: Letters of a bar.
_BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"
#: What rich calls the letters between two columns.
_PADDING: dict[int, Any] = {1: (0, 0), 2: (0, 1, 0, 0), 3: (0, 1)}


@dataclass
class _Column:
    """A column: its head, and what stands in it.

    Attributes:
        head: Its own lines.
        over: A line above them, left out where the column to the left has the same.
        justify: As of rich.
        style: As of rich.
        job: Whose figures it has, if the table may become one for each job.
        joined: Whether it stays beside the column to its left.
        bars: Shares of the largest value, for bars beside it.
        prose: Whether its cells may take several lines.
        cells: From top to bottom.
        width: Letters of its lines, once it is laid out.
    """

    head: str
    over: str = ""
    justify: Any = "left"
    style: str | None = None
    job: str = ""
    joined: bool = False
    bars: Sequence[float] = ()
    prose: bool = False
    cells: list[Text] = field(default_factory=list)
    width: int = 0

    def least(self, head: str) -> int:
        """Letters of its longest line, below a head."""
        lines = [line for cell in self.cells for line in cell.plain.split("\n")]
        lines += head.split("\n")
        return max(map(cell_len, lines))

    def narrowed(self) -> str:
        """Its head with the words below each other, as narrow as a few lines allow."""
        words = self.head.split()
        width = max([self.least(""), *map(cell_len, words)])
        while len(lines := _lines(words, width)) > _HEAD_LINES:
            width += 1
        return "\n".join(lines)

    def bar_column(self) -> _Column:
        """The bars beside it."""
        return _Column("", cells=[Text(_bar(share).ljust(_BAR)) for share in self.bars])


class WholeTable:
    """A table for a terminal, of which nothing is cut.

    Args:
        keys: How many of its first columns say what a row is.
        gap: Letters between two columns, at most 3.
        narrow: Whether the words of its heads are below each other however much room there is.
        sections: Whether a row with nothing in the first column belongs to the one above; where
            there is no room, each name in that column becomes the title of a table.
    """

    def __init__(
        self, *, keys: int = 1, gap: int = 3, narrow: bool = False, sections: bool = False
    ) -> None:
        self._keys = keys
        self._sections = sections
        self._gap = gap
        self._narrow = narrow
        self._columns: list[_Column] = []

    def add_column(
        self,
        head: str,
        *,
        over: str = "",
        justify: Literal["left", "right"] = "left",
        style: str | None = None,
        job: str = "",
        joined: bool = False,
        bars: Sequence[float] = (),
        prose: bool = False,
    ) -> None:
        """Adds a column.

        Args:
            head: Its head, with rich's markup; ends of lines stay where there is room.
            over: A line above it, left out where the column to the left has the same.
            justify: Where its cells stand.
            style: As of rich.
            job: Whose figures it has; where there is no room, each job has its own table.
            joined: Whether it stays beside the column to its left.
            bars: Shares of the largest value, row by row, for bars beside the first figures.
            prose: Whether its cells may take several lines.
        """
        shown = Text.from_markup(clean(head), emoji=False).plain
        self._columns.append(_Column(shown, over, justify, style, clean(job), joined, bars, prose))

    def add_row(self, *cells: str) -> None:
        """Adds a row.

        Args:
            *cells: With rich's markup; the last ones may be left out.
        """
        rest = [""] * (len(self._columns) - len(cells))
        for column, cell in zip(self._columns, [*cells, *rest], strict=True):
            column.cells.append(Text.from_markup(clean(cell), emoji=False))

    def tables(self, room: int | None) -> list[Table]:
        """The tables that it takes.

        Args:
            room: Letters in a line; ``None`` for as many as it takes.
        """
        return [self._table(columns, job) for columns, job in self._parts(room)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in self.tables(options.max_width if has_edge(console) else None):
            # One that is wider than the terminal is not cut: the terminal wraps its lines.
            needed = sum((column.width or 0) + self._gap for column in table.columns) + _EDGES
            yield from console.render(table, options.update(max_width=needed))

    def _parts(self, room: int | None) -> Iterator[tuple[list[_Column], str]]:
        """The columns of each table, and whose it is."""
        keys, others = self._columns[: self._keys], self._columns[self._keys :]
        if room is None or not others:
            yield self._laid([*keys, *_with_bars(others, True)], self._narrow, room), ""
            return
        for is_narrow, with_bars in ((self._narrow, True), (True, True), (True, False)):
            laid = self._laid([*keys, *_with_bars(others, with_bars)], is_narrow, room)
            if self._total(laid) <= room:
                yield laid, ""
                return
        keys = keys[1:] if self._sections else keys
        for job, of_job in groupby(others, lambda one: one.job):
            alone = [replace(one, head=_without(one.head, job)) for one in of_job]
            parts = []
            for part in self._fitting(keys, alone, room):
                laid = self._laid([*keys, *_with_bars(part, True)], True, room)
                if self._total(laid) > room:
                    laid = self._laid([*keys, *part], True, room)
                parts.append(laid)
            for title, rows in self._titled(job):
                for laid in parts:
                    yield [replace(one, cells=one.cells[rows]) for one in laid], title

    def _titled(self, job: str) -> Iterator[tuple[str, slice]]:
        """The titles of tables, and their rows."""
        if not self._sections:
            yield job, slice(None)
            return
        names = self._columns[0].cells
        starts = [row for row, name in enumerate(names) if name]
        for start, end in pairwise([*starts, len(names)]):
            yield names[start].plain, slice(start, end)

    def _fitting(
        self, keys: Sequence[_Column], others: Sequence[_Column], room: int
    ) -> Iterator[list[_Column]]:
        """As many columns as fit beside the first ones, again and again; at least one."""
        part: list[_Column] = []
        rest = list(others)
        while rest:
            size = next((n for n, one in enumerate(rest[1:], 1) if not one.joined), len(rest))
            together, rest = rest[:size], rest[size:]
            if part and self._total(self._laid([*keys, *part, *together], True, room)) > room:
                yield part
                part = []
            part += together
        yield part

    def _laid(self, columns: Sequence[_Column], is_narrow: bool, room: int | None) -> list[_Column]:
        """The columns with their heads and widths; prose has what room the others leave."""
        laid: list[_Column] = []
        for one in columns:
            head = one.narrowed() if is_narrow else one.head
            same = bool(laid) and laid[-1].over == one.over
            shown = head if same or not one.over else f"{one.over}\n{head}"
            laid.append(replace(one, head=shown, width=one.least(shown)))
        prose = [one for one in laid if one.prose]
        if room is not None and prose:
            over = max(self._total(laid) - room, 0)
            for one in prose:
                one.width = max(one.width - over // len(prose), min(one.width, _PROSE))
        return laid

    def _total(self, laid: Sequence[_Column]) -> int:
        """Letters of a line of a table."""
        return sum(one.width + self._gap for one in laid) - self._gap + _EDGES

    def _table(self, columns: Sequence[_Column], job: str) -> Table:
        table = Table(
            box=SIMPLE_HEAD,
            pad_edge=False,
            padding=_PADDING[self._gap],
            title=escape(job) or None,
            title_justify="left",
            title_style="bold",
        )
        for column in columns:
            table.add_column(
                escape(column.head),
                width=column.width,
                justify=column.justify,
                style=column.style,
                overflow="fold",
            )
        for cells in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*cells)
        return table


def _with_bars(columns: Sequence[_Column], with_bars: bool) -> list[_Column]:
    """The columns, with bars beside the first if it has some."""
    first, rest = columns[:1], columns[1:]
    return [*first, *(one.bar_column() for one in first if one.bars and with_bars), *rest]


def _without(head: str, job: str) -> str:
    """The head of a column in a table that is of one job alone."""
    return head.replace(f" of {job}", "") if job else head


def _lines(words: Sequence[str], width: int) -> list[str]:
    """Words in lines of a width."""
    lines: list[str] = []
    for word in words:
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _bar(share: float) -> str:
    eighths = round(share * 8 * _BAR)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
