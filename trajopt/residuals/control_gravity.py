"""Residual of torques without contacts: difference to the torques that hold the robot at rest."""

from __future__ import annotations

from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract, check_actuation
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract, check_controls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ResidualModelControlGrav(ResidualModelAbstract):
    """Difference of torques to gravity compensation, r = B u - g(q), shape (nv,) [N m, N].

    It is zero if the torques balance gravity exactly. It ignores contacts.

    Args:
        state: State of the robot.
        actuation: Actuation of the model, which maps controls to joint torques.
    """

    uses_control = True

    def __init__(self, state: StateAbstract, actuation: ActuationModelAbstract) -> None:
        check_actuation(actuation)
        robot_state = check_robot_state(type(self).__name__, state)
        super().__init__(robot_state, robot_state.nv, unit="N m, N")
        self.actuation = actuation

    def evaluate(self, instant: Instant) -> SX:
        check_controls(self.actuation, instant.nu)
        return SX(self.actuation.torque(instant.u) - instant.robot.gravity())
