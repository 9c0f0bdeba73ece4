"""Solutions on a finer grid of knots, for example at the rate of a robot's controller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.basics import problem_of
from trajopt.analysis.smooth_positions import set_smooth_positions
from trajopt.analysis.within_steps import set_part_of_controls
from trajopt.checks import check_flag, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.types import Ints, Reals

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solution import Solution

NOT_KNOWN: dict[str, Any] = {"k": None, "Vx": None, "Vxx": None, "multipliers": {}, "described": {}, "measured": {}}
"""Results of a solver that do not exist between its knots."""


ROUNDING = 1e-6
"""Part of a time step that is rounding [-]."""


def resample(solution: Solution, dt: float, *, uniform: bool = False) -> Solution:
    """Returns a solution with more knots: each step is divided into equal parts of at most dt, or at a uniform rate.

    A state within a step is f(x_t, u_t) with the part of the step so far as time step, and controls stay as they are,
    or change as their parametrization does within the step. Positions within second-order Euler steps are those of a
    cubic spline through the knots instead, so that they can be commanded: those of the steps change their speed by
    a dt at each knot. Where accelerations jump from a to -a, those of the spline reach 1.7 a, and 2.7 a next to rest,
    as the first step of a motion moves with the velocity at its end. Velocities within steps are linear.

    The result is a Solution as any other: `torques`, `contact_forces`, `violations`, `to_csv` and `plot` are those
    between the knots, too. Gains are those of the step. Its gaps are the error of one long step instead of several
    short ones. An equation on the state that the next knot lacks holds at its knot alone.

    At a uniform rate the knots of the result are at 0, dt, 2 dt, ... and at the end, so that the last step is shorter
    where dt is no part of the duration. The knots of the solution are not among them then: a control stays until the
    next multiple of dt, which adds to the gaps, and impulses are left out. At the time of an impulse the state is that
    after it.

    Args:
        solution: The solution, with its problem; a step is the parameter `dt` of its models. Impulses stay.
        dt: Longest time between knots of the result, such as 1e-3 [s].
        uniform: Whether the time between knots is dt, as for a controller of this rate, also if the solution has other
            steps.

    Raises:
        InvalidArgumentError: The solution has no problem, its knots have no time steps, or dt is not positive.
    """
    problem_of(solution)
    longest, times = check_positive("dt", dt, unit="s"), solution.times
    if times is None:
        raise InvalidArgumentError("solution: expected one of a problem whose knots have time steps")
    knots, since, steps = (_uniform if check_flag("uniform", uniform) else _refined)(times, longest)
    with solution.as_solved() as problem:
        fine = _divided(problem, knots)
        whole = np.where(np.diff(times) > 0.0, np.diff(times), 1.0)[knots]
        us = _parts_of_controls(problem, solution.us, knots, np.zeros(len(knots)), since / whole)
        later = np.flatnonzero(since > 0.0)
        _free_within_steps(problem, fine, knots, later)
        xs = np.concatenate([solution.xs[knots], solution.xs[-1:]])
        _set_steps(fine, since, later)
        xs[later] = fine.calc(solution.xs[np.append(knots, -1)], us).xnext[later]
        set_smooth_positions(xs, later, problem, solution.xs, knots, since)
        _set_steps(fine, steps, np.arange(len(knots)))
        us = _parts_of_controls(problem, solution.us, knots, since / whole, steps / whole)
        values: dict[str, Any] = {"problem": fine, "x0": fine.x0, "parameters": fine.parameter_values()}
        cost = fine.calc(xs, us).cost
        K = None if solution.K is None else solution.K[knots]
        own = {**NOT_KNOWN, "measured": {"notes": _notes(solution, len(knots), uniform=uniform) if len(later) else ()}}
        return replace(solution, xs=xs, us=us, cost=cost, K=K, **values, **own)


def _notes(solution: Solution, steps: int, *, uniform: bool) -> tuple[str, ...]:
    """Lines of `explain` on a resampled motion."""
    held = ", and from controls that stay until the next sample" if uniform else ""
    return (
        f"resampled at {steps + 1} knots, {len(solution.xs)} of the motion before; gaps are how far its long steps "
        f"differ from short ones{held}",
    )


def _parts_of_controls(problem: ShootingProblem, us: Reals, knots: Ints, begins: Reals, parts: Reals) -> Reals:
    """Controls of parts of the steps of these knots, which begin at these fractions and have these lengths [-]."""
    own = us[knots]
    for i, (t, begin, part) in enumerate(zip(knots, begins, parts)):
        set_part_of_controls(own, np.array([i]), problem.running[t], begin, part)
    return own


def _refined(times: Reals, longest: float) -> tuple[Ints, Reals, Reals]:
    """Knot before each new knot, time since then and time until the next one, for equal parts of each step."""
    steps = np.diff(times)
    parts = np.maximum(np.ceil(steps / longest - ROUNDING), 1.0).astype(np.int64)
    knots = np.repeat(np.arange(len(parts)), parts)
    before = np.concatenate([np.arange(count) for count in parts]) if len(parts) else np.zeros(0, dtype=np.int64)
    return knots, steps[knots] * before / parts[knots], steps[knots] / parts[knots]


def _uniform(times: Reals, dt: float) -> tuple[Ints, Reals, Reals]:
    """As `_refined`, for new knots at the multiples of dt."""
    samples = dt * np.arange(np.ceil(times[-1] / dt - ROUNDING))
    knots = np.searchsorted(times, samples + ROUNDING * dt, side="right") - 1
    since = samples - times[knots]
    return knots, np.where(since > ROUNDING * dt, since, 0.0), np.diff(np.append(samples, times[-1]))


def _divided(problem: ShootingProblem, knots: Ints) -> ShootingProblem:
    """The problem whose knots are these of another one, with their parameters, and its end."""
    from trajopt.shooting.problem import ShootingProblem

    running: list[Any] = [problem.running[t] for t in knots]
    fine = ShootingProblem(problem.x0, running, problem.terminal, step_unit=problem.step_unit)
    sources = np.append(knots, problem.T)
    fine.table.values[:] = problem.table.values[sources]
    return fine


def _free_within_steps(problem: ShootingProblem, fine: ShootingProblem, knots: Ints, later: Ints) -> None:
    """Removes equations on the state of a single knot from the new knots within its step."""
    single = problem.table.rows.single_equations()
    for kind in fine.kinds[:-1]:
        own, first = np.intersect1d(kind.knots, later), 0
        for block in kind.row_blocks:
            mine = single[knots[own], first : first + block.size]
            first += block.size
            if not block.place and mine.any():
                for key, bound in (("lower", -np.inf), ("upper", np.inf)):
                    columns = fine.table.values[:, kind.layout.slices[f"{block.constraint}.{key}"]]
                    columns[own] = np.where(mine, bound, columns[own])


def _set_steps(problem: ShootingProblem, steps: Reals, knots: Ints) -> None:
    """Sets the time steps (T,) of these knots, where models have one."""
    for kind in problem.kinds[:-1]:
        own = np.intersect1d(kind.knots, knots)
        if "dt" in kind.layout.slices and len(own):
            problem.table.values[own, kind.layout.slices["dt"]] = steps[own, None]
