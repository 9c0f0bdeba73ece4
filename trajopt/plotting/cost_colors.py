"""Colours of costs in the maps of a sweep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.style import PALETTE, time_ramp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

    from trajopt.sweeps import Sweep

WIDE = 50.0  # ratio of costs above which their scale is logarithmic [-]
_ABOVE = PALETTE[3]
_EQUAL = 1e-3  # smallest width of the scale relative to the costs [-]


@dataclass(frozen=True, kw_only=True)
class CostColors:
    """Scale between the 5 % and the 95 % quantile, so that a few large costs do not hide the others.

    Costs beyond twice the width of this scale, such as those of goals out of reach, have a colour of their own.

    Attributes:
        colors: The colours.
        norm: The scale.
        above: Legend text for the costs above the scale; empty if they have no colour of their own.
    """

    colors: Colormap
    norm: Normalize
    above: str

    @property
    def look(self) -> dict[str, Any]:
        """Arguments of matplotlib for what has these colours."""
        return {"cmap": self.colors, "norm": self.norm}

    def add_entry(self, axes: Axes) -> None:
        """Adds an entry for the costs above the scale to a legend that is drawn later."""
        if self.above:
            axes.plot([], [], linestyle="", marker="s", color=_ABOVE, label=self.above)

    def draw_legend(self, axes: Axes) -> None:
        """Draws a legend for the costs above the scale."""
        self.add_entry(axes)
        if self.above:
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def cost_colors(sweep: Sweep) -> CostColors:
    """Returns the colours of the costs of converged rows."""
    from matplotlib.colors import LogNorm, Normalize

    costs = sweep.cost[sweep.converged]
    low, high = np.quantile(costs, (0.05, 0.95)) if costs.size else (0.0, 1.0)
    wide = low > 0.0 and high > WIDE * low
    end = high * (high / low) if wide else high + max(high - low, _EQUAL * abs(high))
    far, above = costs > end, ""
    if np.any(far):
        high = costs[~far].max()
        above = f"{np.count_nonzero(far)} cost more than {end:.3g}, up to {costs.max():.3g}"
    colors = time_ramp().with_extremes(over=_ABOVE) if above else time_ramp()
    kind = LogNorm if wide else Normalize
    return CostColors(colors=colors, norm=kind(float(low), float(high)), above=above)
