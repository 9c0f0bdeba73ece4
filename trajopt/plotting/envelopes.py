"""Lines that go up and down too often for a panel, drawn as their mean and range in short intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.style import GREY
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

SWEEPS = 80.0
"""Sum of all changes of a line, relative to its range, above which it would be a block of colour [-]."""
INTERVALS = 120
"""Number of intervals [-]."""


def is_rough(values: Reals) -> bool:
    """Whether a line (n,) would be a block of colour, as noisy controls of long closed loops are."""
    if len(values) < 2 * INTERVALS or not np.isfinite(values).all():
        return False
    return bool(np.abs(np.diff(values)).sum() > SWEEPS * np.ptp(values) > 0.0)


def draw_envelope(axes: Axes, abscissa: Reals, values: Reals, **look: Any) -> None:
    """Draws mean and range of a line in short intervals.

    Args:
        axes: Axes to draw into.
        abscissa: Time of each value, and possibly of the end (n,) or (n + 1,) [s].
        values: Values (n,).
        look: Look of the mean, with its label.
    """
    parts = np.array_split(np.arange(len(values)), INTERVALS)
    mean, low, high = (np.array([of(values[part]) for part in parts]) for of in (np.mean, np.min, np.max))
    edges = np.array([*(abscissa[part[0]] for part in parts), abscissa[-1]])
    axes.fill_between(edges, np.append(low, low[-1]), np.append(high, high[-1]), step="post", color=look["color"],
                      alpha=0.2, linewidth=0, label="_range")  # fmt: skip
    axes.plot((edges[1:] + edges[:-1]) / 2.0, mean, **look)


def range_entry() -> Patch:
    """Entry of a legend for `draw_envelope`."""
    from matplotlib.patches import Patch

    label = f"range within 1/{INTERVALS} of the time; lines are means"
    return Patch(color=GREY, alpha=0.3, linewidth=0, label=label)
