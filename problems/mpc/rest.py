"""Guess for a trotting quadruped: at rest, in the standing posture, with the torques that its stance feet need."""

from __future__ import annotations

import numpy as np

from trajopt.problems.mpc.trot import Trot
from trajopt.shooting import ShootingProblem
from trajopt.types import Reals


class AtRest:
    """Guess (xs, us) from a measured state: all later states at rest, in the standing posture, at the measured place.

    Controls are quasi-static for the feet that are on the ground at each knot. They are computed once for each set of
    feet, as neither place nor heading changes them.

    Args:
        problem: Problem of the controller; its parameters are those of the window when the guess is asked for.
        trot: The trot.
    """

    def __init__(self, problem: ShootingProblem, trot: Trot) -> None:
        self._problem, self._trot = problem, trot
        self._torques = dict[bytes, Reals]()

    def __call__(self, x: Reals, times: Reals) -> tuple[Reals, Reals]:
        """States (N + 1, nx) and controls (N, nu) for a measured state (nx,) and times of knots (N + 1,) [s]."""
        xs = np.tile(self._trot.standing, (len(times), 1))
        half = np.arctan2(x[5], x[6])  # of the heading
        xs[:, :2], xs[:, 3:7] = x[:2], (0.0, 0.0, np.sin(half), np.cos(half))
        feet = [row.tobytes() for row in self._trot.contacts(times[:-1])]
        if not self._torques.keys() >= set(feet):
            self._torques |= dict(zip(feet, self._problem.quasi_static(xs[:-1])))
        return xs, np.array([self._torques[each] for each in feet])
