"""Units of a problem: how far controls, states and rows move for a typical cost, by the first quadratic program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.norms import largest, total
from trajopt.types import Reals


def cost_scale(e: Evaluator) -> float:
    """Factor that makes the mean of |diag Luu| 1, or that of the terminal Hessian without controls [1/cost]."""
    controls = np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]
    diagonal = controls if controls.size else np.diagonal(e.terminal_H)
    curvature = float(np.abs(diagonal).mean())
    return 1.0 / curvature if curvature > 0.0 else 1.0


def curvatures(e: Evaluator, u_lower: Reals, u_upper: Reals) -> tuple[Reals, Reals]:
    """Mean curvature of the cost along each control (nu,), and what is to be added to it for controls without cost.

    A control without cost counts as one whose whole range costs as much as an average knot.
    """
    found = np.abs(np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]).mean(axis=0)
    none = found == 0.0
    with np.errstate(invalid="ignore"):
        half = 0.5 * (u_upper - u_lower).max(axis=0, initial=0.0)
    size = np.where(np.isfinite(half) & (half > 0.0), half, np.abs(e.us).max(axis=0, initial=0.0))
    size[size == 0.0] = 1.0
    typical = max(abs(e.cost) / max(e.T, 1), float((found * size**2).max(initial=0.0))) or 1.0
    return found, np.where(none, typical / size**2, 0.0)


@dataclass(frozen=True, eq=False)
class Units:
    """Sizes that all tolerances, penalties and regularisations are relative to.

    A change of the controls that costs ½ E by the Hessian H of the first Gauss-Newton program, without rows, moves a
    row with the gradient G by at most sqrt(E G H⁻¹ Gᵀ), and likewise each control and each state. E is the control
    effort of that program's step, of the guess, or of what mends the most violated row, whichever is largest.

    Attributes:
        cost: E [cost].
        controls: Sizes of the controls (nu,).
        states: Sizes of the states (ndx,).
        rows: Sizes of the rows (T + 1, nc).
    """

    cost: float
    controls: Reals
    states: Reals
    rows: Reals

    @property
    def stiffness(self) -> Reals:
        """Curvature 1 / size² of the scaled cost along each row (T + 1, nc), which penalties are relative to."""
        return self.rows**-2.0

    def sum_of_gaps(self, f: Reals) -> float:
        """Σ |f| of gaps f (T + 1, ndx), relative to the sizes of the states."""
        return total(f / self.states)

    def largest_gap(self, e: Evaluator) -> float:
        """max |f| of the evaluator's gaps f, relative to the sizes of the states."""
        return largest(e.f / self.states) if e.largest_gap > 0.0 else e.largest_gap

    @staticmethod
    def none() -> Units:
        """Units of no problem."""
        return Units(1.0, np.zeros(0), np.zeros(0), np.zeros((1, 0)))

    @staticmethod
    def plain(e: Evaluator) -> Units:
        """Units where the first program tells nothing."""
        return Units(1.0 / cost_scale(e), np.ones(e.nu), np.ones(e.state.ndx), np.ones(e.c.shape))

    @staticmethod
    def of(e: Evaluator, lq: LinearQuadratic, K: Reals, V: Reals, effort: float, beyond: Reals) -> Units:
        """Units from the solution of the first program.

        Args:
            e: Evaluator with derivatives.
            lq: The program, without rows, of the evaluator's sizes.
            K: Its gains (T, nu, ndx).
            V: Hessians of its value function (T + 1, ndx, ndx).
            effort: Control effort of its step and of the guess [cost].
            beyond: Violations of the rows (T + 1, nc).
        """
        n, F, H = e.state.ndx, lq.full_F(), lq.H
        A, B = F[:, :, :n] - F[:, :, n:] @ K, F[:, :, n:]
        lower = np.tril(H[:, n:, n:])
        Quu = lower + np.tril(lower, -1).swapaxes(1, 2) + B.swapaxes(1, 2) @ V[1:] @ B
        S = np.linalg.inv(Quu)
        noise = B @ S @ B.swapaxes(1, 2)
        P = np.zeros((e.T + 1, n, n))
        for t in range(e.T):
            P[t + 1] = A[t] @ P[t] @ A[t].T + noise[t]
        varied = np.zeros(e.c.shape)
        if e.nc:
            Cx, Cu = e.C[:, :, :n] - e.C[:, :, n:] @ K, e.C[:, :, n:]
            varied[:-1] = ((Cx @ P[:-1]) * Cx).sum(axis=-1) + ((Cu @ S) * Cu).sum(axis=-1)
            varied[-1] = ((e.terminal_C @ P[-1]) * e.terminal_C).sum(axis=-1)
            for kind in [*e.running, e.terminal]:
                knots = list(kind.knots)
                varied[knots] = varied[knots].mean(axis=0)
        states = np.einsum("tii->ti", P).mean(axis=0)
        inputs = np.einsum("tii->ti", S).mean(axis=0)
        moved = varied > 0.0
        worst = float((beyond**2 / np.where(moved, varied, np.inf)).max(initial=0.0))
        E = max(effort, worst) or 1.0
        at = np.abs(e.c).max(axis=0, initial=0.0)
        own = np.where(at > 0.0, at, 1.0)
        x = np.ptp(e.xs, axis=0).max(initial=0.0) or 1.0
        return Units(
            cost=E,
            controls=np.sqrt(E * inputs),
            states=np.where(states > 0.0, np.sqrt(E * states), x),
            rows=np.where(moved, np.sqrt(E * varied), own),
        )
