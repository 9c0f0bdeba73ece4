"""Gaits with hard limits, checked by Pinocchio alone: forces, torques, velocities, positions, standing feet."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import trajopt
from tests.support.limits_physics import excess_of, excess_of_case
from trajopt import gaits, problems
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverSQP

FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")
NAMES = ("positions", "velocities", "torques")


COSTS = {
    ("quadruped-trot", "small-quadruped"): 125.335635,
    ("quadruped-walk", "small-quadruped"): 152.655363,
    ("quadruped-jump", "small-quadruped"): 518.549707,
    ("quadruped-pace", "go2"): 390.482939,
    ("quadruped-bound", "go2"): 636.496886,
    ("quadruped-walk", "solo12"): 208.316486,
    ("quadruped-trot", "anymal"): 214.93224,
    ("biped-walk", "small-biped"): 243.545756,
    ("biped-jump", "small-biped"): 218.013553,
    ("biped-jump", "talos_legs"): 109.489321,
}


def check_limits(case: problems.ProblemCase, solution: Solution, robot: str) -> None:
    """Cones to 1e-6 of the weight, limits of joints to 1e-6, feet that stand to 1 mm; forces explain the motion."""
    excess = excess_of_case(case, solution, robot)
    assert excess.failures() == [], excess


LIMITED = [*COSTS, ("quadruped-pace", "small-quadruped"), ("quadruped-bound", "small-quadruped")]
"""Every gait on a small robot, and each way in which robots differ: names of legs, knees, masses, soles."""


@pytest.mark.parametrize(("name", "robot"), LIMITED)
def test_limits_hold(name: str, robot: str) -> None:
    """The table of the benchmarks has the other robots."""
    case = problems.load(name, robot, limits=True)
    assert case.solver is SolverSQP
    solution = case.solve()
    assert solution.converged
    assert solution.iterations <= 20
    if (name, robot) in COSTS:
        assert solution.cost == pytest.approx(COSTS[name, robot], rel=1e-6)
    check_limits(case, solution, robot)


@pytest.mark.slow
def test_a_circle_of_the_centre_of_mass_is_within_its_cones() -> None:
    case = problems.load("com-circle")
    solution = case.solve()
    assert solution.converged
    check_limits(case, solution, "solo12")


@pytest.mark.parametrize("robot", ["small-biped", "talos_legs"])
def test_limits_bind_where_a_biped_jumps(robot: str) -> None:
    """So they are what the jump is slowed down to: without them some joint is too fast, or a motor too weak."""
    case = problems.load("biped-jump", robot)
    solution = case.solve()
    excess = excess_of_case(case, solution, robot)
    assert max(excess.velocity, excess.torque) > 0.1
    with pytest.raises(
        InvalidArgumentError, match="crouch: expected a distance by which .* can lower its centre of mass"
    ):
        problems.load("biped-jump", robot, crouch=0.6)


@pytest.fixture(scope="module")
def robot() -> trajopt.Robot:
    return trajopt.load_robot("small-quadruped")


@pytest.fixture(scope="module")
def stance(robot: trajopt.Robot) -> gaits.Stance:
    return gaits.Stance.of(robot, FEET)


@pytest.fixture(scope="module")
def trot(stance: gaits.Stance) -> gaits.ContactSchedule:
    return gaits.quadruped_trot(stance, step_length=0.1, step_height=0.05)


@pytest.fixture(scope="module")
def limited(robot: trajopt.Robot, trot: gaits.ContactSchedule) -> ShootingProblem:
    return gaits.gait_problem(robot, trot, limits=True)


def test_without_limits_forces_leave_their_cones(
    robot: trajopt.Robot, trot: gaits.ContactSchedule, limited: ShootingProblem
) -> None:
    """So the limits are no idle ones: the same gait as a cost alone."""
    free = gaits.gait_problem(robot, trot)
    assert free.constraint_names == ()
    solution = SolverFDDP(free).solve(*gaits.gait_guess(free, trot))
    excess = excess_of(robot, trot, solution, 0.7, None)
    assert max(excess.friction, excess.pull) > 1e-6


def test_torques_that_bind(robot: trajopt.Robot, trot: gaits.ContactSchedule, limited: ShootingProblem) -> None:
    """Motors with 0.9 of the largest torque of the trot: it is done with what they have."""
    case = problems.load("quadruped-trot", "small-quadruped", limits=True)
    problem = case.problem
    strong = SolverSQP(problem).solve(case.xs, case.us)
    largest = np.abs(strong.us).max()
    for side, sign in (("lower", -1.0), ("upper", 1.0)):
        problem.set_parameter(f"torques.{side}", np.full(12, sign * 0.9 * largest), "all")
    weak = SolverSQP(problem).solve(strong.xs, strong.us)
    assert weak.converged
    assert np.abs(weak.us).max() == pytest.approx(0.9 * largest, abs=1e-6)
    assert weak.cost > strong.cost
    check_limits(case, weak, "small-quadruped")


def test_rows_of_feet_in_the_air_are_off(trot: gaits.ContactSchedule, limited: ShootingProblem) -> None:
    for i, foot in enumerate(FEET):
        for t in range(trot.T):
            lower = limited.get_parameter(f"{foot}_force.lower", t)
            upper = limited.get_parameter(f"{foot}_force.upper", t)
            on = bool(trot.active[t, i])
            np.testing.assert_array_equal(upper, [*[0.0 if on else np.inf] * 4, np.inf])
            np.testing.assert_array_equal(lower, [*[-np.inf] * 4, 0.0 if on else -np.inf])


def test_each_limit_can_be_left_out(robot: trajopt.Robot, trot: gaits.ContactSchedule) -> None:
    cones = tuple(f"{foot}_force" for foot in FEET)
    every = (*NAMES, *cones)
    assert gaits.gait_problem(robot, trot, limits=True).constraint_names == every
    assert gaits.gait_problem(robot, trot, limits=gaits.GaitLimits.none()).constraint_names == ()
    for field, gone in (("cones", cones), *((name, (name,)) for name in NAMES)):
        limits = dataclasses.replace(gaits.GaitLimits(), **{field: False})
        assert gaits.gait_problem(robot, trot, limits=limits).constraint_names == tuple(
            name for name in every if name not in gone
        )
    problem = gaits.gait_problem(robot, trot, limits=gaits.GaitLimits(cones=False, velocities=False, torques=False))
    assert problem.constraint_names == ("positions",)
    assert problem.terminal.constraints.names == ("positions",)
    assert problem.running[trot.touchdowns.argmax()].constraints.names == ("positions",)


def test_another_schedule_moves_the_limits(
    robot: trajopt.Robot, stance: gaits.Stance, trot: gaits.ContactSchedule
) -> None:
    models = gaits.GaitModels(robot, stance, limits=True)
    problem = models.problem(trot)
    left = trot.active[:-1, 0].argmin()
    assert problem.get_parameter("lf_foot_force.lower", int(left))[-1] == -np.inf
    other = gaits.quadruped_com_shift(stance, knots=trot.T // 2)
    standing = models.problem(other)
    assert {float(standing.get_parameter("lf_foot_force.lower", t)[-1]) for t in range(other.T)} == {0.0}


def test_bad_limits_are_refused(robot: trajopt.Robot, trot: gaits.ContactSchedule) -> None:
    for bad in ("yes", 1, None, [True]):
        with pytest.raises(InvalidArgumentError, match="limits: expected True, False or GaitLimits"):
            gaits.gait_problem(robot, trot, limits=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="torques"):
        gaits.GaitLimits(torques="yes")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="can't enforce constraints.*SolverSQP"):
        SolverFDDP(gaits.gait_problem(robot, trot, limits=True))
    with pytest.raises(InvalidArgumentError, match="limits"):
        problems.load("quadruped-trot", "small-quadruped", limits="yes")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small-quadruped", "small-biped"])
def test_a_gait_ends_at_rest(name: str) -> None:
    kind = "quadruped-trot" if name == "small-quadruped" else "biped-walk"
    schedule = problems.load(kind, name).problem.schedule
    assert schedule is not None
    limits = gaits.GaitLimits(rest=True)
    robot = trajopt.load_robot(name)
    ends = []
    for each in (gaits.GaitLimits(), limits):
        problem = gaits.gait_problem(robot, schedule, limits=each)
        solution = SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))
        assert solution.converged
        ends.append(np.abs(solution.xs[-1, robot.nq :]).max())
    assert np.abs(solution.xs[-1, robot.nq : robot.nq + 6]).max() < 1e-6
    assert ends[1] < 0.005 < 0.05 < ends[0]  # feet on the ground move by the error of their contacts


@pytest.mark.slow
def test_constraints_of_ones_own_hold_at_the_knots_that_are_chosen() -> None:
    """The base stays below 98 % of its height in the first swing; without, it does not."""
    name = "small-quadruped"
    schedule = problems.load("quadruped-trot", name).problem.schedule
    assert schedule is not None
    robot = trajopt.load_robot(name)
    state = trajopt.StateMultibody(robot)
    height = trajopt.ResidualModelSymbolic(state, lambda x: x[2], unit="m")
    low = trajopt.ConstraintStack(state).add("low", height, upper=np.inf)
    problem = gaits.gait_problem(robot, schedule, constraints=low, limits=True)
    swing = [t for t in range(schedule.T) if not schedule.active[t].all() and not schedule.touchdowns[t]][:20]
    free = SolverSQP(problem).solve(*gaits.gait_guess(problem, schedule))
    most = 0.98 * free.xs[0, 2]
    assert free.xs[swing, 2].min() > most
    problem.set_parameter("low.upper", most, swing[5:])
    kept = SolverSQP(problem).solve(free)
    assert kept.converged
    assert kept.xs[swing[5:], 2].max() < most + 1e-8
    with pytest.raises(InvalidArgumentError, match="constraints: expected None with model='srbd'"):
        gaits.gait_problem(robot, schedule, constraints=low, model="srbd")
    with pytest.raises(InvalidArgumentError, match="constraints: expected a ConstraintStack on StateMultibody"):
        gaits.gait_problem(robot, schedule, constraints=trajopt.ConstraintStack(trajopt.StateVector(2)))


@pytest.mark.slow
def test_limits_hold_between_knots_with_rows_at_stages() -> None:
    """A fast trot slides and turns its knees too fast between knots; explain() names the option that prevents it."""
    robot = trajopt.load_robot("small-quadruped")
    stance = gaits.Stance.of(robot, FEET)
    trot = gaits.quadruped_trot(stance, step_length=0.4, step_height=0.05, step_knots=8, dt=0.02)
    options = gaits.GaitOptions(integrator="rk4", mu=0.3)
    solutions = []
    for each in (options, dataclasses.replace(options, rows="stages")):
        problem = gaits.gait_problem(robot, trot, options=each, limits=True)
        solutions.append(SolverSQP(problem).solve(*gaits.gait_guess(problem, trot)))
    knots, stages = solutions
    assert knots.converged
    assert stages.converged
    assert {each.name for each in knots.description.between} >= {"velocities"}
    assert 'rows="stages" of the integrator (of a gait: of GaitOptions)' in knots.explain()
    assert stages.description.between == ()
