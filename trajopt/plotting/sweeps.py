"""Plots of a sweep: success over two components of its parameters, histogram of costs, parallel coordinates."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_known
from trajopt.errors import InvalidArgumentError, shown
from trajopt.plotting.cost_colors import WIDE, CostColors, cost_colors
from trajopt.plotting.failed_rows import draw_reasons
from trajopt.plotting.style import (
    BLUE,
    GREY,
    RED,
    SCREEN,
    canvas,
    check_picture_path,
    color_ramp,
    drawing,
    house_style,
    split,
    whole_figure,
)
from trajopt.plotting.window import write
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure, SubFigure

    from trajopt.sweeps import Sweep

_POINTS = 2000  # largest number of rows that a map shows as points; it shows more rows as shares
_FEW_CELLS = 50  # cells along an axis up to which lines separate them [-]
_CELLS, _BINS = 200, 40  # largest number of values along an axis of a grid; bins of shares and of histograms
_LINES, _FAILED = 1000, 150  # largest number of parallel-coordinate lines, and of failures among them
_AXES = 12  # largest number of components in parallel coordinates


def plot_sweep(
    sweep: Sweep,
    path: str | os.PathLike[str] | None = None,
    *,
    kind: str = "summary",
    x: str | None = None,
    y: str | None = None,
) -> Figure:
    """Draws a sweep and writes the figure to `path`.

    Args:
        sweep: The sweep.
        path: File to write (.png, .pdf or .svg).
        kind: "map" of success over two components, "costs" for a histogram, "parallel" coordinates, or "summary" for
            all of them.
        x: Component on the horizontal axis of the map, such as "goal.reference[0]"; by default the first that varies.
        y: Component on the vertical axis; by default the next one that varies.

    Raises:
        UnknownNameError: There is no such kind, or no varying component of this name.
        InvalidArgumentError: `path` cannot be written, or the sweep has no rows or too few components for a map.
    """
    path = None if path is None else check_picture_path(path)
    check_known("kind", kind, ("map", "costs", "parallel", "summary"))
    _check(sweep)
    with house_style():
        whole = whole_figure(canvas(None, *_SIZES[kind], apart=path is not None))
        draw: dict[str, Callable[..., Any]] = {
            "map": partial(plot_success_map, sweep, x, y),
            "costs": partial(plot_cost_histogram, sweep),
            "parallel": partial(plot_parallel_coordinates, sweep),
            "summary": partial(_draw_summary, sweep, x, y),
        }
        draw[kind](figure=whole)
        if path is not None:
            write(whole, path)
        return whole


def _check(sweep: Sweep) -> None:
    """Raises InvalidArgumentError unless the argument is a sweep with rows."""
    if not (
        hasattr(type(sweep), "varied") and hasattr(type(sweep), "plot")
    ):  # a Sweep; the import direction forbids isinstance
        raise InvalidArgumentError(
            f"sweep: expected a Sweep, got {shown(sweep)}; trajopt.sweep(case, parameters) returns one"
        )
    if not len(sweep):
        raise InvalidArgumentError("sweep: expected at least one row, got none")


_SIZES = {"map": (7.5, 6.0), "costs": (8.0, 4.0), "parallel": (11.0, 5.0), "summary": SCREEN}  # [inch]


def _draw_summary(sweep: Sweep, x: str | None, y: str | None, figure: Figure) -> None:
    varied = sweep.varied
    words = sweep.report()
    more = [words[key].split(":")[0] for key in ("others", "interrupted") if key in words]
    heading = ", ".join([f"{words['converged']} converged", *more])
    figure.suptitle(heading, fontsize=10.5, fontweight="bold", x=0.01, ha="left")
    if not varied:
        plot_cost_histogram(sweep, figure=figure)
        return
    upper, lower = split(figure, 2, 1, height_ratios=[1.25, 1.0])
    left, right = split(upper, 1, 2, width_ratios=[1.2, 1.0])
    if len(varied) > 1:
        plot_success_map(sweep, x, y, figure=left)
    else:
        _draw_line(left, sweep, *next(iter(varied.items())))
    first, second = right.subplots(2, 1)
    _draw_costs(first, sweep)
    _draw_counts(second, sweep)
    plot_parallel_coordinates(sweep, figure=lower)


def plot_success_map(
    sweep: Sweep, x: str | None = None, y: str | None = None, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draws where solves converged, over two components of parameters: by colour their cost, red for failures.

    A grid is drawn as cells, and up to 2000 random rows as points. With more rows, or several per cell, it draws the
    share of converged rows, or if all converged their median cost. Cells and points that failed for several reasons
    have a marker for each.

    Args:
        sweep: The sweep.
        x: Component on the horizontal axis, such as "goal.reference[0]"; by default the first that varies.
        y: Component on the vertical axis; by default the next one that varies.
        figure: Figure or subfigure to draw into; by default a new one.

    Raises:
        UnknownNameError: No varying component has this name.
        InvalidArgumentError: The sweep has no rows, or fewer than two components vary.
    """
    _check(sweep)
    varied = sweep.varied
    across, up = _chosen(varied, x, y)
    with drawing(figure, *_SIZES["map"]) as target:
        axes = target.subplots()
        (xs, columns), (ys, rows) = (np.unique(varied[name], return_inverse=True) for name in (across, up))
        cells = max(len(xs), len(ys)) <= _CELLS and len(xs) * len(ys) <= len(sweep)
        if cells:
            _draw_cells(axes, sweep, xs, ys, columns, rows)
        elif len(sweep) <= _POINTS:
            _draw_points(axes, sweep, varied[across], varied[up])
        else:
            edges = [np.linspace(varied[name].min(), varied[name].max(), _BINS + 1) for name in (across, up)]
            places = [np.clip(np.digitize(varied[n], e) - 1, 0, _BINS - 1) for n, e in zip((across, up), edges)]
            _draw_shares(axes, sweep, edges, places)
        axes.set(xlabel=sweep.label(across), ylabel=sweep.label(up))
        axes.grid(visible=False)
        return whole_figure(target)


