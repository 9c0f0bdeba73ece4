"""The motion of a closed loop as a Solution, which reports and pictures of trajectories take."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.actions.base import ActionModelAbstract
from trajopt.costs.cost_stack import CostStack
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import Solution, motion_solution
from trajopt.types import Reals


def motion_of(models: Sequence[ActionModelAbstract], rows: Reals, durations: Reals, xs: Reals, us: Reals) -> Solution:
    """A trajectory of knots with models and parameter values of their own, and an end that costs nothing.

    It is no solution of this problem: the plant's motion has gaps in the eyes of the controller's model.

    Args:
        models: Model of each knot (T,).
        rows: Values of its parameters, in the order of its layout (T, largest number).
        durations: Duration of each knot (T,) [s].
        xs: States (T + 1, nx).
        us: Controls (T, nu).
    """
    problem = ShootingProblem(xs[0], list(models), CostStack(models[0].state))
    table = problem.table.values
    width = min(table.shape[1], rows.shape[1])
    table[:-1, :width] = rows[:, :width]
    for kind in problem.kinds[:-1]:
        knots, place = list(kind.knots), kind.layout.slices.get("dt")
        if place is not None:
            table[knots, place] = durations[knots, None]
    return motion_solution(problem, xs, us, solver="closed loop")
