"""An interior-point method for the shortest time within rows of limits."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from trajopt.retiming.path_rows import HeldRows
from trajopt.retiming.squared_speed import SquaredSpeed
from trajopt.solution import SolverStatus
from trajopt.types import Reals

ITERATIONS = 100  # most iterations [-]
TOLERANCE = 1e-6  # part by which a time may exceed the shortest [-]
INSIDE = 0.99  # part of the way to the nearest limit that a step takes [-]
CENTRED = 3.0  # least sum of slacks times multipliers, relative to the error of stationarity [-]


def fastest(speed: SquaredSpeed, rows: HeldRows, x: Reals) -> tuple[Reals, int, SolverStatus]:
    """Minimises the time f(x) within rows; every iterate keeps them.

    A Newton step of the primal-dual conditions ∇f + Gᵀ λ = 0 and s λ = μ, with the rows' gradients G, slacks s and
    multipliers λ, solves

        (∇²f + Gᵀ diag(λ / s) G) dx = -∇f - Gᵀ c,  ds = -G dx,  dλ = c - λ - λ ds / s

    with c = 0 for a prediction, and then c = (μ - ds dλ) / s. The matrix has two diagonals beside the main one. The
    sum of s λ never rises, and stays above a multiple of |∇f + Gᵀ λ| x if it can: with smaller slacks, steps end at
    limits and are short. Rows without a jerk are linear and f is convex, so that the result is the global optimum.

    Args:
        speed: The squared speed.
        rows: Rows.
        x: Coefficients (size,) that keep them.

    Returns:
        Coefficients, number of iterations, and CONVERGED or MAX_ITERATIONS.

    Source: Nocedal, Wright, Numerical Optimization, 2006, algorithm 16.4, for a convex cost.
    """
    multipliers = np.empty(0)
    for iteration in range(ITERATIONS):
        at = _Iterate(speed, rows, x, multipliers)
        if at.gap + at.error < TOLERANCE * at.time:
            return x, iteration, SolverStatus.CONVERGED
        _, ds, dm, length = at.step(np.zeros_like(at.slacks))
        left = float(((at.slacks + length * ds) * (at.multipliers + length * dm)).sum())
        mu = min(at.gap, max(left**3 / at.gap**2, CENTRED * at.error)) / at.slacks.size
        dx, ds, dm, length = at.step((mu - ds * dm) / at.slacks)
        length = min(1.0, INSIDE * length)
        x, multipliers = x + length * dx, at.multipliers + length * dm
    return x, ITERATIONS, SolverStatus.MAX_ITERATIONS


class _Iterate:
    """Derivatives at coefficients x with multipliers (rows, N), or with those of equal products if there are none.

    Attributes:
        time: f(x).
        slacks: s (rows, N).
        multipliers: λ (rows, N).
        gap: Sum of slacks times multipliers.
        error: Sum of |∇f + Gᵀ λ| x.
    """

    def __init__(self, speed: SquaredSpeed, rows: HeldRows, x: Reals, multipliers: Reals) -> None:
        self._speed = speed
        self.time, self._gradient, hessian = speed.time(x)
        self._G, self.slacks = rows.at(x[speed.of_interval])
        self.multipliers = multipliers if multipliers.size else self.time / (self.slacks.size * self.slacks)
        self.gap = float((self.slacks * self.multipliers).sum())
        missed = self._gradient + np.einsum("irk,rk->ik", self._G, self.multipliers)
        self.error = float(np.abs(speed.gathered(missed) * x).sum())
        self._weights = self.multipliers / self.slacks
        hessian += np.einsum("rk,irk,jrk->ijk", self._weights, self._G, self._G)
        self._factor = cholesky_banded(speed.banded(hessian), check_finite=False)

    def step(self, c: Reals) -> tuple[Reals, Reals, Reals, float]:
        """Returns dx, ds, dλ and the largest step length <= 2 with which s and λ are positive."""
        right = self._speed.gathered(self._gradient + np.einsum("irk,rk->ik", self._G, c))
        dx = -cho_solve_banded((self._factor, False), right, check_finite=False)
        ds = -np.einsum("irk,ik->rk", self._G, dx[self._speed.of_interval])
        dm = c - self.multipliers - self._weights * ds
        shortest = min(float((ds / self.slacks).min()), float((dm / self.multipliers).min()))
        return dx, ds, dm, 1.0 / max(0.5, -shortest)
