"""Ticks of axes in space; a separate module, as its import needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import proj3d

from trajopt.types import Reals

LABEL = (36.0, 20.0)
"""Width and height of a tick label, at 100 pixels per inch [pixel]."""
_TWO = 1.3  # room, in labels, from which there are two ticks at least [-]


class SpacedTicks(MaxNLocator):
    """Ticks of an axis in space, as many as labels fit when the figure is drawn.

    Args:
        index: Index of the axis: 0 for x, 1 for y, 2 for z.
    """

    def __init__(self, index: int) -> None:
        super().__init__(steps=[1, 2, 5, 10])
        self._index = index

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Returns the values of the ticks of an axis from `vmin` to `vmax`."""
        axes: Any = self.axis.axes  # type: ignore[union-attr]
        room = room_along(axes, self._index)
        self.set_params(nbins=int(np.clip(room, 1, 6)), min_n_ticks=2 if room > _TWO else 1)
        return super().tick_values(vmin, vmax)


def room_along(axes: Any, index: int) -> float:
    """Returns the number of labels that fit along an axis in space [-]."""
    return float(np.max(np.abs(np.diff(_seen(axes, index), axis=0))[0] / np.multiply(_scale(axes), LABEL)))


def _seen(axes: Any, index: int) -> Reals:
    """Ends of an axis through the middle of the box in the figure (2, 2) [pixel]."""
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    ends = np.repeat(limits.mean(axis=1)[:, None], 2, axis=1)
    ends[index] = np.sort(limits[index])
    x, y, _ = proj3d.proj_transform(*ends, axes.get_proj())
    return np.asarray(axes.transData.transform(np.column_stack([x, y])))


def _scale(axes: Any) -> float:
    return float(axes.figure.get_figure(root=True).dpi) / 100.0
