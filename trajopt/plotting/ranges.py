"""Axis ranges that ignore spikes, whose peaks are written at the edge, and isolated values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.lines import Line
from trajopt.plotting.style import line_look
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RARE = 0.025  # largest fraction of values at either end that may be a spike [-]
_SPIKE = 5.0  # smallest ratio of the whole range to that of the other values with a spike [-]
_AROUND = 0.6  # margin around the other values, relative to their range [-]


def clear_range(values: Reals) -> tuple[float, float]:
    """Returns the axis range for values of any shape; (0, 1) without finite values.

    It is the range of the values. If at most a fortieth of them at either end make it more than five times wider,
    these spikes are left outside.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    first, last = (float(value) for value in np.quantile(finite, (_RARE, 1 - _RARE)))
    usual = last - first
    if usual <= 0 or high - low <= _SPIKE * usual:
        return low, high
    return max(low, first - _AROUND * usual), min(high, last + _AROUND * usual)


def single_knots(values: Reals) -> list[int]:
    """Returns the indices of finite values (n,) without finite neighbours, which a line does not show."""
    finite = np.concatenate([[False], np.isfinite(values), [False]])
    return np.flatnonzero(finite[1:-1] & ~finite[:-2] & ~finite[2:]).tolist()


def mark_peaks(axes: Axes, panel: list[Line], abscissa: Reals) -> None:
    """Writes the peaks of spikes that are cut off at the edge, in the colours of their lines."""
    for side, edge in zip((-1.0, 1.0), axes.get_ylim()):
        peaks = [float(np.nanmax(side * line.values, initial=-np.inf)) for line in panel]
        i = int(np.argmax(peaks))
        if peaks[i] <= side * edge:
            continue
        knot = int(np.nanargmax(side * panel[i].values))
        color, right = line_look(i)["color"], knot > 0.6 * len(abscissa)
        axes.plot(abscissa[knot], edge, "^" if side > 0 else "v", color=color, clip_on=False, zorder=5, label="_peak")
        axes.annotate(f"{side * peaks[i]:.3g}", (abscissa[knot], edge), (-9 if right else 9, 0), color=color,
                      textcoords="offset points", fontsize=8, ha="right" if right else "left",
                      va="top" if side > 0 else "bottom", annotation_clip=False, zorder=5,
                      bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.8})  # fmt: skip
