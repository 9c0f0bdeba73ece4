"""Residual of the joint efforts: difference to a reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract, check_actuation
from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract, check_controls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals


class ResidualModelJointEffort(ResidualModelAbstract):
    """Joint effort error r = τ - τ_ref with τ = B m(u), of the joints that a motor drives, shape (n,) [N m, N].

    Joints whose row of B is zero, such as a floating base, are left out. A constraint on it has the robot's effort
    limits as bounds by default.

    Args:
        state: State of the robot.
        actuation: Actuation of the model, which maps controls to joint torques.
        reference: τ_ref (n,) [N m, N]; zero by default. Run-time parameter `reference`.

    Attributes:
        joints: Index in τ of each row (n,).
    """

    uses_control = True
    not_content = ("_first",)  # value of a run-time parameter

    def __init__(
        self, state: StateAbstract, actuation: ActuationModelAbstract, reference: npt.ArrayLike | None = None
    ) -> None:
        robot_state = check_robot_state(type(self).__name__, state)
        check_actuation(actuation, robot_state)
        self.joints = np.flatnonzero(np.any(actuation.matrix != 0.0, axis=1))
        if not len(self.joints):
            raise InvalidArgumentError("actuation: expected a matrix B that drives a joint, got B = 0")
        super().__init__(robot_state, len(self.joints), unit="N m, N")
        self.actuation = actuation
        shape = (len(self.joints),)
        self._first = np.zeros(shape) if reference is None else check_array("reference", reference, shape)
        self.reference = self.parameter("reference", self._first, unit=self.unit)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """Effort limits of the robot's joints minus the reference; ±inf for joints without a limit."""
        limit = self.actuation.effort[self.joints]
        return -limit - self._first, limit - self._first

    def evaluate(self, instant: Instant) -> SX:
        check_controls(self.actuation, instant.nu)
        return SX(self.actuation.torque(instant.u)[self.joints.tolist()] - self.reference)

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        by_u = self.actuation.torque_derivative(instant.u)[self.joints.tolist(), :]
        return SX(len(self.joints), self.state.ndx), by_u
