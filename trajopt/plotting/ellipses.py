"""Plot of covariance ellipses of two coordinates along a motion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis import Ellipses
from trajopt.checks import as_numbers, check_array, check_instance
from trajopt.plotting.style import BLUE, GREY, PALETTE, RED, drawing, whole_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

MOST = 12  # largest number of ellipses to draw
FEW = 10  # smallest number of samples that get their own ellipse


def plot_ellipses(
    ellipses: Ellipses,
    samples: npt.ArrayLike = (),
    *,
    paths: npt.ArrayLike = (),
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws the path of two coordinates, covariance ellipses along it, and samples of the last knot.

    Args:
        ellipses: The ellipses, for example `Solution.covariance(noise).ellipses("x", "y")`.
        samples: Both coordinates (n, 2) of samples at the last knot, drawn as points; ten or more get their own
            ellipse.
        paths: Both coordinates (m, T + 1, 2) of some samples at all knots, drawn as thin lines.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("ellipses.png")` writes it.

    Raises:
        InvalidArgumentError: An argument has a wrong type or shape.
    """
    check_instance("ellipses", ellipses, Ellipses, "such as Solution.covariance(noise).ellipses()")
    array = as_numbers("samples", samples)
    points = check_array("samples", array, (len(array) if array.ndim else 1, 2)) if array.size else np.zeros((0, 2))
    array = as_numbers("paths", paths)
    lines = (
        check_array("paths", array, (len(array) if array.ndim else 1, len(ellipses.centres), 2))
        if array.size
        else np.zeros((0, 1, 2))
    )
    with drawing(figure, 6.5, 5.5) as target:
        axes = target.subplots()
        if len(points):
            axes.plot(*points.T, ".", color=GREY, markersize=3.0, label=f"{len(points)} samples")
        for i, line in enumerate(lines):
            axes.plot(*line.T, color=GREY, linewidth=0.6, label=None if i else "paths of samples")
        axes.plot(*ellipses.centres.T, color=BLUE, label="planned")
        shown = np.unique(np.linspace(0, len(ellipses.centres) - 1, MOST).round().astype(int))
        size = f"{ellipses.sigmas:g} standard deviations"
        _draw(axes, ellipses, shown, color=RED, label=size)
        if len(points) >= FEW:
            own = replace(ellipses, centres=points.mean(axis=0)[None], covariances=np.cov(points.T)[None])
            _draw(axes, own, [0], color=PALETTE[6], linewidth=1.4, label=f"{size} of the samples")
        labels = [f"{name} [{unit}]" for name, unit in zip(ellipses.names, ellipses.units)]
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_aspect("equal", adjustable="datalim")
        target.legend(loc="outside upper left", ncols=3)
        return whole_figure(target)


def _draw(
    axes: Axes, ellipses: Ellipses, shown: Iterable[int], *, color: str, label: str, linewidth: float = 1.0
) -> None:
    from matplotlib.patches import Ellipse

    lengths, angles = ellipses.axes
    for i in shown:
        look: dict[str, Any] = {"fill": False, "edgecolor": color, "linewidth": linewidth, "zorder": 3}
        patch = Ellipse(ellipses.centres[i].tolist(), *(2.0 * lengths[i]), angle=float(np.degrees(angles[i])), **look)
        axes.add_patch(patch)
    patch.set_label(label)
