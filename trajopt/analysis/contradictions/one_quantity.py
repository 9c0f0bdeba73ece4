"""Proofs that two rows of a knot exclude each other because both are the same quantity, such as a height."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import HELD, ConstraintRows
from trajopt.analysis.contradictions.linear_rows import MOVES, ROUNDING, LinearRows, moved, random_steps
from trajopt.analysis.contradictions.proofs import EXCLUDE
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem


def of_one_quantity(problem: ShootingProblem, linear: LinearRows) -> list[str]:
    """Sentences on two rows that are not linear, equal at the motion and at random steps, with bounds apart."""
    knots = np.flatnonzero(linear.curved.any(axis=1)).tolist()
    if not knots:
        return []
    steps = [random_steps(problem, linear.at, size) for size in (0.0, *MOVES)]
    values = np.array([linear.gathered(problem, moved(problem, linear.at, *each).rows) for each in steps])
    return [each for knot in knots if (each := _at_a_knot(linear, knot, values[:, knot]))]


def _at_a_knot(linear: LinearRows, knot: int, values: Reals) -> str:
    """Sentence on two rows of a knot, with their values at the steps (n, m); empty without a contradiction."""
    enforced = [i for i, (own, row) in enumerate(linear.rows) if own.enforced[knot, row]]
    for i, j in itertools.combinations(enforced, 2):
        apart = np.abs(values[:, i] - values[:, j])
        if not np.all(apart <= ROUNDING * np.maximum(1.0, np.abs(values[:, i]))):  # True for NaN
            continue
        low, high = (i, j) if _bound(linear.rows[j], "upper", knot) < _bound(linear.rows[i], "lower", knot) else (j, i)
        least, most = _bound(linear.rows[low], "lower", knot), _bound(linear.rows[high], "upper", knot)
        if least - most > HELD * max(1.0, abs(least)):
            (own, row), (other, number) = linear.rows[low], linear.rows[high]
            unit = f" {own.units[row]}" if own.units[row] else ""
            return (
                f"constraints {own.title(row)} and {other.title(number)} at knot {knot}: {EXCLUDE}, both are the same "
                f"quantity, which should be >= {least:.4g}{unit} and <= {most:.4g}{unit}; widen one of them with "
                "problem.set_parameter"
            )
    return ""


def _bound(place: tuple[ConstraintRows, int], side: str, knot: int) -> float:
    """A bound of a row at a knot."""
    return float(getattr(place[0], side)[knot, place[1]])
