"""Units of a problem: how far controls, states and rows move for a typical cost, by the first quadratic program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.norms import largest, total
from trajopt.solvers.riccati import LinearStep, Riccati
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.rows import RowBounds


def cost_scale(e: Evaluator) -> float:
    """Factor that makes the mean of |diag Luu| 1, or that of the terminal Hessian without controls [1/cost]."""
    controls = np.diagonal(e.H, axis1=1, axis2=2)[:, e.state.ndx :]
    diagonal = controls if controls.size else np.diagonal(e.terminal_H)
    curvature = float(np.abs(diagonal).mean())
    return 1.0 / curvature if curvature > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class Units:
    """Sizes that all tolerances, penalties and regularisations are relative to.

    A change of the controls that costs ½ E by the Hessian H of the first Gauss-Newton program, without rows, moves a
    row with the gradient G by at most sqrt(E G H⁻¹ Gᵀ), and likewise each control and each state.

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
    stiffness: Reals

    @staticmethod
    def none() -> Units:
        """Units of no problem."""
        return Units(1.0, np.zeros(0), np.zeros(0), np.zeros((1, 0)), np.zeros((1, 0)))

    @staticmethod
    def plain(e: Evaluator) -> Units:
        """Units where the first program tells nothing."""
        return Units(1.0 / cost_scale(e), np.ones(e.nu), np.ones(e.state.ndx), np.ones(e.c.shape), np.ones(e.c.shape))

    @staticmethod
    def of(e: Evaluator, rows: RowBounds, cost: float | None = None) -> Units:
        """Units at the evaluator's trajectory, for a cost that is known or estimated there."""
        first = _FirstProgram.at(e, rows)
        if first is None:
            return Units.plain(e)
        P, S = first.spread(np.zeros(e.state.ndx), 0.0)
        beyond, varied = first.beyond(rows), first.of_rows(P, S)
        worst = float((beyond**2 / np.where(varied > 0.0, varied, np.inf)).max(initial=0.0))
        E = cost or max(first.effort, first.start, worst) or 1.0
        import os
        stiff = 1.0 / _or_values(E * varied, e.c) ** 2
        stiff[:-1] *= float(os.environ.get("PATHW", "1"))
        stiff[-1] *= float(os.environ.get("ENDW", "1"))
        P, S = first.spread(first.start_sizes**2 / E, E)
        return Units(
            cost=E,
            controls=np.sqrt(E * np.einsum("tii->ti", S).mean(axis=0)),
            states=_or_values(E * np.einsum("tii->ti", P).mean(axis=0), first.values),
            rows=_or_values(E * first.of_rows(P, S), e.c),
            stiffness=stiff,
        )

    def sum_of_gaps(self, f: Reals) -> float:
        """Σ |f| of gaps f (T + 1, ndx), relative to the sizes of the states."""
        return total(f / self.states)

    def largest_gap(self, e: Evaluator) -> float:
        """max |f| of the evaluator's gaps f, relative to the sizes of the states."""
        return largest(e.f / self.states) if e.largest_gap > 0.0 else e.largest_gap


def _or_values(squared: Reals, values: Reals) -> Reals:
    """Roots of squared sizes; where these are 0 the largest of the values of all knots, or 1."""
    own = np.abs(values).max(axis=0, initial=0.0)
    return np.where(squared > 0.0, np.sqrt(squared), np.where(own > 0.0, own, 1.0))


