"""Motions of a plan by SolverSQP: limits, distances between knots by a formula of their own, jerks, costs."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.planning.test_plan import GOAL, LIMITS, MARGIN, START, Reals, arm, around, gaps, scene
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.planning import PlanStatus, plan

DT = 0.05  # [s]


@functools.cache
def optimised() -> trajopt.Solution:
    return around().optimise(DT)


def between(solution: trajopt.Solution, parts: int = 50) -> Reals:
    """Configurations at knots and between them."""
    q = solution.xs[:, : arm().nq]
    steps = np.arange(1, parts + 1)[:, None] / parts
    return np.concatenate([q[:1], (q[:-1, None] + steps * np.diff(q, axis=0)[:, None]).reshape(-1, arm().nq)])


def jerks(solution: trajopt.Solution) -> Reals:
    """Differences of accelerations, with the rest before and after."""
    rest = np.zeros((1, arm().nv))
    return np.diff(np.concatenate([rest, solution.us, rest]), axis=0) / solution.times[1]


@pytest.mark.slow
def test_the_motion_keeps_its_ends_its_duration_and_all_limits() -> None:
    solution, motion = optimised(), around().motion
    assert solution.converged
    assert motion is not None
    assert solution.times[-1] == pytest.approx(motion.duration + solution.times[1])
    assert solution.times[1] <= DT
    np.testing.assert_allclose(solution.xs[[0, -1]], [[*START, 0, 0, 0], [*GOAL, 0, 0, 0]], atol=1e-8)
    velocities = np.diff(solution.xs[:, :3], axis=0) / solution.times[1]
    for values, name in ((velocities, "velocity"), (solution.us, "acceleration"), (jerks(solution), "jerk")):
        assert np.abs(values).max() <= LIMITS[name] * (1 + 1e-6), name
    np.testing.assert_allclose(solution.us, np.diff(solution.xs[:, 3:], axis=0) / solution.times[1], atol=1e-6)


def test_positions_velocities_and_accelerations_agree_between_knots() -> None:
    """Positions in Euler steps change their speed at each knot: at 500 Hz that is twice their acceleration."""
    solution = optimised()
    fine = trajopt.analysis.resample(solution, 2e-3, uniform=True)
    q, v = fine.xs[:-1, :3], fine.xs[:-1, 3:]
    accelerations = np.diff(q, 2, axis=0) / 2e-3**2
    assert np.abs(accelerations).max() <= np.abs(solution.us).max() * (1 + 1e-3)
    np.testing.assert_allclose((q[2:] - q[:-2]) / 4e-3, v[1:-1], atol=5e-3)


def test_distances_keep_the_margin_between_knots_where_those_of_the_knots_alone_do_not() -> None:
    assert gaps(between(optimised())).min() > MARGIN - 1e-5
    assert optimised().problem.get_parameter("collisions.lower").max() > MARGIN + 1e-5
    coarse = around().optimise(0.15)  # at 0.18 and more the solver runs out of iterations, with any distance
    assert coarse.converged
    assert gaps(between(coarse)).min() > MARGIN - 1e-4


def test_accelerations_are_smaller_than_those_of_the_plan_at_equal_times() -> None:
    motion = around().motion
    assert motion is not None
    before = np.diff(motion.at(optimised().times)[1], axis=0) / optimised().times[1]
    assert np.square(optimised().us).sum() < 0.9 * np.square(before).sum()


@pytest.mark.slow
def test_torques_are_within_limits_that_the_plan_was_given() -> None:
    free, weak = (plan(arm(), START, GOAL, scene(), torque=most, acceleration=30.0) for most in (100.0, 14.0))
    largest = [np.abs(_torques(each.optimise(DT))).max() for each in (free, weak)]
    assert largest[1] <= 14.0 * (1 + 1e-6) < largest[0]


def _torques(solution: trajopt.Solution) -> Reals:
    model = arm().model
    data = model.createData()
    return np.array([pin.rnea(model, data, *e) for e in zip(solution.xs[:-1, :3], solution.xs[:-1, 3:], solution.us)])


def test_wrong_calls() -> None:
    with pytest.raises(InvalidArgumentError, match=r"dt: expected a .*> 0"):
        around().optimise(0.0)
    with pytest.raises(InvalidArgumentError, match="dt: number of knots: expected an integer <= 10000"):
        around().optimise(1e-9)
    none = dataclasses.replace(around(), motion=None, status=PlanStatus.NO_PATH)
    with pytest.raises(UnsupportedOperationError, match="no motion"):
        none.optimise()


@pytest.mark.parametrize("dt", [0.02, 0.05])
@pytest.mark.parametrize("limits", [{"velocity": 1.0}, {"velocity": 5.0}], ids=["cruises", "turns round"])
def test_a_motion_at_its_limits_all_the_time_can_be_optimised(limits: dict[str, float], dt: float) -> None:
    """One joint turns with the largest acceleration, then brakes: no constant accelerations in steps are as fast."""
    goal = START + np.array([0.7, 0.0, 0.0])
    found = plan(arm(), START, goal, acceleration=4.0, **limits)
    solution = found.optimise(dt)
    assert found.motion is not None
    assert solution.converged, solution.explain()
    assert max(float(rows.max()) for rows in solution.violations().values()) < 1e-6
    assert solution.times[-1] <= found.motion.duration + dt
    np.testing.assert_allclose(solution.xs[-1], [*goal, 0, 0, 0], atol=1e-8)
    assert np.abs(solution.us).max() <= 4.0 + 1e-6
    assert np.abs(solution.xs[:, 3:]).max() <= limits["velocity"] + 1e-6
