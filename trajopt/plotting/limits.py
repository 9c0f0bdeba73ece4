"""Drawing of limits and bounds as thin dashed lines, in the colour of the curve that they apply to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.analysis.lines import Line
from trajopt.analysis.touching import TOUCH
from trajopt.plotting.ranges import single_knots
from trajopt.plotting.style import GREY
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_UNLIMITED = 1e20  # files write "no limit" as inf or as a very large number
_SHARE = 0.5  # distance up to which a line is close to a limit, relative to that from 0 or from the middle to it [-]
_REACH = 0.3  # distance up to which a line is close to an only limit that excludes 0, relative to the panel's range [-]
_STYLE: dict[str, Any] = {"linestyle": "--", "linewidth": 0.9, "alpha": 0.9}
_BEYOND: dict[str, Any] = {"alpha": 0.12, "linewidth": 0, "label": "_beyond"}
_EXCESS: dict[str, Any] = {"alpha": 0.2, "linewidth": 0, "label": "_excess"}
_BAND: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}


def near_limits(line: Line, values: Reals, extent: float) -> list[tuple[float, float]]:
    """Limits that the values of a line come close to or exceed, each with its side: -1 lower, 1 upper.

    Of two limits ±b both are drawn, as one alone would seem the only one.

    Args:
        line: The line.
        values: Its finite values.
        extent: Range of the values of the panel.
    """
    if not values.size or line.lower == line.upper:  # files write 0 and 0 for no limits
        return []
    limits = []
    reaches = reach_of(extent, line.lower, line.upper)
    for limit, side, reach in zip((line.lower, line.upper), (-1.0, 1.0), reaches):
        closest = float(np.max(side * values))
        if abs(limit) < _UNLIMITED and side * limit - closest <= reach:
            limits.append((limit, side))
    return [(line.lower, -1.0), (line.upper, 1.0)] if limits and line.lower == -line.upper else limits


def reach_of(extent: float, lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[Reals, Reals]:
    """Distances up to which a line comes close to its own lower and upper limit, so that they are drawn.

    A limit is drawn from half of it on: that of a rail of ±0.8 m if the cart reaches 0.4 m. Limits that exclude 0 are
    drawn from halfway between their middle and the limit on, and a single one at 0.3 of the extent of the panel.

    Args:
        extent: Range of the values of the panel.
        lower: Lower limits, -inf without a limit.
        upper: Upper limits, inf without a limit.
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    half = np.subtract(high, low) / 2
    otherwise = np.where(half < _UNLIMITED / 2, half, _REACH / _SHARE * extent)
    around = (low < 0) & (high > 0)
    return _SHARE * np.where(around, -low, otherwise), _SHARE * np.where(around, high, otherwise)


def close_bounds(lines: Sequence[Line], extent: float) -> list[npt.NDArray[np.bool_]]:
    """Knots (n,) at which one of several lines comes close to its lower, and to its upper bound by constraints.

    Where bounds are ±b, both are close if one is.

    Args:
        lines: Lines with bounds.
        extent: Range of the values of the panel.
    """
    close = [np.zeros(len(lines[0].values), dtype=np.bool_)] * 2
    for line in lines:
        if line.least is None or line.most is None:
            continue
        there = line.least != line.most  # equations are goals
        ends = zip((line.values - line.least, line.most - line.values), reach_of(extent, line.least, line.most))
        own = [there & np.isfinite(room) & (room <= reach) for room, reach in ends]
        either = (own[0] | own[1]) & (line.least == -line.most)
        close = [each | here | either for each, here in zip(close, own)]
    return close


def limit_color(panel: Sequence[Line], limit: float | Reals, side: float, own: Any) -> Any:
    """Colour of a limit or bound: grey if several lines of a panel have it, otherwise the `own` one of its line."""

    def alike(line: Line) -> bool:
        ends = (line.lower, line.least) if side < 0 else (line.upper, line.most)
        return any(end is not None and np.array_equal(end, limit) for end in ends)

    return GREY if sum(map(alike, panel)) > 1 else own


def draw_limit(
    axes: Axes,
    limit: float | Reals,
    abscissa: Reals | None = None,
    *,
    color: Any = GREY,
    edge: float | None = None,
    steps: bool = False,
    label: str = "_limit",
    **look: Any,
) -> None:
    """Draws a limit over time; a limit at a single knot is a dash.

    Args:
        axes: Axes to draw into.
        limit: The limit, or limits (n,), NaN without a limit.
        abscissa: Times or knots (n,); None for a constant limit.
        color: Colour of the curve that it applies to; grey for several curves.
        edge: Value up to which the region beyond the limit is shaded; None for no shade.
        steps: Whether each value holds until the next abscissa.
        label: Label of the line; one that begins with _ is not in the legend.
        **look: Properties of the line in place of the usual ones.
    """
    style = _STYLE | look
    if abscissa is None:
        axes.axhline(float(limit), color=color, label=label, **style)
        if edge is not None:
            axes.axhspan(float(limit), edge, color=color, **_BEYOND)
        return
    values = held(np.asarray(limit)) if steps else np.asarray(limit)
    if not np.isfinite(values).any():
        return
    single = single_knots(values)
    marks: dict[str, Any] = {"marker": "_", "markersize": 14, "markevery": single, "clip_on": False} if single else {}
    axes.plot(abscissa, values, color=color, label=label, drawstyle="steps-post" if steps else "default",
              **style, **marks)  # fmt: skip
    if edge is not None:
        axes.fill_between(abscissa, values, edge, color=color, **_BEYOND)


def draw_excess(
    axes: Axes, abscissa: Reals, values: Reals, limit: float, side: float, *, color: Any, steps: bool
) -> None:
    """Shades the area between a curve and its limit where the curve is beyond it.

    Args:
        axes: Axes to draw into.
        abscissa: Times or knots (n,).
        values: The curve (n,).
        limit: The limit.
        side: 1 for an upper limit, -1 for a lower one.
        color: Colour of the curve.
        steps: Whether each value holds until the next abscissa.
    """
    beyond = side * (values - limit) > TOUCH * max(1.0, abs(limit))
    if beyond.any():
        axes.fill_between(abscissa, limit, values, where=beyond.tolist(), step="post" if steps else None,
                          interpolate=not steps, color=color, **_EXCESS)  # fmt: skip


def draw_band(axes: Axes, abscissa: Reals, limit: Reals, color: Any) -> None:
    """Draws a limit (n,) over times (n,), and shades what it allows: the region from 0 to the limit."""
    axes.fill_between(abscissa, 0.0, limit, color=color, label="_band", **_BAND)
    draw_limit(axes, limit, abscissa, color=color)


def beyond_entry(label: str) -> Patch:
    """Entry of a legend for the region beyond limits."""
    from matplotlib.patches import Patch

    return Patch(color=GREY, alpha=0.3, linewidth=0, label=label)


def band_entry(label: str, color: Any) -> Patch:
    """Entry of a legend for `draw_band`."""
    from matplotlib.patches import Patch

    return Patch(color=color, label=label, **_BAND)


def limit_entry(label: str, **look: Any) -> Line2D:
    """Entry of a legend for limits of several curves, with the `look` of `draw_limit`."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=GREY, label=label, **_STYLE | look)


def held(values: Reals) -> Reals:
    """Extends each value (T + 1,) that is followed by NaN by one knot."""
    before = np.append(np.nan, values[:-1])
    return np.where(np.isnan(values), before, values)
