"""Bodies of a robot's links whose distances from obstacles are measured: capsules and spheres, or balls along them."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.types import Ints, Reals

SPACING = 0.5  # largest distance of neighbouring balls, relative to the radius of their capsule [-]


@dataclass(frozen=True, eq=False)
class LinkBodies:
    """Bodies, each a part of a capsule or sphere of the robot.

    Attributes:
        owners: Index of the capsule or sphere of each body (n,).
        shares: Shares of its axis at which the axis of the body begins and ends (n, 2) [-].
        numbers: Ends of the axis of each body in the frame of its joint, and its radius (n, 7) [m].
    """

    owners: Ints
    shares: Reals
    numbers: Reals

    @classmethod
    def whole(cls, ends: Reals, radii: Reals) -> LinkBodies:
        """The capsules and spheres themselves, from the ends (n, 2, 3) of their axes and their radii (n,) [m]."""
        return cls(
            np.arange(len(ends)), np.tile([0.0, 1.0], (len(ends), 1)), np.column_stack([ends.reshape(-1, 6), radii])
        )

    @classmethod
    def balls(cls, ends: Reals, radii: Reals) -> LinkBodies:
        """Balls whose union contains each capsule, at most half a radius apart and 3.1 % larger than it."""
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        gaps = np.ceil(lengths / (SPACING * radii)).astype(int)
        owners = np.repeat(np.arange(len(ends)), gaps + 1)
        shares = np.concatenate([np.linspace(0.0, 1.0, n + 1) if n else np.zeros(1) for n in gaps])
        centres = ends[owners, 0] + shares[:, None] * (ends[owners, 1] - ends[owners, 0])
        own = np.sqrt(radii**2 + (lengths / np.maximum(gaps, 1) / 2.0) ** 2)[owners]
        return cls(owners, np.column_stack([shares, shares]), np.column_stack([centres, centres, own]))

    def in_world(self, points: SX) -> SX:
        """Numbers of each body in the world (7, n), from the ends (6, capsules) of the axes of all capsules."""
        start, end = points[:3, self.owners.tolist()], points[3:, self.owners.tolist()]
        first, second = (start * _row(1.0 - share) + end * _row(share) for share in self.shares.T)
        return SX(ca.vertcat(first, second, SX(self.numbers[:, 6]).T))


def _row(shares: Reals) -> SX:
    """A number for each body, three times (3, n)."""
    return SX(np.tile(shares, (3, 1)))
