"""Active-set method for a least-squares program with bounds, as an iteration of a kernel.

    minimise  ½ Σ ωᵢ (rᵢ - clip(rᵢ, lᵢ, uᵢ))² + ½ dᵀ A d + b · d,  r = c + J d,  least <= d <= most

An iteration solves for the coordinates that are not fixed at a bound. It moves to this solution, or to the first bound
on the way, which is then fixed, or to the point where the value stops falling because further rows are violated. At
the minimum for the fixed coordinates, it releases the one whose multiplier is most wrong.

Source: Nocedal and Wright, Numerical Optimization (2006), algorithm 16.3.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels import Array, Program

PASSES = 100  # usually one or two suffice; with many active limits one for each
HALVINGS = 12  # of a step that crosses bounds of rows
FLAT = 1e-9  # slope at the end of a step, relative to that at its start, that counts as zero


def add_box_program(program: Program, d: Array, constants: list[Array]) -> Array:
    """Adds steps that solve the program; returns its solution (nv, 1).

    Args:
        program: Program that gets the steps.
        d: Initial point within the bounds (nv, 1).
        constants: c, J, l, u, ω, A, b, least, most.
    """
    nv = d.shape[0]
    start, least, most = SX.sym("d", nv), SX.sym("least", nv), SX.sym("most", nv)
    held = ca.if_else(ca.logic_or(start <= least, start >= most), 1.0, 0.0)
    state = program.call(ca.Function("held", [start, least, most], [start, held]), d, *constants[-2:])
    program.iterate(_pass(nv, constants[0].shape[0]), list(state), constants, limit=PASSES)
    return state[0]


def _pass(nv: int, nc: int) -> Program:
    """One iteration: (d, held, constants) -> (d, held, left)."""
    d, held, p = SX.sym("d", nv), SX.sym("held", nv), SX.sym("step", nv)
    c, lower, upper, weights = (SX.sym(name, nc) for name in ("c", "lower", "upper", "weights"))
    J, A, b = SX.sym("J", nc, nv), SX.sym("A", nv, nv), SX.sym("b", nv)
    least, most = SX.sym("least", nv), SX.sym("most", nv)
    constants = [c, J, lower, upper, weights, A, b, least, most]

    def beyond(rows: SX) -> SX:
        return rows - ca.fmin(ca.fmax(rows, lower), upper)

    def active(rows: SX) -> SX:
        return ca.if_else(ca.logic_or(beyond(rows) != 0, lower == upper), 1.0, 0.0)

    def gradient(at: SX) -> SX:
        return J.T @ (weights * beyond(c + J @ at)) + A @ at + b

    free = 1.0 - held
    rows = c + J @ d
    matrix = A + J.T @ (ca.diag(weights * active(rows)) @ J)
    for i in range(nv):
        for j in range(nv):
            matrix[i, j] = ca.if_else(free[i] * free[j], matrix[i, j], float(i == j))
    program = Program("pass")
    arrays = [program.input(*each.shape) for each in (d, held, *constants)]
    a, right = program.call(ca.Function("system", [d, held, *constants], [matrix, -free * gradient(d)]), *arrays)
    newton = program.solve(program.factor(a), right)

    room = ca.if_else(p > 0, most - d, d - least)
    ratios = ca.if_else(free * ca.fabs(p), ca.fmax(room, 0.0) / ca.fabs(p), np.inf)
    first = ca.fmin(ca.mmin(ratios), 1.0)
    slopes = ca.dot(A @ d + b, p), ca.bilin(A, p, p)
    along = J @ p

    def slope(length: SX) -> SX:
        return slopes[0] + length * slopes[1] + ca.dot(along, weights * beyond(rows + length * along))

    low, high = SX(0), first
    for _ in range(HALVINGS if nc else 0):
        middle = 0.5 * (low + high)
        falls = slope(middle) <= 0
        low, high = ca.if_else(falls, middle, low), ca.if_else(falls, high, middle)
    length = ca.if_else(slope(first) <= FLAT * ca.fabs(slope(SX(0))), first, high)

    stops = ca.logic_and(ratios <= length, ratios < 1.0)
    moved = ca.fmin(ca.fmax(d + length * p, least), most)
    moved = ca.if_else(stops, ca.if_else(p > 0, most, least), moved)
    settled = ca.logic_and(length >= 1.0, ca.sum1(ca.fabs(active(c + J @ moved) - active(rows))) == 0 if nc else 1)
    g = gradient(moved)
    away = held * ca.if_else(least < most, ca.if_else(moved <= least, -g, g), 0.0)  # multiplier of the bound
    pull = ca.mmax(away)
    lets_go = ca.logic_and(settled, pull > 0)
    released = ca.if_else(ca.logic_and(lets_go, away >= pull), 0.0, held)
    held_next = ca.if_else(stops, 1.0, released)
    left = ca.if_else(ca.logic_and(settled, ca.logic_not(lets_go)), 0.0, 1.0)
    move = ca.Function("move", [d, held, *constants, p], ca.cse([moved, held_next, left]))
    program.output(*program.call(move, *arrays, newton))
    return program
