"""A user's own contact or wrench model in the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_count, check_mapping, check_text
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.model.functions import call_user
from trajopt.simulator.contact import SimulatorContactAbstract, Touch
from trajopt.simulator.laws import ColumnsLaw
from trajopt.types import Reals


class ExternalWrench(SimulatorContactAbstract):
    """A wrench on a frame in conv{0, b_1, ..., b_n}, the one that dissipates most; b_j(pose) by a user's formula.

    The columns b_j (6,) are forces and torques about the frame's origin, in the world's axes [N, N m]. Where all are
    zero there is no contact; they should be C² in the pose for a C² step.

    Args:
        frame: Name of the frame.
        columns: Function (R, p) of the frame's rotation (3, 3) and origin (3,) in the world that gives the columns
            (6, n) as an expression (casadi.SX). With `parameters` it is called with their symbols by name, too.
        rays: Number n of columns [-].
        parameters: First values of run-time parameters by name, each a number; none by default.
        name: Name of the contact, an identifier; the frame's by default.

    Raises:
        InvalidArgumentError: `columns` does not give a (6, n) expression of its arguments.

    Source: `ExternalWrench` of DiffNE.
    """

    force_size = 6

    def __init__(
        self,
        frame: str,
        columns: Callable[..., SX],
        rays: int,
        *,
        parameters: Mapping[str, float] | None = None,
        name: str | None = None,
    ) -> None:
        self.frame = check_text("frame", frame, such_as="left_foot")
        super().__init__(self.frame if name is None else name)
        n = check_count("rays", rays, least=1, most=64)
        given = {} if parameters is None else check_mapping("parameters", parameters, "write {name: value}")
        self._symbols = [self.parameter(key, value) for key, value in given.items()]
        R, p = SX.sym("R", 3, 3), SX.sym("p", 3)
        found = call_user("columns", columns, R, p, **dict(zip(given, self._symbols)))
        if found.shape != (6, n):
            raise InvalidArgumentError(f"columns: expected an expression of shape (6, {n}), got {found.shape}")
        symbols = [R, p, *self._symbols]
        known = {s.element_hash() for symbol in symbols for s in ca.symvar(symbol)}
        if strangers := [str(s) for s in ca.symvar(found) if s.element_hash() not in known]:
            raise InvalidArgumentError(
                f"columns: expected an expression of R, p and parameters, got {', '.join(strangers[:5])}; declare "
                "numbers that change in parameters={name: value}"
            )
        self._columns = ca.Function("columns", symbols, [ca.densify(found)])
        self.law = ColumnsLaw(6, n)

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    def touch(self, robot: RobotExpressions, up: Reals) -> Touch:
        R, p = robot.frame_placement(self.frame)
        jacobian = robot.frame_jacobian(self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        columns = self._columns(R, p, *self._symbols)

        def wrenches(wrench: SX) -> dict[str, SX]:
            return {self.frame: SX(ca.vertcat(R.T @ wrench[:3], R.T @ wrench[3:]))}

        return Touch(SX(jacobian), SX(ca.vec(columns)), wrenches, lambda wrench: wrench)
