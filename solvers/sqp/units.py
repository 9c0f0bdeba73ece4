"""Units of a problem: how far controls, states and rows move for a typical cost, by the first quadratic program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.norms import largest, total
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.sqp.first_program import ROUNDING, FirstProgram, first_program, whole_cost
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.rows import RowBounds


HELD = 0.01  # part that bounds leave of the variance of each state where they say how far it moves; gates leave more
LEAST_COST = 0.01  # of the cost of the trajectory: a typical one even where the first step is next to nothing


def cost_scale(e: Evaluator) -> float:
    """Factor that makes the mean of |diag Luu| 1, or that of the terminal Hessian without controls [1/cost]."""
    controls = np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]
    diagonal = controls if controls.size else np.diagonal(e.terminal_H)
    curvature = float(np.abs(diagonal).mean())
    return 1.0 / curvature if curvature > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class Units:
    """Sizes that all tolerances, penalties and regularisations of a solve are relative to.

    With the Hessian H of the first Gauss-Newton program without rows, a change of the controls that costs ½ E moves a
    row with the gradient G by at most sqrt(E G H⁻¹ Gᵀ). That is the size of the row, and likewise of each control and
    each state. So a change of units of states, controls, rows, time or cost changes all sizes along with it.

    Equations at the end are taken together: of an unstable system all of them move along one direction next to freely,
    so that the curvature of each is what it costs to move it while the others stay, 1 / (G H⁻¹ Gᵀ)⁻¹ᵢᵢ.

    Attributes:
        cost: Typical cost E of a step [cost].
        controls: Sizes of the controls (nu,).
        states: Sizes of the states (ndx,).
        rows: Sizes of the rows (T + 1, nc).
        stiffness: Curvature of the cost along each row, in units of the cost (T + 1, nc).
    """

    cost: float
    controls: Reals
    states: Reals
    rows: Reals
    stiffness: Reals

    @staticmethod
    def plain(e: Evaluator) -> Units:
        """Sizes of 1, where the first program has no solution."""
        rows = np.ones(e.c.shape)
        return Units(1.0 / cost_scale(e), np.ones(e.nu), np.ones(e.state.ndx), rows, rows)

    @staticmethod
    def of(e: Evaluator, rows: RowBounds, riccati: Riccati, cost: float | None = None) -> Units:
        """Units at the evaluator's trajectory.

        Args:
            e: The evaluator, with derivatives.
            rows: Bounds of its rows.
            riccati: Recursion on the evaluator's arrays.
            cost: Typical cost, if it is known [cost]; else that of the first program, but not less than a hundredth of
                the cost of the trajectory, or of what its gaps add to that.
        """
        first = first_program(e, rows, riccati)
        if not first.solved:
            return Units.plain(e)
        P, S = first.variances(np.zeros(e.state.ndx), 0.0)
        E = cost or max(first.cost(P, S), LEAST_COST * max(abs(e.cost), first.cost_of_gaps))
        if ROUNDING**2 * whole_cost(e) >= E:  # the guess is the solution
            E = whole_cost(e) or 1.0
        spins = first.spins(P, E)
        if (spins or first.leaves_bounds(P, S, E)) and (held := FirstProgram(e, rows, riccati, E, first.held)).solved:
            inside = held.variances(np.zeros(e.state.ndx), 0.0)
            before, after = (np.einsum("tii->i", each) for each in (P, inside[0]))
            if spins or np.all(after <= HELD * before):
                first, (P, S) = held, inside
        together = E * first.row_variances(first.within_reach(P, E), S, together=True)
        if first.limited or first.start_sizes.any():
            P, S = first.variances(first.start_sizes**2 / E, E)
        controls = np.sqrt(E * np.einsum("tii->ti", S).mean(axis=0))
        states = _roots(E * np.einsum("tii->ti", P).mean(axis=0), np.abs(first.coordinates).max(axis=0))
        alone = E * first.row_variances(first.within_reach(P, E), S)
        moves, least = first.row_moves(states, controls), first.least_rows()
        sizes, along = (np.maximum(_roots(each, moves), least) for each in (alone, together))
        return Units(cost=E, controls=controls, states=states, rows=sizes, stiffness=along**-2.0)

    def sum_of_gaps(self, f: Reals) -> float:
        """Σ |f| of gaps f (T + 1, ndx), relative to the sizes of the states."""
        return total(f / self.states)

    def largest_gap(self, e: Evaluator) -> float:
        """max |f| of the evaluator's gaps f, relative to the sizes of the states."""
        return largest(e.f / self.states) if e.largest_gap > 0.0 else e.largest_gap


def _roots(squares: Reals, others: Reals) -> Reals:
    """Square roots; where a square is 0, one of the others, or 1 if that is 0, too."""
    return np.where(squares > 0.0, np.sqrt(np.maximum(squares, 0.0)), np.where(others > 0.0, others, 1.0))
