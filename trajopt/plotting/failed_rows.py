"""Rows of a map that did not converge, with a marker for each reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.plotting.style import PALETTE, RED
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from trajopt.sweeps import Sweep

_MARKERS = {
    "INFEASIBLE": "x",
    "MAX_ITERATIONS": "o",
    "STALLED": "s",
    "LINE_SEARCH_FAILED": "^",
    "DIVERGED": "v",
    "UNBOUNDED": "D",
    "ERROR": "P",
}
"""Marker of each status; all others share the last one."""
_OTHERS = "*"
_LINES = "x"  # markers without a face


def draw_reasons(axes: Axes, sweep: Sweep, xs: Reals, ys: Reals, size: float, *, cells: bool = False) -> None:
    """Draws rows that did not converge at places (n,), and a legend entry for each reason.

    Args:
        axes: Axes of the map.
        sweep: The rows.
        xs: Places (n,) along the horizontal axis.
        ys: Places (n,) along the vertical axis.
        size: Area of a marker [pt²].
        cells: Whether the places are those of red cells, which need no markers for a single reason.
    """
    status, failed = np.asarray(sweep.status), ~sweep.converged
    names, counts = np.unique(status[failed], return_counts=True)
    label = f"{int(failed.sum())} did not converge"
    if len(names) == 1:
        label += f": {_words(str(names[0]), np.asarray(sweep.error)[failed])}"
    if len(names) == 1 and cells:
        axes.plot([], [], linestyle="", marker="s", color=RED, label=label)
    elif len(names) < 2:
        axes.scatter(xs[failed], ys[failed], size, RED, marker="x", linewidths=1.0, zorder=3, label=label)
    for i in np.argsort(-counts, kind="stable") if len(names) > 1 else ():
        here = status == names[i]
        marker, color = _MARKERS.get(str(names[i]), _OTHERS), PALETTE[6] if cells else RED
        look: dict[str, Any] = {"color": color} if marker == _LINES else {"facecolors": "none", "edgecolors": color}
        look |= {"marker": marker, "label": f"{counts[i]} {_words(str(names[i]), sweep.error[here])}"}
        axes.scatter(xs[here], ys[here], size, linewidths=1.0, zorder=3, **look)
    if len(names):
        columns = 1 + (len(names) > 2)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, ncols=columns)


def _words(status: str, errors: Any) -> str:
    """Text of a status; for rows that all raised the same kind of error, its class."""
    kinds = {str(error).partition(":")[0] for error in errors} - {""}
    return kinds.pop() if len(kinds) == 1 else status.lower().replace("_", " ")
