"""Proofs that rows exclude each other at a knot whose equations determine a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import HELD, Flags
from trajopt.analysis.contradictions.linear_rows import MOVES, ROUNDING, LinearRows, moved, random_steps
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem

EXCLUDE = "they exclude each other"
"""Words that each sentence has."""
FROM_START = "x0: " + EXCLUDE
"""Words of a sentence on rows that exclude each other because of x0."""


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
