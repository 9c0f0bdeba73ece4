"""Style of all plots: colours, fonts, time axis, position of legends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_instance
from trajopt.files import check_output_path
from trajopt.plotting.window import new_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333"),
    *("#882255", "#999933", "#6A3D9A", "#8C6D46", "#9AD15F"),
)
"""Twelve colours; colour-blind readers can tell the first seven apart (Okabe and Ito 2008)."""

BLUE, RED, GREEN, GREY = PALETTE[0], PALETTE[1], PALETTE[2], "#8A8A8A"

RAMP = ("#C9DCEC", "#5B9BC8", "#0B3C6F")
"""Colour ramp from the first knot to the last."""

LINE_STYLES = ("-", "-.", ":")
"""Line styles; the next one follows after the last colour of the palette. Dashes are reserved for limits."""

PICTURE_SUFFIXES = (".png", ".pdf", ".svg")

REFERENCE: dict[str, Any] = {"color": GREY, "linestyle": "--", "linewidth": 1.1}
"""Look of a reference."""
PATCH: dict[str, Any] = {"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.6}
"""Background of a text over curves; outlines of letters would cover the letters beside them."""
SCREEN, DPI = (14.0, 9.0), 100
"""Largest width and height of a figure [inch], and its pixels per inch: 1,400 x 900 pixels fit on a laptop."""

_RC: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.6,
    "savefig.dpi": "figure",
    "figure.constrained_layout.w_pad": 0.08,  # [inch]; the first layout misjudges tick labels and cut them off
}


def _default_colors() -> dict[Any, Any]:
    """Matplotlib's own colours: those of the caller's style, such as white lines on black, hide ours."""
    import matplotlib

    defaults = matplotlib.rcParamsDefault
    return {name: defaults[name] for name in defaults if "color" in name or name == "axes.prop_cycle"}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Context manager with the settings of all plots; restores the caller's matplotlib settings afterwards.

    It does not restore the interactive mode: a notebook switches it on when its first figure is created, and shows no
    figures at the end of a cell without it.
    """
    import matplotlib

    interactive = matplotlib.is_interactive()
    try:
        with matplotlib.rc_context(_default_colors() | _RC):
            try:
                yield
            finally:
                interactive = matplotlib.is_interactive()
    finally:
        matplotlib.interactive(interactive)


def check_figure(figure: Any) -> Figure | SubFigure:
    """Checks that an argument is a figure or subfigure and returns it; raises InvalidArgumentError otherwise."""
    from matplotlib.figure import FigureBase

    check_instance("figure", figure, FigureBase, "such as matplotlib.pyplot.figure()")
    checked: Figure | SubFigure = figure
    return checked


def canvas(
    figure: Figure | SubFigure | None, width: float, height: float, *, apart: bool = False
) -> Figure | SubFigure:
    """Returns the figure, or a new one of width × height [inch], at most a screen; `apart` as in `new_figure`."""
    if figure is not None:
        checked = check_figure(figure)
        if _is_dark(whole_figure(checked)):
            checked.set_facecolor("white")
        return checked
    return new_figure(min(width, SCREEN[0]), min(height, SCREEN[1]), dpi=DPI, apart=apart)


def _is_dark(figure: Figure) -> bool:
    """Whether the background is dark and covers what is behind it."""
    from matplotlib.colors import to_rgba

    *levels, opacity = to_rgba(figure.get_facecolor())
    return bool(opacity > 0.5 and np.mean(levels) < 0.5)


@contextlib.contextmanager
def drawing(figure: Figure | SubFigure | None, width: float, height: float) -> Iterator[Figure | SubFigure]:
    """Context in which a picture is drawn: yields the figure, as from `canvas`, in the style of all pictures."""
    with house_style():
        yield canvas(figure, width, height)


def whole_figure(figure: Figure | SubFigure) -> Figure:
    """Returns the figure that a subfigure belongs to."""
    from matplotlib.figure import Figure

    top = figure if isinstance(figure, Figure) else figure.get_figure(root=True)
    assert isinstance(top, Figure)
    return top


def split(figure: Figure | SubFigure, rows: int, columns: int, **ratios: Any) -> list[SubFigure]:
    """Splits a figure into subfigures and returns them row by row."""
    return list(np.ravel(figure.subfigures(rows, columns, **ratios)))  # type: ignore[arg-type]


_ROWS = 6  # largest number of panels in a column with two-line labels [-]


def set_time_axis(axes: Axes, abscissa: Reals, label: str) -> None:
    """Sets range and label of the horizontal axis, from `time_axis`."""
    single = abscissa[-1] <= abscissa[0]
    axes.set_xlim(abscissa[0] - 0.5 * single, abscissa[-1] + 0.5 * single)
    axes.set_xlabel(label)
    if label.startswith("knot"):
        integer_axis(axes)


def line_look(index: int) -> dict[str, Any]:
    """Returns colour and line style of the index-th line of a panel."""
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": LINE_STYLES[index // len(PALETTE) % len(LINE_STYLES)]}


def legend_beside(axes: Axes, entries: int) -> None:
    """Draws the legend to the right of the axes, where it covers no data."""
    figure = axes.get_figure()
    assert figure is not None
    tall = figure.bbox.height / whole_figure(figure).dpi  # [inch]
    columns = 1 if entries <= max(10, (tall - 0.35) / 0.157) else 2
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.03), borderaxespad=0.3, ncols=columns, labelspacing=0.3)


def label_row(axes: Axes, name: str, quantity: str, rows: int) -> None:
    """Labels a panel in a column; with many panels on one small line, and with few ticks."""
    if rows <= _ROWS:
        axes.set_ylabel(f"{name}\n{quantity}".strip(), fontsize=8.0)
        return
    axes.set_ylabel(f"{name} {quantity}".strip(), fontsize=6.0, rotation=0, ha="right", va="center")
    axes.tick_params(axis="y", labelsize=6.0)
    axes.locator_params(axis="y", nbins=2)


def legend_below(target: Figure | SubFigure, handles: Sequence[Any], title: str | None = None) -> Legend:
    """Draws a legend below all panels, with as many columns as fit the width of the figure."""
    inches = target.bbox.width / whole_figure(target).dpi
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    columns = max(1, min(len(handles), int(inches / (0.062 * longest + 0.5))))
    rows = -(-len(handles) // columns)
    return target.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // rows), title=title,
                         title_fontsize=8, labelspacing=0.3)  # fmt: skip


def time_ramp() -> LinearSegmentedColormap:
    """Returns the colour map from the first knot (light) to the last (dark)."""
    return color_ramp(*RAMP)


def color_ramp(*colors: str) -> LinearSegmentedColormap:
    """Returns colours from the first one to the last one."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("ramp", colors)


def integer_axis(axes: Axes, most: int = 9) -> None:
    """Restricts the ticks of the horizontal axis to integers, and their number to about `most`."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(nbins=most, steps=[1, 2, 4, 5, 10], integer=True, min_n_ticks=1))


def check_picture_path(path: str | os.PathLike[str], argument: str = "path") -> Path:
    """Checks that a plot can be written to a path, and returns the path.

    Args:
        path: File with suffix .png, .pdf or .svg, in an existing folder.
        argument: Name of the argument, for messages.

    Raises:
        InvalidArgumentError: The suffix is another one, or the folder does not exist or cannot be written.
    """
    return check_output_path(path, argument, PICTURE_SUFFIXES)
