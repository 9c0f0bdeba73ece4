"""Readings of a LIDAR as points or obstacles, and the nearest wall."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_count, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.planar.walls import Wall
from trajopt.types import Reals

FAR = 10.0  # distance of the circle of an empty sector, in multiples of the longest reading [-]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scan:
    """Readings of a LIDAR at a pose.

    Attributes:
        pose: Position and heading (x, y, θ) (3,) [m, m, rad].
        angles: Angles of the beams from the heading (n,) [rad].
        ranges: Distances (n,) [m]; inf if nothing is in range, -inf if something is too close.
        most: Largest measurable distance, > 0 [m].

    Raises:
        InvalidArgumentError: Sizes differ, a pose or an angle is not finite, or a distance is NaN or negative.
    """

    pose: Reals
    angles: Reals = field(repr=False)
    ranges: Reals = field(repr=False)
    most: float

    def __post_init__(self) -> None:
        ranges = as_numbers("ranges", self.ranges, "distances (n,) [m]")
        if ranges.ndim != 1 or not ranges.size:
            raise InvalidArgumentError(f"ranges: expected distances (n,) [m], n >= 1, got shape {ranges.shape}")
        if not np.all((ranges >= 0.0) | (ranges == -np.inf)):
            raise InvalidArgumentError(
                "ranges: expected distances >= 0 [m], inf if nothing is in range, -inf if something is too "
                f"close, got {shown(ranges.tolist())}"
            )
        checked = {
            "pose": check_array("pose", self.pose, (3,), cure="position and heading (x, y, theta)"),
            "angles": check_array("angles", self.angles, ranges.shape, cure="one for each distance [rad]"),
            "ranges": ranges,
            "most": check_positive("most", self.most, unit="m"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def hits(self) -> npt.NDArray[np.bool_]:
        """Whether a beam has a reading (n,)."""
        return np.isfinite(self.ranges)

    @property
    def points(self) -> Reals:
        """Points in the world that the beams with a reading hit (m, 2) [m]."""
        return self._ends(np.flatnonzero(self.hits))

    def _ends(self, beams: npt.NDArray[np.intp]) -> Reals:
        turned = self.pose[2] + self.angles[beams]
        along = np.column_stack([np.cos(turned), np.sin(turned)])
        return np.asarray(self.pose[:2] + self.ranges[beams, None] * along)

    def obstacles(self, count: int, *, radius: float) -> Reals:
        """Circles (x, y, radius) (count, 3) [m] at the nearest point of each of `count` equal sectors.

        The number of rows is constant, so they can be the run-time parameter `circles` of a
        `ResidualModelObstacleDistance` for every scan. The circle of a sector without a reading is far out of range.

        Args:
            count: Number of rows, at most the number of beams [-].
            radius: Radius of the circles, > 0 [m]. Half the distance between neighbours closes the gaps in a wall.
        """
        sectors = np.array_split(np.arange(len(self.ranges)), check_count("count", count, least=1))
        if count > len(self.ranges):
            raise InvalidArgumentError(f"count: expected at most {len(self.ranges)}, the number of beams, got {count}")
        size, ranges = check_positive("radius", radius, unit="m"), np.where(self.hits, self.ranges, np.inf)
        nearest = np.array([sector[np.argmin(ranges[sector])] for sector in sectors])
        seen = self.hits[nearest]
        rows = np.empty((count, 3))
        rows[:, :2] = self.pose[:2] + FAR * self.most
        rows[seen, :2], rows[:, 2] = self._ends(nearest[seen]), size
        return rows

    def wall(self, width: float = 0.5) -> Wall | None:
        """Nearest wall: the nearest point, and the normal of a line through those around it; None without two points.

        The distance is the least reading, so that of a corner or a round post, too. Noise makes it too small: noise of
        1 cm by 1.6 cm, where 360 beams meet a wall at 0.7 m.

        Args:
            width: Largest distance of these points from the nearest one, > 0 [m].
        """
        reach, points = check_positive("width", width, unit="m"), self.points
        away = np.linalg.norm(points - self.pose[:2], axis=1)
        if len(points) < 2:
            return None
        nearest = points[np.argmin(away)]
        near = points[np.linalg.norm(points - nearest, axis=1) <= reach]
        if len(near) < 2:
            return None
        _, _, axes = np.linalg.svd(near - near.mean(axis=0))
        normal = axes[1] * (1.0 if axes[1] @ (self.pose[:2] - nearest) >= 0.0 else -1.0)
        return Wall(point=nearest, normal=normal, distance=float(away.min()))
