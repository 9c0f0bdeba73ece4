"""Conversion of a closed loop to a Solution, for reports and plots of trajectories."""

from __future__ import annotations

from collections.abc import Sequence

from trajopt.actions.base import ActionModelAbstract
from trajopt.costs.cost_stack import CostStack
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import Solution, motion_solution
from trajopt.types import Reals


def motion_of(models: Sequence[ActionModelAbstract], rows: Reals, durations: Reals, xs: Reals, us: Reals) -> Solution:
    """Returns a closed loop as a Solution whose knots have their own models and parameters, and no terminal cost.

    The plant's motion has gaps with respect to the controller's model, so it does not solve the problem.

    Args:
        models: Model of each knot (T,).
        rows: Parameter values of each knot, in the order of its layout (T, largest number of parameters).
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
    before, end = next(kind for kind in problem.kinds[:-1] if len(models) - 1 in kind.knots), problem.kinds[-1]
    for name in before.layout.slices.keys() & end.layout.slices.keys():  # those of the robot
        table[-1, end.layout.slices[name]] = table[-2, before.layout.slices[name]]
    return motion_solution(problem, xs, us, solver="closed loop")
