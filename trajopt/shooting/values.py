"""Values and derivatives of a problem along a trajectory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class ProblemValues:
    """Values of a problem along a trajectory.

    Attributes:
        cost: Total cost [cost].
        costs: Cost of each knot, the terminal last (T + 1,) [cost].
        xnext: Next state of each running knot (T, nx).
        gaps: Gaps (T + 1, ndx): first x0 ⊖ xs[0] (0 unless the start is fixed), then xnext[t] ⊖ xs[t + 1].
        rows: Constraint rows (T + 1, nc); zeros where a knot has fewer rows.
        lower: Lower bounds of the rows (T + 1, nc), -inf for no bound.
        upper: Upper bounds of the rows (T + 1, nc), inf for no bound.
    """

    cost: float
    costs: Reals
    xnext: Reals
    gaps: Reals
    rows: Reals
    lower: Reals
    upper: Reals


@dataclass(frozen=True, kw_only=True)
class ProblemDerivatives(ProblemValues):
    """Values and derivatives of a problem along a trajectory; the last rows of Lx and Lxx belong to the terminal knot.

    Attributes:
        Fx: Derivative of the next state with respect to the state (T, ndx, ndx).
        Fu: Derivative of the next state with respect to the control (T, ndx, nu).
        Lx: Gradient of the cost with respect to the state (T + 1, ndx).
        Lu: Gradient of the cost with respect to the control (T, nu).
        Lxx: Hessian of the cost in x (T + 1, ndx, ndx).
        Lxu: Hessian of the cost in x and u (T, ndx, nu).
        Luu: Hessian of the cost in u (T, nu, nu); the identity along controls that a knot does not have.
        Cx: Derivative of the constraint rows with respect to the state (T + 1, nc, ndx).
        Cu: Derivative of the constraint rows with respect to the control (T, nc, nu).
    """

    Fx: Reals
    Fu: Reals
    Lx: Reals
    Lu: Reals
    Lxx: Reals
    Lxu: Reals
    Luu: Reals
    Cx: Reals
    Cu: Reals


def values_of(e: Evaluator) -> dict[str, Any]:
    """The fields of `ProblemValues`, copied from an evaluator after an expansion."""
    lower, upper = e.row_bounds()
    copies = {"costs": e.costs, "xnext": e.xnext, "gaps": e.f, "rows": e.c}
    return {"cost": e.cost, **{name: array.copy() for name, array in copies.items()}, "lower": lower, "upper": upper}


def derivatives_of(e: Evaluator) -> dict[str, Any]:
    """The fields of `ProblemDerivatives`, copied from an evaluator after an expansion."""
    (F, g, H), T, n = e.full(), e.T, e.state.ndx
    return {
        **values_of(e),
        "Fx": F[:, :, :n],
        "Fu": F[:, :, n:],
        "Lx": g[:, :n],
        "Lu": g[:T, n:],
        "Lxx": H[:, :n, :n],
        "Lxu": H[:T, :n, n:],
        "Luu": H[:T, n:, n:],
        "Cx": np.concatenate([e.C[:, :, :n], e.terminal_C[None]]),
        "Cu": e.C[:, :, n:].copy(),
    }
