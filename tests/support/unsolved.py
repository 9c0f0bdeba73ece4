"""Solutions that no solver made, so that nothing has to be compiled for a solve: motions along references."""

from __future__ import annotations

import functools

import numpy as np

import trajopt
from trajopt import gaits, problems
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.types import Reals


def solution_of(
    problem: ShootingProblem, xs: Reals, us: Reals, status: SolverStatus = SolverStatus.MAX_ITERATIONS
) -> Solution:
    """A solution with this trajectory."""
    return Solution(
        xs=xs, us=us, cost=1.0, status=status, iterations=3, history=(), solver="SolverFDDP",
        seconds=0.1, x0=xs[0], problem=problem, parameters=problem.parameter_values(),
    )  # fmt: skip


@functools.cache
def trot() -> Solution:
    """The small quadruped trots along its references."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, LEGGED_ROBOTS["small-quadruped"].feet)
    schedule = gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05, step_knots=5, final_knots=2)
    problem = gaits.gait_problem(robot, schedule)
    return solution_of(problem, *gaits.gait_guess(problem, schedule, "references"))


@functools.cache
def arm() -> Solution:
    """The planar arm of three joints, anywhere."""
    problem = problems.load("arm-reach", robot="planar-3r").problem
    rng = np.random.default_rng(0)
    xs = np.cumsum(rng.normal(0.0, 0.05, (problem.T + 1, problem.state.nx)), axis=0)
    return solution_of(problem, xs, rng.normal(size=(problem.T, problem.nu)))


@functools.cache
def pendulum() -> Solution:
    """The pendulum, solved."""
    return solved("pendulum")


@functools.cache
def solved(name: str) -> Solution:
    """A ready problem, solved."""
    case = problems.load(name)
    return case.solve()
