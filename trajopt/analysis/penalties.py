"""Distances by which a motion passes the bounds of penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from trajopt.activations import ActivationModelQuadraticBarrier
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def penalised_lengths(solution: Solution) -> dict[str, float]:
    """Largest excess of each residual in metres beyond the bounds of its quadratic barrier at the knots, by term [m].

    Args:
        solution: The solution; without its problem there are none.

    Raises:
        TrajoptError: A model fails on the trajectory.
    """
    if solution.problem is None:
        return {}
    worst: dict[str, float] = {}
    with solution.as_solved() as problem:
        for kind in problem.kinds:
            for term in kind.model.model_parts.terms:
                residual = term.residual
                barrier = isinstance(term.activation, ActivationModelQuadraticBarrier)
                if barrier and residual.unit == "m" and not residual.uses_solution:
                    excess = _excess(solution, kind, term, kind.rows(problem.table.values))
                    worst[term.name] = max(worst.get(term.name, 0.0), excess)
    return worst


def _excess(solution: Solution, kind: Any, term: Any, rows: Reals) -> float:
    """Largest excess at the knots of a kind whose parameters are rows (knots, np)."""
    instant, knots = kind.model.instant(), list(kind.knots)
    r = ca.densify(term.residual.expression(instant))
    function = ca.Function("residual", [instant.x, instant.u, kind.layout.symbols], [r])
    us = np.vstack([solution.us, np.zeros_like(solution.us[:1])])[knots, : kind.model.nu]
    values = np.asarray(function(solution.xs[knots].T, us.T, rows.T)).T
    lower, upper = (rows[:, kind.layout.slices[f"{term.name}.{side}"]] for side in ("lower", "upper"))
    weighed = rows[:, kind.layout.slices[f"{term.name}.weight"]] > 0.0
    excess = np.where(weighed, np.maximum(lower - values, values - upper), 0.0)
    return float(np.max(excess, initial=0.0))
