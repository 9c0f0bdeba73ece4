"""Plot of mobile robots' paths with headings and wheel rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_mapping, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.limits import draw_limit
from trajopt.plotting.path import spread
from trajopt.plotting.style import PALETTE, drawing, line_look, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

ARROWS = 14  # number of heading arrows along the longest path [-]
ARROW = 0.07  # length of an arrow, relative to the size of the plot [-]
WHEELS = ("right", "left")


def plot_drives(
    paths: Mapping[str, npt.ArrayLike],
    *,
    points: npt.ArrayLike = (),
    wheels: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]] | None = None,
    limit: float | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws paths in the plane with their headings, and beside them the rates of both wheels over time.

    Args:
        paths: Poses of each path by name, (n, 3), or states that begin with (x, y, θ) [m, m, rad].
        points: Points to mark (m, 2) [m].
        wheels: Times (n,) [s] and rates of the right and left wheel (n, 2) [rad/s] by name of a path, drawn in its
            colour; None to draw no rates. Rates with one row less than times are constant between times.
        limit: Largest rate of a wheel, drawn as dashed lines [rad/s].
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("drives.png")` writes it.

    Raises:
        InvalidArgumentError: There is no path, or an argument has a wrong shape.
    """
    drawn = {str(name): _poses(name, poses) for name, poses in check_mapping("paths", paths, "{name: poses}").items()}
    if not drawn:
        raise InvalidArgumentError("paths: expected one or more, got none; pass {name: poses}")
    rates = {str(name): _rates(name, pair) for name, pair in check_mapping("wheels", wheels or {}).items()}
    array = as_numbers("points", points)
    marks = check_array("points", array, (len(array) if array.ndim else 1, 2)) if array.size else np.zeros((0, 2))
    most = None if limit is None else check_positive("limit", limit, unit="rad/s")
    looks = {name: line_look(i) for i, name in enumerate(dict.fromkeys([*drawn, *rates]))}
    with drawing(figure, 11.0 if rates else 6.5, 5.5) as target:
        grid = target.add_gridspec(2, 2 if rates else 1, width_ratios=[1.1, 1.0][: 2 if rates else 1])
        axes = target.add_subplot(grid[:, 0])
        _draw_paths(axes, drawn, marks, looks)
        handles = list(axes.get_legend_handles_labels()[0])
        for row, wheel in enumerate(WHEELS if rates else ()):
            panel = target.add_subplot(grid[row, 1])
            _draw_rates(panel, row, rates, most, looks)
            panel.set_ylabel(f"{wheel} wheel [rad/s]")
            if row == 0:
                labels = {handle.get_label() for handle in handles}
                handles += [h for h in panel.get_legend_handles_labels()[0] if h.get_label() not in labels]
            else:
                panel.set_xlabel("time [s]")
        target.legend(handles=handles, loc="outside upper left", ncols=6)
        return whole_figure(target)


def _draw_paths(axes: Axes, paths: dict[str, Reals], points: Reals, looks: dict[str, dict[str, Any]]) -> None:
    everything = np.concatenate([*(poses[:, :2] for poses in paths.values()), points])
    size = float(np.ptp(everything, axis=0).max()) or 1.0
    for name, poses in paths.items():
        axes.plot(*poses[:, :2].T, label=name, **looks[name])
        way = float(np.linalg.norm(np.diff(poses[:, :2], axis=0), axis=1).sum())
        some = poses[spread(poses[:, :2], max(2, min(ARROWS, round(ARROWS * way / size))))]
        tips = ARROW * size * np.column_stack([np.cos(some[:, 2]), np.sin(some[:, 2])])
        scale: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.0035, "headwidth": 4.5}
        axes.quiver(*some[:, :2].T, *tips.T, color=looks[name]["color"], zorder=3, **scale)
        axes.update_datalim(some[:, :2] + tips)
    if len(points):
        axes.plot(
            *points.T, "o", color=PALETTE[6], markersize=7, markeredgecolor="white", zorder=4, label="given points"
        )
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.1)


def _draw_rates(
    axes: Axes, wheel: int, rates: dict[str, tuple[Reals, Reals]], limit: float | None, looks: dict[str, dict[str, Any]]
) -> None:
    for name, (times, values) in rates.items():
        held = len(values) < len(times)
        shown = np.append(values[:, wheel], values[-1, wheel]) if held else values[:, wheel]
        axes.plot(times, shown, drawstyle="steps-post" if held else "default", label=name, **looks[name])
    for sign in () if limit is None else (-1.0, 1.0):
        draw_limit(axes, sign * float(limit or 0.0), label="limit" if sign > 0 else "_limit")


def _poses(name: object, poses: npt.ArrayLike) -> Reals:
    values = as_numbers(f"paths[{name!r}]", poses)
    if values.ndim != 2 or values.shape[1] < 3:
        raise InvalidArgumentError(
            f"paths[{name!r}]: expected poses (n, 3) or states that begin with (x, y, θ), got shape {values.shape}"
        )
    return check_array(f"paths[{name!r}]", values, values.shape)[:, :3]


def _rates(name: object, pair: Any) -> tuple[Reals, Reals]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InvalidArgumentError(f"wheels[{name!r}]: expected a pair (times, rates), got {type(pair).__name__}")
    times, values = as_numbers(f"wheels[{name!r}]", pair[0]), as_numbers(f"wheels[{name!r}]", pair[1])
    if times.ndim != 1 or values.ndim != 2 or values.shape[1] != 2 or not 0 <= len(times) - len(values) <= 1:
        raise InvalidArgumentError(
            f"wheels[{name!r}]: expected times (n,) and rates (n, 2) or (n - 1, 2), got {times.shape} and "
            f"{values.shape}"
        )
    return times, values
