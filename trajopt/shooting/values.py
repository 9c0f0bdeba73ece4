"""Values and derivatives of a problem along a trajectory."""

from __future__ import annotations

from dataclasses import dataclass

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
