"""Lifts: they give position rows of a step's derivative from its velocity rows; see `Lift`."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.actions.expansion import Lift
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array


def lift_size(first: SX, second: SX) -> int | None:
    """Size of the smallest leading block outside of which q ⊕ dq equals q + dq [-].

    Args:
        first: Derivative of (q, v) ⊕ (dq, dv) by (q, v), (ndx, ndx).
        second: Derivative by (dq, dv), (ndx, ndx).

    Returns:
        The block size, for both derivatives of q ⊕ dq. None if the state is not (q, v), or velocities do not add.
    """
    half, odd = divmod(first.shape[0], 2)
    if odd:
        return None
    size = 0
    for derivative in (first, second):
        away = ca.sparsify(derivative - SX.eye(2 * half)).sparsity()
        rows, columns = away.get_triplet()
        if any(i >= half for i in (*rows, *columns)):
            return None
        size = max(size, *(i + 1 for i in (*rows, *columns)), 0)
    return size


def still_lift(program: Program, Fv: Array, size: int) -> Lift:
    """Lift of a knot that takes no time: dt = 0, J0 = 1.

    Args:
        program: Program that gets the constants.
        Fv: Velocity rows of F (ndx / 2, n).
        size: Size of the blocks [-].
    """
    constants = ca.Function("still", [], [SX.zeros(1), SX.eye(size), SX(size, size)])
    dt, J0, J1 = program.call(constants)
    return Lift(dt=dt, J0=J0, J1=J1, Fv=Fv)