def _chosen(varied: Mapping[str, Any], x: str | None, y: str | None) -> tuple[str, str]:
    """Names of the two components of a map."""
    if len(varied) < 2:
        raise InvalidArgumentError(
            f"sweep: expected at least two varying components for a map, got {', '.join(varied) or 'none'}; use "
            "kind='costs'"
        )
    for argument, name in (("x", x), ("y", y)):
        if name is not None:
            check_known(f"{argument}: component", name, varied)
    free = [name for name in varied if name not in (x, y)]
    across = x or free[0]
    up = y or next(name for name in free if name != across)
    if across == up:
        raise InvalidArgumentError(f"y: expected a component other than x, got {shown(up)} for both")
    return across, up


def _draw_cells(axes: Axes, sweep: Sweep, xs: Reals, ys: Reals, columns: Any, rows: Any) -> None:
    """Draws a grid: costs if each cell has one row, otherwise shares."""
    edges = [_edges(xs), _edges(ys)]
    if len(np.unique(rows * len(xs) + columns)) < len(sweep):
        _draw_shares(axes, sweep, edges, [columns, rows])
        return
    values = np.full((len(ys), len(xs)), np.nan)
    values[rows, columns] = np.where(sweep.converged, sweep.cost, np.nan)
    failed = np.full(values.shape, np.nan)
    failed[rows, columns] = np.where(sweep.converged, np.nan, 1.0)
    scale = cost_colors(sweep)
    drawn = axes.pcolormesh(*edges, values, **scale.look)
    axes.pcolormesh(*edges, failed, cmap=color_ramp(RED, RED), vmin=0.0, vmax=1.0)
    _finish(axes, sweep, drawn, scale)
    size = float(np.clip(6e3 / values.size, 6.0, 36.0))
    draw_reasons(axes, sweep, xs[columns], ys[rows], size, cells=True)


def _draw_points(axes: Axes, sweep: Sweep, xs: Reals, ys: Reals) -> None:
    good = sweep.converged
    scale = cost_colors(sweep)
    size = float(np.clip(6000.0 / len(sweep), 6.0, 36.0))
    drawn = axes.scatter(xs[good], ys[good], size, sweep.cost[good], linewidths=0.0, **scale.look)
    _finish(axes, sweep, drawn, scale)
    draw_reasons(axes, sweep, xs, ys, size)


def _finish(axes: Axes, sweep: Sweep, drawn: Any, scale: CostColors) -> None:
    """Adds a colour bar of the costs, and the number of rows that converged."""
    scale.draw_legend(axes)
    if np.any(sweep.converged):
        _draw_bar(axes, drawn, "cost", extend="both" if len(sweep) > 1 else "neither")
    failed = int(np.count_nonzero(~sweep.converged))
    axes.set_title(f"{len(sweep) - failed} of {len(sweep)} converged", fontweight="normal")


