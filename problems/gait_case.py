"""From a robot's name and a schedule to a ready problem."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from trajopt.analysis import motion_report
from trajopt.gaits import ContactSchedule, GaitModels, GaitOptions, Stance, gait_guess, holding_gains
from trajopt.problems.case import ProblemCase
from trajopt.problems.gait_tables import Leap, Steps
from trajopt.robots import configuration_on_ground, legged_robot, load_robot
from trajopt.solvers import FDDPOptions, SolverFDDP

# What joint velocities of our own bipeds count for [s/rad]. With Crocoddyl's 10, soles rise a fifth to a third of what
# they are asked for; with 3, seven to eight tenths; with 1, all of it, but Talos' walk takes 82 iterations, not 33.
LIFTING = 3.0


def gait_case(
    *,
    name: str,
    description: str,
    robot: str,
    schedule: Callable[[Stance], ContactSchedule],
    mu: float,
    inner: bool,
    cone: float,
    known: Steps | Leap,
    tolerance: float = 1e-9,
) -> ProblemCase:
    """A robot of `legged_robots` starts standing still: Crocoddyl's costs, all knots standing as first guess.

    Args:
        name: Name of the family.
        description: What is to happen.
        robot: Name of the robot.
        schedule: Makes the gait from the stance.
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it.
        cone: Weight of a force outside of the pyramid [cost/N²].
        known: Says how feet are held (what is not Crocoddyl's lifts soles higher too), and what the defaults cost.
        tolerance: Of the solver [cost].
    """
    legged, walker = legged_robot(robot), load_robot(robot)
    q0 = configuration_on_ground(walker, legged.feet, legged.configuration)
    gait = schedule(Stance.of(walker, legged.feet, q0, soles=legged.sole is not None))
    options = GaitOptions() if legged.sole is None else GaitOptions.soles(sole=legged.sole)
    options = dataclasses.replace(options, mu=mu, inner=inner, cone=cone)
    if known.hold:
        options = dataclasses.replace(options, gains=holding_gains(gait.dt))
    if known.hold and legged.sole is not None:
        weights = dataclasses.replace(options.state_weights, joint_velocities=LIFTING)
        options = dataclasses.replace(options, state_weights=weights)
    problem = GaitModels(walker, gait.start, options).problem(gait, q0, posture=q0)
    xs, us = gait_guess(problem, gait)
    return ProblemCase(
        name=name,
        description=description,
        problem=problem,
        xs=xs,
        us=us,
        solver=SolverFDDP,
        options=FDDPOptions(max_iterations=200, tolerance=tolerance),
        reference_cost=known.cost,
        reference_source=known.source if known.cost is not None else "",
        report=functools.partial(motion_report, mu=mu),
    )
