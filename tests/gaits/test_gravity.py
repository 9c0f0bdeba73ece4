"""Gaits on the Moon: times and forces follow the robot's gravity."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.gait_robots import FEET
from trajopt import gaits
from trajopt.robots import Robot

MOON, HEIGHT = 1.62, 0.3  # [m/s²], [m]


@functools.cache
def on_the_moon() -> tuple[Robot, gaits.Stance]:
    """Go2 in the gravity of the Moon, and its stance."""
    model = trajopt.load_robot("go2").model.copy()
    model.gravity.linear = np.array([0.0, 0.0, -MOON])
    robot = trajopt.Robot(model, name="go2")
    return robot, gaits.Stance.of(robot, FEET["go2"], trajopt.load_robot("go2").configuration("standing"))


def test_the_weight_is_that_of_the_gravity() -> None:
    robot, stance = on_the_moon()
    mass = pin.computeTotalMass(robot.model)
    assert robot.gravity == stance.gravity == MOON
    assert robot.weight == pytest.approx(MOON * mass)
    with pytest.raises(trajopt.InvalidArgumentError, match="gravity"):
        gaits.Stance(stance.feet, gravity=0.0)


@pytest.mark.parametrize("length", [(0.1, 0.0, 0.0), (0.1, 0.0, 0.1)])
def test_a_jump_flies_as_long_as_gravity_takes(length: tuple[float, float, float]) -> None:
    _, stance = on_the_moon()
    schedule = gaits.quadruped_jump(stance, jump_height=HEIGHT, jump_length=length, dt=1e-2, ground_knots=80)
    parts = [schedule, schedule.after(schedule)]
    if length[2] == 0.0:
        parts.append(schedule.on(gaits.Terrain.stairs(1, rise=0.05, depth=1.0, start=5.0)))
    for part in parts:
        flight = next(phase for phase in part.phases if not phase.stance)
        assert abs(flight.knots * part.dt - np.sqrt(8 * HEIGHT / MOON)) <= part.dt / 2
        timed = ~part.touchdowns
        air = np.flatnonzero(~part.active[timed].any(axis=1))
        acceleration = np.diff(part.com_references[timed], 2, axis=0) / part.dt**2
        np.testing.assert_allclose(acceleration[air[1] : air[flight.knots - 3], 2], -MOON, atol=1e-6)


def test_a_pendulum_falls_as_slowly() -> None:
    _, stance = on_the_moon()
    schedule = gaits.quadruped_walk(stance)
    plan = gaits.pendulum_plan(schedule, com=[0.01, 0.0, 0.3])
    heights = 0.3 - np.mean([foot.position[2] for foot in stance.feet.values()])
    first = np.flatnonzero(schedule.phase_of_knot == 0)
    offset = plan.com[first, 0] - plan.support[first, 0]
    rate = np.sqrt(MOON / heights)
    turned = offset[0] * np.cosh(rate * schedule.times[first]) + plan.velocity[0, 0] / rate * np.sinh(
        rate * schedule.times[first]
    )
    np.testing.assert_allclose(offset, turned, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["srbd", "centroidal"])
def test_reduced_models_stand_with_the_weight(model: str) -> None:
    robot, stance = on_the_moon()
    schedule = gaits.ContactSchedule(
        start=stance, phases=(gaits.Phase(name="stand", knots=10, stance=stance.names),), dt=0.02
    )
    problem = gaits.gait_problem(robot, schedule, model=model)
    solution = trajopt.solvers.SolverFDDP(problem).solve()
    assert solution.converged
    vertical = np.array(solution.us).reshape(len(solution.us), 4, 3)[:, :, 2].sum(axis=1)
    np.testing.assert_allclose(vertical, robot.weight, rtol=0.02)


@pytest.mark.slow
def test_the_whole_body_rises_as_high_as_asked() -> None:
    robot, stance = on_the_moon()
    schedule = gaits.quadruped_jump(stance, jump_height=HEIGHT, dt=2e-2, ground_knots=40)
    q = trajopt.load_robot("go2").configuration("standing")
    problem = gaits.gait_problem(robot, schedule, x0=np.r_[q, np.zeros(robot.nv)])
    solution = trajopt.solvers.SolverFDDP(problem, trajopt.solvers.FDDPOptions(max_iterations=200)).solve()
    assert solution.converged
    heights = [pin.centerOfMass(robot.model, robot.model.createData(), x[: robot.nq])[2] for x in solution.xs]
    assert max(heights) - heights[0] == pytest.approx(HEIGHT, rel=0.1)