def _draw_bar(axes: Axes, drawn: Any, label: str, **look: Any) -> None:
    whole_figure(axes.figure).colorbar(drawn, ax=axes, label=label, pad=0.02, **look)


def _draw_shares(axes: Axes, sweep: Sweep, edges: list[Reals], places: list[Any]) -> None:
    """Draws the share of converged rows in each cell; if all converged, their median cost."""
    shape = (len(edges[1]) - 1, len(edges[0]) - 1)
    number = places[1] * shape[1] + places[0]
    lines: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.4} if max(shape) <= _FEW_CELLS else {}
    if np.all(sweep.converged):
        medians = np.full(shape[0] * shape[1], np.nan)
        for cell in np.unique(number):
            medians[cell] = np.median(sweep.cost[number == cell])
        scale = cost_colors(sweep)
        drawn = axes.pcolormesh(*edges, medians.reshape(shape), **scale.look, **lines)
        _draw_bar(axes, drawn, "median cost of a cell", extend="both")
        scale.draw_legend(axes)
        axes.set_title(f"{len(sweep)} of {len(sweep)} converged", fontweight="normal")
        return
    total = np.bincount(number, minlength=shape[0] * shape[1])
    good = np.bincount(number, weights=sweep.converged, minlength=shape[0] * shape[1])
    share = np.where(total > 0, 100.0 * good / np.maximum(total, 1), np.nan).reshape(shape)
    drawn = axes.pcolormesh(*edges, share, cmap=color_ramp(RED, "#F3E3D3", "#C9DCEC", BLUE), vmin=0.0, vmax=100.0,
                            **lines)  # fmt: skip
    _draw_bar(axes, drawn, "converged rows [%]")
    axes.set_title(f"{int(np.count_nonzero(sweep.converged))} of {len(sweep)} converged", fontweight="normal")


def _draw_line(target: Figure | SubFigure, sweep: Sweep, name: str, values: Reals) -> None:
    """Draws costs over the only varying component."""
    axes, good = target.subplots(), sweep.converged
    axes.plot(values[good], sweep.cost[good], ".", color=BLUE, label="converged")
    for value in values[~good]:
        axes.axvline(value, color=RED, linewidth=0.6, alpha=0.5)
    axes.set(xlabel=sweep.label(name), ylabel="cost")
    if np.any(~good):
        axes.plot([], [], color=RED, linewidth=0.6, label="did not converge")
        axes.legend()


