"""Plot of the convergence of a solve, by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.callbacks.logger import CallbackLogger
from trajopt.errors import InvalidArgumentError
from trajopt.plotting.style import BLUE, GREEN, GREY, PALETTE, RED, drawing, integer_axis, legend_below, whole_figure
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from trajopt.solution import IterationRecord, Solution


AMBER = PALETTE[4]
_ROUNDING = 1e-12  # smaller gaps count as rounding errors
_LOG_FROM = 100.0  # a positive quantity with a larger ratio of extremes gets a logarithmic axis


def plot_convergence(
    solution_or_history: Solution | Sequence[IterationRecord] | CallbackLogger,
    *,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draws cost, stopping value, predicted and actual decrease, step length, regularisation and gaps by iteration.

    For a solver with constraints, stationarity, largest violation of a constraint and complementarity replace the
    stopping value, and the decrease is that of its merit function. Step length, regularisation and gaps that are
    constant have no panel; the legend has their values. Dots are iterations with an accepted step, crosses those
    without. Among step lengths, green dots have the exact Hessian or a part of it, and amber dots followed a parabola.
    On a logarithmic axis, an open triangle on the lower edge is a zero or negative decrease.

    Args:
        solution_or_history: A solution, its history, or a CallbackLogger.
        figure: Figure or subfigure to draw into; by default a new one.

    Returns:
        The figure; `figure.savefig("convergence.png")` writes it.

    Raises:
        InvalidArgumentError: There is no iteration to draw.
    """
    if isinstance(solution_or_history, CallbackLogger):
        log = solution_or_history
    else:
        history: Any = getattr(solution_or_history, "history", solution_or_history)
        log = CallbackLogger(history)
    if not len(log):
        raise InvalidArgumentError("history: expected at least one iteration, got none; was the guess already optimal?")
    names = [*main_quantities(log, decrease=True), *_varied(log)]
    across = 2 if len(names) == 4 else 3
    with drawing(figure, 10.0, 0.6 + 2.4 * -(-len(names) // across)) as target:
        draw_convergence(target, log, names, across)
        return whole_figure(target)


def main_quantities(log: CallbackLogger, *, decrease: bool = False) -> list[str]:
    """Returns the names of the main quantities for `draw_convergence`; `decrease` adds the decrease."""
    quantities = {
        "cost": log.costs,
        "stationarity" if _constrained(log) else "stopping value": log.stops,
        "violation": log.constraint_violations,
        "complementarity": log.complementarities,
    }
    if decrease:
        quantities["merit decrease" if _constrained(log) else "decrease"] = log.expected_decreases
    return [name for name, values in quantities.items() if name == "cost" or np.isfinite(values).any()]


def _constrained(log: CallbackLogger) -> bool:
    """Whether the solver records violations of constraints."""
    return bool(np.isfinite(log.constraint_violations).any())


def draw_convergence(target: Figure | SubFigure, log: CallbackLogger, names: list[str], across: int) -> None:
    """Draws panels, `across` in a row, with a legend.

    Args:
        target: Figure or subfigure to draw into.
        log: The records.
        names: Names from `main_quantities`, or "step length", "regularisation", "largest gap".
        across: Number of panels in a row [-].
    """
    panels = list(np.ravel(target.subplots(-(-len(names) // across), across, sharex=True, squeeze=False)))
    for axes in panels[len(names) :]:
        axes.remove()
    inches = target.bbox.width / whole_figure(target).dpi / across
    ticks = int(np.clip((inches - 0.6) / 0.28, 2, 9))
    for i, (axes, name) in enumerate(zip(panels, names)):
        _draw_quantity(axes, log, name)
        integer_axis(axes, ticks)
        if i + across >= len(names):  # the lowest panel of its column
            axes.set_xlabel("iteration [-]")
            axes.tick_params(labelbottom=True)
    _draw_legend(target, log)


def _draw_quantity(axes: Axes, log: CallbackLogger, name: str) -> None:
    main = {"violation": log.constraint_violations, "complementarity": log.complementarities, "cost": log.costs}
    others = _others(log)
    if "decrease" in name:
        _draw_decreases(axes, name, log)
    elif name in others:
        if name == "step length":
            _halves(axes, others[name])
        _draw_curve(axes, f"{name} [-]", log, others[name], powers=name == "regularisation")
        if name == "step length":
            _draw_exact(axes, log)
    else:
        _draw_curve(axes, name, log, main.get(name, log.stops))


def _draw_exact(axes: Axes, log: CallbackLogger) -> None:
    """Marks steps with an exact Hessian or a part of it, and steps along a parabola."""
    for mask, color, label in ((log.blends > 0.0, GREEN, "_exact"), (log.bent, AMBER, "_bent")):
        mask = mask & log.accepted
        if mask.any():
            lengths = log.step_lengths[mask]
            axes.plot(log.iterations[mask], lengths, "o", color=color, markersize=_dot(log), label=label)


def _varied(log: CallbackLogger) -> list[str]:
    """Names of the quantities in `_others` that change."""
    return [name for name, values in _others(log).items() if len(np.unique(values[np.isfinite(values)])) > 1]


def _others(log: CallbackLogger) -> dict[str, Reals]:
    """Quantities that have a panel only if they change; gaps of rounding size count as zero."""
    gaps = log.gap_norms
    rounding = bool(np.nanmax(gaps, initial=0.0) < _ROUNDING)
    return {
        "step length": log.step_lengths,
        "regularisation": log.regularizations,
        "largest gap": np.zeros_like(gaps) if rounding else gaps,
    }


def _draw_curve(axes: Axes, title: str, log: CallbackLogger, values: Reals, *, powers: bool = False) -> None:
    """Draws a curve over the iterations; the axis is logarithmic for a wide range of values, and for powers of ten.

    An axis with a scale keeps it.
    """
    axes.set_title(title)
    if axes.get_yscale() == "linear":
        _scale(axes, values, 0.0 if powers else _LOG_FROM)
    logarithmic = axes.get_yscale() == "log"
    shown = np.where(np.isfinite(values) & ((values > 0) | (not logarithmic)), values, np.nan)
    axes.plot(log.iterations, shown, color=BLUE, linewidth=1.2, label="_curve")
    dot = _dot(log)
    axes.plot(log.iterations[log.accepted], shown[log.accepted], "o", color=BLUE, markersize=dot, label="_taken")
    refused = ~log.accepted
    if refused.any():
        axes.plot(
            log.iterations[refused], shown[refused], "x", color=RED, markersize=6, markeredgewidth=1.8, label="_refused"
        )
    if logarithmic:
        _draw_zeros(axes, log.iterations[np.isfinite(values) & (values <= 0)], BLUE)


def _draw_decreases(axes: Axes, title: str, log: CallbackLogger) -> None:
    """Draws the predicted decrease as a line and the actual decrease as dots."""
    axes.set_title(title)
    positive = np.concatenate([log.expected_decreases, log.decreases])
    positive = positive[np.isfinite(positive) & (positive > 0)]
    if positive.size:
        _logarithmic(axes)
        if positive.max() < 10 * positive.min():  # a narrower range may contain no power of ten, so no tick label
            axes.set_ylim(positive.min() / 5, positive.max() * 5)
    promised = np.where(log.expected_decreases > 0, log.expected_decreases, np.nan)
    axes.plot(log.iterations, promised, color=GREY, linewidth=1.6, label="_promised")
    for mask, marker, color in ((log.accepted, "o", BLUE), (~log.accepted, "x", RED)):
        come = np.where(mask & (log.decreases > 0), log.decreases, np.nan)
        if np.any(np.isfinite(come)):
            size = _dot(log) if marker == "o" else 6.0
            axes.plot(log.iterations, come, marker, color=color, markersize=size, linestyle="", label="_come")
    _draw_zeros(axes, log.iterations[np.isfinite(log.decreases) & (log.decreases <= 0)], BLUE)


def _draw_zeros(axes: Axes, iterations: npt.NDArray[np.int64], color: str) -> None:
    if len(iterations):
        edge = axes.get_xaxis_transform()
        axes.plot(
            iterations,
            np.zeros(len(iterations)),
            "v",
            color=color,
            markerfacecolor="white",
            markersize=5,
            linestyle="",
            transform=edge,
            clip_on=False,
            label="_zero",
        )


def _dot(log: CallbackLogger) -> float:
    """Size of the dots, smaller for many iterations [points]."""
    return 3.5 if len(log) <= 60 else 2.0


def _scale(axes: Axes, values: Reals, factor: float) -> None:
    """Makes the axis logarithmic if values are >= 0 and the positive ones span more than a factor."""
    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    if not positive.size or np.any(finite < 0):
        return
    if positive.max() > factor * positive.min():
        _logarithmic(axes)
        if factor == 0.0:
            axes.set_ylim(positive.min() / 5, positive.max() * 5)


def _logarithmic(axes: Axes) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _halves(axes: Axes, lengths: Reals) -> None:
    """Scales an axis by base 2, with all step lengths > 0 visible and labels 1, 1/2, 1/4, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    positive = lengths[np.isfinite(lengths) & (lengths > 0.0)]
    axes.set_yscale("log", base=2)
    axes.set_ylim(positive.min(initial=0.5) / 1.4, positive.max(initial=1.0) * 1.4)
    axes.yaxis.set_major_locator(LogLocator(base=2, numticks=8))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda a, _: f"{a:g}" if a >= 1 else f"1/{round(1 / a)}"))


def _draw_legend(target: Figure | SubFigure, log: CallbackLogger) -> None:
    """Draws the legend, with the values of constant quantities below."""
    from matplotlib.lines import Line2D

    labels = {line.get_label() for axes in target.axes for line in axes.get_lines()}
    entries = [Line2D([], [], color=BLUE, marker="o", markersize=3.5, linewidth=1.2, label="step taken")]
    if "_promised" in labels:
        entries.append(Line2D([], [], color=GREY, linewidth=1.6, label="predicted decrease"))
    for label, color, text in (("_exact", GREEN, "exact Hessian"), ("_bent", AMBER, "along a parabola")):
        if label in labels:
            entries.append(Line2D([], [], color=color, marker="o", markersize=3.5, linestyle="", label=text))
    if not log.accepted.all():
        entries.append(Line2D([], [], color=RED, marker="x", markeredgewidth=1.8, linestyle="", label="step refused"))
    if "_zero" in labels:
        zero = Line2D([], [], color=BLUE, marker="v", markerfacecolor="white", linestyle="", label="zero or negative")
        entries.append(zero)
    constant = [(name, values) for name, values in _others(log).items() if name not in _varied(log)]
    same = ", ".join(
        f"{name} {values[np.isfinite(values)][0]:g}" for name, values in constant if np.isfinite(values).any()
    )
    title = f"{same} throughout" if same else None
    legend_below(target, entries, title).get_title().set_color("#555555")
