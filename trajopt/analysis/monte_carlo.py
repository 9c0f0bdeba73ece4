"""Rollouts of a solution under random noise: samples as lanes, knot by knot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.analysis.basics import check_solution
from trajopt.analysis.covariance import gains_of
from trajopt.analysis.lanes import StateLanes
from trajopt.analysis.noise import factors_of, noise_covariances
from trajopt.checks import check_count, check_flag, is_integer
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, shown
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.states.base import StateAbstract
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

CHUNK = 1024  # samples side by side: their derivatives take memory too


@dataclass(frozen=True, kw_only=True)
class MonteCarlo:
    """Samples of a motion under noise.

    Attributes:
        solution: The solution.
        xs: States (n, T + 1, nx).
        us: Controls (n, T, nu).
    """

    solution: Solution
    xs: Reals
    us: Reals

    def deviations(self, knot: int = -1) -> Reals:
        """x ⊖ xs of all samples at a knot (n, ndx)."""
        knots = self.xs.shape[1]
        if not is_integer(knot) or not -knots <= knot < knots:
            raise InvalidArgumentError(
                f"knot: expected a number from 0 to {knots - 1}, or from -{knots} to -1 from the end, got {shown(knot)}"
            )
        state = self.solution.problem.state  # type: ignore[union-attr]
        apart = StateLanes(state, "difference", min(CHUNK, len(self.xs)))
        parts = np.split(self.xs[:, knot], range(CHUNK, len(self.xs), CHUNK))
        return np.concatenate([apart(self.solution.xs[knot], part) for part in parts])

    def covariance(self, knot: int = -1) -> Reals:
        """Sample covariance of x ⊖ xs at a knot (ndx, ndx), about the samples' mean.

        Raises:
            InvalidArgumentError: There is one sample alone.
        """
        if len(self.xs) < 2:
            raise InvalidArgumentError(
                f"n: expected at least 2 samples for a covariance, got {len(self.xs)}; draw more by n"
            )
        found = self.deviations(knot)
        return np.cov(found, rowvar=False).reshape(found.shape[1], found.shape[1])

    def __repr__(self) -> str:
        return f"MonteCarlo({len(self.xs)} samples, {self.xs.shape[1]} knots)"


def monte_carlo(
    solution: Solution,
    noise: npt.ArrayLike,
    n: int = 100,
    seed: int = 0,
    *,
    initial: npt.ArrayLike = 0.0,
    feedback: bool = True,
    clip: bool = True,
) -> MonteCarlo:
    """Rolls the motion out under noise: x⁺ = f(x, us - K (x ⊖ xs)) ⊕ w, w normally distributed.

    Equal seeds give equal samples, whatever the number of threads.

    Args:
        solution: The solution, with its problem.
        noise: That of `state_covariance`.
        n: Number of samples, >= 1.
        seed: Seed of the random numbers.
        initial: Noise of the first state.
        feedback: Whether controls are us - K (x ⊖ xs), or us alone.
        clip: Whether controls are clipped to the models' limits `lower` and `upper`.

    Raises:
        InvalidArgumentError: Noise is of another shape or no covariance, or the solver gave no gains.
    """
    count, clip = check_count("n", n, least=1), check_flag("clip", clip)
    rng = np.random.default_rng(check_count("seed", seed))
    with check_solution(solution).as_solved() as problem:
        T, ndx, K = problem.T, problem.state.ndx, gains_of(solution, feedback)
        L = factors_of(noise_covariances("noise", noise, T, ndx))
        L0 = factors_of(noise_covariances("initial", initial, 1, ndx))
        draws = rng.standard_normal((T + 1, count, ndx))
        for each, factor in zip(draws, np.concatenate([L0, L])):
            each[:] = each @ factor.T
        xs = np.empty((count, T + 1, problem.state.nx))
        us = np.empty((count, T, problem.nu))
        batches = Batches(problem.state, min(CHUNK, count))
        for first in range(0, count, CHUNK):
            part = slice(first, min(first + CHUNK, count))
            _roll_out(solution, problem, K, draws[:, part], xs[part], us[part], clip, batches)
        return MonteCarlo(solution=solution, xs=xs, us=us)


def _roll_out(
    solution: Solution,
    problem: ShootingProblem,
    K: Reals,
    w: Reals,
    xs: Reals,
    us: Reals,
    clip: bool,
    batches: Batches,
) -> None:
    """Fills states and controls of some samples, with w their noise (T + 1, m, ndx)."""
    states, controls = np.empty((len(us[0]) + 1, *xs[:, 0].shape)), np.empty((len(us[0]), *us[:, 0].shape))
    states[0] = x = batches.integrate(solution.xs[0], w[0])
    for t, model in enumerate(problem.running):
        u = solution.us[t] - batches.difference(solution.xs[t], x) @ K[t].T
        if clip:
            u[:, : model.nu] = np.clip(u[:, : model.nu], model.lower, model.upper)
        controls[t] = u
        after = batches.of(model).step(problem.table.values[t], x, u)
        states[t + 1] = x = batches.integrate(after, w[t + 1])
    xs[:], us[:] = np.swapaxes(states, 0, 1), np.swapaxes(controls, 0, 1)


class Batches:
    """Models and state operations at many points.

    Args:
        state: The state.
        size: Largest number of points.
    """

    def __init__(self, state: StateAbstract, size: int) -> None:
        self.integrate, self.difference = (StateLanes(state, name, size) for name in ("integrate", "difference"))
        self._size, self._models = size, dict[ActionModelAbstract, StepBatch]()

    def of(self, model: ActionModelAbstract) -> StepBatch:
        """The batch of a model."""
        if model not in self._models:
            self._models[model] = StepBatch(model, self._size)
        return self._models[model]


class StepBatch:
    """x⁺ = f(x, u) of an action model at many points, several lanes at a time.

    Args:
        model: The model.
        size: Largest number of points.
    """

    def __init__(self, model: ActionModelAbstract, size: int) -> None:
        end = ActionModelTerminal(CostStack(model.state))
        self._problem = ShootingProblem(model.state.zero(), [model] * size, end)
        self._evaluator = Evaluator(self._problem)
        self._evaluator.prepare()

    def step(self, parameters: Reals, xs: Reals, us: Reals) -> Reals:
        """Next states (m, nx) of states (m, nx) and controls (m, nu), with the run-time parameters of a knot."""
        e, m = self._evaluator, len(xs)
        size = self._problem.kinds[0].layout.size
        self._problem.table.values[:-1, :size] = parameters[:size]
        us = us[:, : e.nu]
        e.xs[:m], e.us[:m] = xs, us
        e.xs[m:], e.us[m:] = xs[-1], us[-1]
        e.expand(None)
        return e.xnext[:m].copy()
