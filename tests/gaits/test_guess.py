"""First guesses of gaits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from tests.support.gait_robots import FEET, SOLES, models_of, robot_of, stance_of
from trajopt import InvalidArgumentError, UnknownNameError, gaits
from trajopt.robots.legged import legged_robot
from trajopt.solvers import SolverSQP


def test_the_standing_guess_holds_the_robot_on_the_feet_that_stand() -> None:
    robot, schedule = robot_of("anymal"), gaits.quadruped_jump(stance_of("anymal"))
    problem = models_of("anymal").problem(schedule)
    xs, us = gaits.gait_guess(problem, schedule, "standing")
    assert np.all(xs == problem.x0)
    model, data = robot.model, robot.model.createData()
    q = problem.x0[: robot.nq]
    gravity = pin.rnea(model, data, q, np.zeros(robot.nv), np.zeros(robot.nv))
    for t in np.flatnonzero(~schedule.touchdowns[:-1]):
        feet = [robot.frame_id(foot) for foot, on in zip(FEET["anymal"], schedule.active[t]) if on]
        jacobians = [pin.computeFrameJacobian(model, data, q, i, pin.LOCAL_WORLD_ALIGNED)[:3].T for i in feet]
        columns = np.hstack([np.eye(robot.nv)[:, 6:], *jacobians])
        np.testing.assert_allclose(us[t], (np.linalg.pinv(columns) @ gravity)[:12], atol=1e-9)


@pytest.mark.parametrize("kind", ["references", "pendulum"])
@pytest.mark.parametrize("robot", ["anymal", "talos_legs"])
def test_moving_guesses_put_feet_and_centre_of_mass_where_they_are_to_be(robot: str, kind: str) -> None:
    walk = gaits.biped_walk if robot in SOLES else gaits.quadruped_walk
    schedule = walk(stance_of(robot), step_length=0.15, step_height=0.05)
    problem = models_of(robot).problem(schedule)
    xs, us = gaits.gait_guess(problem, schedule, kind)
    model, data = robot_of(robot).model, robot_of(robot).model.createData()
    plan = gaits.pendulum_plan(schedule, pin.centerOfMass(model, data, xs[0, : model.nq])).com
    np.testing.assert_array_equal(xs[0], problem.x0)
    for t in range(3, schedule.T + 1):
        reached = gaits.Stance.of(robot_of(robot), FEET[robot], xs[t], soles=robot in SOLES)
        for i, foot in enumerate(FEET[robot]):
            reference = schedule.foot_references[t, i, :, 3]
            if np.isnan(reference[0]):
                reference = schedule.stances[schedule.phase_of_knot[t]].feet[foot].position
            np.testing.assert_allclose(reached.feet[foot].position, reference, atol=2e-3)
        com = plan[t] if kind == "pendulum" else schedule.com_references[t]
        if not np.isnan(com[0]):
            np.testing.assert_allclose(reached.com, com, atol=2e-3)
    q, v = xs[5, : model.nq], xs[6, model.nq :]
    np.testing.assert_allclose(pin.integrate(model, q, v * schedule.dt), xs[6, : model.nq], atol=1e-12)
    assert np.all(np.isfinite(us))


def test_guesses_that_cannot_be_are_refused() -> None:
    schedule = gaits.quadruped_jump(stance_of("anymal"), flight="crocoddyl")
    problem = models_of("anymal").problem(schedule)
    np.testing.assert_array_equal(gaits.gait_guess(problem, schedule)[0], np.tile(problem.x0, (problem.T + 1, 1)))
    with pytest.raises(InvalidArgumentError, match="problem: expected a ShootingProblem, got ContactSchedule"):
        gaits.gait_guess(schedule, problem)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="schedule: expected a ContactSchedule, got NoneType"):
        gaits.gait_guess(problem, None)  # type: ignore[arg-type]
    for kind in ("references", "pendulum"):
        with pytest.raises(
            InvalidArgumentError, match="leave the ground without a path|got 'up' with all feet in the air"
        ):
            gaits.gait_guess(problem, schedule, kind)
    with pytest.raises(UnknownNameError, match="kind: 'lip' not found"):
        gaits.gait_guess(problem, schedule, "lip")
    with pytest.raises(InvalidArgumentError, match="the problem's T = 160, got T = 108"):
        gaits.gait_guess(problem, gaits.quadruped_walk(stance_of("anymal")))


def bound(robot: str, length: float) -> gaits.ContactSchedule:
    """A bound with two flights in each of two cycles: front and hind feet, each in the air for several phases."""
    stance = gaits.Stance.of(robot_of(robot), legged_robot(robot).feet)
    front, hind = stance.names[:2], stance.names[2:]

    def landing(feet: tuple[str, ...], n: int, earlier: int) -> tuple[gaits.Swing, ...]:
        places = {foot: np.add(stance.feet[foot].position, [n * length, 0.0, 0.0]) for foot in feet}
        return tuple(gaits.Swing(foot, place, height=0.04, earlier=earlier) for foot, place in places.items())

    def phase(name: str, knots: int, along: float, **feet: Any) -> gaits.Phase:
        return gaits.Phase(name=name, knots=knots, com=np.add(stance.com, [along * length, 0.0, 0.0]), **feet)

    phases = [phase("stand", 20, 0.0, stance=front + hind)]
    for n, last in enumerate((False, True)):
        phases += [
            phase(f"hind {n}", 8, n + 0.33, stance=hind, free=front),
            phase(f"flight {n}", 5, n + 0.5, free=hind, swings=landing(front, n + 1, 2 if n else 1)),
            phase(f"front {n}", 8, n + 0.83, stance=front, free=hind),
            phase(f"landing {n}", 5, n + 1.0, free=() if last else front,
                  swings=landing(hind, n + 1, 2) + (landing(front, 2, 0) if last else ())),
        ]  # fmt: skip
    phases += [phase("end", 30, 2.0, stance=front + hind)]
    return gaits.ContactSchedule(start=stance, phases=tuple(phases), dt=0.01)


def test_feet_in_a_flight_follow_the_swings_that_began_before() -> None:
    """Also those that a phase lists as free; so the guess of a bound moves, and does not stand."""
    schedule = bound("solo12", 0.2)
    problem = gaits.gait_problem(robot_of("solo12"), schedule)
    xs, _ = gaits.gait_guess(problem, schedule)
    assert xs[-1, 0] - xs[0, 0] == pytest.approx(0.4, abs=5e-3)
    airborne = np.flatnonzero(~schedule.active.any(axis=1))
    assert len(airborne) == 4 * 5
    for t in airborne:
        reached = gaits.Stance.of(robot_of("solo12"), schedule.feet, xs[t])
        for i, foot in enumerate(schedule.feet):
            np.testing.assert_allclose(reached.feet[foot].position, schedule.foot_references[t, i, :, 3], atol=3e-3)


@pytest.mark.slow
def test_a_bound_within_limits_converges_from_its_guess() -> None:
    """From a robot that stands still, Solo12 takes 72 iterations to the same motion."""
    schedule, options = bound("solo12", 0.2), gaits.GaitOptions(integrator="rk4", foot=2e8)
    problem = gaits.gait_problem(robot_of("solo12"), schedule, options=options, limits=True)
    solution = SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))
    assert solution.converged
    assert solution.iterations < 30
