"""Friction between knots: judged by the cone, which the default pyramid lies within."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import gaits
from trajopt.analysis import resample
from trajopt.robots.legged import LEGGED_ROBOTS
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution

KNOT, FOOT, SPEED = 1, "lf_foot", 0.5  # [-], -, [m/s]


@functools.cache
def standing() -> ShootingProblem:
    """The small quadruped on four feet for five steps of 20 ms, with friction rows."""
    robot, feet = trajopt.load_robot("small-quadruped"), LEGGED_ROBOTS["small-quadruped"].feet
    stance = gaits.Stance.of(robot, feet)
    schedule = gaits.ContactSchedule(start=stance, phases=gaits.Phase(name="stand", knots=6, stance=feet), dt=0.02)
    cones = gaits.GaitLimits(torques=False, velocities=False, positions=False)
    return gaits.gait_problem(robot, schedule, limits=cones)


def pushed(mu: float) -> Solution:
    """Its base begins with a speed, torques are those that hold it; one foot has a friction coefficient at one knot."""
    problem = standing()
    problem.set_parameter(f"{FOOT}_force.mu", 0.7)
    problem.set_parameter(f"{FOOT}_force.mu", mu, knots=KNOT)
    assert problem.schedule is not None
    xs, us = gaits.gait_guess(problem, problem.schedule)
    xs[0, problem.state.nq] = SPEED
    for t in range(problem.T):
        xs[t + 1] = problem.calc(xs, us).xnext[t]
    return solution_of(problem, xs, us)


def use(solution: Solution) -> tuple[float, float, float]:
    """|f_t|, |f_x| [N] and f_z [N] at the end of the step after the knot, where they are largest."""
    force = resample(solution, dt=0.02 / 32).contact_forces()[FOOT][32 * KNOT + 31]
    return float(np.hypot(*force[:2])), abs(float(force[0])), float(force[2])


def test_a_force_between_the_pyramid_and_its_cone_is_not_reported() -> None:
    solution = pushed(0.055)
    tangential, ahead, normal = use(solution)
    assert ahead > 1.1 * np.cos(np.pi / 4) * 0.055 * normal  # beyond the pyramid
    assert tangential < 0.055 * normal
    assert solution.description.between == ()


def test_a_force_beyond_the_cone_is_reported_with_its_excess() -> None:
    solution = pushed(0.04)
    tangential, _, normal = use(solution)
    (found,) = solution.description.between
    assert (found.name, found.row, found.knot) == (f"{FOOT}_force", "friction +x", KNOT)
    assert found.excess == pytest.approx(tangential - 0.04 * normal, abs=0.03)
