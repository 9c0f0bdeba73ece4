"""Plots of many solutions of one problem: costs over two numbers that vary, and a fan of motions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.lines import coordinate_units
from trajopt.checks import check_instance
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.style import (
    BLUE,
    GREY,
    RED,
    canvas,
    check_picture_path,
    house_style,
    split,
    time_ramp,
    whole_figure,
)
from trajopt.plotting.sweeps import plot_cost_histogram, plot_success_map
from trajopt.plotting.window import write
from trajopt.solution import SolutionBatch
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

_MOTIONS = 200  # largest number of motions of a fan
_FEW = 12  # largest number of motions with thick lines
_TICKS = 5  # largest number of values beside the colour bar
_COORDINATES = 6  # largest number of coordinates in it


def plot_batch(
    solutions: SolutionBatch,
    path: str | os.PathLike[str] | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
) -> Figure:
    """Draws the costs of many solutions over the numbers that vary, and a fan of their motions.

    Costs are points over one number, a map over two, and a histogram without any.

    The fan has up to 200 motions and the first coordinates of the state, darker for higher values of the one number
    that varies, otherwise for higher costs, and red for motions that did not converge.

    Args:
        solutions: The solutions, from `solver.solve_batch`.
        path: File to write (.png, .pdf or .svg).
        x: Number on the horizontal axis of a map, such as "x0[1]", see `SolutionBatch.varied`; by default the first.
        y: Number on its vertical axis; by default the next one.

    Raises:
        UnknownNameError: No number that varies has this name; the message lists them.
        InvalidArgumentError: `path` cannot be written, or there are no rows.
    """
    path = None if path is None else check_picture_path(path)
    check_instance("solutions", solutions, SolutionBatch, "solver.solve_batch(x0=X) returns one")
    if not len(solutions):
        raise InvalidArgumentError("solutions: expected at least one row, got none")
    with house_style():
        whole = whole_figure(canvas(None, 12.0, 5.5, apart=path is not None))
        left, right = split(whole, 1, 2, width_ratios=[1.0, 1.1])
        if len(solutions.varied) > 1 or x is not None or y is not None:
            plot_success_map(solutions, x, y, figure=left)  # type: ignore[arg-type]
        elif solutions.varied:
            _draw_costs(left, solutions)
        else:
            plot_cost_histogram(solutions, figure=left)  # type: ignore[arg-type]
        _draw_fan(right, solutions)
        if path is not None:
            write(whole, path)
        return whole


def _draw_costs(target: Figure | SubFigure, solutions: SolutionBatch) -> None:
    """Draws the cost of each row over the one number that varies."""
    ((name, numbers),) = solutions.varied.items()
    axes, good = target.subplots(), solutions.converged
    for chosen, color, words in ((good, BLUE, "converged"), (~good, RED, "others")):
        if chosen.any():
            label = f"{int(chosen.sum())} {words}"
            axes.plot(numbers[chosen], solutions.cost[chosen], ".", color=color, markersize=5.0, label=label)
    axes.set(xlabel=solutions.label(name), ylabel="cost")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)


def _draw_fan(target: Figure | SubFigure, solutions: SolutionBatch) -> None:
    """Draws coordinates of the states over time, one line for each motion."""
    names, times, unit = _labels(solutions)
    begun = np.flatnonzero(np.isfinite(solutions.xs).all(axis=(1, 2)))
    rows = begun[np.unique(np.linspace(0, len(begun) - 1, _MOTIONS).round().astype(int))] if len(begun) else begun
    key, numbers = _key(solutions)
    rows = rows[np.argsort(numbers[rows], kind="stable")]
    place, good = np.linspace(0.0, 1.0, max(len(rows), 2)), solutions.converged
    shown_names = names[:_COORDINATES]
    columns = 1 if len(shown_names) <= 2 else 2
    panels = target.subplots(-(-len(shown_names) // columns), columns, squeeze=False, sharex=True)
    colors = time_ramp()
    look: dict[str, Any] = {"linewidth": 1.4} if len(rows) <= _FEW else {"linewidth": 0.6, "alpha": 0.6}
    for i, (axes, name) in enumerate(zip(panels.ravel(), shown_names)):
        for number, row in enumerate(rows):
            color: Any = colors(place[number]) if good[row] else RED
            axes.plot(times, solutions.xs[row, :, i], color=color, **look)
        axes.set_title(name)
    for axes in panels.ravel()[len(shown_names) :]:
        axes.set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel(unit)
    _draw_key(target, panels, key, numbers[rows[good[rows]]], place[: len(rows)][good[rows]])
    if len(rows) < len(solutions):
        target.suptitle(f"{len(rows)} of {len(solutions)} motions", fontsize=9.0, color=GREY)


def _key(solutions: SolutionBatch) -> tuple[str, Reals]:
    """Name and value of the number by which motions are sorted: the only one that varies, otherwise the cost."""
    if len(solutions.varied) == 1:
        ((name, numbers),) = solutions.varied.items()
        return solutions.label(name), np.asarray(numbers, dtype=np.float64)
    return "cost", solutions.cost


def _draw_key(target: Figure | SubFigure, panels: Any, key: str, numbers: Reals, place: Reals) -> None:
    """Draws a colour bar with the numbers (n,) of motions at these places of the ramp, from 0 to 1."""
    from matplotlib.cm import ScalarMappable

    if len(numbers) < 2:
        return
    marks = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _TICKS)).round().astype(int))
    bar = target.colorbar(ScalarMappable(cmap=time_ramp()), ax=panels, label=key, aspect=40, pad=0.02)
    bar.set_ticks(place[marks].tolist(), labels=[f"{number:.4g}" for number in numbers[marks]])


def _labels(solutions: SolutionBatch) -> tuple[tuple[str, ...], Reals, str]:
    """Names of the coordinates with their units, times of the knots, and the name of their axis."""
    knots = np.arange(solutions.xs.shape[1], dtype=np.float64)
    if solutions.problem is None:
        numbered = tuple(f"x{i}" for i in range(solutions.xs.shape[2]))
        described = solutions.described
        names, units = (described.get(f"coordinate_{each}", ()) for each in ("names", "units"))
        return tuple(map(_with_unit, names, units)) or numbered, knots, "knot"
    times, state = solutions.problem.times, solutions.problem.state
    names = tuple(map(_with_unit, state.coordinate_names, coordinate_units(state)))
    return (names, knots, "knot") if times is None else (names, times, "time [s]")


def _with_unit(name: str, unit: str) -> str:
    return name if unit in ("", "-") else f"{name} [{unit}]"
