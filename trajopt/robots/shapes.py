"""Solids on links: boxes, balls, capsules and cylinders, for inertias and pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.checks import check_non_negative
from trajopt.types import Reals

ROUND = 24  # points on a circle
CAP = 6  # circles on half a ball


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape:
    """A convex solid on a link of a robot.

    Attributes:
        link: Name of the frame that carries it.
        kind: "box", "sphere", "capsule" or "cylinder".
        size: Sides of a box (3,), radius of a ball (1,), or radius and length (2,) of a capsule or cylinder along z,
            where the length of a capsule excludes its caps [m].
        placement: Placement of its centre in the frame of the link (4, 4) [-, m].
        color: A colour of Matplotlib; None for the default of the picture.
    """

    link: str
    kind: str
    size: Reals
    placement: Reals
    color: str | None = None

    def inertia(self, mass: float | None = None, density: float = 1.0) -> pin.Inertia:
        """Inertia about the frame of the link, from a mass or, without one, from a uniform density.

        Args:
            mass: Mass, >= 0 [kg].
            density: Density, >= 0 [kg/m³].

        Raises:
            InvalidArgumentError: One of them is negative or not a number.
        """
        thick = check_non_negative("density", density, unit="kg/m³")
        total = thick * self.volume if mass is None else check_non_negative("mass", mass, unit="kg")
        return pin.SE3(np.asarray(self.placement)).act(_FILLED[self.kind](total, *np.asarray(self.size).tolist()))

    @property
    def volume(self) -> float:
        """Volume of the solid [m³]."""
        r = float(self.size[0])
        if self.kind == "box":
            return float(np.prod(self.size))
        ball = 4.0 / 3.0 * np.pi * r**3
        if self.kind == "sphere":
            return float(ball)
        rod = np.pi * r**2 * float(self.size[1])
        return float(rod + (ball if self.kind == "capsule" else 0.0))

    @property
    def ends(self) -> Reals:
        """Centre of a ball (1, 3), or ends of the axis of a capsule or cylinder (2, 3), in the link's frame [m]."""
        half = 0.0 if self.kind in ("box", "sphere") else float(self.size[1]) / 2
        along = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]] if half else [[0.0, 0.0, 0.0]])
        return self._placed(along)

    def points(self) -> Reals:
        """Points (n, 3) in the link's frame whose convex hull is the solid [m]."""
        if self.kind == "box":
            return self._placed(_corners() * self.size / 2)
        r, half = float(self.size[0]), (float(self.size[1]) / 2 if self.kind != "sphere" else 0.0)
        if self.kind == "cylinder":
            return self._placed(np.concatenate([_circle(r, -half), _circle(r, half)]))
        rises = np.linspace(0.0, np.pi / 2, CAP)
        caps = [_circle(r * np.cos(a), side * (half + r * np.sin(a))) for a in rises[:-1] for side in (-1.0, 1.0)]
        tips = np.array([[0.0, 0.0, side * (half + r)] for side in (-1.0, 1.0)])
        return self._placed(np.concatenate([*caps[0 if half else 1 :], tips]))

    def _placed(self, points: Reals) -> Reals:
        placement = np.asarray(self.placement)
        return np.asarray(points @ placement[:3, :3].T + placement[:3, 3])


_FILLED = {
    "box": pin.Inertia.FromBox,
    "sphere": pin.Inertia.FromSphere,
    "capsule": pin.Inertia.FromCapsule,
    "cylinder": pin.Inertia.FromCylinder,
}


def _corners() -> Reals:
    return np.array(np.meshgrid(*[[-1.0, 1.0]] * 3, indexing="ij")).reshape(3, -1).T


def _circle(radius: float, z: float) -> Reals:
    angle = np.linspace(0.0, 2 * np.pi, ROUND, endpoint=False)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(ROUND, z)], axis=1)
