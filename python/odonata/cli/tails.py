"""``odonata tails``: distributions with long tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.numeric import Number
from odonata.cli.shared import command, escape, new_table, print_json, progress_terminal
from odonata.errors import SampleError
from odonata.output import check_new_file, new_file
from odonata.terminal import terminal

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from odonata.tails import Change, Correlation, Fit, Modes, Tail
    from odonata.tails.groups import RowGroup
    from odonata.tails.samples import Table


@command()
@click.argument("samples", type=click.Path(path_type=Path))
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Column of the table that holds the samples. With --by it may be given several times.",
)
@click.option(
    "--against",
    metavar="NAME",
    help="Another column of the table, such as network utilisation, to correlate with the samples.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="NAME",
    help="A column by which to split the table's rows: one part for each value; numbers of more "
    "than twelve values are cut at their thirds. May be given several times.",
)
@click.option(
    "--over",
    metavar="NAME",
    help="A column with the time of each sample: shows when the samples changed.",
)
@click.option(
    "--threshold",
    type=Number(None, largest=1e300),
    metavar="VALUE",
    help="Above what value a sample is slow, e.g. the 85th percentile of a quiet measurement.  "
    "[default: the 85th percentile of the samples themselves, so that 15 % are slow by "
    "definition]",
)
@click.option("--fit", is_flag=True, help="Fit all continuous families of scipy.stats.")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME",
    help="Fit only this family of scipy.stats; may be given several times.",
)
@click.option(
    "--rank-by",
    type=click.Choice(["bic", "aic", "ks", "squared_error"]),
    default="bic",
    help="Criterion that ranks the fits.",
)
@click.option(
    "--time-limit",
    type=Number(above=True),
    default=20.0,
    metavar="SECONDS",
    help="Processor time allowed for the fit of one family.",
)
@click.option(
    "--quantity",
    default="Time",
    metavar="TEXT",
    help=("Name and unit of the samples, for the picture."),
)
@options.out(("File for the picture."), metavar="FILE")
@options.json
def tails(
    samples: Path,
    columns: tuple[str, ...],
    against: str | None,
    by: tuple[str, ...],
    over: str | None,
    threshold: float | None,
    fit: bool,
    families: tuple[str, ...],
    rank_by: str,
    time_limit: float,
    quantity: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print tail measures, modes and best-fitting families of SAMPLES.

    SAMPLES is a text file of numbers, a table (CSV or Parquet) with --column, or the directory of
    a result, from which the latencies of the recorded messages are taken, in ns.
    """
    from odonata.tails.samples import read_samples, read_table

    if out is not None:
        from odonata.plots.style import check_format

        check_format(out)
        check_new_file(out)
    if len(columns) > 1 and not by:
        raise click.UsageError("several --column need --by: a table with a row for each")
    asked = _Asked(threshold, families if families else None if fit else (), rank_by, time_limit)
    needs_table = bool(by) or against is not None or over is not None
    table = read_table(samples) if needs_table or columns else None
    if needs_table and table is None:
        raise SampleError(
            f"{samples}: has no columns; allowed with --by, --against, --over: tables"
        )
    if table is None:
        one = asked.describe(read_samples(samples), None, None)
        found = [_Group({}, None, one)]
    else:
        found = _of_table(table, columns, by, against, over, asked)
    if out is not None:
        _draw(out, found, samples.name, quantity, against, over)
    if not by:
        if as_json:
            print_json(found[0].described.to_dict())
        else:
            _show(found[0].described)
    elif as_json:
        print_json({"groups": [group.to_dict() for group in found]})
    else:
        _show_groups(found, by, against)


@dataclass(frozen=True)
class _Described:
    """What is reported of samples.

    Attributes:
        why_not: Why nothing is; empty if something is.
    """

    values: NDArray[Any]
    against: NDArray[Any] | None
    over: NDArray[Any] | None
    tail: Tail | None = None
    modes: Modes | None = None
    fits: tuple[Fit, ...] = ()
    correlation: Correlation | None = None
    changes: tuple[Change, ...] = ()
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        if self.tail is None or self.modes is None:
            return {"why_not": self.why_not}
        content: dict[str, Any] = {
            "tail": self.tail.to_dict(),
            "modes": asdict(self.modes),
            "fits": [one.to_dict() for one in self.fits],
        }
        if self.correlation is not None:
            content["correlation"] = self.correlation.to_dict()
        if self.over is not None:
            content["changes"] = [one.to_dict() for one in self.changes]
        return content