@dataclass(frozen=True, eq=False)
class _FirstProgram:
    """Gauss-Newton's program of the first step, without rows, and its solution.

    Attributes:
        e: The evaluator.
        A: Jacobians of the dynamics under the solution's policy (T, ndx, ndx).
        B: Jacobians by the controls (T, ndx, nu).
        K: Gains (T, nu, ndx).
        Quu: Hessians of the controls (T, nu, nu).
        step: The step.
        half: Half the width of the limits of the controls (nu,), infinite without limits.
        effort: Control effort Σ duᵀ Luu du of the step, within limits [cost].
        start: What moving a chosen start by its size promises [cost].
        start_sizes: Sizes of a start that is to be chosen (ndx,), 0 of a fixed one.
        values: Coordinates of the states (T + 1, ndx).
    """

    e: Evaluator
    A: Reals
    B: Reals
    K: Reals
    Quu: Reals
    step: LinearStep
    half: Reals
    effort: float
    start: float
    start_sizes: Reals
    values: Reals

    @staticmethod
    def at(e: Evaluator, rows: RowBounds) -> _FirstProgram | None:
        """The program at the evaluator's trajectory; None if it has no solution."""
        n = e.state.ndx
        width = (rows.u_upper - rows.u_lower).max(axis=0, initial=0.0)
        half = np.where(width > 0.0, 0.5 * width, np.inf)
        lq = LinearQuadratic.of(e)
        curvature = np.diagonal(lq.H, axis1=1, axis2=2)[:, n:]
        if not curvature.all():  # a control without cost: its whole range counts as an average knot
            own = np.abs(e.us).max(axis=0, initial=0.0)
            size = np.where(np.isfinite(half), half, np.where(own > 0.0, own, 1.0))
            typical = abs(e.cost) / max(e.T, 1) or 1.0
            lq = replace(lq, H=lq.H.copy())
            np.einsum("tii->ti", lq.H)[:, n:] += np.where(curvature == 0.0, typical / size**2, 0.0)
            curvature = np.diagonal(lq.H, axis1=1, axis2=2)[:, n:]
        riccati = Riccati(lq)
        if not e.nu or riccati.factor().failure is not None:
            return None
        step = riccati.forward()
        F, K, zero = lq.full_F(), riccati.K, e.state.zero()
        B, lower = F[:, :, n:], np.tril(lq.H[:, n:, n:])
        Quu = lower + np.tril(lower, -1).swapaxes(1, 2) + B.swapaxes(1, 2) @ riccati.Vxx[1:] @ B
        values = np.array([e.state.difference(zero, x) for x in e.xs])
        at = np.abs(values[0])
        start = np.zeros(n)
        if rows.chosen:
            width = 0.5 * (rows.start_upper - rows.start_lower)
            start = np.where(width > 0.0, np.minimum(width, np.where(at > 0.0, at, np.inf)), 0.0)
            start = np.where(np.isfinite(start), start, 1.0)
        return _FirstProgram(
            e=e,
            A=F[:, :, :n] - B @ K,
            B=B,
            K=K,
            Quu=Quu,
            step=step,
            half=half,
            effort=float((curvature * np.minimum(np.abs(step.du), 2.0 * half) ** 2).sum()),
            start=float(np.abs(step.lam[0]) @ start),
            start_sizes=start,
            values=values,
        )

    def spread(self, start: Reals, E: float) -> tuple[Reals, Reals]:
        """H⁻¹ in blocks: of the states (T + 1, ndx, ndx), and of the controls where states stay (T, nu, nu).

        Args:
            start: The same of the start, its diagonal (ndx,).
            E: Cost by which controls move by no more than half the width of their limits [cost].
        """
        e, n = self.e, self.e.state.ndx
        S = np.linalg.inv(self.Quu + np.diag(E / self.half**2))
        noise, P = self.B @ S @ self.B.swapaxes(1, 2), np.zeros((e.T + 1, n, n))
        np.einsum("ii->i", P[0])[:] = start
        for t in range(e.T):
            P[t + 1] = self.A[t] @ P[t] @ self.A[t].T + noise[t]
        return P, S

    def of_rows(self, P: Reals, S: Reals) -> Reals:
        """G H⁻¹ Gᵀ of each row (T + 1, nc), the mean of all knots with the same model, from what `spread` returned."""
        e, n = self.e, self.e.state.ndx
        found = np.zeros(e.c.shape)
        if not e.nc:
            return found
        Cu, end = e.C[:, :, n:], e.terminal_C
        Cx = e.C[:, :, :n] - Cu @ self.K
        found[:-1] = ((Cx @ P[:-1]) * Cx).sum(axis=-1) + ((Cu @ S) * Cu).sum(axis=-1)
        found[-1] = ((end @ P[-1]) * end).sum(axis=-1)
        for kind in e.running:
            knots = list(kind.knots)
            found[knots] = found[knots].mean(axis=0)
        return found

    def beyond(self, rows: RowBounds) -> Reals:
        """Violations of the rows after the step, to first order (T + 1, nc)."""
        e, step, c = self.e, self.step, self.e.c.copy()
        if e.nc:
            c[:-1] += (e.C @ np.concatenate([step.dx[:-1], step.du], axis=1)[:, :, None])[:, :, 0]
            c[-1] += e.terminal_C @ step.dx[-1]
        return rows.beyond(c)
