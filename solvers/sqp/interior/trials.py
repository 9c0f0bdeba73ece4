"""Points along a direction: on a line, all knots at once, or by rollouts of its policy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.linear_trial import LinearTrial
from trajopt.solvers.sqp.interior.barrier import PART, longest
from trajopt.solvers.sqp.interior.point import Direction, Point
from trajopt.solvers.sqp.program import StepProgram
from trajopt.solvers.sqp.rows import RowBounds
from trajopt.types import Reals


class InteriorTrials(ABC):
    """Points along a direction from the trajectory of an evaluator.

    Args:
        evaluator: The evaluator.
        program: The program whose rows are kept.

    Attributes:
        first_barrier: First barrier parameter μ, relative to the typical cost [-].
        tolerance: Error that counts as none, relative to the typical cost [-].
        eliminates: Whether the recursion eliminates equations; else they have a weight of 1e8, see `Equations`.
        own: Part of δ by which the weights of bounds grow, where δ is relative to μ; 0 where it is not [-].
        first_ridge: First δ.
        factors: Factors by which δ grows until the Hessian is convex, and falls from one step to the next [-].
        shorter: Factor by which a step length that is not accepted falls [-].
        renewals: How often slacks and multipliers may begin anew, see `InteriorSteps` [-].
        spread: Largest ratio of a multiplier and what the barrier says, in either direction [-].
    """

    first_barrier: ClassVar[float]
    tolerance: ClassVar[float]
    eliminates: ClassVar[bool]
    own: ClassVar[float]
    first_ridge: ClassVar[float]
    factors: ClassVar[tuple[float, float]]
    shorter: ClassVar[float]
    renewals: ClassVar[int]
    spread: ClassVar[float]

    def __init__(self, evaluator: Evaluator, program: StepProgram) -> None:
        self._e, self._program = evaluator, program

    @abstractmethod
    def first_length(self, point: Point, step: Direction) -> float:
        """Returns the longest step length to try, at most 1 [-], and keeps the direction `step` for `at`."""

    @abstractmethod
    def at(self, point: Point, step: Direction, length: float, scale: float) -> Point | None:
        """Returns the point at a step length; None if a value is not finite, or a slack is too close to a bound.

        Args:
            point: Where the step starts.
            step: The step.
            length: Step length [-].
            scale: Factor of the cost [1/cost].
        """

    def curvature(self, point: Point, step: Direction, length: float) -> Reals | None:
        """Returns what equations (n, nc) get beyond the forecast of a step of this length; None for no correction."""
        return None


class LineTrials(InteriorTrials):
    """Trials along lines, xs ⊕ α dx and us + α du.

    Multipliers of bounds take the longest step that keeps them positive.
    """

    first_barrier, tolerance = 0.01, 1e-8
    eliminates = False  # a double pendulum by inverse dynamics ends at .0037 with the weight, at .0129 without
    own, first_ridge, factors, spread = 0.0, 1e-4, (8.0, 3.0), 1e10  # those of rollouts: 15 of 20 shuttles, not 19
    shorter = 0.5  # with 0.8 a trailer in a bay ends at 6.05, not 6.02
    renewals = 5  # with 7 as many parkings are solved

    def __init__(self, evaluator: Evaluator, program: StepProgram, trial: LinearTrial) -> None:
        super().__init__(evaluator, program)
        self._trial = trial

    def first_length(self, point: Point, step: Direction) -> float:
        """Returns the longest step length, at most 1, that keeps the slacks off their bounds [-]."""
        barrier = point.barrier
        distances, dz = barrier.bounds.distances(barrier.slack), step.dz
        self._z = barrier.z + longest(barrier.z, dz) * dz
        self._trial.dx[:], self._trial.du[:] = step.dx, step.du
        return longest(distances, barrier.bounds.changes(step.ds))

    def at(self, point: Point, step: Direction, length: float, scale: float) -> Point | None:
        """Returns the point at a step length, or None; as in `InteriorTrials.at`."""
        e, trial, barrier = self._e, self._trial, point.barrier
        cost = trial.go(length)
        gaps = trial.f.copy()
        gaps[0] = (1.0 - length) * e.f[0]
        if not (math.isfinite(cost) and np.isfinite(gaps).all() and np.isfinite(trial.c).all()):
            return None
        y, slack = barrier.y + length * (step.y - barrier.y), barrier.slack + length * step.ds
        if (barrier.bounds.distances(slack) <= 0.0).any():  # by rounding
            return None
        return Point(
            xs=trial.xs.copy(),
            us=trial.us.copy(),
            cost=scale * cost,
            f=gaps,
            c=self._program.row_values(trial.c, trial.xs[0]),
            barrier=barrier.moved(slack, self._z, y, self.spread),
            lam=point.lam + length * (step.lam - point.lam),
        )


class RolloutTrials(InteriorTrials):
    """Rollouts of us + α du - K (x ⊖ xs ⊖ α dx). Slacks and multipliers follow the states, and all gaps are closed.

    Source: FilterDDP, arXiv:2504.08278, 2025.

    Args:
        evaluator: Evaluator with the trajectory from which rollouts start.
        program: The program whose rows are kept.
        rows: Bounds of the start.
    """

    eliminates, first_barrier, tolerance = True, 0.005, 1e-7  # FilterDDP's; with 1e-8 acrobots take 250 iterations
    own, first_ridge, factors, spread = 5e-4, 0.2, (4.0, 16.0), 100.0  # acrobots: 159 iterations, not 199
    shorter = 0.8  # cart-poles and acrobots: 70 and 144 iterations, with 0.5 78 and 159
    renewals = 0

    def __init__(self, evaluator: Evaluator, program: StepProgram, rows: RowBounds) -> None:
        super().__init__(evaluator, program)
        self._rows, self._trials = rows, evaluator.trials(1, clipped=True)

    def first_length(self, point: Point, step: Direction) -> float:
        """Returns 1 [-]. The slacks depend on the rollout, so they are checked after it."""
        e = self._e
        e.K[:] = step.K
        e.k[:] = -step.du - (step.K @ step.dx[:-1, :, None])[:, :, 0]
        self._trials.lower[:], self._trials.upper[:] = -math.inf, math.inf
        return 1.0

    def at(self, point: Point, step: Direction, length: float, scale: float) -> Point | None:
        """Returns the point at a step length, or None; as in `InteriorTrials.at`."""
        e, trials, barrier = self._e, self._trials, point.barrier
        cost = self._roll_out(step, length)
        if cost is None:
            return None
        linear = self._linear_rows(step, length)
        further = linear - length * step.rows
        slack = np.where(barrier.bounds.on.any(axis=0), barrier.slack + linear + length * point.residual, 0.0)
        z = barrier.z + length * step.dz + barrier.dz_by_slack(further)
        if not barrier.keeps_off(slack):
            return None
        z = np.maximum(z, (1.0 - PART) * barrier.z)
        y = barrier.y + length * (step.y - barrier.y) + np.where(barrier.bounds.equal, 0.0, step.D * further)
        xs, us = trials.trajectory(0)
        return Point(
            xs=xs,
            us=us,
            cost=scale * cost,
            f=np.zeros_like(e.f),
            c=self._program.row_values(trials.c[0], xs[0]),
            barrier=barrier.moved(slack, z, y, self.spread),
            lam=point.lam + length * (step.lam - point.lam),
        )

    def curvature(self, point: Point, step: Direction, length: float) -> Reals | None:
        """Returns what equations (n, nc) get beyond their forecast in a rollout; None where it diverges."""
        self.first_length(point, step)
        if self._roll_out(step, length) is None:
            return None
        c = self._program.row_values(self._trials.c[0], self._trials.trajectory(0)[0][0])
        return np.where(point.barrier.bounds.equal, c - point.c - self._linear_rows(step, length), 0.0)

    def _roll_out(self, step: Direction, length: float) -> float | None:
        """Rolls out a step of this length; returns the cost, None if a value is not finite."""
        e, trials = self._e, self._trials
        start = self._rows.within_start(e.state.integrate(e.xs[0], length * step.dx0)) if self._rows.chosen else e.xs[0]
        (cost,) = trials.roll_out(start, [length], None)
        return cost if trials.in_range(0, cost) and np.isfinite(trials.c[0]).all() else None

    def _linear_rows(self, step: Direction, length: float) -> Reals:
        """Change of the rows by their derivatives, along the rollout (n, nc)."""
        e, trials = self._e, self._trials
        dx, du, rows = trials.dx[0], trials.us[0] - e.us, length * step.rows
        own = rows[-(e.T + 1) :, : e.nc]
        own[:-1] = (e.C @ np.concatenate([dx[:-1], du], axis=1)[:, :, None])[:, :, 0]
        own[-1] = e.terminal_C @ dx[-1]
        return rows