@dataclass(frozen=True)
class _Group:
    """Samples of one column in one part of a table."""

    by: dict[str, str]
    column: str | None
    described: _Described

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"by": self.by, "column": self.column, **self.described.to_dict()}


@dataclass(frozen=True)
class _Asked:
    """What is asked of samples: `families` is `None` for all, empty for no fit."""

    threshold: float | None
    families: tuple[str, ...] | None
    rank_by: str
    time_limit_s: float

    def describe(
        self, values: NDArray[Any], against: NDArray[Any] | None, over: NDArray[Any] | None
    ) -> _Described:
        """What there is to tell."""
        from odonata import tails as statistics

        fits: list[Fit] = []
        tail = statistics.measure_tail(values, self.threshold)
        modes = statistics.find_modes(values)
        correlation = None if against is None else statistics.correlate(against, values)
        changes = () if over is None else tuple(statistics.find_changes(values, over))
        if self.families != ():
            fits = statistics.fit_families(
                values,
                self.families,
                rank_by=self.rank_by,
                time_limit_s=self.time_limit_s,
                progress=_progress(),
            )
        return _Described(values, against, over, tail, modes, tuple(fits), correlation, changes)


def _of_table(
    table: Table,
    columns: Sequence[str],
    by: Sequence[str],
    against: str | None,
    over: str | None,
    asked: _Asked,
) -> list[_Group]:
    """Every column in every group; a group of which nothing can be said says why."""
    from odonata.tails.groups import divide

    xs, when = (None if name is None else table.numbers(name) for name in (against, over))
    series = {name: table.numbers(name) for name in columns or (None,)}
    found = []
    groups: list[RowGroup] = divide(table, by)
    for group in groups:
        for name, values in series.items():
            own, x, t = (None if a is None else a[group.rows] for a in (values, xs, when))
            assert own is not None
            try:
                described = asked.describe(own, x, t)
            except SampleError as error:
                if not by:
                    raise
                described = _Described(own, x, t, why_not=str(error))
            found.append(_Group(group.by, name, described))
    return found


def _progress() -> Any:
    out = progress_terminal()
    if not out.is_terminal:
        return None

    def show(done: int, of: int) -> None:
        out.print(f"{done} of {of} families fitted", end="\r" if done < of else "\n")

    return show


def _draw(
    out: Path,
    found: Sequence[_Group],
    title: str,
    quantity: str,
    against: str | None,
    over: str | None,
) -> None:
    from odonata.plots import tails as pictures
    from odonata.plots.style import new_figure, save, style

    with style():
        if not found[0].by:
            described = found[0].described
            assert described.tail is not None
            series = (
                None if described.over is None else (described.over, described.changes, str(over))
            )
            figure = new_figure(12.6, 4.2 if series is None else 7.6)
            pictures.draw_tail(
                figure, described.values, described.tail, described.fits, title, quantity, series
            )
        elif against is not None:
            figure = pictures.draw_correlations(
                [
                    pictures.Scatter(
                        group.by, described.against, described.values, described.correlation
                    )
                    for group in found
                    if (described := group.described).against is not None
                    and group.column == found[0].column
                ],
                title,
                against,
                quantity,
            )
        else:
            figure = pictures.draw_groups(
                [
                    pictures.Curve(group.by, group.described.values, group.described.fits)
                    for group in found
                    if group.described.tail is not None and group.column == found[0].column
                ],
                title,
                quantity,
            )
    with new_file(out) as partial:
        save(figure, partial)


def _show(described: _Described) -> None:
    tail, modes, correlation = described.tail, described.modes, described.correlation
    assert tail is not None and modes is not None
    out = terminal()
    out.print(
        f"{tail.count:,} samples: median {tail.median:.6g}, mean {tail.mean:.6g} "
        f"({100 * tail.mean_median_gap:+.1f} % from the median), p85 {tail.p85:.6g}, "
        f"p99 {tail.p99:.6g}, maximum {tail.maximum:.6g}"
    )
    out.print(
        f"p99 / median {tail.p99_over_p50:.3g}; {100 * tail.above_twice_median:.2f} % above twice "
        f"the median, {100 * tail.above_threshold:.2f} % above {tail.threshold:.6g}"
    )
    if tail.hill is not None:
        out.print(
            f"tail index (Hill, of the largest {tail.hill_samples}): {tail.hill:.2f} ± "
            f"{tail.hill_error:.2f}"
        )
    several = "several modes" if modes.p < 0.05 else "no sign of several modes"
    out.print(f"dip {modes.dip:.4f}, p = {modes.p:.3f}: {several}")
    if len(modes.modes) > 1:
        parts = ", ".join(f"{100 * m.share:.0f} % around {m.centre:.4g}" for m in modes.modes)
        out.print(f"mixture: {parts}")
    if correlation is not None:
        out.print(
            f"Pearson r = {correlation.pearson:.3f} ({correlation.pearson_low:.3f} to "
            f"{correlation.pearson_high:.3f}, p = {correlation.pearson_p:.2g}), Spearman ρ = "
            f"{correlation.spearman:.3f} ({correlation.spearman_low:.3f} to "
            f"{correlation.spearman_high:.3f}, p = {correlation.spearman_p:.2g}), of "
            f"{correlation.count} pairs"
        )
    if described.over is not None:
        _show_changes(out, described.changes)
    if described.fits:
        _show_fits(out, described.fits)


