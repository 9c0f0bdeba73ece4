"""Picture of sampled rollouts: success, or a deviation, over the parameters that differ between samples."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis import MonteCarlo
from trajopt.analysis.basics import time_words
from trajopt.checks import check_instance, check_known
from trajopt.plotting.style import BLUE, RED, canvas, check_picture_path, house_style, whole_figure
from trajopt.plotting.window import write
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 40
"""Number of bins of a histogram [-]."""
_DOTS: dict[str, Any] = {"s": 10.0, "linewidths": 0.0}


def plot_samples(
    samples: MonteCarlo,
    path: str | os.PathLike[str] | None = None,
    *,
    within: npt.ArrayLike | None = None,
    coordinate: str | None = None,
    knot: int = -1,
) -> Figure:
    """Draws success, or the deviation of a coordinate, over the first two elements of parameters that differ.

    With one element it draws the deviation over it, and without any a histogram of the deviation. Samples that diverged
    to NaN or inf are counted in the title.

    Args:
        samples: The samples, `Solution.monte_carlo(...)`.
        path: File to write (.png, .pdf or .svg).
        within: Bounds of a success, as of `MonteCarlo.within`; None for deviations alone.
        coordinate: Name of the tangent coordinate whose deviation is drawn; by default the first one.
        knot: Number of the knot; negative numbers count from the end.

    Raises:
        UnknownNameError: There is no such coordinate.
        InvalidArgumentError: An argument has a wrong value.
    """
    solution = check_instance("samples", samples, MonteCarlo, "such as Solution.monte_carlo(0.1)").solution
    path = None if path is None else check_picture_path(path)
    state = solution.problem.state  # type: ignore[union-attr]
    names = state.tangent_names
    number = 0 if coordinate is None else names.index(check_known("coordinate", coordinate, names))
    deviations, good = samples.deviations(knot)[:, number], None if within is None else samples.within(within, knot)
    finite = np.isfinite(deviations)
    unit, varied = state.tangent_units[number], _varied(samples)
    label = f"deviation of {names[number]} [{unit}]"
    with house_style():
        whole = whole_figure(canvas(None, 7.0, 5.0, apart=path is not None))
        axes = whole.subplots()
        if len(varied) > 1:
            _map(axes, varied, deviations, good, label)
        elif varied:
            _groups(axes, good, lambda part, look: axes.scatter(varied[0][1][part], deviations[part], **_DOTS, **look))
            axes.set(xlabel=varied[0][0], ylabel=label)
        else:
            seen = deviations[finite]
            edges = np.histogram_bin_edges(seen, BINS).tolist()
            kept = None if good is None else good[finite]
            _groups(axes, kept, lambda part, look: axes.hist(seen[part], edges, alpha=0.7, **look))
            axes.set(xlabel=label, ylabel="samples [-]")
        at = knot % samples.xs.shape[1]
        lost = "" if finite.all() else f", of which {np.sum(~finite)} diverged"
        rate = "" if good is None else f": {100.0 * good.mean():.3g} % within bounds"
        whole.suptitle(
            f"{len(samples.xs)} samples at knot {at}{time_words(solution, at)}{lost}{rate}", x=0.01, ha="left",
            fontsize=10.5, fontweight="bold",
        )  # fmt: skip
        if path is not None:
            write(whole, path)
        return whole


def _varied(samples: MonteCarlo) -> list[tuple[str, Reals]]:
    """Label and values (n,) of each element of the parameters that differs between samples."""
    known, varied = samples.solution.problem.parameters, list[tuple[str, Reals]]()  # type: ignore[union-attr]
    for name, values in samples.parameters.items():
        columns = values.reshape(len(values), -1).T
        for i, column in enumerate(columns):
            if np.ptp(column) > 0.0:
                varied.append((f"{name}{f'[{i}]' if len(columns) > 1 else ''} [{known[name].unit}]", column))
    return varied


def _map(axes: Axes, varied: list[tuple[str, Reals]], deviations: Reals, good: Any, label: str) -> None:
    """Points over two parameters, coloured by success or by a deviation."""
    (first, x), (second, y) = varied[:2]
    if good is None:
        size = float(np.abs(deviations[np.isfinite(deviations)]).max(initial=0.0)) or 1.0
        points = axes.scatter(x, y, c=deviations, cmap="coolwarm", vmin=-size, vmax=size, **_DOTS)
        axes.figure.colorbar(points, ax=axes, label=label)
    else:
        _groups(axes, good, lambda part, look: axes.scatter(x[part], y[part], **_DOTS, **look))
    axes.set(xlabel=first, ylabel=second)


def _groups(axes: Axes, good: Any, draw: Any) -> None:
    """Draws samples within bounds and beyond in two colours with a legend; in one colour without bounds."""
    if good is None:
        draw(slice(None), {"color": BLUE})
        return
    for part, color, words in ((good, BLUE, "within bounds"), (~good, RED, "beyond")):
        draw(part, {"color": color, "label": f"{words}: {int(part.sum())}"})
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
