"""Proofs that rows exclude each other: along linear dynamics, and at a knot whose equations determine a row."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import runs
from trajopt.analysis.constraints import HELD, Flags
from trajopt.analysis.contradictions.linear_rows import MOVES, ROUNDING, LinearRows, moved, random_steps
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

EXCLUDE = "they exclude each other"
"""Words that each sentence has."""
FROM_START = "x0: " + EXCLUDE
"""Words of a sentence on rows that exclude each other because of x0."""
MOST_VARIABLES = 10_000
"""Largest size of a linear program along the dynamics [-]."""
MOST_CURES = 3
"""Largest number of bounds that a sentence advises to move, those that move least [-]."""
SLIGHT = 1e-6
"""Multiplier that counts as none, relative to the largest one [-]."""


def along_dynamics(problem: ShootingProblem, linear: LinearRows) -> list[str]:
    """Sentence on linear rows that exclude each other along the linear part of the dynamics; empty if they don't.

    min t over dx, du and t >= 0 with all bounds widened by t and the equations dx_{t+1} = F (dx_t, du_t) + f of those
    coordinates that are linear; others are free, so that t > 0 is a proof for all motions. The multipliers y of the
    rows have the sum 1, so a bound alone has to be widened by at least t / Σ y of its knots.
    """
    (T, n), size = linear.follows.shape, linear.F.shape[2]
    steps = (T + 1) * size  # of the variables; the control of the last knot is one without use
    if not linear.follows.any() or steps > MOST_VARIABLES:
        return []
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    t, i = np.nonzero(linear.follows)
    each = np.arange(len(t))
    row = np.concatenate([np.repeat(each, size), each])
    column = np.concatenate([(t[:, None] * size + np.arange(size)).ravel(), (t + 1) * size + i])
    value = np.concatenate([-linear.F[t, i].ravel(), np.ones(len(t))])
    equations = coo_array((value, (row, column)), shape=(len(t), steps + 1)).tocsr()
    sides = [linear.usable & np.isfinite(bound) for bound in (linear.below, linear.above)]
    knots, rows = (np.concatenate(places) for places in zip(*map(np.nonzero, sides)))
    sign = np.repeat([-1.0, 1.0], [np.count_nonzero(side) for side in sides])
    b = np.concatenate([linear.below[sides[0]], linear.above[sides[1]]])
    each = np.arange(len(b))
    row = np.concatenate([np.repeat(each, size), each])
    column = np.concatenate([(knots[:, None] * size + np.arange(size)).ravel(), np.full(len(b), steps)])
    value = np.concatenate([(sign[:, None] * linear.G[knots, rows]).ravel(), -np.ones(len(b))])
    A = coo_array((value, (row, column)), shape=(len(b), steps + 1)).tocsr()
    bounds = [*_start(problem, linear), *[(None, None)] * (steps - n), (0.0, None)]
    cost = np.append(np.zeros(steps), 1.0)
    found = linprog(cost, A_ub=A, b_ub=b, A_eq=equations, b_eq=linear.f[t + 1, i], bounds=bounds, method="highs")
    if found.status != 0:
        return []
    y = -found.ineqlin.marginals
    if found.fun <= HELD * max(1.0, float(y @ np.abs(b))):
        return []
    y[y <= SLIGHT * y.max()] = 0.0
    prices = np.abs(found.lower.marginals[:n]) + np.abs(found.upper.marginals[:n])
    first = "x0" if problem.start == "fixed" else "the bounds of the start"
    return [_sentence(linear, found.fun, knots, rows, sign, y, [first] * bool((prices > SLIGHT * y.max()).any()))]


def _start(problem: ShootingProblem, linear: LinearRows) -> list[tuple[float | None, float | None]]:
    """Bounds of the first step (ndx,): those of the start."""
    state, start = problem.state, problem.start
    if start == "fixed":
        return [(gap, gap) for gap in linear.f[0].tolist()]
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * state.ndx
    if not isinstance(start, str):
        at = state.difference(state.zero(), linear.at[0][0])
        for i in np.flatnonzero(~np.asarray(state.curved_directions)):
            bounds[i] = float(start[0][i] - at[i]), float(start[1][i] - at[i])
    return bounds


def _sentence(
    linear: LinearRows, least: float, knots: Ints, rows: Ints, sign: Reals, y: Reals, others: list[str]
) -> str:
    """Sentence on multipliers y of bounds along the dynamics and on others, with what to move each bound alone by."""
    places, cures = list[str](), list[tuple[float, str]]()
    used = sorted((int(rows[k]), float(sign[k]), int(knots[k]), float(y[k])) for k in np.flatnonzero(y))
    for (row, side), group in groupby(used, key=lambda each: each[:2]):
        own, number = linear.rows[row]
        at, weights = zip(*((knot, weight) for _, _, knot, weight in group))
        title, unit = own.title(number), f" {own.units[number]}" if own.units[number] else ""
        places.append(f"{title} at knot{'s' * (len(at) > 1)} {runs(np.array(at))}")
        far = least / float((np.array(weights) / linear.sizes[list(at), row]).sum())
        bound = "the value" if own.equations[at[0], number] else "the upper bound" if side > 0 else "the lower bound"
        size = abs(float((own.upper if side > 0 else own.lower)[at[0], number]))
        cures.append((far / max(1.0, size), f"{bound} of {title} by {far:.3g}{unit}"))
    named = " and ".join([*dict.fromkeys(places), *others])
    return (
        f"constraints {named}: {EXCLUDE} along the linear dynamics; move one of them with "
        f"problem.set_parameter, alone by at least: {', or '.join(words for _, words in sorted(cures)[:MOST_CURES])}"
    )


def where_equations_hold(problem: ShootingProblem, linear: LinearRows) -> list[str]:
    """Sentences on rows that are violated wherever the linear equations of their knot hold, such as a goal in a wall.

    Such a row is constant there: it has the same value at some of their solutions, near and far.
    """
    equal, n, (xs, us) = linear.usable & (linear.below == -linear.above), problem.state.ndx, linear.at
    random = [random_steps(problem, linear.at, size) for size in (0.0, *MOVES)]
    steps = [(np.zeros((len(xs), n)), np.zeros_like(us)) for _ in random]
    knots = []
    for knot in np.flatnonzero(linear.curved.any(axis=1) & equal.any(axis=1)).tolist():
        E, e = linear.G[knot, equal[knot]], linear.above[knot, equal[knot]]
        inverse, controls = np.linalg.pinv(E), slice(knot, knot + 1)
        if np.abs(E @ (inverse @ e) - e).max() > HELD:
            continue
        knots.append(knot)
        for (dx, du), (rx, ru) in zip(steps, random):
            own = np.append(rx[knot], ru[controls] if knot < len(us) else np.zeros(us.shape[1]))
            own += inverse @ (e - E @ own)
            dx[knot], du[controls] = own[:n], own[n:]
    if not knots:
        return []
    values = np.array([linear.gathered(problem, moved(problem, linear.at, *each).rows)[knots] for each in steps])
    constant = np.ptp(values, axis=0) <= ROUNDING * np.maximum(1.0, np.abs(values[0]))  # False for NaN
    sentences = [
        _at_a_knot(linear, equal[knot], knot, value, same & linear.curved[knot])
        for knot, value, same in zip(knots, values[0], constant)
    ]
    return [sentence for sentence in sentences if sentence]


def _at_a_knot(linear: LinearRows, equal: Flags, knot: int, values: Reals, constant: Flags) -> str:
    """Sentence on the worst of the constant rows, with the values (m,) where equations hold; empty if all are kept."""
    most, sentence = HELD, ""
    holding = " and ".join(dict.fromkeys(linear.rows[i][0].name for i in np.flatnonzero(equal).tolist()))
    for i in np.flatnonzero(constant).tolist():
        (own, row), value = linear.rows[i], values[i]
        low, high = float(own.lower[knot, row]), float(own.upper[knot, row])
        beyond, unit = max(low - value, value - high), f" {own.units[row]}" if own.units[row] else ""
        if beyond > most * max(1.0, abs(value)):
            most, words = beyond, f">= {low:.4g}{unit}" if value < low else f"<= {high:.4g}{unit}"
            sentence = (
                f"constraints {holding} and {own.title(row)} at knot {knot}: {EXCLUDE}, {own.title(row)} is {value:.4g}"
                f"{unit} wherever {holding} holds there, and should be {words}; move one of them with "
                "problem.set_parameter"
            )
    return sentence
