"""Formulas that several steps of the simulator share, as calls in a program."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula


def beside(program: Program, *arrays: Array) -> Array:
    """Adds a step that joins arrays with equal numbers of rows side by side; returns the new array."""
    return call_formula(program, "beside", lambda *a: [ca.horzcat(*a)], *arrays)[0]


def below(program: Program, *arrays: Array) -> Array:
    """Adds a step that joins arrays with equal numbers of columns one below the other; returns the new array."""
    return call_formula(program, "below", lambda *a: [ca.vertcat(*a)], *arrays)[0]


def difference(program: Program, a: Array, b: Array) -> Array:
    """Adds a step that computes a - b for arrays of one shape; returns the new array."""
    return call_formula(program, "difference", lambda x, y: [x - y], a, b)[0]


def nothing(program: Program, n: int) -> Array:
    """Adds a step that creates an array of zeros (n, n); returns it."""
    return call_formula(program, "nothing", lambda: [SX(n, n)])[0]


def rate_rows(program: Program, by: Sequence[Array], moved: Sequence[Array] = ()) -> tuple[Array, ...]:
    """Adds the call that computes the derivatives of a rate (rate of q, v̇) by (q, θ, v) and by τ.

    Args:
        program: Program that gets the call.
        by: Derivatives of v̇ by (q, θ), v and τ.
        moved: Derivatives of v̂ by (q, θ) and v if v̂ is the rate of q; empty if v is.
    """
    n = by[0].shape[0]

    def rows(by_q: SX, by_v: SX, by_torque: SX, *by_moved: SX) -> list[SX]:
        top = ca.horzcat(*by_moved) if by_moved else ca.horzcat(SX(*by_q.shape), SX.eye(n))
        return [ca.vertcat(top, ca.horzcat(by_q, by_v)), ca.vertcat(SX(n, n), by_torque)]

    return call_formula(program, "rate_rows", rows, *by, *moved)


def by_inputs(program: Program, parts: Sequence[Array], motors: Sequence[Array]) -> list[Array]:
    """Adds the steps that compute derivatives by the state and by u, and by the unknowns if there are any.

    Args:
        program: Program that gets the steps.
        parts: Derivatives by the state, one array or several, of which the first has the unknowns behind q; by τ.
        motors: Derivative of τ by u, and by the unknowns if there are any.
    """
    *states, by_torque = parts
    by_u = program.matmul(by_torque, motors[0])
    if len(motors) == 1:
        return [*states, by_u]
    nv, k = motors[1].shape

    def split(by: SX) -> list[SX]:
        return [ca.horzcat(by[:, :nv], by[:, nv + k :]), by[:, nv : nv + k]]

    states[0], own = call_formula(program, "unknowns", split, states[0])
    return [*states, by_u, program.matmul(by_torque, motors[1], initial=own)]