def _show_changes(out: Console, changes: Sequence[Change]) -> None:
    if not changes:
        out.print("no change over time")
    for change in changes:
        out.print(
            f"changed at {change.at:.10g}: median {change.before:.4g} before, {change.after:.4g} "
            f"after (p = {change.p:.3f})"
        )


def _show_fits(out: Console, fits: Sequence[Fit]) -> None:
    table = new_table("Family", right=("AIC", "BIC", "KS", "squared error"))
    different = [one for one in fits if not one.failure and not one.same_as]
    for one in different[:10]:
        row = (f"{one.aic:.1f}", f"{one.bic:.1f}", f"{one.ks:.4f}", f"{one.squared_error:.3g}")
        names = [one.family, *(other.family for other in fits if other.same_as == one.family)]
        table.add_row(escape(" = ".join(names)), *row)
    out.print(table)
    out.print(
        "The best of many families fits better than it deserves: those within about 2 of the "
        "least BIC are as good."
    )
    if failed := [one for one in fits if one.failure]:
        out.print(f"{len(failed)} families failed:")
        for one in failed:
            out.print(f"  {escape(one.family)}: {escape(one.failure)}")


def _show_groups(found: Sequence[_Group], by: Sequence[str], against: str | None) -> None:
    """A row for each group and column."""
    out = terminal()
    several = len({group.column for group in found}) > 1
    fitted = any(group.described.fits for group in found)
    keys = [*by, *(["column"] if several else [])]
    shapes = ("median", "mean", "p99 / median", "above 2 × median", "modes")
    goes_with = ("r", "95 %", "p", "ρ", "95 %", "p")
    # What a line holds; --json has all of it.
    figures = ("n", *(shapes if against is None else goes_with))
    table = new_table(*map(escape, keys), right=figures, keys=len(keys))
    if fitted:
        table.add_column("best family")
    for group in found:
        described = group.described
        names = [*group.by.values(), *([str(group.column)] if several else [])]
        cells = [str(len(described.values))]
        if against is not None:
            cells += _correlation_cells(described.correlation)
        elif described.tail is not None and described.modes is not None:
            tail = described.tail
            modes = len(described.modes.modes) if described.modes.p < 0.05 else 1
            cells += [f"{tail.median:.4g}", f"{tail.mean:.4g}", f"{tail.p99_over_p50:.3g}"]
            cells += [f"{100 * tail.above_twice_median:.2g} %", str(modes)]
        if (best := next((one for one in described.fits if not one.failure), None)) is not None:
            cells.append(best.family)
        table.add_row(*(escape(cell) for cell in (*names, *cells)))
    out.print(table)
    for group in found:
        name = escape(", ".join([*group.by.values(), *([str(group.column)] if several else [])]))
        if group.described.why_not:
            out.print(f"{name}: {escape(group.described.why_not)}")
        elif group.described.changes:
            out.print(f"{name}:")
            _show_changes(out, group.described.changes)
    if against is not None and len(found) > 1:
        out.print(
            f"{len(found)} correlations: one in twenty differs from 0 at p < 0.05 by chance alone"
        )


def _correlation_cells(correlation: Correlation | None) -> list[str]:
    if correlation is None:
        return [""] * 6
    c = correlation
    pearson = (c.pearson, c.pearson_low, c.pearson_high, c.pearson_p)
    spearman = (c.spearman, c.spearman_low, c.spearman_high, c.spearman_p)
    return [
        cell
        for r, low, high, p in (pearson, spearman)
        for cell in (f"{r:.2f}", f"{low:.2f} … {high:.2f}", f"{p:.1g}")
    ]
