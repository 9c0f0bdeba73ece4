"""Residual of the distances of distance joints."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.checks import check_known, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.multibody import ResidualModelMultibody
from trajopt.robots.closest_points import length_and_direction
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

ROUND_OFF = 1e-9  # keeps the derivative finite if the two points coincide [m]


class ResidualModelJointDistance(ResidualModelMultibody):
    """Distances r = |x_j| of distance joints, shape (n,): between the joint's frames on parent and child [m].

    The derivative by the linear velocity, in the child's axes, is (x_j / |x_j|)ᵀ R. A constraint on it has the bounds
    of the robot's distance joints by default.

    Args:
        state: State of the robot.
        joints: Name of a distance joint, or several names; None for all.

    Raises:
        InvalidArgumentError: The robot has no distance joint.
        UnknownNameError: The robot has no distance joint of this name.

    Source: Newton (newton-physics), JointType.DISTANCE.
    """

    def __init__(self, state: StateAbstract, joints: str | Sequence[str] | None = None) -> None:
        super().__init__(state, 1, unit="m")
        distances = self.state.robot.distances
        if not distances:
            raise InvalidArgumentError(
                f"state: expected a robot with distance joints, got {self.state.robot.name!r} without any; "
                "add one with ArticulationBuilder.add_distance"
            )
        names = tuple(distances)
        if joints is not None:
            names = check_texts("joints", [joints] if isinstance(joints, str) else joints)
        for name in names:
            check_known("joints: distance joint", name, distances)
        if not names:
            raise InvalidArgumentError("joints: expected at least one name, got none; omit the argument for all joints")
        self.joints, self.nr = names, len(names)
        model = self.state.model
        self._starts = tuple(int(model.joints[model.getJointId(name)].idx_q) for name in names)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Bounds of the distance joints."""
        lower, upper = np.array([self.state.robot.distances[name] for name in self.joints]).T
        return lower, upper

    def evaluate(self, instant: Instant) -> SX:
        points = [instant.x[start : start + 3] for start in self._starts]
        return SX(ca.vertcat(*(length_and_direction(p, ROUND_OFF)[0] for p in points)))
