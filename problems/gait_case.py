"""From a robot's name and a schedule to a ready problem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from trajopt.gaits import ContactSchedule, GaitModels, GaitOptions, Stance, gait_guess
from trajopt.legged_robots import legged_robot, standing
from trajopt.problems.case import ProblemCase
from trajopt.problems.legged_report import motion_report
from trajopt.robots import load_robot
from trajopt.solvers import FDDPOptions, SolverFDDP

CROCODDYL = "Crocoddyl 3.2.1, FDDP from standing"
OURS = "this library 0.1.0, FDDP"


@dataclass(frozen=True, kw_only=True)
class Known:
    """A known cost.

    Attributes:
        cost: The cost [cost].
        source: Where it comes from.
    """

    cost: float
    source: str = CROCODDYL


def gait_case(
    *,
    name: str,
    description: str,
    robot: str,
    schedule: Callable[[Stance], ContactSchedule],
    mu: float,
    inner: bool,
    known: Known | None,
    tolerance: float = 1e-9,
) -> ProblemCase:
    """A robot of `legged_robots` walks from standing still: Crocoddyl's costs, all knots standing as first guess.

    Args:
        name: Name of the family.
        description: What is to happen.
        robot: Name of the robot.
        schedule: Makes the gait from the stance.
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it.
        known: A known cost with the defaults.
        tolerance: Of the solver [cost].
    """
    legged, walker = legged_robot(robot), load_robot(robot)
    q0 = standing(walker, legged.feet, legged.configuration)
    stance = Stance.of(walker, legged.feet, q0, soles=legged.sole is not None)
    gait = schedule(stance)
    if legged.sole is None:
        options = GaitOptions(mu=mu, inner=inner)
    else:
        options = GaitOptions.soles(mu=mu, inner=inner, sole=legged.sole)
    models = GaitModels(walker, gait.start, options)
    problem = models.problem(gait, q0, posture=q0)
    xs, us = gait_guess(problem, gait)
    return ProblemCase(
        name=name,
        description=description,
        problem=problem,
        xs=xs,
        us=us,
        solver=SolverFDDP,
        options=FDDPOptions(max_iterations=200, tolerance=tolerance),
        reference_cost=None if known is None else known.cost,
        reference_source="" if known is None else known.source,
        report=functools.partial(motion_report, mu=mu),
    )
