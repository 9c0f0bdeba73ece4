"""Residual of torques in contact: difference to the torques that hold the robot at rest on its contacts."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract, check_actuation
from trajopt.contacts.stack import ContactStack
from trajopt.dynamics.falling import frame_motions
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract, check_controls
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class ResidualModelContactControlGrav(ResidualModelAbstract):
    """Difference of torques to gravity compensation in contact, r = B u - (g(q) - Jᵀ λ), shape (nv,) [N m, N].

    It is zero if torques and contact forces λ balance gravity exactly.

    Args:
        state: State of the robot.
        actuation: Actuation of the model, which maps controls to joint torques.
        contacts: Contacts of the model that has this residual.
    """

    uses_control = True
    uses_solution = True

    def __init__(self, state: StateAbstract, actuation: ActuationModelAbstract, contacts: ContactStack) -> None:
        check_actuation(actuation)
        if not isinstance(contacts, ContactStack):
            raise InvalidArgumentError(f"contacts: expected the ContactStack of the model, got {contacts!r}")
        robot_state = check_robot_state(type(self).__name__, state)
        super().__init__(robot_state, robot_state.nv, unit="N m, N")
        self.actuation, self.contacts = actuation, contacts

    def evaluate(self, instant: Instant) -> SX:
        check_controls(self.actuation, instant.nu)
        robot = instant.robot
        torque = self.actuation.torque(instant.u) - robot.gravity()
        if not self.contacts.names:
            return torque
        motions = frame_motions(robot, SX(np.zeros(self.contacts.state.nv)), self.contacts.frames)
        forces = ca.vertcat(*[instant.force(name) for name in self.contacts.names])
        turn = self.contacts.force_map(motions)
        multipliers = forces if turn is None else ca.mtimes(turn.T, forces)
        return torque + ca.mtimes(self.contacts.jacobian(motions).T, multipliers)
