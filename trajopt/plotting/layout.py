"""Layout of figures in which time axes line up; a separate module, as its import needs matplotlib."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

_SAME = 0.5  # overlap of two axes in the same column, relative to the wider one [-]
_TIME = ("time [s]", "path [", "knot [-]")  # beginnings of the labels of time axes, see `time_axis`


class LinedUpLayout(ConstrainedLayoutEngine):
    """Constrained layout that also gives all time axes of a column the same left and right end."""

    def execute(self, fig: Any) -> None:
        """Lays out a figure."""
        super().execute(fig)
        for column in _columns([axes for axes in fig.findobj(Axes) if _over_time(axes)]):
            boxes = [axes.get_window_extent() for axes in column]
            left, right = max(box.x0 for box in boxes), min(box.x1 for box in boxes)
            for axes, box in zip(column, boxes):
                part = axes.get_figure(root=False)
                assert part is not None
                place = Bbox.from_extents(left, box.y0, right, box.y1)
                axes.set_position(place.transformed(part.transSubfigure.inverted()))
                axes.set_in_layout(True)  # set_position excludes axes from the next layout


def _over_time(axes: Axes) -> bool:
    """Whether the horizontal axis is time, or is shared with a time axis."""
    return any(other.get_xlabel().startswith(_TIME) for other in axes.get_shared_x_axes().get_siblings(axes))


def _columns(panels: list[Axes]) -> list[list[Axes]]:
    """Groups axes above each other."""
    columns: list[list[Axes]] = []
    for axes in panels:
        box = axes.get_window_extent()
        for column in columns:
            other = column[0].get_window_extent()
            shared = min(box.x1, other.x1) - max(box.x0, other.x0)
            if shared > _SAME * max(box.width, other.width):
                column.append(axes)
                break
        else:
            columns.append([axes])
    return columns
