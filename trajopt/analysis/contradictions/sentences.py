"""Sentences on rows that exclude each other: proofs that no motion satisfies all constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.basics import control_name, runs
from trajopt.analysis.constraints import ConstraintRows, Flags
from trajopt.analysis.contradictions.along_dynamics import along_dynamics
from trajopt.analysis.contradictions.linear_rows import LinearRows
from trajopt.analysis.contradictions.one_quantity import of_one_quantity
from trajopt.analysis.contradictions.proofs import EXCLUDE, where_equations_hold
from trajopt.analysis.contradictions.reachable import within_reach
from trajopt.errors import TrajoptError
from trajopt.types import Ints

if TYPE_CHECKING:
    from trajopt.solution import Solution

MOST = 3
"""Largest number of contradictions that are reported [-]."""


def contradictions(solution: Solution, *, cures: bool = True) -> tuple[str, ...]:
    """Returns a sentence for each proof that hard rows exclude each other; empty if there is none.

    The linear rows a + G (dx, du) of a knot exclude each other if multipliers y >= 0 of their bounds exist with
    Gᵀ y = 0 and bᵀ y < 0 (Farkas' lemma); b are the distances from the bounds. If those of no knot do, a row may be
    violated wherever the linear equations of its knot hold, or rows of several knots may exclude each other along those
    coordinates of the dynamics that are linear, or a row may be beyond its bounds for all motions from the start.

    Args:
        solution: The solution, with its problem.
        cures: Whether a sentence on dynamics says which bounds are enough, which takes further linear programs.
    """
    hard = [rows for rows in solution.description.constraints if not rows.soft]
    if not any((rows.violated & rows.enforced).any() for rows in hard):
        return ()
    try:
        with solution.as_solved() as problem:
            linear = LinearRows.of(problem, solution.xs, solution.us, hard)
            sentences = _of_knots(solution, linear) or where_equations_hold(problem, linear)
            sentences = sentences or of_one_quantity(problem, linear)
            if not sentences and not problem.unknowns:  # which move, other than in these dynamics
                sentences = along_dynamics(problem, linear, cures=cures)
            sentences = sentences or within_reach(problem, linear.at, hard)
    except TrajoptError:  # a black box fails on the trajectory, or next to it
        return ()
    return tuple(sentences[:MOST])


def _of_knots(solution: Solution, linear: LinearRows) -> list[str]:
    """Sentences on linear rows of one knot that exclude each other."""
    sentences, left = list[str](), linear.may_exclude
    while left.any() and len(sentences) < MOST:
        knot = int(left.argmax())
        left[knot] = False
        y = linear.multipliers(knot)
        if y is not None:
            knots = linear.excluded(*y)
            left &= ~knots
            sentences.append(_sentence(solution, linear.rows, knots, np.flatnonzero(y[0]), np.flatnonzero(y[1])))
    return sentences


def _sentence(
    solution: Solution, rows: Sequence[tuple[ConstraintRows, int]], knots: Flags, low: Ints, high: Ints
) -> str:
    """Sentence on a contradiction: rows, knots, bounds, and the cure.

    Args:
        solution: The solution.
        rows: Constraint and number of each row (m,).
        knots: Knots of the contradiction (T + 1,).
        low: Rows whose lower bounds take part.
        high: Rows whose upper bounds take part.
    """
    knot, sides = int(knots.argmax()), [*(("lower", i) for i in low), *(("upper", i) for i in high)]
    named = " and ".join(rows[i][0].title(rows[i][1]) for i in sorted({i for _, i in sides}))
    controls = {rows[i][0].controls[rows[i][1]] for _, i in sides}
    shared = controls.pop() if len(controls) == 1 else -1
    bounds = []
    for side, i in sides:
        own, row = rows[i]
        bound = float(getattr(own, side)[knot, row])
        if shared >= 0:
            bound += float(solution.us[knot, shared] - own.values[knot, row])
        about = "" if shared >= 0 else f"{own.title(row)} should be "
        sign = "=" if own.equations[knot, row] else ">=" if side == "lower" else "<="
        bounds.append(f"{about}{sign} {bound:g}{f' {own.units[row]}' if own.units[row] else ''}")
    about = f"control {control_name(solution, shared)!r} should be " if shared >= 0 else ""
    return (
        f"constraints {named} at knot{'s' if knots.sum() > 1 else ''} {runs(np.flatnonzero(knots))}: {EXCLUDE}, "
        f"{about}{' and '.join(bounds)}; widen one of them with problem.set_parameter"
    )
