"""How all pictures look, and how they become files that are equal byte for byte.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which people with any kind
of colour vision can tell apart; there is one continuous
scale, in one direction: darker is more.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image

from odonata.errors import OutputError
from odonata.output import write_file

#: Jobs, in their order; further jobs start again.
JOB_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C510A", "#000000")

#: Link classes of the built-in families; the Cray XC's are called after their cables' colours.
CLASS_COLOURS = {
    "terminal": "#9A9A9A",
    "local": "#56B4E9",
    "global": "#D55E00",
    "green": "#009E73",
    "black": "#000000",
    "blue": "#0072B2",
}
OTHER_CLASS_COLOURS = ("#CC79A7", "#E69F00", "#8C510A", "#56B4E9", "#D55E00")

#: What a rank does with its time: what works in full colours, what waits in pale ones.
ACTIVITY_COLOURS = {
    "compute": "#0072B2",
    "send overhead": "#E69F00",
    "receive overhead": "#8C510A",
    "wait to send": "#F5D9A0",
    "wait to receive": "#D9C2A7",
    "collectives": "#CC79A7",
}

#: Parts of a critical path.
PATH_COLOURS = {
    "compute": "#0072B2",
    "send": "#E69F00",
    "receive": "#8C510A",
    "network": "#D55E00",
    "leaving": "#9A9A9A",
}

#: The continuous scale of all pictures. On white, dark is what catches the eye: more is darker
#: everywhere, for loads, bytes and slowdowns alike.
MORE_IS_DARKER = "viridis_r"

#: Text and lines that should not catch the eye.
MUTED = "#666666"
FAINT = "#DDDDDD"

DPI = 160

#: Formats of pictures by how their files' names end, each with what would otherwise make equal
#: pictures unequal files: dates, versions.
_METADATA: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
FORMATS = tuple(_METADATA)

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "font.size": 9.0,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "figure.dpi": DPI,
    "savefig.dpi": DPI,
    "text.parse_math": False,  # names of jobs are theirs, dollar signs and all
    "svg.hashsalt": "odonata",  # names within an SVG are equal then, too
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
}


@contextmanager
def style() -> Iterator[None]:
    """Within the block, pictures look like Odonata's whatever the user's settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


class Picture(Figure):
    """A figure that a notebook shows by itself, whether or not pyplot has been imported."""

    def _repr_png_(self) -> bytes:
        return _written(self, ".png")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, not registered with pyplot; notebooks show it by themselves.

    Args:
        width: In inches.
        height: In inches.
    """
    figure = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def check_format(path: Path) -> None:
    """Finds out before a picture is drawn whether it can be written in that format.

    Raises:
        OutputError: If the name ends in none of :data:`FORMATS`.
    """
    if path.suffix.lower() not in _METADATA:
        found = f'the ending "{path.suffix}"' if path.suffix else "a name without an ending"
        raise OutputError(f"{path}: found {found}; allowed for pictures: {', '.join(FORMATS)}")


def plain_powers(*axes: Axis) -> None:
    """Ticks of logarithmic axes as plain numbers: powers of ten, or 2 and 5 too where few fit."""
    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        decades = np.log10(high / low) if low > 0 else 10.0
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2 else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def drawn(
    path: str | os.PathLike[str] | None,
    size: tuple[float, float],
    draw: Callable[[Figure], object],
) -> Figure:
    """A picture, written if there is a path.

    Args:
        path: Where to: PNG, PDF or SVG, by how the name ends.
        size: Width and height in inches.
        draw: Fills the empty figure.
    """
    if path is not None:
        check_format(Path(path))
    with style():
        figure = new_figure(*size)
        draw(figure)
    if path is not None:
        save(figure, Path(path))
    return figure


def save(figure: Figure, path: Path) -> None:
    """Writes a picture in the format that its name ends in, whole or not at all.

    Equal pictures are equal files: they hold no date and no version.

    Args:
        figure: What to write.
        path: Ends in one of :data:`FORMATS`; a file of that name is replaced.

    Raises:
        OutputError: If the name ends in something else.
        OSError: If the file cannot be written.
    """
    check_format(path)
    content = _written(figure, path.suffix.lower())
    # Beside its target and renamed when it is whole.
    with tempfile.TemporaryDirectory(
        dir=path.parent, prefix=f".{path.name}.", suffix=".partial"
    ) as directory:
        partial = Path(directory) / path.name
        write_file(partial, content)
        partial.replace(path)


def _written(figure: Figure, ending: str) -> bytes:
    """A picture in the format of an ending."""
    content = io.BytesIO()
    with style():
        canvas: Any = figure.canvas
        if ending == ".png" and hasattr(canvas, "buffer_rgba") and figure.dpi == DPI:
            # `savefig` goes through all that is drawn twice, and compresses for twice as long
            # to save a tenth of the file.
            canvas.draw()
            size = canvas.get_width_height(physical=True)
            pixels = Image.frombuffer("RGBA", size, canvas.buffer_rgba(), "raw", "RGBA", 0, 1)
            pixels.convert("RGB").save(content, "png", dpi=(DPI, DPI), compress_level=3)
        else:
            figure.savefig(content, format=ending[1:], dpi=DPI, metadata=_METADATA[ending])
    return content.getvalue()


def job_colour(job: int) -> str:
    """The colour of a job in every picture."""
    return JOB_COLOURS[job % len(JOB_COLOURS)]


def class_colours(classes: Sequence[str]) -> dict[str, str]:
    """A colour for each link class."""
    others = iter(OTHER_CLASS_COLOURS * (1 + len(classes) // len(OTHER_CLASS_COLOURS)))
    return {name: CLASS_COLOURS.get(name) or next(others) for name in classes}


def draw_steps(
    axes: Axes,
    edges: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    *,
    fill: float = 0.0,
    **line: Any,
) -> None:
    """Draws a step for every value, from 0 and back to it.

    A line, not ``stairs``, whose limits are found piece by piece.

    Args:
        axes: Where.
        edges: Of the steps, one more than values.
        values: Their heights.
        fill: How opaque what is below them is.
        **line: As of ``plot``.
    """
    x = np.repeat(edges, 2)
    y = np.concatenate([[0.0], np.repeat(values, 2), [0.0]])
    if fill:
        axes.fill_between(x, y, color=line["color"], alpha=fill, linewidth=0)
    axes.plot(x, y, **line)


def draw_empty(figure: Figure | SubFigure, title: str, message: str) -> Axes:
    """Fills the place of a picture that has nothing to show with the reason."""
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_axis_off()
    axes.text(0.5, 0.5, message, ha="center", va="center", color=MUTED, wrap=True)
    return axes
