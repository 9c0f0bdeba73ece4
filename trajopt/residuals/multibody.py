"""Base of residuals of a robot or of one of its frames."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.dynamics import frame_kinematics
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state


class ResidualModelMultibody(ResidualModelAbstract):
    """Base of residuals of a robot or of one of its frames.

    Args:
        state: State of the robot.
        nr: Size of the residual [-].
        frame: Name of the frame; None if the residual has none.
        unit: Unit of the elements.
        names: Name of each element (nr,); numbers by default.
    """

    state: StateMultibody

    def __init__(
        self,
        state: StateAbstract,
        nr: int,
        *,
        frame: str | None = None,
        unit: str = "-",
        names: Sequence[str] | None = None,
    ) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        super().__init__(state, nr, unit=unit, names=names)
        self.frame = frame
        self.frame_id = 0 if frame is None else robot.frame_id(frame)

    def base_frame(self, base: str, instead: str) -> int:
        """Number of the frame relative to which the residual measures.

        Args:
            base: Name of the frame.
            instead: What is to be used for the same measurement in the world, such as "for X use Y".

        Raises:
            InvalidArgumentError: It is the residual's own frame.
        """
        number = self.state.robot.frame_id(base)
        if number == self.frame_id:
            raise InvalidArgumentError(f"base: expected another frame than {self.frame!r}, got the same; {instead}")
        return number

    def bend(self, instant: Instant, force: SX) -> SX | None:
        """Second derivative Σ f_k ∂²ξ_k/∂q² (nv, nv) of the motion ξ of the frame.

        Args:
            instant: Symbols x and u.
            force: f (6,) if ξ is the frame's twist in its own axes, or (3,) if ξ is the position of its origin.

        Returns:
            The sum; None if velocities are not the rates of single joints, as with mimic and ellipsoid joints.
        """
        robot, of_point = instant.robot, force.numel() == 3
        if not robot.tree.is_direct:
            return None
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED if of_point else pin.ReferenceFrame.LOCAL
        jacobian, link = robot.frame_jacobian(self.frame_id, axes), robot.attachment(self.frame_id)[0]
        return (frame_kinematics.point_bend if of_point else frame_kinematics.bend)(robot.tree, link, jacobian, force)

    def pad_square(self, hessian: SX, nu: int) -> SX:
        """Hessian by (x, u): the Hessian by q (nv, nv) padded with zeros."""
        return SX(ca.diagcat(hessian, SX(self.state.nv + nu, self.state.nv + nu)))

    def pad(self, jacobian: SX) -> SX:
        """Jacobian by x (nr, ndx): the Jacobian by q (nr, nv) padded with zeros."""
        return ca.horzcat(jacobian, SX(jacobian.shape[0], self.state.nv))
