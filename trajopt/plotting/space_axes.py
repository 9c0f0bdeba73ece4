"""Axes in space that use all of their panel; a separate module, as its import needs matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d import Axes3D, proj3d


class SpaceAxes(Axes3D):
    """Axes in space whose box is as large as its panel allows, also if that is wide or tall.

    The axes of matplotlib are the square inside the panel. These are the square around it: the box of the plot fits the
    panel, with room for labels, and what is beside the inner square is not cut off.
    """

    label_room = 0.0
    """Room for labels at each side of the panel [pixel]."""
    _half: Any = None
    _size: tuple[float, float] | None = None

    def fit(self, half: Any, label_room: float) -> None:
        """Sets half the sides of the box (3,) [m], and the room for labels at each side of the panel [pixel]."""
        self._half, self.label_room, self._size = half, label_room, None
        self.patch.set_visible(False)
        self.apply_aspect()

    def apply_aspect(self, position: Any = None) -> None:
        """Places the square around the panel, and the box into it if the size of the panel has changed."""
        panel = self.get_position(original=True) if position is None else position
        figure: Any = self.get_figure()
        whole = figure.bbox
        wide, tall = panel.width * whole.width, panel.height * whole.height
        side = max(wide, tall)
        x, y = 0.5 * (panel.x0 + panel.x1), 0.5 * (panel.y0 + panel.y1)
        width, height = side / whole.width, side / whole.height
        self._set_position(Bbox.from_bounds(x - 0.5 * width, y - 0.5 * height, width, height), "active")
        if self._half is not None and self._size != (wide, tall):
            self._size = wide, tall
            self.set_box_aspect(self._half, zoom=1.0)
            seen = side * self._extent()
            room = [max(each - 2.0 * self.label_room, 0.5 * each) for each in (wide, tall)]
            self.set_box_aspect(self._half, zoom=float(np.min(room / seen)))

    def _extent(self) -> Any:
        """Width and height of the box relative to the square (2,) [-]."""
        ends = zip(self.get_xlim(), self.get_ylim(), self.get_zlim())
        corners = np.array(np.meshgrid(*np.transpose(list(ends)))).reshape(3, -1)
        x, y, _ = proj3d.proj_transform(*corners, self.get_proj())
        seen = self.transAxes.inverted().transform(self.transData.transform(np.column_stack([x, y])))
        return np.ptp(seen, axis=0)

    def _update_title_position(self, renderer: Any) -> None:
        """Places the titles inside the panel, at its top."""
        assert self._size is not None
        wide, tall = (each / max(self._size) for each in self._size)
        for title, x in (
            (self._left_title, 0.5 - 0.5 * wide),
            (self.title, 0.5),
            (self._right_title, 0.5 + 0.5 * wide),
        ):
            high = title.get_window_extent(renderer).height / max(self._size)
            title.set_position((x, 0.5 + 0.5 * tall - 2.0 * high))

    def get_tightbbox(self, *args: Any, **options: Any) -> Any:
        """The panel: labels have their room inside."""
        figure: Any = self.get_figure()
        return self.get_position(original=True).transformed(figure.transSubfigure)
