"""Residual of the distances between bodies of a robot and terrain."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_instance, check_items
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.terrain import Terrain
from trajopt.instant import Instant
from trajopt.kernels.derivatives import jacobian
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots import Shape
from trajopt.robots.round_bodies import Capsule, Sphere, as_round
from trajopt.states import StateAbstract
from trajopt.types import Reals


class ResidualModelTerrainDistance(ResidualModelMultibody):
    """Signed distances between b bodies and s surfaces of terrain, r = φ_j(p_ij) - ρ_i, shape (b s,) [m].

    p_ij is the point of body i's axis that is nearest to surface j: exact for planes and boxes, the nearest of five
    points for height fields. The rows of a body follow one another. A constraint has the bound r >= 0 by default.

    Args:
        state: State of the robot.
        terrain: The terrain.
        bodies: Spheres and Capsules on frames of the robot, or its shapes of these kinds.

    Raises:
        InvalidArgumentError: There are no bodies, one has another type, or it is not on a frame.

    Source: the derivative is that of the distance of p_ij as a fixed point of its body (Danskin's theorem).
    """

    def __init__(self, state: StateAbstract, terrain: Terrain, bodies: Sequence[Sphere | Capsule | Shape]) -> None:
        check_instance("terrain", terrain, Terrain)
        chosen = [as_round(body) for body in check_items("bodies", bodies, "spheres or capsules")]
        for i, body in enumerate(chosen):
            if not isinstance(body, Sphere | Capsule) or body.frame is None:
                raise InvalidArgumentError(
                    f'bodies[{i}]: expected a Sphere or Capsule on a frame such as Sphere(0.1, frame="base"), got '
                    f"{body!r}"
                )
        if not chosen:
            raise InvalidArgumentError("bodies: expected at least one body, got none; omit the residual")
        kinds = [type(surface).__name__.removesuffix("Surface").lower() for surface in terrain.surfaces]
        names = [f"{name}, {kind} {j}" for name in _numbered(chosen) for j, kind in enumerate(kinds)]
        super().__init__(state, len(names), unit="m", names=names)
        self.bodies = tuple(chosen)
        self.frame_ids = [self.state.robot.frame_id(str(body.frame)) for body in chosen]
        self.surfaces = terrain.surfaces

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bound 0 <= r: no body touches the terrain."""
        return np.zeros(int(self.nr or 0)), np.full(int(self.nr or 0), np.inf)

    def evaluate(self, instant: Instant) -> SX:
        rows = [
            surface.distance(point) - body.radius
            for body, points in zip(self.bodies, self._nearest(instant))
            for surface, point in zip(self.surfaces, points)
        ]
        return SX(ca.vertcat(*rows))

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        rows, p = [], SX.sym("p", 3)
        slopes = [ca.Function("slope", [p], [jacobian(surface.distance(p), p)]) for surface in self.surfaces]
        for frame, points in zip(self.frame_ids, self._nearest(instant)):
            _, position = instant.robot.frame_placement(frame)
            columns = instant.robot.frame_jacobian(frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            for slope, point in zip(slopes, points):
                rows.append(slope(point) @ (columns[:3, :] - ca.skew(point - position) @ columns[3:, :]))
        return self.pad(SX(ca.vertcat(*rows))), SX(int(self.nr or 0), instant.nu)

    def _nearest(self, instant: Instant) -> list[list[SX]]:
        """Point (3,) of each body's axis that is nearest to each surface, in the world [m]."""
        every = []
        for body, frame in zip(self.bodies, self.frame_ids):
            rotation, position = instant.robot.frame_placement(frame)
            ends = [rotation @ SX(end) + position for end in body.points]
            start, along = ends[0], ends[-1] - ends[0]
            parts = [surface.nearest(start, ends[-1]) if len(ends) > 1 else SX(0) for surface in self.surfaces]
            every.append([start + part * along for part in parts])
        return every


def _numbered(bodies: Sequence[Sphere | Capsule]) -> list[str]:
    """Name of each body's frame, with a number where a frame carries several."""
    frames = [str(body.frame) for body in bodies]
    return [f"{f} {frames[:i].count(f)}" if frames.count(f) > 1 else f for i, f in enumerate(frames)]
