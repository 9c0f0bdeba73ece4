"""What residuals of a robot's frames share."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state


class ResidualModelMultibody(ResidualModelAbstract):
    """A residual of a robot, of one of its frames if `frame` is given.

    Args:
        state: A robot's state.
        nr: Size of the residual [-].
        frame: Name of the frame.
        unit: Unit of its elements.
    """

    state: StateMultibody

    def __init__(self, state: StateAbstract, nr: int, *, frame: str | None = None, unit: str = "-") -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        super().__init__(state, nr, unit=unit)
        self.frame = frame
        self.frame_id = 0 if frame is None else robot.frame_id(frame)

    def pad(self, jacobian: SX) -> SX:
        """A Jacobian with respect to q, (nr, nv), as one with respect to x, (nr, ndx)."""
        return ca.horzcat(jacobian, SX(jacobian.shape[0], self.state.nv))
