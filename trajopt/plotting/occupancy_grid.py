"""Plot of an occupancy grid, with scans and routes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_instance, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.planar.grid import OccupancyGrid
from trajopt.planar.scan import Scan
from trajopt.plotting.style import BLUE, GREEN, RED, check_picture_path, drawing, whole_figure
from trajopt.plotting.window import write
from trajopt.robots.round_bodies import check_round

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_BEAMS = 120  # largest number of beams to draw


def plot_grid(
    grid: OccupancyGrid,
    path: str | os.PathLike[str] | None = None,
    *,
    scan: Scan | None = None,
    route: npt.ArrayLike = (),
    obstacles: npt.ArrayLike = (),
    title: str = "",
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws occupied cells, the beams of a scan with their end points, a route, and obstacles as circles.

    Args:
        grid: The grid.
        path: File to write (.png, .pdf or .svg).
        scan: A scan to draw.
        route: Points (n, 2 or more) in order, such as states that begin with x and y [m].
        obstacles: Circles (x, y, radius), shape (n, 3) [m]; those outside the grid are left out.
        title: Text above the plot.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure.

    Raises:
        InvalidArgumentError: An argument has the wrong shape, or `path` cannot be written.
    """
    check_instance("grid", grid, OccupancyGrid, "OccupancyGrid(cells, resolution=0.05)")
    points, circles = as_numbers("route", route), check_round("obstacles", obstacles, dim=2)
    if points.size and (points.ndim != 2 or points.shape[1] < 2):
        raise InvalidArgumentError(f"route: expected points (n, 2 or more) [m], got shape {points.shape}")
    file = None if path is None else check_picture_path(path)
    left, right, low, high = grid.extent
    with drawing(figure, 8.4, min(9.0, 0.9 + 6.4 * (high - low) / (right - left))) as target:
        axes = target.subplots()
        axes.grid(False)
        axes.imshow(grid.occupied, cmap="Greys", vmin=0.0, vmax=1.6, origin="lower", extent=grid.extent, zorder=0)
        if scan is not None:
            _draw_scan(axes, check_instance("scan", scan, Scan, "Lidar().scan(grid, pose)"))
        _draw_circles(axes, grid, circles)
        if points.size:
            axes.plot(points[:, 0], points[:, 1], color=BLUE, linewidth=1.6, label="route", zorder=4)
            axes.plot(*points[0, :2], "o", color=BLUE, markersize=5, zorder=5, label="_start")
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", xlim=grid.extent[:2], ylim=grid.extent[2:])
        axes.set_title(check_text("title", title))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if file is not None:
            write(whole_figure(target), file)
        return whole_figure(target)


def _draw_scan(axes: Axes, scan: Scan) -> None:
    points = scan.points
    for point in points[:: max(1, -(-len(points) // _BEAMS))]:
        axes.plot(*np.column_stack([scan.pose[:2], point]), color=GREEN, linewidth=0.5, alpha=0.6, zorder=1)
    axes.plot(points[:, 0], points[:, 1], ".", color=RED, markersize=3.5, label="readings", zorder=3)
    axes.plot(*scan.pose[:2], "o", color=GREEN, markersize=6, label="LIDAR", zorder=3)


def _draw_circles(axes: Axes, grid: OccupancyGrid, circles: npt.NDArray[np.float64]) -> None:
    from matplotlib.patches import Circle

    left, right, low, high = grid.extent
    for x, y, radius in circles:
        if left - radius <= x <= right + radius and low - radius <= y <= high + radius:
            axes.add_patch(Circle((x, y), radius, facecolor="none", edgecolor=RED, linewidth=1.0, label="_obstacle"))
