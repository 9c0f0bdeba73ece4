"""Advice where trials of steps leave the domain of a term or of the dynamics, as with the root of a negative number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.errors import TrajoptError
from trajopt.solution.solution import Solution
from trajopt.types import Reals

RECENT = 10
"""Number of iterations that are looked at; half of them must have had such trials."""


def left_domain(solution: Solution) -> str:
    """Knot and term where trials of most of the last steps were not finite, and what to do; empty elsewhere."""
    recent = solution.history[-RECENT:]
    edges = [record.nonfinite_trial for record in recent if record.nonfinite_trial is not None]
    if not edges or 2 * len(edges) < len(recent):
        return ""
    knot, x, u = edges[-1]
    times = solution.times
    where = f"knot {knot}" + ("" if times is None else f" ({times[knot]:.3g} s)")
    terms = _terms_not_finite(solution, knot, x, u)
    named = (
        f"term {' and '.join(repr(name) for name in terms)} at {where}" if terms else f"costs or dynamics at {where}"
    )
    return (
        f"in {len(edges)} of the last {len(recent)} iterations trials of steps were not finite, and steps were cut "
        f"short: they leave the domain of {named}, as of a root, a logarithm or a division; put the goal inside, keep "
        "the motion inside with a constraint (SolverSQP), or continue the formula beyond its domain"
    )


def _terms_not_finite(solution: Solution, knot: int, x: Reals, u: Reals) -> list[str]:
    """Names of the cost terms that are not finite at a state and a control of a knot; none where nobody knows."""
    xs, us = solution.xs.copy(), solution.us.copy()
    xs[knot], us[min(knot, len(us) - 1)] = x, u
    try:
        here, there = solution.cost_terms(), replace(solution, xs=xs, us=us).cost_terms()
    except TrajoptError:  # a black box that raises there
        return []
    return [name for name in there if not np.isfinite(there[name][knot]) and np.isfinite(here[name][knot])]
