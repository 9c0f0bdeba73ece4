"""Static check: states that motors cannot hold at rest within the bounds of their torques and forces."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.advice.facts import more_time
from trajopt.analysis.constraints import HELD, ConstraintRows, solved_rows
from trajopt.analysis.gaps import CLOSED
from trajopt.analysis.goals import asked_steps
from trajopt.errors import TrajoptError
from trajopt.residuals import ResidualModelState
from trajopt.residuals.state import whole_states
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.shooting.values import ProblemDerivatives

EFFORTS = ("N m", "N")
"""Units of rows that are bounded torques or forces of motors."""
SWINGS = 10.0
"""Ratio of the torque that holds a posture to its bound up to which a motion may swing; a UR5 does at 8 [-]."""
_MOST = 3  # largest number of listed joints [-]


def cannot_rest(solution: Solution) -> list[str]:
    """Returns a sentence if the motors cannot hold x0 at rest, and one for a goal that fixes the posture.

    Of controls that share the load, as those of a robot on several feet do, those count that exceed their bounds least,
    relative to these. A motion may exist all the same, as a swing-up does. It is empty after a solve that converged. A
    state of an own model counts if some controls hold it.

    Args:
        solution: The solution, with its problem.
    """
    if solution.status is SolverStatus.CONVERGED or solution.problem is None:
        return []
    last, postures = len(solution.us) - 1, [("the goal", goal) for goal in _goals(solution)]
    places = [(0, "x0", solution.x0)] if solution.description.start == "fixed" else []
    places += [(last, *each) for each in postures[:1]]
    try:
        with solution.as_solved() as problem:
            lacks = [(what, _lacking(solution, problem, knot, x)) for knot, what, x in places if last >= 0]
    except TrajoptError:  # a black box fails at rest
        return []
    they = "the controls" if solution.robot is None else "the motors"
    places_of = dict[str, list[str]]()
    for what, each in lacks:
        if each:
            needs = f"{', '.join(words for _, words in each)}; raise these bounds, {_swing(solution, each)}"
            places_of.setdefault(needs, []).append(what)
    return [
        f"{they} cannot hold {' and '.join(what)} at rest: {needs}or check the units of masses, kg, and of lengths, m"
        for needs, what in places_of.items()
    ]


def _swing(solution: Solution, lacks: list[tuple[float, str]]) -> str:
    """Advice to give the motion time to swing where all joints have motors that are a few times too weak."""
    problem, robot = solution.problem, solution.robot
    swings = problem is not None and robot is not None and 2 * problem.nu == problem.state.ndx
    return more_time(solution, after=", so that it may swing, ") if swings and lacks[0][0] < SWINGS else ""


def _goals(solution: Solution) -> list[Reals]:
    """States of terminal costs and constraints that fix the whole posture of the robot, or the state of a model."""
    description, state, goals = solution.description, solution.description.state, list[Reals]()
    for item in description.terminal_items:
        if state is not None and isinstance(item.residual, ResidualModelState):
            steps = asked_steps(item, item.residual, description.values, state.ndx)[-1]
            fixed = state.ndx // 2 if solution.robot is not None else item.residual.state.ndx
            if np.isfinite(steps[:fixed]).all():
                reference = whole_states(description.values[f"{item.name}.reference"][-1], solution.xs[-1])
                goals.append(state.integrate(reference, np.nan_to_num(steps)))
    return goals


def _lacking(solution: Solution, problem: ShootingProblem, knot: int, x: Reals) -> list[tuple[float, str]]:
    """Torques and forces beyond their bounds at a knot, in a posture at rest: ratio to the bound, text; worst first."""
    xs = np.tile(problem.state.at_rest(x), (len(solution.xs), 1))
    us = problem.quasi_static(xs[:-1])
    d = problem.calc_diff(xs, us)
    if not np.abs(d.gaps[knot + 1]).max() <= CLOSED:
        return []
    if np.linalg.matrix_rank(d.Fu[knot]) < problem.nu:
        shared = _shared(d, knot)
        if shared is None:
            return []
        us[knot] += shared
    held = dataclasses.replace(solution, xs=xs, us=us, x0=xs[0], multipliers={})
    beyond = []
    for rows in solved_rows(held, problem):
        for i in np.flatnonzero(rows.enforced[knot] & (rows.violations[knot] > HELD)).tolist():
            if (rows.units[i] in EFFORTS or rows.controls[i] >= 0) and not rows.soft:
                beyond.append((float(rows.violations[knot, i]), *_needs(rows, knot, i)))
    worst = {words: ratio for _, ratio, words in sorted(beyond, reverse=True)}  # rows of stages have the same words
    return [(ratio, words) for words, ratio in worst.items()][:_MOST]


def _shared(d: ProblemDerivatives, knot: int) -> Reals | None:
    """Change of the controls (nu,) that moves nothing and leaves the least violation of rows relative to their bounds.

    It is None where rows with bounds of 0 alone, as friction cones have, can't be kept.
    """
    from scipy.linalg import null_space
    from scipy.optimize import linprog

    free = null_space(d.Fu[knot])
    C, c = d.Cu[knot] @ free, d.rows[knot]
    both = np.stack([d.lower[knot], d.upper[knot]])
    size = np.where(np.isfinite(both), np.abs(both), 0.0).max(axis=0)
    A, b = [], []
    for side, bound in ((-1.0, d.lower[knot]), (1.0, d.upper[knot])):
        on = np.isfinite(bound) & C.any(axis=1)
        A.append(np.hstack([side * C, -size[:, None]])[on])
        b.append((side * (bound - c))[on])
    cost = np.append(np.zeros(free.shape[1]), 1.0)
    least = linprog(cost, np.concatenate(A), np.concatenate(b), bounds=[*[(None, None)] * free.shape[1], (0.0, None)])
    return free @ least.x[:-1] if least.status == 0 else None


def _needs(rows: ConstraintRows, knot: int, i: int) -> tuple[float, str]:
    value, low, high = (float(array[knot, i]) for array in (rows.values, rows.lower, rows.upper))
    bound, unit = high if value > high else low, f" {rows.units[i]}".rstrip()
    if value * bound > 0.0:
        return value / bound, f"{rows.rows[i]} needs {abs(value):.4g}{unit} and has {abs(bound):.4g}{unit}"
    return np.inf, f"{rows.rows[i]} needs {value:.4g}{unit} and its bound is {bound:.4g}{unit}"
