"""Limits of models and bounds of constraints: thin dashed lines, in the colour of what they hold for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.ranges import single_knots
from trajopt.plotting.style import GREY
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIMIT: dict[str, Any] = {"linestyle": "--", "linewidth": 0.9, "alpha": 0.9}
"""How a limit looks, in a legend too."""


def draw_limit(
    axes: Axes,
    limit: float | Reals,
    abscissa: Reals | None = None,
    *,
    color: Any = GREY,
    edge: float | None = None,
    steps: bool = False,
    label: str = "_limit",
) -> None:
    """Draws a limit; at a single knot as a dash.

    Args:
        axes: Axes to draw into.
        limit: The limit, or one for each abscissa (n,), NaN where there is none.
        abscissa: Times or knots (n,); None for a limit that is always the same.
        color: Colour of what it holds for; grey for several.
        edge: Shades what is beyond it, up to this value.
        steps: Whether each value holds up to the next abscissa.
        label: Label of the line; one that begins with _ is left out of legends.
    """
    if abscissa is None:
        axes.axhline(float(limit), color=color, label=label, **LIMIT)
        if edge is not None:
            axes.axhspan(float(limit), edge, color=color, alpha=0.12, linewidth=0, label="_beyond")
        return
    values = held(np.asarray(limit)) if steps else np.asarray(limit)
    if not np.isfinite(values).any():
        return
    single = single_knots(values)
    marks: dict[str, Any] = {"marker": "_", "markersize": 14, "markevery": single, "clip_on": False} if single else {}
    axes.plot(abscissa, values, color=color, label=label, drawstyle="steps-post" if steps else "default",
              **LIMIT, **marks)  # fmt: skip
    if edge is not None:
        axes.fill_between(abscissa, values, edge, color=color, alpha=0.12, linewidth=0, label="_beyond")


def held(values: Reals) -> Reals:
    """Values (T + 1,) in which each value that is followed by none is held for one knot."""
    before = np.append(np.nan, values[:-1])
    return np.where(np.isnan(values), before, values)
