"""Advice if trial steps leave the domain of a cost or of the dynamics, such as the root of a negative number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.analysis.basics import time_words
from trajopt.errors import TrajoptError
from trajopt.solution.solution import Solution
from trajopt.types import Reals

RECENT = 10
"""Number of last iterations to check; in half of them a trial must have left the domain."""


def left_domain(solution: Solution) -> str:
    """Returns advice if trials of most of the last steps were not finite, with knot and term; otherwise empty."""
    recent = solution.history[-RECENT:]
    edges = [record.nonfinite_trial for record in recent if record.nonfinite_trial is not None]
    if not edges or 2 * len(edges) < len(recent):
        return ""
    knot, x, u = edges[-1]
    where = f"knot {knot}{time_words(solution, knot)}"
    terms = _terms_not_finite(solution, knot, x, u)
    named = (
        f"term {' and '.join(repr(name) for name in terms)} at {where}" if terms else f"costs or dynamics at {where}"
    )
    return (
        f"in {len(edges)} of the last {len(recent)} iterations trial steps were not finite and had to be shortened: "
        f"they left the domain of {named}, such as a root, a logarithm or a division. Put the goal inside, keep the "
        "motion inside with a constraint (SolverSQP), or extend the formula beyond its domain"
    )


def _terms_not_finite(solution: Solution, knot: int, x: Reals, u: Reals) -> list[str]:
    """Names of the cost terms that are not finite at a state and a control of a knot; empty if unknown."""
    xs, us = solution.xs.copy(), solution.us.copy()
    xs[knot], us[min(knot, len(us) - 1)] = x, u
    try:
        here, there = solution.cost_terms(), replace(solution, xs=xs, us=us).cost_terms()
    except TrajoptError:  # a black box that raises there
        return []
    return [name for name in there if not np.isfinite(there[name][knot]) and np.isfinite(here[name][knot])]
