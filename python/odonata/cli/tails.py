"""``odonata tails``: distributions with long tails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli.shared import (
    debug_option,
    escape,
    json_option,
    new_table,
    print_json,
    progress_terminal,
    terminal,
)
from odonata.output import check_new_file, new_file

if TYPE_CHECKING:
    from odonata.tails import Correlation, Fit, Modes, Tail


@click.command()
@click.argument("samples", type=click.Path(path_type=Path))
@click.option("--column", metavar="NAME", help="Column of a table with the samples.")
@click.option(
    "--against",
    metavar="NAME",
    help="Another column of the table, such as network utilisation: its correlation with the "
    "samples.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="VALUE",
    help="What counts as slow, e.g. the 85th percentile of a quiet measurement.  [default: the "
    "samples' own, above which are 15 % by definition]",
)
@click.option("--fit", is_flag=True, help="Fit all continuous families of scipy.stats.")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME",
    help="Fit this family of scipy.stats only; may be given several times.",
)
@click.option(
    "--rank-by",
    type=click.Choice(["aic", "bic", "ks", "squared_error"]),
    default="aic",
    show_default=True,
    help="What makes a fit the best.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="For the fit of one family.",
)
@click.option("--quantity", default="Time", metavar="TEXT", help="Name and unit for the picture.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Picture to draw.")
@json_option
@debug_option
def tails(
    samples: Path,
    column: str | None,
    against: str | None,
    threshold: float | None,
    fit: bool,
    families: tuple[str, ...],
    rank_by: str,
    time_limit: float,
    quantity: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Tail measures, modes and best-fitting families of SAMPLES.

    SAMPLES is a text file of numbers, a table (CSV or Parquet) with --column, or the directory of
    a result, of which the recorded messages' latencies in ns are taken.
    """
    from odonata import tails as statistics

    if out is not None:
        from odonata.plots.style import check_format

        check_format(out)
        check_new_file(out)
    values = statistics.read_samples(samples, column)
    tail = statistics.measure_tail(values, threshold)
    modes = statistics.find_modes(values)
    correlation = None
    if against is not None:
        correlation = statistics.correlate(statistics.read_samples(samples, against), values)
    fits: list[Fit] = []
    if fit or families:
        fits = statistics.fit_families(
            values,
            families or None,
            rank_by=rank_by,
            time_limit_s=time_limit,
            progress=_progress(),
        )
    if out is not None:
        _draw(out, values, tail, fits, samples.name, quantity)
    if as_json:
        content: dict[str, Any] = {
            "tail": tail.to_dict(),
            "modes": _modes_dict(modes),
            "fits": [one.to_dict() for one in fits],
        }
        if correlation is not None:
            content["correlation"] = correlation.to_dict()
        print_json(content)
        return
    _show(tail, modes, fits, correlation)


def _progress() -> Any:
    out = progress_terminal()
    if not out.is_terminal:
        return None

    def show(done: int, of: int) -> None:
        out.print(f"{done} of {of} families fitted", end="\r" if done < of else "\n")

    return show


def _modes_dict(modes: Modes) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(modes)


def _draw(out: Path, values: Any, tail: Tail, fits: list[Fit], title: str, quantity: str) -> None:
    from odonata.plots.style import new_figure, save, style
    from odonata.plots.tails import draw_tail

    with style():
        figure = new_figure(9.6, 4.2)
        draw_tail(figure, values, tail, fits, title, quantity)
    with new_file(out) as partial:
        save(figure, partial)


def _show(tail: Tail, modes: Modes, fits: list[Fit], correlation: Correlation | None) -> None:
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
    if not fits:
        return
    table = new_table()
    table.add_column("Family")
    for name in ("AIC", "BIC", "KS", "squared error"):
        table.add_column(name, justify="right")
    different = [one for one in fits if not one.failure and not one.same_as]
    for one in different[:10]:
        row = (f"{one.aic:.1f}", f"{one.bic:.1f}", f"{one.ks:.4f}", f"{one.squared_error:.3g}")
        names = [one.family, *(other.family for other in fits if other.same_as == one.family)]
        table.add_row(escape(" = ".join(names)), *row)
    out.print(table)
    out.print(
        "The best of many families fits better than it deserves: those within about 2 of the "
        "least AIC are as good."
    )
    if failed := [one for one in fits if one.failure]:
        out.print(f"{len(failed)} families failed:")
        for one in failed:
            out.print(f"  {escape(one.family)}: {escape(one.failure)}")
