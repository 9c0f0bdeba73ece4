"""Limits of distance joints in the simulator."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.lie import quaternion_to_rotation
from trajopt.model.parameters import non_negative
from trajopt.robots import Robot
from trajopt.robots.closest_points import length_and_direction
from trajopt.simulator.contact import REST_DEPTH, SimulatorContactAbstract, Touch, weight_of
from trajopt.simulator.laws import ColumnsLaw
from trajopt.types import Reals

_ROUND_OFF = 1e-9  # keeps the direction finite where the placements coincide [m]


class DistanceLimit(SimulatorContactAbstract):
    """Contact that keeps lower <= |x| <= upper, with x the displacement of a distance joint.

    Its force acts along x, on both links. It is at most strength d³ at the depth d beyond a bound, and dissipates the
    most power: a rope that becomes taut does not rebound. The reported force is that on the moved link.

    Args:
        joint: Name of the distance joint.
        lower: Smallest distance, >= 0 [m].
        upper: Largest distance, inf for none [m].
    """

    force_size = 3

    def __init__(self, joint: str, lower: float, upper: float) -> None:
        super().__init__("".join(c if c.isalnum() else "_" for c in joint))
        self.joint, self.lower, self.upper = joint, lower, upper
        self._bounds = [(1.0, lower)] * (lower > 0) + [(-1.0, upper)] * bool(np.isfinite(upper))
        self.law = ColumnsLaw(1, len(self._bounds))
        self._strength = self.parameter("strength", 0.0, unit="N/m^3", convert=non_negative)

    @property
    def frames(self) -> tuple[str, ...]:
        return ()

    def resting_strength(self, robot: Robot) -> float:
        return (self.law.rays + 1) * weight_of(robot) / REST_DEPTH**3

    def touch(self, robot: RobotExpressions, up: Reals) -> Touch:
        index = robot.model.getJointId(self.joint)
        joint, q = robot.model.joints[index], robot.q
        place, turn = q[joint.idx_q : joint.idx_q + 3], quaternion_to_rotation(q[joint.idx_q + 3 : joint.idx_q + 7])
        length, direction = length_and_direction(place, _ROUND_OFF)
        jacobian = SX(1, robot.model.nv)
        jacobian[0, joint.idx_v : joint.idx_v + 3] = (turn.T @ direction).T
        depths = [ca.fmax(sign * (bound - length), 0) for sign, bound in self._bounds]
        law = ca.vertcat(*[sign * self._strength * d**3 for (sign, _), d in zip(self._bounds, depths)])
        to_world = robot.joint_placement(index)[0] @ turn.T
        return Touch(jacobian, law, lambda p: {}, lambda p: to_world @ direction * p, within_joints=True)


def distance_limits(robot: Robot) -> list[DistanceLimit]:
    """Limits of a robot's distance joints that have any."""
    limited = {name: b for name, b in robot.distances.items() if b[0] > 0 or np.isfinite(b[1])}
    return [DistanceLimit(name, *bounds) for name, bounds in limited.items()]
