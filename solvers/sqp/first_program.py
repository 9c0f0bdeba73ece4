"""The first Gauss-Newton program of a solve, without rows: how far it says that controls, states and rows can move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.riccati import LinearStep, Riccati
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solvers.sqp.rows import RowBounds

SLIGHT = 1e-6  # of the largest cost of removing a violation, below which it says nothing
ROUNDING = 1e-12  # part of a size that may be rounding; eigenvalue of correlations of equations that say the same
SAMPLES = 8  # states whose coordinates say how large these are, about
FAR = 100.0  # times its largest coordinate: where a program says that a state moves further, it says nothing


@dataclass(frozen=True, eq=False)
class FirstProgram:
    """The Gauss-Newton program of the first step, without rows, and its solution.

    Attributes:
        e: The evaluator.
        A: Jacobians of the dynamics under the solution's policy (T, ndx, ndx).
        B: Jacobians by the controls (T, ndx, nu).
        K: Gains (T, nu, ndx).
        Quu: Hessians of the cost to go by the controls (T, nu, nu).
        step: The step.
        half: Half the width of the limits of the controls (nu,), infinite without limits.
        effort: Σ duᵀ diag(Luu) du of the step, with du within the width of the limits [cost].
        start_effort: Predicted decrease by moving a chosen start by its size [cost].
        start_sizes: Sizes of a chosen start (ndx,), 0 of a fixed one.
        coordinates: Coordinates of some of the states, the first and the last one among them (number, ndx).
    """

    e: Evaluator
    A: Reals
    B: Reals
    K: Reals
    Quu: Reals
    step: LinearStep
    half: Reals
    effort: float
    start_effort: float
    start_sizes: Reals
    coordinates: Reals

    @staticmethod
    def at(e: Evaluator, rows: RowBounds, riccati: Riccati) -> FirstProgram | None:
        """The program at the evaluator's trajectory; None if it has no solution.

        Args:
            e: The evaluator, with derivatives.
            rows: Bounds of its rows.
            riccati: Recursion on the evaluator's arrays.
        """
        n, zero = e.state.ndx, e.state.zero()
        width = (rows.u_upper - rows.u_lower).max(axis=0, initial=0.0)
        half = np.where(width > 0.0, 0.5 * width, np.inf)
        lq = _with_curvature(riccati.lq, e, half)
        riccati = riccati if lq is riccati.lq else Riccati(lq)
        if not e.nu or riccati.factor().failure is not None:
            return None
        step, F, K = riccati.forward(), lq.full_F(), riccati.K
        B, lower = F[:, :, n:], np.tril(lq.H[:, n:, n:])
        curvature = np.einsum("tii->ti", lower)
        some = e.xs[:: max(1, e.T // SAMPLES)]
        coordinates = np.array([e.state.difference_unchecked(zero, x) for x in (*some, e.xs[-1])])
        start_sizes = _start_sizes(rows, n, np.abs(coordinates[0]))
        return FirstProgram(
            e=e,
            A=F[:, :, :n] - B @ K,
            B=B,
            K=K,
            Quu=lower + np.tril(lower, -1).swapaxes(1, 2) + B.swapaxes(1, 2) @ riccati.Vxx[1:] @ B,
            step=step,
            half=half,
            effort=float((curvature * np.minimum(np.abs(step.du), 2.0 * half) ** 2).sum()),
            start_effort=float(np.abs(step.lam[0]) @ start_sizes),
            start_sizes=start_sizes,
            coordinates=coordinates,
        )

    def variances(self, start: Reals, E: float) -> tuple[Reals, Reals]:
        """H⁻¹ in blocks: of the states (T + 1, ndx, ndx), and of the controls where states stay (T, nu, nu).

        Args:
            start: That of the start, its diagonal (ndx,).
            E: Cost by which controls move by no more than half the width of their limits [cost].
        """
        e, n = self.e, self.e.state.ndx
        S = np.linalg.inv(self.Quu + np.diag(E / self.half**2)).astype(np.float64)
        noise, P = self.B @ S @ self.B.swapaxes(1, 2), np.zeros((e.T + 1, n, n))
        np.einsum("ii->i", P[0])[:] = start
        half = np.empty((n, n))
        for A, transposed, at, to, added in zip(self.A, self.A.swapaxes(1, 2), P, P[1:], noise):
            np.dot(A, at, half)
            np.dot(half, transposed, to)
            to += added
        return P, S

    def row_variances(self, P: Reals, S: Reals) -> Reals:
        """G H⁻¹ Gᵀ of each row (T + 1, nc), from `variances`: the mean over all knots with the same model."""
        e, n = self.e, self.e.state.ndx
        result = np.zeros(e.c.shape)
        if not e.nc:
            return result
        Cu, end = e.C[:, :, n:], e.terminal_C
        Cx = e.C[:, :, :n] - Cu @ self.K
        result[:-1] = ((Cx @ P[:-1]) * Cx).sum(axis=-1) + ((Cu @ S) * Cu).sum(axis=-1)
        result[-1] = ((end @ P[-1]) * end).sum(axis=-1)
        for kind in e.running:
            knots = list(kind.knots)
            result[knots] = result[knots].mean(axis=0)
        return result

    def within_reach(self, P: Reals, E: float) -> Reals:
        """Variances of the states (T + 1, ndx, ndx) where none moves FAR from its coordinates for the cost E."""
        moves = np.sqrt(E * np.einsum("tii->ti", P))
        most = FAR * np.abs(self.coordinates).max(axis=0)
        part = np.where((most > ROUNDING * moves) & (moves > most), most / np.where(moves > 0.0, moves, 1.0), 1.0)
        return P if (part == 1.0).all() else P * part[:, :, None] * part[:, None, :]

    def joint(self, rows: RowBounds, P: Reals, S: Reals) -> Joint:
        """Variances of the rows where equations at the end are taken together, from `variances`."""
        marginal = self.row_variances(P, S)
        on = (rows.general & (rows.lower == rows.upper) & (marginal > 0.0))[-1]
        C, sizes = self.e.terminal_C[on], np.sqrt(marginal[-1, on])
        values, directions = np.linalg.eigh(C @ P[-1] @ C.T / np.outer(sizes, sizes))
        kept = values > ROUNDING
        values, directions = values[kept], directions[:, kept] / sizes[:, None]
        result = marginal.copy()
        result[-1, on] = 1.0 / (directions**2 / values).sum(axis=1)
        return Joint(marginal, result, on, directions, values)

    def repair(self, rows: RowBounds, P: Reals, S: Reals) -> float:
        """Median cost v² / G H⁻¹ Gᵀ of removing a violation v that is left after the step [cost].

        The largest one would be that of a row that can hardly be moved to first order, as a car can't move sideways.
        Of equations at the end it is that along each of their independent directions.
        """
        e, step, c = self.e, self.step, self.e.c.copy()
        if not e.nc:
            return 0.0
        c[:-1] += (e.C @ np.concatenate([step.dx[:-1], step.du], axis=1)[:, :, None])[:, :, 0]
        c[-1] += e.terminal_C @ step.dx[-1]
        beyond, joint = rows.beyond(c), self.joint(rows, P, S)
        costs = beyond**2 / np.where(joint.marginal > 0.0, joint.marginal, np.inf)
        costs[-1, joint.on] = 0.0
        along = (joint.directions.T @ beyond[-1, joint.on]) ** 2 / joint.values
        costs = np.concatenate([costs.ravel(), along])
        costs = costs[costs > SLIGHT * costs.max(initial=0.0)]
        return float(np.quantile(costs, 0.5, method="lower")) if costs.size else 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """Variances of rows, of equations at the end together.

    Attributes:
        marginal: Variances of the rows (T + 1, nc), each of it alone.
        variances: The same, of an equation at the end while the others there stay.
        on: Mask of the equations at the end (nc,).
        directions: Directions in which they move independently of one another (number, n).
        values: Their variances (n,).
    """

    marginal: Reals
    variances: Reals
    on: npt.NDArray[np.bool_]
    directions: Reals
    values: Reals


def _with_curvature(lq: LinearQuadratic, e: Evaluator, half: Reals) -> LinearQuadratic:
    """The program, with a curvature for controls that cost nothing: their whole range costs as much as a knot does."""
    n = e.state.ndx
    free = np.diagonal(lq.H, axis1=1, axis2=2)[:, n:] == 0.0
    if not free.any():
        return lq
    own = np.abs(e.us).max(axis=0, initial=0.0)
    size = np.where(np.isfinite(half), half, np.where(own > 0.0, own, 1.0))
    lq = replace(lq, H=lq.H.copy())
    np.einsum("tii->ti", lq.H)[:, n:] += np.where(free, (abs(e.cost) / max(e.T, 1) or 1.0) / size**2, 0.0)
    return lq


def _start_sizes(rows: RowBounds, n: int, at: Reals) -> Reals:
    """Sizes of a chosen start (ndx,): half the width of its bounds, at most its coordinates in the guess, else 1."""
    if not rows.chosen:
        return np.zeros(n)
    width = 0.5 * (rows.start_upper - rows.start_lower)
    sizes = np.where(width > 0.0, np.minimum(width, np.where(at > 0.0, at, np.inf)), 0.0)
    return np.where(np.isfinite(sizes), sizes, 1.0)
