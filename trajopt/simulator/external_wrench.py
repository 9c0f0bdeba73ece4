"""Contact or wrench model of the user: a formula, or a numerical function with its derivative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy.typing as npt
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_count, check_mapping, check_text
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.model.functions import call_user
from trajopt.simulator.black_box import BlackBoxColumns
from trajopt.simulator.contact import SimulatorContactAbstract, Touch
from trajopt.simulator.laws import ColumnsLaw
from trajopt.types import Reals


class ExternalWrench(SimulatorContactAbstract):
    """Wrench on a frame in conv{0, b_1, ..., b_n} that dissipates the most; a user's function gives b_j(pose).

    The columns b_j (6,) are forces and torques about the frame's origin, in the world's axes [N, N m]. If all are zero
    there is no contact. For a C² step they must be C² functions of the pose.

    Args:
        frame: Name of the frame.
        columns: Function (R, p) of the frame's rotation (3, 3) and origin (3,) in the world that returns the columns
            (6, n). It also receives `parameters` by name. Without `derivative` it is a formula, called once with
            symbols (casadi.SX). With `derivative` it is a black box, called with arrays in each step.
        rays: Number n of columns [-].
        derivative: Derivative of a black box: a function of the same arguments that returns (6, n, 6), the derivative
            by small translations δ and rotations θ of the frame in the world's axes, p + δ and exp([θ]ₓ) R, in the
            order (δ, θ). It is called only for derivatives of a step. None if `columns` is a formula.
        parameters: Initial values of run-time parameters by name, each a number; none by default.
        name: Name of the contact, an identifier; by default that of the frame.

    Raises:
        InvalidArgumentError: `derivative` is None, and `columns` is not a formula that returns (6, n).

    Source: `ExternalWrench` of DiffNE.
    """

    force_size = 6
    not_content = ("_arguments", "black_box")  # steps read only the values of a black box

    def __init__(
        self,
        frame: str,
        columns: Callable[..., Any],
        rays: int,
        *,
        derivative: Callable[..., npt.ArrayLike] | None = None,
        parameters: Mapping[str, float] | None = None,
        name: str | None = None,
    ) -> None:
        self.frame = check_text("frame", frame, such_as="left_foot")
        super().__init__(self.frame if name is None else name)
        n = check_count("rays", rays, least=1, most=64)
        defaults = {} if parameters is None else check_mapping("parameters", parameters, "write {name: value}")
        self._symbols = {key: self.parameter(key, value) for key, value in defaults.items()}
        self.law = ColumnsLaw(6, n)
        self.black_box = None if derivative is None else BlackBoxColumns(self.name, columns, derivative, n)
        if derivative is None:
            self._columns = _formula(columns, n, self._symbols)
        else:
            self._told = SX.sym("told", BlackBoxColumns.size_of(n))

    @property
    def frames(self) -> tuple[str, ...]:
        return (self.frame,)

    @property
    def told(self) -> SX | None:
        """Symbol of the values of a black box at the pose of each state; None for a formula."""
        return None if self.black_box is None else self._told

    def check_derivative(self, R: npt.ArrayLike, p: npt.ArrayLike, **parameters: float) -> None:
        """Compares the `derivative` of a black box with central differences of `columns`, relative to its size or 1.

        Args:
            R: Rotation of the frame in the world (3, 3) [-].
            p: Origin of the frame in the world (3,) [m].
            parameters: Values of run-time parameters; the others have their initial values.

        Raises:
            InvalidArgumentError: An element differs by more than 1e-5; the message gives its index.
        """
        if self.black_box is None:
            raise InvalidArgumentError(f"{self.name}: expected a black box, got a formula; its derivative is exact")
        first = {key: float(value.default) for key, value in self.parameters().items()}
        self.black_box.check_derivative(R, p, first | parameters)

    def touch(self, robot: RobotExpressions, up: Reals) -> Touch:
        R, p = robot.frame_placement(self.frame)
        jacobian = robot.frame_jacobian(self.frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        if self.black_box is None:
            columns = SX(ca.vec(self._columns(R, p, *self._symbols.values())))
        else:
            columns = self.black_box.expression(self._told, R, p)

        def wrenches(wrench: SX) -> dict[str, SX]:
            return {self.frame: SX(ca.vertcat(R.T @ wrench[:3], R.T @ wrench[3:]))}

        return Touch(SX(jacobian), columns, wrenches, lambda wrench: wrench)


def _formula(columns: Callable[..., Any], n: int, parameters: Mapping[str, SX]) -> ca.Function:
    """Function that computes the columns (6, n) from R, p and parameters."""
    R, p = SX.sym("R", 3, 3), SX.sym("p", 3)
    try:
        value = call_user("columns", columns, R, p, **parameters)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            f"{error}; if it is a function of arrays, pass derivative=, a function that returns its derivative "
            f"(6, {n}, 6) by the pose"
        ) from error
    if value.shape != (6, n):
        raise InvalidArgumentError(f"columns: expected an expression of shape (6, {n}), got {value.shape}")
    symbols = [R, p, *parameters.values()]
    own = {s.element_hash() for symbol in symbols for s in ca.symvar(symbol)}
    if strangers := [str(s) for s in ca.symvar(value) if s.element_hash() not in own]:
        raise InvalidArgumentError(
            f"columns: expected an expression of R, p and parameters, got {', '.join(strangers[:5])}; declare "
            "variable numbers with parameters={name: value}"
        )
    return ca.Function("columns", symbols, [ca.densify(value)])
