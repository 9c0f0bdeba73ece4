"""Unknown parameters in DDP and FDDP: the Schur complement at the first knot, and the step of θ that it gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.ddp.searches import LineStep
from trajopt.solvers.riccati.bounded_minimum import bounded_minimum
from trajopt.solvers.riccati.riccati import LinearStep, Riccati, RiccatiFailure, RiccatiOutcome
from trajopt.types import Reals

FIRST_RADIUS = 0.2  # largest change of an unknown in the first step, of its size [-]
WIDER, NARROWER = 2.0, 0.25  # factors of the radius after a good step that it cut short, and after a failed search
GOOD = 0.75  # a step that is not full is good if it brings this part of what it promised [-]


class Border:
    """Unknowns θ of a problem whose states are (x, θ): the value function V of the first knot is a program in dθ.

        minimise Vθ · dθ + ½ dθ · Vθθ dθ    within the bounds of θ, and |dθ| <= radius · size,

    where Vθθ is the Schur complement of the states and controls of all knots, and the total of an unknown stays. A
    rollout with step length α starts from θ + α dθ, and its feedback gains have columns of θ.

    Args:
        evaluator: Evaluator of the problem with states (x, θ).
        problem: The problem, whose start has bounds: equal ones for x.
        nx: Number of coordinates of x.

    Attributes:
        chosen: dθ (k,) of the direction, and whether the radius holds an element of it.
    """

    chosen: tuple[Reals, bool]

    def __init__(self, evaluator: Evaluator, problem: ShootingProblem, nx: int) -> None:
        self._e, self._problem, self._nx = evaluator, problem, nx
        size = evaluator.state.nx - nx
        self._first = evaluator.state.ndx - size  # column of θ in tangent vectors
        self.chosen = np.zeros(size), False

    def begin(self, x0: Reals) -> None:
        """Begins a solve from x0 (nx,), with the guess of θ that the evaluator's trajectory has."""
        assert not isinstance(self._problem.start, str)
        theta = self.theta.copy()
        self._x0, (self._lower, self._upper) = x0, (bound[self._first :] for bound in self._problem.start)
        width = 0.5 * (self._upper - self._lower)
        self._size = np.where(theta != 0.0, np.abs(theta), np.where(np.isfinite(width), width, 1.0))
        self._radius, self.chosen = FIRST_RADIUS, (np.zeros_like(theta), False)

    @property
    def theta(self) -> Reals:
        """θ (k,) of the evaluator's trajectory."""
        return self._e.xs[0, self._nx :]

    def start(self, length: float) -> Reals:
        """Start (x0, θ + α dθ) of a rollout with step length α [-]."""
        return np.concatenate([self._x0, np.clip(self.theta + length * self.chosen[0], self._lower, self._upper)])

    def choose(self, riccati: Riccati, outcome: RiccatiOutcome) -> RiccatiOutcome:
        """Chooses dθ after a backward pass; returns the outcome with what it promises, or INDEFINITE."""
        if outcome.failure is not None:
            return outcome
        first, most = self._first, self._radius * self._size
        H, g = riccati.Vxx[0][first:, first:], riccati.Vx[0][first:]
        lower, upper = self._lower - self.theta, self._upper - self.theta
        kept = None if self._problem.start_sum is None else self._problem.start_sum[first:]
        step = bounded_minimum(H, g, np.maximum(lower, -most), np.minimum(upper, most), kept)
        if step is None:
            return replace(outcome, failure=RiccatiFailure.INDEFINITE, failed_knot=0)
        self.chosen = step, bool(np.any((np.abs(step) >= most) & (step > lower) & (step < upper)))
        slope, curvature = float(-g @ step), float(step @ H @ step)
        return replace(outcome, decrease=outcome.decrease + slope, curvature=outcome.curvature + curvature)

    def forward(self, riccati: Riccati) -> LinearStep:
        """Forward pass from dθ."""
        return riccati.forward_from(np.concatenate([np.zeros(self._first), self.chosen[0]]))

    def judge(self, step: LineStep) -> None:
        """Changes the radius after a search."""
        if not step.accepted:
            self._radius *= NARROWER
        elif self.chosen[1] and (step.length >= 1.0 or step.decrease > GOOD * step.expected):
            self._radius *= WIDER
