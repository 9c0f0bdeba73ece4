"""What a problem gives along a trajectory: values, and derivatives."""

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
        gaps: x0 ⊖ xs[0], or 0 unless the start is fixed, then xnext[t] ⊖ xs[t + 1] (T + 1, ndx).
        rows: Constraint rows (T + 1, nc), zero where a knot has fewer than others.
        lower: Their lower bounds (T + 1, nc), -inf where there is none.
        upper: Their upper bounds (T + 1, nc), inf where there is none.
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
    """Values and derivatives of a problem along a trajectory; the terminal knot is the last of Lx and Lxx.

    Attributes:
        Fx: (T, ndx, ndx).
        Fu: (T, ndx, nu).
        Lx: (T + 1, ndx).
        Lu: (T, nu).
        Lxx: (T + 1, ndx, ndx).
        Lxu: (T, ndx, nu).
        Luu: (T, nu, nu); the identity along controls that a knot does not have.
        Cx: Derivative of the constraint rows (T + 1, nc, ndx).
        Cu: (T, nc, nu).
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
