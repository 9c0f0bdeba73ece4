"""Linear dynamics with a quadratic cost."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.discrete import ActionModelDiscrete
from trajopt.checks import as_numbers, check_array
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.states.state_vector import StateVector
from trajopt.types import Reals


class ActionModelLQR(ActionModelDiscrete):
    """Linear-quadratic model x⁺ = A x + B u + f, cost ½ xᵀQ x + ½ uᵀR u + xᵀN u + qᵀx + rᵀu; terminal ½ xᵀQ x + qᵀx.

    Args:
        A: Shape (nx, nx) [-]. Each argument is a run-time parameter of the same name.
        B: Shape (nx, nu) [-].
        Q: Symmetric, (nx, nx) [cost].
        R: Symmetric (nu, nu) [cost]; a solution exists if it is positive definite.
        N: Shape (nx, nu) [cost]; zero by default.
        f: Drift (nx,) [-]; zero by default.
        q: Shape (nx,) [cost]; zero by default.
        r: Shape (nu,) [cost]; zero by default.
        constraints: Constraints of the knot, of a StateVector(nx); none by default.

    Raises:
        InvalidArgumentError: Sizes do not fit, or Q or R is not symmetric.
    """

    def __init__(
        self,
        A: npt.ArrayLike,
        B: npt.ArrayLike,
        Q: npt.ArrayLike,
        R: npt.ArrayLike,
        *,
        N: npt.ArrayLike | None = None,
        f: npt.ArrayLike | None = None,
        q: npt.ArrayLike | None = None,
        r: npt.ArrayLike | None = None,
        constraints: ConstraintStack | None = None,
    ) -> None:
        shape = as_numbers("B", B, "a matrix of numbers").shape
        if len(shape) != 2:
            raise InvalidArgumentError(f"B: expected a matrix (nx, nu), got shape {shape}; a column is [[b0], [b1]]")
        nx, nu = shape
        super().__init__(StateVector(nx), nu, constraints=constraints)
        sizes = f"B has shape ({nx}, {nu}), so nx = {nx} and nu = {nu}"
        self.A = self.parameter("A", check_array("A", A, (nx, nx), cure=sizes))
        self.B = self.parameter("B", check_array("B", B, (nx, nu)))
        self.Q = self.parameter("Q", _symmetric("Q", Q, nx), convert=lambda name, v: _symmetric(name, v, nx))
        self.R = self.parameter("R", _symmetric("R", R, nu), convert=lambda name, v: _symmetric(name, v, nu))
        self.N = self.parameter("N", np.zeros((nx, nu)) if N is None else check_array("N", N, (nx, nu), cure=sizes))
        self.f = self.parameter("f", np.zeros(nx) if f is None else check_array("f", f, (nx,), cure=sizes))
        self.q = self.parameter("q", np.zeros(nx) if q is None else check_array("q", q, (nx,), cure=sizes))
        self.r = self.parameter("r", np.zeros(nu) if r is None else check_array("r", r, (nu,), cure=sizes))

    def next_state(self, x: SX, u: SX) -> SX:
        return self.A @ x + self.B @ u + self.f

    def running_cost(self, x: SX, u: SX) -> SX:
        control = 0.5 * ca.dot(u, self.R @ u) + ca.dot(x, self.N @ u) + ca.dot(self.r, u)
        return self.terminal_cost(x) + control

    def terminal_cost(self, x: SX) -> SX:
        return 0.5 * ca.dot(x, self.Q @ x) + ca.dot(self.q, x)


def _symmetric(argument: str, value: npt.ArrayLike, size: int) -> Reals:
    array = check_array(argument, value, (size, size), cure="B has shape (nx, nu), Q (nx, nx) and R (nu, nu)")
    if np.abs(array - array.T).max(initial=0.0) > 1e-12 * max(1.0, np.abs(array).max(initial=0.0)):
        raise InvalidArgumentError(f"{argument}: expected a symmetric matrix; use ({argument} + {argument}.T) / 2")
    return array