def plot_cost_histogram(sweep: Sweep, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws a histogram of the costs: filled for converged rows, a red line for the others.

    Args:
        sweep: The sweep.
        figure: Figure or subfigure to draw into; by default a new one.
    """
    _check(sweep)
    with drawing(figure, *_SIZES["costs"]) as target:
        _draw_costs(target.subplots(), sweep)
        return whole_figure(target)


def _draw_costs(axes: Axes, sweep: Sweep) -> None:
    finite = np.isfinite(sweep.cost)
    good, bad = sweep.cost[sweep.converged & finite], sweep.cost[~sweep.converged & finite]
    within = good if good.size else bad
    if within.size:
        low, high = float(within.min()), float(within.max())
        wide = low > 0.0 and high > WIDE * low
        size = max(abs(low), abs(high), 1e-300)
        room = 0.02 * (high - low) if high - low > 1e-6 * size else 0.05 * size  # equal costs are one narrow bar
        first, last = (low / 1.05, high * 1.05) if wide else (low - room, high + room)
        bins = np.geomspace(first, last, _BINS + 1) if wide else np.linspace(first, last, _BINS + 1)
        axes.hist(good, bins.tolist(), color=BLUE, label=f"{good.size} converged")
        if bad.size:
            beyond = int(np.count_nonzero((bad < first) | (bad > last)))
            note = f", {'all' if beyond == bad.size else beyond} beyond the axis" if beyond else ""
            axes.hist(bad, bins.tolist(), color=RED, histtype="step", label=f"{bad.size} others{note}")
        if good.size:
            middle = float(np.median(good))
            axes.axvline(middle, color=GREY, linestyle="--", linewidth=1.0, label=f"median {middle:.4g}")
        if wide:
            axes.set_xscale("log")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
    axes.set(xlabel="cost", ylabel="rows")
    axes.grid(visible=False, axis="x")


def _draw_counts(axes: Axes, sweep: Sweep) -> None:
    """Draws a histogram of the iterations."""
    solved = sweep.error == ""
    counts = [sweep.iterations[solved & sweep.converged], sweep.iterations[solved & ~sweep.converged]]
    most = int(max((each.max(initial=1) for each in counts), default=1))
    bins = np.arange(0.5, most + 1.0, max(1, most // _BINS))
    bins = np.append(bins, bins[-1] + max(1, most // _BINS))
    labels = [f"{len(each)} {words}" for each, words in zip(counts, ("converged", "did not converge"))]
    shown_too = 2 if len(counts[1]) else 1
    axes.hist(counts[:shown_too], bins.tolist(), color=[BLUE, RED][:shown_too], stacked=True, label=labels[:shown_too])
    axes.set(xlabel="iterations", ylabel="rows")
    axes.grid(visible=False, axis="x")


def plot_parallel_coordinates(sweep: Sweep, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draws a line per row across vertical axes for varying components, cost and iterations; failures are red.

    Of many rows it draws an even selection of 1000, with at most 150 failures.

    Args:
        sweep: The sweep.
        figure: Figure or subfigure to draw into; by default a new one.
    """
    _check(sweep)
    varied = dict(list(sweep.varied.items())[:_AXES])
    columns = {**varied, "cost": sweep.cost, "iterations": sweep.iterations.astype(float)}
    with drawing(figure, *_SIZES["parallel"]) as target:
        axes = target.subplots()
        rows = _evenly(np.flatnonzero(~sweep.converged), _FAILED)
        good = _evenly(np.flatnonzero(sweep.converged), _LINES - len(rows))
        heights = np.array([_height(column, log=name == "cost") for name, column in columns.items()])  # (axes, n)
        alpha = float(np.clip(80.0 / max(len(good), 1), 0.15, 0.8))
        scale = cost_colors(sweep)
        drawn = _lines(axes, heights[:, good], alpha=alpha, linewidths=0.8, **scale.look)
        drawn.set_array(sweep.cost[good])
        failed = _lines(axes, heights[:, rows], colors=RED, alpha=0.5, linewidths=0.6, zorder=3)
        _draw_upright_axes(axes, {sweep.label(name): column for name, column in columns.items()})
        drawn.set_label(f"{len(good)} of {np.count_nonzero(sweep.converged)} converged rows, dark: high cost")
        scale.add_entry(axes)
        if len(rows):
            failed.set_label(f"{len(rows)} of {np.count_nonzero(~sweep.converged)} failed rows")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
        return whole_figure(target)


def _lines(axes: Axes, heights: Reals, **look: Any) -> LineCollection:
    """Draws one line for each column of heights (axes, m)."""
    from matplotlib.collections import LineCollection

    places = np.broadcast_to(np.arange(len(heights))[:, None], heights.shape)
    lines = LineCollection(list(np.stack([places, heights], axis=-1).swapaxes(0, 1)), **look)
    axes.add_collection(lines)
    return lines


def _draw_upright_axes(axes: Axes, columns: Mapping[str, Reals]) -> None:
    """Draws a vertical axis for each column, with its smallest and largest number."""
    for place, column in enumerate(columns.values()):
        axes.plot([place, place], [0.0, 1.0], color="#555555", linewidth=0.8, zorder=4)
        low, high = (f"{end:.4g}" for end in _range(column))
        axes.text(place, -0.02, low, ha="center", va="top", fontsize=8.0)
        axes.text(place, 1.02, high, ha="center", va="bottom", fontsize=8.0)
    axes.set(xlim=(-0.3, len(columns) - 0.7), ylim=(-0.1, 1.1), yticks=[])
    names = [name.replace(", ", "\n") if ", " in name else name.replace("[", "\n[") for name in columns]
    axes.set_xticks(range(len(columns)), names)
    axes.tick_params(axis="x", length=0.0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


def _range(column: Reals) -> tuple[float, float]:
    finite = column[np.isfinite(column)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _height(column: Reals, *, log: bool) -> Reals:
    """Scales numbers to heights from 0 for the smallest to 1 for the largest; one half if all are equal.

    With `log`, numbers of a wide range are scaled by their logarithm.
    """
    low, high = _range(column)
    if log and low > 0.0 and high > WIDE * low:
        column, low, high = np.log(column), float(np.log(low)), float(np.log(high))
    return (column - low) / (high - low) if high > low else np.full(column.shape, 0.5)


def _evenly(rows: Any, most: int) -> Any:
    """Selects at most `most` rows evenly."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(int))] if len(rows) > most else rows


def _edges(values: Reals) -> Reals:
    """Edges of cells around ascending values."""
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = 0.5 * (values[1:] + values[:-1])
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])
