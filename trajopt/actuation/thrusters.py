"""Actuation of flying robots: thrusters on the base, motors at the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import (
    check_array,
    check_finite,
    check_instance,
    check_items,
    check_known,
    check_number,
    check_text,
    shape_of,
)
from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import floats
from trajopt.robots.placements import check_placement
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals

SPINS = {"cw": 1.0, "ccw": -1.0}
"""Sign of the drag torque along the thrust, by the sense in which a propeller turns, seen from above."""


@dataclass(frozen=True, eq=False)
class Thruster:
    """A propeller on the base that pushes along the z axis of its frame.

    Args:
        placement: Its frame on the base: a pinocchio.SE3, a matrix (4, 4), position and quaternion xyzw (7,), or a
            position (3,) [m]; it is kept as a matrix (3, 4).
        ctorque: Drag torque per thrust [m].
        spin: "cw" or "ccw", seen from above: the drag torque of "cw" is along the thrust, that of "ccw" against it.
        lower: Smallest thrust [N].
        upper: Largest thrust [N].
        name: Name of the control; by default "thrust0", "thrust1", ...

    Raises:
        InvalidArgumentError: A number is not finite, or `lower` exceeds `upper`.
        UnknownNameError: `spin` is neither "cw" nor "ccw".
    """

    placement: Any
    ctorque: float = 0.0
    spin: str = "ccw"
    lower: float = 0.0
    upper: float = np.inf
    name: str = ""

    def __post_init__(self) -> None:
        at = self.placement
        if shape_of(at) == (3,):
            at = np.column_stack([np.eye(3), check_array("placement", at, (3,))])
        object.__setattr__(self, "placement", check_placement("placement", at))
        object.__setattr__(self, "ctorque", check_finite("ctorque", self.ctorque))
        check_known("spin", self.spin, SPINS), check_text("name", self.name)
        for name in ("lower", "upper"):
            object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if not self.lower <= self.upper:
            raise InvalidArgumentError(f"lower: expected lower <= upper, got {self.lower:g} and {self.upper:g} N")

    @property
    def wrench(self) -> Reals:
        """Force and torque on the base per thrust (6,), in the base's axes [-, m]."""
        force = self.placement[:, 2]
        torque = np.cross(self.placement[:, 3], force) + SPINS[self.spin] * self.ctorque * force
        return np.concatenate([force, torque])


class ActuationModelFloatingBaseThrusters(ActuationModelAbstract):
    """Actuation tau = (W u_thrusters, u_joints): thrusters on the base, then a motor at each joint.

    Args:
        state: State of a robot whose first joint is a free flyer.
        thrusters: The thrusters, whose thrusts are the first controls.

    Attributes:
        thrusters: The thrusters.

    Raises:
        InvalidArgumentError: The robot has no free flyer, or there is no thruster.

    Source: Crocoddyl's ActuationModelFloatingBaseThrusters.
    """

    def __init__(self, state: StateAbstract, thrusters: Sequence[Thruster]) -> None:
        state = check_robot_state(type(self).__name__, state)
        if not floats(state.model):
            raise InvalidArgumentError(
                f"state: expected a robot with a free flyer, got {state.robot.name!r}; use load_robot(..., "
                "floating_base=True)"
            )
        cure = "pass [Thruster((0.2, 0.0, 0.0), ctorque=0.01), ...]"
        self.thrusters = tuple(check_items("thrusters", thrusters, "thrusters", cure=cure))
        if not self.thrusters:
            raise InvalidArgumentError(f"thrusters: expected at least one, got none; {cure}")
        for thruster in self.thrusters:
            check_instance("thrusters", thruster, Thruster, cure)
        count, nv = len(self.thrusters), state.nv
        matrix = np.zeros((nv, count + nv - 6))
        matrix[:6, :count] = np.stack([thruster.wrench for thruster in self.thrusters], axis=1)
        matrix[6:, count:] = np.eye(nv - 6)
        super().__init__(state, matrix)
        self.lower[:count] = [thruster.lower for thruster in self.thrusters]
        self.upper[:count] = [thruster.upper for thruster in self.thrusters]
        self.names[:count] = [thruster.name or f"thrust{i}" for i, thruster in enumerate(self.thrusters)]

    def hover(self) -> Reals:
        """Controls (nu,) of least square that hold the robot at rest in its neutral configuration [N, N m].

        Raises:
            InvalidArgumentError: The thrusters cannot hold it.
        """
        model = self.state.model
        gravity = pin.computeGeneralizedGravity(model, model.createData(), pin.neutral(model))
        u, *_ = np.linalg.lstsq(self.matrix, gravity, rcond=None)
        if np.abs(self.matrix @ u - gravity).max() > 1e-6 * np.abs(gravity).max():
            raise InvalidArgumentError(
                "thrusters: they cannot hold the robot at rest; its weight lies off their thrusts"
            )
        return np.asarray(u)
