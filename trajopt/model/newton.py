"""Newton's method as steps of a program: roots of equations, lane by lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula

Linearised = tuple[Array, Array, Array]
"""Residual r (n,) at a point, its derivative M (n, n), and -r once more, possibly with other structural zeros."""

_LIMIT = 100  # iterations
_SMALL = 1e-8  # step relative to the largest unknown or 1; if a smaller one fails, rounding is the reason
_DECREASE = 1e-4  # required relative decrease of the squared residual


def add_root(
    program: Program,
    name: str,
    linearise: Callable[..., Linearised],
    start: Array,
    constants: Sequence[Array],
    tolerance: Array,
) -> tuple[Array, Array, Array]:
    """Adds the iteration that computes a root y of r(y), except for its last step.

    Newton's method halves steps that do not lower |r|. It stops after a step below the tolerance, relative to the
    largest element of y or 1. Without a root, the status of the program is not 0.

    Args:
        program: Program that gets the iteration.
        name: Name of its body.
        linearise: Adds the steps for r and M to a program, from (program, y, *constants).
        start: Where it starts (n,).
        constants: Other arrays on which r depends.
        tolerance: Size of the last step (1,) [-].

    Returns:
        y (n,), the last step (n,) and its length (1,); the root is y + length · step.
    """
    state = call_formula(program, "start", lambda v: [v, ca.densify(SX(*v.shape)), SX(1), SX(ca.inf)], start)
    body = Program(name)
    y, step, length, best = (body.input(array.size) for array in state)
    given = [body.input(array.size) for array in constants]
    small = body.input(1)
    (trial,) = call_formula(body, "trial", lambda v, step, length: [v + length * step], y, step, length)
    r, M, rest = linearise(body, trial, *given)
    new = add_quotient(body, M, rest)
    body.output(*call_formula(body, "judged", _judged, y, step, length, best, trial, new, r, small))
    program.iterate(body, state, [*constants, tolerance], limit=_LIMIT)
    return state[0], state[1], state[2]


def add_quotient(program: Program, M: Array, b: Array) -> Array:
    """Adds the steps that compute M⁻¹ b by the normal equations, and correct rounding by a second solve."""
    factors = program.factor(program.matmul(M, M, transpose_a=True))
    x = program.solve(factors, program.matmul(M, b, transpose_a=True))
    left = program.matmul(M, x, initial=b, subtract=True)
    program.add(x, program.solve(factors, program.matmul(M, left, transpose_a=True)))
    return x


def _judged(y: SX, step: SX, length: SX, best: SX, trial: SX, new: SX, r: SX, tolerance: SX) -> list[SX]:
    """Formula (y, step, its length, |r|²; trial, its step, its r, tolerance) -> (the next four, remaining error).

    A step that does not lower |r|, although it is as small as rounding, is the last one.
    """
    size = ca.sumsqr(r)
    better = size <= (1 - _DECREASE * length) * best
    scale = ca.fmax(1, ca.norm_inf(y))
    converged = ca.if_else(better, ca.norm_inf(new) <= tolerance * scale, ca.norm_inf(step) <= _SMALL * scale)
    left = ca.if_else(converged, 0, ca.if_else(size > 0, ca.sqrt(size), 1))
    chosen = [
        ca.if_else(better, new_one, old) for new_one, old in ((trial, y), (new, step), (1, length / 2), (size, best))
    ]
    return [ca.densify(e) for e in (*chosen, left)]
