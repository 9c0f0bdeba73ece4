"""Solutions on a finer grid of knots, for example at the rate of a robot's controller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import problem_of
from trajopt.checks import check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

NOT_KNOWN: dict[str, Any] = {"k": None, "Vx": None, "Vxx": None, "multipliers": {}, "described": {}, "measured": {}}
"""Results of a solver that do not exist between its knots."""


def resample(solution: Solution, dt: float) -> Solution:
    """Returns a solution with more knots: each step is divided into equal parts of at most dt.

    A state within a step is f(x_t, u_t) with the part of the step so far as time step, and controls stay as they are.
    The result is a Solution as any other: `torques`, `contact_forces`, `violations`, `to_csv` and `plot` are those
    between the knots, too. Gains are those of the step. Its gaps are the error of one long step instead of several
    short ones.

    Args:
        solution: The solution, with its problem; a step is the parameter `dt` of its models. Impulses stay.
        dt: Longest time between knots of the result, such as 1e-3 [s].

    Raises:
        InvalidArgumentError: The solution has no problem, its knots have no time steps, or dt is not positive.
    """
    problem_of(solution)
    longest, times = check_positive("dt", dt, unit="s"), solution.times
    if times is None:
        raise InvalidArgumentError("solution: expected one of a problem whose knots have time steps")
    steps = np.diff(times)
    parts = np.maximum(np.ceil(steps / longest - 1e-6), 1.0).astype(np.int64)
    knots = np.repeat(np.arange(len(parts)), parts)
    before = np.concatenate([np.arange(count) for count in parts]) if len(parts) else np.zeros(0, dtype=np.int64)
    with solution.as_solved() as problem:
        fine = _divided(problem, knots)
        us = [solution.us[t][: problem.running[t].nu] for t in knots]
        later = np.flatnonzero(before > 0)
        xs = np.concatenate([solution.xs[knots], solution.xs[-1:]])
        _set_steps(fine, steps[knots] * before / parts[knots], later)
        xs[later] = fine.calc(solution.xs[np.append(knots, -1)], us).xnext[later]
        _set_steps(fine, steps[knots] / parts[knots], np.arange(len(knots)))
        values: dict[str, Any] = {"problem": fine, "x0": fine.x0, "parameters": fine.parameter_values()}
        cost = fine.calc(xs, us).cost
        K = None if solution.K is None else solution.K[knots]
        return replace(solution, xs=xs, us=solution.us[knots], cost=cost, K=K, **values, **NOT_KNOWN)


def _divided(problem: ShootingProblem, knots: Ints) -> ShootingProblem:
    """The problem whose knots are these of another one, with their parameters, and its end."""
    from trajopt.shooting.problem import ShootingProblem

    running: list[Any] = [problem.running[t] for t in knots]
    fine = ShootingProblem(problem.x0, running, problem.terminal)
    sources = np.append(knots, problem.T)
    fine.table.values[:] = problem.table.values[sources]
    return fine


def _set_steps(problem: ShootingProblem, steps: Reals, knots: Ints) -> None:
    """Sets the time steps (T,) of these knots, where models have one."""
    for kind in problem.kinds[:-1]:
        own = np.intersect1d(kind.knots, knots)
        if "dt" in kind.layout.slices and len(own):
            problem.table.values[own, kind.layout.slices["dt"]] = steps[own, None]
