"""Ellipses of two coordinates along a motion: how far noise takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis import Ellipses
from trajopt.checks import as_numbers, check_array, check_instance
from trajopt.plotting.style import BLUE, GREY, RED, canvas, house_style, whole_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

MOST = 12  # ellipses that are drawn


def plot_ellipses(
    ellipses: Ellipses, samples: npt.ArrayLike = (), *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws the path of two coordinates, ellipses along it, and samples of the end.

    Args:
        ellipses: The ellipses, such as those of `Solution.covariance(noise).ellipses("x", "y")`.
        samples: Both coordinates of samples (n, 2) that are drawn as points.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("ellipses.png")` writes it.
    """
    from matplotlib.patches import Ellipse

    check_instance("ellipses", ellipses, Ellipses, "Solution.covariance(noise).ellipses() makes them")
    given = as_numbers("samples", samples)
    points = check_array("samples", given, (len(given), 2)) if given.size else np.zeros((0, 2))
    lengths, angles = ellipses.axes
    with house_style():
        target = canvas(figure, 6.5, 5.5)
        axes = target.subplots()
        if len(points):
            axes.plot(*points.T, ".", color=GREY, markersize=3.0, label=f"{len(points)} samples")
        axes.plot(*ellipses.centres.T, color=BLUE, label="planned")
        shown = np.unique(np.linspace(0, len(lengths) - 1, MOST).round().astype(int))
        for i in shown:
            label = f"{ellipses.sigmas:g} standard deviations" if i == shown[-1] else None
            look: dict[str, Any] = {"fill": False, "edgecolor": RED, "linewidth": 1.0, "label": label}
            turn = float(np.degrees(angles[i]))
            axes.add_patch(Ellipse(ellipses.centres[i].tolist(), *(2.0 * lengths[i]), angle=turn, **look))
        axes.set_xlabel(ellipses.names[0])
        axes.set_ylabel(ellipses.names[1])
        axes.set_aspect("equal", adjustable="datalim")
        axes.legend(loc="best")
        return whole_figure(target)
