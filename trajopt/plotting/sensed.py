"""Map of occupied cells and LIDAR readings beside a motion in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.checks import check_items
from trajopt.errors import InvalidArgumentError, shown
from trajopt.planar.grid import OccupancyGrid
from trajopt.planar.scan import Scan
from trajopt.plotting.scene import Canvas
from trajopt.plotting.style import RED
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

_NEAR = 1.0  # distance from the motion up to which the map belongs to the picture, relative to the motion's size [-]
_OCCUPIED = "#B0B0B0"  # colour of occupied cells
_MOST = 3000  # largest number of readings in a picture
READINGS: dict[str, Any] = {"color": RED, "marker": ".", "linestyle": "", "markersize": 4.0, "markeredgewidth": 0.0}
READINGS |= {"label": "LIDAR readings"}


@dataclass(frozen=True)
class Sensed:
    """A map, and the scans at the knots of a motion.

    Args:
        grid: The map; None for none.
        scans: One scan, or one for each knot.
        count: Number of knots T of the motion; None if any number of scans will do.

    Raises:
        InvalidArgumentError: The map is not an OccupancyGrid, or the scans are not Scan objects or have a wrong
            number.
    """

    grid: OccupancyGrid | None = None
    scans: Scan | Sequence[Scan] = ()
    count: int | None = None

    def __post_init__(self) -> None:
        if self.grid is not None and not isinstance(self.grid, OccupancyGrid):
            raise InvalidArgumentError(
                f"grid: expected an OccupancyGrid, got {shown(self.grid)}; use OccupancyGrid(cells, resolution=0.05)"
            )
        object.__setattr__(self, "scans", _checked(self.scans, self.count))

    def points(self, places: Reals) -> Reals:
        """Corners (n, 3) of the part of the map around the places (m, 3) of a motion [m]."""
        if self.grid is None:
            return np.zeros((0, 3))
        low, high = places[:, :2].min(axis=0), places[:, :2].max(axis=0)
        reach = _NEAR * float((high - low).max())
        ends = np.reshape(self.grid.extent, (2, 2)).T
        return np.column_stack([np.clip(ends, low - reach, high + reach), np.zeros(2)])

    def readings(self, number: int) -> Reals:
        """Points (n, 3) that the scan at a knot has hit, with z = 0 [m]; after the last scan, those of the last."""
        scans = self.several
        return _raised(scans[min(number, len(scans) - 1)].points) if scans else np.zeros((0, 3))

    @property
    def several(self) -> tuple[Scan, ...]:
        """The scans as a tuple."""
        return self.scans  # type: ignore[return-value]  # made one by __post_init__

    def draw(self, scene: Canvas) -> None:
        """Draws the map and the readings of all scans."""
        self.draw_map(scene)
        every = np.concatenate([np.zeros((0, 3)), *(_raised(scan.points) for scan in self.several)])
        if len(every):
            scene.draw(every[:: -(-len(every) // _MOST)], alpha=0.6, zorder=1.6, **READINGS)

    def draw_map(self, scene: Canvas) -> None:
        """Draws the occupied cells as seen from above, in space on the floor; a side view has none."""
        if self.grid is None or scene.shown not in ((0, 1), (0, 1, 2)):
            return
        x0, y0, x1, y1 = rectangles(self.grid).T
        corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y1], axis=1).reshape(-1, 4, 2)
        look: dict[str, Any] = {"facecolors": _OCCUPIED, "edgecolors": _OCCUPIED, "linewidths": 0.3}
        if len(scene.shown) == 2:
            from matplotlib.collections import PolyCollection

            scene.axes.add_collection(PolyCollection(list(corners), zorder=0.6, label="_map", **look), autolim=False)
            return
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        floor = np.concatenate([corners, np.zeros((len(corners), 4, 1))], axis=2)
        scene.axes.add_collection3d(Poly3DCollection(list(floor), label="_map", **look), autolim=False)

    def entries(self) -> list[Line2D]:
        """Entries of a legend."""
        from matplotlib.lines import Line2D

        return [Line2D([], [], **READINGS)] if self.several else []


def _checked(scans: Any, count: int | None) -> tuple[Scan, ...]:
    """Scans as a tuple."""
    several = (
        (scans,) if isinstance(scans, Scan) else check_items("scans", scans, "scans", cure="Lidar().scan(grid, pose)")
    )
    for i, each in enumerate(several):
        if not isinstance(each, Scan):
            raise InvalidArgumentError(
                f"scans[{i}]: expected a Scan, got {shown(each)}; Lidar().scan(grid, pose) returns one"
            )
    if count is not None and len(several) not in (0, 1, count, count + 1):
        raise InvalidArgumentError(
            f"scans: expected one, or one for each knot ({count} or {count + 1}), got {len(several)}; repeat scans "
            "that last for several knots"
        )
    return several


def _raised(points: Reals) -> Reals:
    return np.column_stack([points, np.zeros(len(points))])


def rectangles(grid: OccupancyGrid) -> Reals:
    """Returns rectangles (x, y, x, y), shape (n, 4) [m], that cover the occupied cells; equal runs of rows are joined.

    Args:
        grid: The grid.
    """
    corners: list[list[int]] = []
    before: dict[tuple[int, int], list[int]] = {}  # rectangles that end in the previous row, by their columns
    for row, cells in enumerate(grid.occupied):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], cells, [False]]).astype(int)))
        now = {}
        for first, last in edges.reshape(-1, 2).tolist():
            each = before.get((first, last))
            if each is None:
                corners.append(each := [first, row, last, row + 1])
            each[3] = row + 1
            now[first, last] = each
        before = now
    return np.tile(grid.origin, 2) + grid.resolution * np.array(corners, dtype=float).reshape(-1, 4)
