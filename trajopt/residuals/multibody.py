"""Base of residuals of a robot and its frames."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state


class ResidualModelMultibody(ResidualModelAbstract):
    """A residual of a robot, or of one of its frames.

    Args:
        state: State of the robot.
        nr: Size of the residual [-].
        frame: Name of the frame; None if there is none.
        unit: Unit of the elements.
    """

    state: StateMultibody

    def __init__(self, state: StateAbstract, nr: int, *, frame: str | None = None, unit: str = "-") -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        super().__init__(state, nr, unit=unit)
        self.frame = frame
        self.frame_id = 0 if frame is None else robot.frame_id(frame)

    def pad(self, jacobian: SX) -> SX:
        """A Jacobian with respect to q, (nr, nv), padded with zeros to one with respect to x, (nr, ndx)."""
        return ca.horzcat(jacobian, SX(jacobian.shape[0], self.state.nv))
