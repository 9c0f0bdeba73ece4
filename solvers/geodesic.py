"""Geodesic acceleration: steps along a parabola instead of a line, where the dynamics bend the line away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.shooting.arrays import lifted
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.riccati import Riccati
from trajopt.solvers.searches import LineSearch, LineStep
from trajopt.types import Reals

PROBE = 0.1  # step length of the rollout that shows how the dynamics bend
LEAST = 1.0 / 64.0  # shortest curved step


class GeodesicAcceleration:
    """Tries u = ū - α k - α² k₂ - K dx where a step along k was cut short.

    k₂ makes up for the second derivative c of the dynamics along the step, to second order: a vector pass with the same
    factors and gaps c = (dx⁺ - F z) / h², z = (dx, du) of a rollout with the step length h. Costs bend too, but with
    their second derivatives beside c 67 arm reaches of 72 were solved in place of 66, at the price of one more program.

    Args:
        evaluator: Evaluator with the trajectory and the feedback law.
        riccati: The recursion of the Gauss-Newton direction, which writes the evaluator's k.
        search: Line search, which rolls out the steps.

    Source: Transtrum, Sethna, Improvements to the Levenberg-Marquardt algorithm, 2012, section 4; for rollouts our own.
    """

    def __init__(self, evaluator: Evaluator, riccati: Riccati, search: LineSearch) -> None:
        self._e, self._riccati, self._search = evaluator, riccati, search

    def bend(self, plain: LineStep, x0: Reals, cost: float) -> LineStep:
        """Returns the curved step if it is accepted and costs less than the straight one, else the straight one.

        Args:
            plain: The straight step, from a rollout.
            x0: Initial state (nx,).
            cost: Cost of the trajectory before the step [cost].
        """
        e, k, Vx = self._e, self._e.k.copy(), self._riccati.Vx.copy()
        second = self._correction(x0)
        if second is None:
            return plain
        least = max(plain.length, LEAST) if plain.accepted else LEAST
        length, best = 1.0, plain
        while length >= least:
            e.k[:] = k + length * second
            found = self._search.tried(plain.promise, x0, cost, length)
            if found is not None:
                best = found if not plain.accepted or found.cost < plain.cost else plain
                break
            length *= 0.5
        e.k[:], self._riccati.Vx[:] = k, Vx
        return best if best is plain else replace(best, bent=True)

    def _correction(self, x0: Reals) -> Reals | None:
        """k₂ (T, nu); None where it is no number. It overwrites k and Vx."""
        e, trials = self._e, self._search.single
        (cost,) = trials.roll_out(x0, (PROBE,), None)
        if not trials.in_range(0, cost):
            return None
        dx, du = trials.dx[0], trials.us[0] - e.us
        F = e.F if e.lift_size is None else lifted(e.F, e.dt, e.J0, e.J1dt)
        z = np.concatenate([dx[:-1], du], axis=1)
        kept = [(array, array.copy()) for array in (e.g, e.f, e.terminal_g)]
        e.g.fill(0.0)
        e.terminal_g.fill(0.0)
        e.f[0], e.f[1:] = 0.0, (dx[1:] - (F @ z[:, :, None])[:, :, 0]) / PROBE**2
        self._riccati.solve()
        for array, before in kept:
            array[:] = before
        second = e.k.copy()
        return second if np.isfinite(second).all() else None
