"""Gaits planned with reduced models, and whole bodies that follow these plans."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from trajopt import gaits
from trajopt.analysis import legged_motion
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.gaits.plans import ReducedPlan
from trajopt.gaits.posing import foot_paths
from trajopt.gaits.reduced import without_impulses
from trajopt.plotting import plot_motion
from trajopt.solvers import SolverFDDP, SolverSQP

FEET = {
    "go2": ["FL_foot", "FR_foot", "RL_foot", "RR_foot"],
    "anymal": ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"],
}
GAITS = {"go2": gaits.quadruped_trot, "anymal": gaits.quadruped_walk}
MODELS = ("srbd", "centroidal")


@functools.cache
def gait_of(name: str) -> tuple[trajopt.Robot, gaits.ContactSchedule]:
    robot = trajopt.load_robot(name)
    return robot, GAITS[name](gaits.Stance.of(robot, FEET[name]), step_length=0.1, step_height=0.05)


@functools.cache
def planned(name: str, model: str) -> trajopt.Solution:
    robot, schedule = gait_of(name)
    problem = gaits.gait_problem(robot, schedule, model=model, limits=True)
    return SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", GAITS)
def test_the_whole_body_follows_the_plan(name: str, model: str) -> None:
    """Linear momentum within 5 % of its peak, RMS; 2 % are measured for the trot, and 1 % for the walk."""
    (robot, schedule), plan = gait_of(name), planned(name, model)
    assert plan.converged
    problem = gaits.gait_problem(robot, schedule, plan=plan)
    solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, schedule, plan=plan))
    assert solution.converged
    data, nq = robot.model.createData(), robot.nq
    found = [pin.computeCentroidalMomentum(robot.model, data, x[:nq], x[nq:]).linear.copy() for x in solution.xs]
    expected = ReducedPlan.of(plan, schedule).momentum[:, :3]
    timed = np.append(~schedule.touchdowns[:-1], True)
    error = np.linalg.norm(np.array(found) - expected, axis=1)[timed]
    assert np.sqrt(np.mean(error**2)) < 0.05 * np.linalg.norm(expected, axis=1).max()


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_that_of_its_forces(model: str) -> None:
    """Momentum at the end is the integral of weight and forces; cones hold, feet in the air have none; pictures."""
    (robot, schedule), plan = gait_of("go2"), planned("go2", model)
    own = without_impulses(schedule)
    assert plan.problem.T == own.T == schedule.T - schedule.touchdowns.sum()
    forces = np.array([plan.contact_forces()[foot] for foot in own.feet])
    active = own.active[:-1].T
    assert not forces[~active].any()
    assert (forces[active][:, 2] > 0).all()
    assert (np.abs(forces[active][:, :2]) <= 0.7 * forces[active][:, 2:] + 1e-6).all()
    momentum = ReducedPlan.of(plan, schedule).momentum
    weight = np.array([0.0, 0.0, -9.81 * pin.computeTotalMass(robot.model)])
    change = own.dt * (forces.sum(axis=0) + weight).sum(axis=0)
    np.testing.assert_allclose(momentum[-1, :3] - momentum[0, :3], change, atol=0.02 if model == "srbd" else 1e-9)
    motion = legged_motion(plan)
    assert motion.weight == pytest.approx(-weight[2])
    for i, foot in enumerate(motion.feet):
        np.testing.assert_array_equal(foot.stands, active[i])
        np.testing.assert_array_equal(foot.positions[:-1], foot_paths(own)[:-1, i, :, 3])
        np.testing.assert_array_equal(foot.mu[active[i]], 0.7)
    assert "friction: tangential at most" in str(plan.explain())


@pytest.mark.parametrize("model", MODELS)
def test_pictures_of_plans_have_the_feet_that_stand(model: str) -> None:
    plan = planned("go2", model)
    motion, axes = legged_motion(plan), plot_motion(plan, frames=3).axes[0]
    legs = [np.array(line.get_data_3d()).T for line in axes.get_lines() if line.get_label() == "_leg"]
    ends = {tuple(np.round(leg[1], 9)) for leg in legs if np.isfinite(leg).all()}
    knots = np.unique(np.round(np.linspace(0, len(plan.us), 3)).astype(int))
    standing = [(f, t) for f in motion.feet for t in knots if f.stands[min(t, len(f.stands) - 1)]]
    assert ends == {tuple(np.round(foot.positions[t], 9)) for foot, t in standing}
    assert len(legs) == 3 * len(motion.feet)


def test_the_guess_turns_the_base_as_planned() -> None:
    """Of a single rigid body that is turned by 0.1 rad about the vertical, with feet where they were."""
    (robot, schedule), plan = gait_of("go2"), planned("go2", "srbd")
    xs = plan.xs.copy()
    xs[:, 3:7] = [0.0, 0.0, np.sin(0.05), np.cos(0.05)]
    turned = dataclasses.replace(plan, xs=xs)
    problem = gaits.gait_problem(robot, schedule)
    guess, _ = gaits.gait_guess(problem, schedule, plan=turned)
    np.testing.assert_allclose(2.0 * np.arctan2(guess[2:, 5], guess[2:, 6]), 0.1, atol=0.02)
    planar = ReducedPlan.of(plan, schedule).com
    found = np.array([robot.com(x[: robot.nq]) for x in guess[1:]])
    np.testing.assert_allclose(found, planar[1:], atol=2e-3)


def test_soles_and_slippery_ground() -> None:
    """A biped's walk on two soles, with wrench cones that bind."""
    robot = trajopt.load_robot("small-biped")
    stance = gaits.Stance.of(robot, ["left_sole", "right_sole"], soles=True)
    schedule = gaits.biped_walk(stance, step_length=0.1, step_height=0.05)
    options = gaits.GaitOptions(mu=0.3)
    problem = gaits.gait_problem(robot, schedule, model="centroidal", limits=True, options=options)
    assert problem.nu == 12
    plan = SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule, "pendulum"))
    assert plan.converged
    assert max(float(np.max(rows)) for rows in plan.violations().values()) < 1e-6
    motion = legged_motion(plan)
    assert max(np.nanmax(foot.cone_use) for foot in motion.feet) <= 1.0 + 1e-6
    assert max(np.nanmax(foot.sole_use) for foot in motion.feet) > 0.9


