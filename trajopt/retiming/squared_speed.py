"""The squared speed along a path: a quadratic spline, and the time that it takes."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals

PLACES = np.array([0.0, 0.5, 1.0])  # of Simpson's rule in an interval, of its length [-]
SHARES = np.array([1.0, 4.0, 1.0]) / 6.0  # their weights [-]


class SquaredSpeed:
    """Squared speed b = (dτ/dt)², quadratic in each of N intervals of equal length in τ.

    Three of its coefficients x (size,) belong to an interval: its polynomial has the Bernstein coefficients M y with
    y = x[of_interval] (3, N), which are positive if x is. Without a limit of the jerk (`rest` 2) the slope b' may jump
    between intervals. With one (`rest` 3) it is continuous, and 0 at both ends: x is then of a B-spline.

    Args:
        N: Number of intervals.
        rest: 3 with a limit of the jerk, else 2, see `JointPath`.

    Attributes:
        N: Number of intervals.
        rest: 2 or 3.
        size: Number of coefficients.
        of_interval: Numbers of the coefficients of each interval (3, N).
    """

    def __init__(self, N: int, rest: int) -> None:
        self.N, self.rest = N, rest
        if rest == 2:
            self.size, self._M = 2 * N + 1, np.eye(3)
            self.of_interval = 2 * np.arange(N) + np.arange(3)[:, None]
        else:
            self.size, self._M = N, np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
            self.of_interval = np.clip(np.arange(N) + np.arange(-1, 2)[:, None], 0, N - 1)
        self._at_places = self.basis(PLACES)[0]
        i, j = np.broadcast_arrays(self.of_interval[:, None], self.of_interval)
        self._upper = i <= j
        self._place = ((2 + i - j) * self.size + j)[self._upper]

    def basis(self, d: Reals) -> tuple[Reals, Reals, Reals]:
        """Returns b, b' and b'' by coefficients of an interval (..., 3) each, at parts d of its length (...)."""
        d, N = d[..., None], self.N
        value = np.concatenate([(1.0 - d) ** 2, 2.0 * d * (1.0 - d), d**2], axis=-1)
        slope = 2.0 * N * np.concatenate([d - 1.0, 1.0 - 2.0 * d, d], axis=-1)
        bend = 2.0 * N**2 * np.broadcast_to([1.0, -2.0, 1.0], value.shape)
        return value @ self._M, slope @ self._M, bend @ self._M

    def motion(self, x: Reals) -> tuple[Reals, Reals, Reals]:
        """Returns b at the ends of intervals (N + 1,), b' at the start of each, and b'' in it, (N,)."""
        p, N = self._M @ x[self.of_interval], self.N
        return np.append(p[0], p[2, -1]), 2.0 * N * (p[1] - p[0]), 2.0 * N**2 * (p[0] - 2.0 * p[1] + p[2])

    def time(self, x: Reals) -> tuple[float, Reals, Reals]:
        """Returns ∫ dτ / √b by Simpson's rule, its gradient and Hessian in intervals, (3, N) and (3, 3, N)."""
        B = self._at_places
        b, share = B @ x[self.of_interval], SHARES[:, None] / self.N
        hessian = np.einsum("pk,pi,pj->ijk", 0.75 * share * b**-2.5, B, B)
        return float((share * b**-0.5).sum()), B.T @ (-0.5 * share * b**-1.5), hessian

    def gathered(self, g: Reals) -> Reals:
        """Returns the sum (size,) of vectors of intervals (3, N)."""
        return np.bincount(self.of_interval.ravel(), g.ravel(), self.size).astype(np.float64, copy=False)

    def banded(self, H: Reals) -> Reals:
        """Returns the sum (3, size) of symmetric matrices of intervals (3, 3, N), upper diagonals in scipy's order."""
        sums = np.bincount(self._place, H[self._upper], 3 * self.size)
        return sums.reshape(3, self.size).astype(np.float64, copy=False)
