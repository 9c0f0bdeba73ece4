"""Residual of the joint efforts: torques and forces of the motors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract, check_controls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals


class ResidualModelJointEffort(ResidualModelAbstract):
    """r = τ - τ_ref of the joints that are driven, τ = B u, shape (n,) [N m, N].

    Joints whose row of B is zero, such as a floating base, are left out. As a constraint it brings the robot's effort
    limits as bounds.

    Args:
        state: State of the robot.
        actuation: Map from controls to joint torques; that of the model.
        reference: τ_ref (n,); zero by default. Run-time parameter `reference`.

    Attributes:
        joints: Index in τ of each row (n,).
    """

    uses_control = True
    not_content = ("_first",)  # value of a run-time parameter

    def __init__(
        self, state: StateAbstract, actuation: ActuationModelAbstract, reference: npt.ArrayLike | None = None
    ) -> None:
        robot_state = check_robot_state(type(self).__name__, state)
        if not isinstance(actuation, ActuationModelAbstract):
            raise InvalidArgumentError(f"actuation: expected an actuation model, got {actuation!r}")
        if actuation.state != robot_state:
            raise InvalidArgumentError(
                f"actuation: it is of {actuation.state!r}, the residual of {state!r}; make both from one state"
            )
        self.joints = np.flatnonzero(np.any(actuation.matrix != 0.0, axis=1))
        if not len(self.joints):
            raise InvalidArgumentError("actuation: expected one that drives a joint, got one that drives none")
        super().__init__(robot_state, len(self.joints), unit="N m, N")
        self.actuation = actuation
        shape = (len(self.joints),)
        self._first = np.zeros(shape) if reference is None else check_array("reference", reference, shape)
        self.reference = self.parameter("reference", self._first, unit=self.unit)

    @property
    def own_bounds(self) -> tuple[Reals, Reals]:
        """The effort limits of the robot's joints, -+inf where there are none, less the reference."""
        limit = self.actuation.effort[self.joints]
        return -limit - self._first, limit - self._first

    def evaluate(self, instant: Instant) -> SX:
        check_controls(self.actuation, instant.nu)
        return SX(self._matrix() @ instant.u - self.reference)

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(len(self.joints), self.state.ndx), self._matrix()

    def _matrix(self) -> SX:
        """The rows of B of the joints, sparse."""
        return SX(ca.sparsify(ca.DM(self.actuation.matrix[self.joints])))