def test_schedules_of_one_instance_share_code() -> None:
    robot, schedule = gait_of("go2")
    models = gaits.ReducedGaitModels(robot, schedule.start)
    problem = models.problem(schedule, timing=gaits.FreeTime(0.005, 1.0))
    assert problem.unknowns
    short = models.problem(schedule)
    longer = gaits.quadruped_trot(schedule.start, step_length=0.05, step_height=0.05)
    models.set_schedule(short, longer)
    assert short.schedule.end.feet["FR_foot"] == longer.end.feet["FR_foot"]
    with pytest.raises(InvalidArgumentError, match="schedule: expected as many knots as in the problem"):
        models.set_schedule(short, schedule.repeated(2))


@pytest.mark.parametrize("model", MODELS)
def test_a_robot_without_a_posture_is_planned_as_it_starts(model: str) -> None:
    robot, schedule = gait_of("go2")
    q0 = robot.configuration("standing")
    bare = pin.Model(robot.model)
    del bare.referenceConfigurations["standing"]
    nameless = trajopt.Robot(bare)
    assert not nameless.configurations
    with pytest.raises(InvalidArgumentError, match="no configuration standing or half_sitting"):
        gaits.gait_problem(nameless, schedule, model=model)
    problem = gaits.gait_problem(nameless, schedule, q0, model=model)
    known = gaits.gait_problem(robot, schedule, q0, model=model)
    np.testing.assert_array_equal(problem.x0, known.x0)
    us = known.quasi_static([known.x0] * known.T)
    np.testing.assert_allclose(problem.rollout(us), known.rollout(us), atol=1e-12)


def test_doors() -> None:
    robot, schedule = gait_of("go2")
    plan = planned("go2", "srbd")
    with pytest.raises(UnknownNameError, match="model 'slip' not found. Known: centroidal, srbd, whole-body"):
        gaits.gait_problem(robot, schedule, model="slip")
    with pytest.raises(InvalidArgumentError, match="plan: expected None with model='srbd'"):
        gaits.gait_problem(robot, schedule, model="srbd", plan=plan)
    with pytest.raises(InvalidArgumentError, match="plan: expected a solution of gait_problem"):
        gaits.gait_problem(robot, schedule, plan="plan")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="plan: expected 109 knots as those of the schedule"):
        gaits.gait_problem(robot, schedule.repeated(2), plan=plan)
    with pytest.raises(InvalidArgumentError, match="plan: expected a plan from models with follows=True alone"):
        gaits.GaitModels(robot, schedule.start).problem(schedule, plan=plan)
    whole = gaits.gait_problem(robot, schedule)
    with pytest.raises(InvalidArgumentError, match="kind, plan: expected one of them, got 'standing' and a plan"):
        gaits.gait_guess(whole, schedule, "standing", plan=plan)
    other = gaits.Stance.of(robot, FEET["go2"][::-1])
    with pytest.raises(InvalidArgumentError, match="schedule: expected the feet FL_foot.*got RR_foot"):
        gaits.ReducedGaitModels(robot, schedule.start).problem(gaits.quadruped_trot(other))
