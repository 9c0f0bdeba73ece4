"""Ready problems through the simulator: contacts are found, motions are replayed in smaller steps, physics is right."""

from __future__ import annotations

import copy
import dataclasses
import functools
import re
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from trajopt import problems
from trajopt.analysis import replay
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_summary
from trajopt.plotting.legged_summary import heading
from trajopt.problems import hopper, walk_freely
from trajopt.robots import legged_robot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import ActionModelSimulator, Simulator
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP, SolverSQP, SQPOptions, continuation

GRAVITY = 9.81
MOST = {"block-on-incline": 50, "cart-push": 180, "hopper": 80, "puck": 60, "stand-up": 50}  # iterations
FLOORS = ("table", "floor_rear", "floor_ahead")


@functools.cache
def case_of(name: str, **options: Any) -> problems.ProblemCase:
    return problems.load(name, **options)


@functools.cache
def solution_of(name: str, **options: Any) -> Solution:
    case = case_of(name, **options)
    return case.solve()


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_simulated_problems_converge_to_their_reference_cost(name: str) -> None:
    case, solution = case_of(name), solution_of(name)
    assert solution.converged
    assert solution.iterations <= MOST[name]
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-6)
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", MOST)
def test_simulated_problems_have_a_report_and_a_description(name: str) -> None:
    case, info = case_of(name), problems.describe(name)
    words = case.report(solution_of(name))
    assert words
    assert all(key and value and "nan" not in value for key, value in words.items())
    assert set(info.meanings) == set(info.options)
    assert case.reference_source


@pytest.mark.parametrize("name", ["puck", "stand-up"])
def test_its_picture_shows_the_forces_of_the_contacts_that_touch(name: str) -> None:
    solution = solution_of(name)
    touches = {key for key, force in solution.contact_forces().items() if np.abs(force).max() > 1.0}
    labels = {
        axes.get_ylabel().removesuffix("force [N]").strip()
        for axes in plot_summary(solution).axes
        if "force [N]" in axes.get_ylabel()
    }
    assert touches <= labels
    assert not any(key.startswith("knee") for key in labels)


def jump_of(solution: Solution) -> tuple[int, int]:
    """Knots of take-off and touch-down; the body flies along a parabola between them."""
    first, last = hopper.flight(solution, ("foot",))
    assert last - first > 30  # knots of 10 ms
    touching = {name: np.linalg.norm(force, axis=1) for name, force in solution.contact_forces().items()}
    assert touching["foot"][first - 3 : first].max() > 100.0  # it pushes off, and lands [N]
    assert touching["foot"][last : last + 3].max() > 100.0
    assert max(touching["knee"].max(), touching["rail"].max()) < 1e-6  # neither knee nor body helps
    feet = solution.frame_path("foot")[first + 2 : last - 1, 2]
    assert feet.min() > hopper.SOLE  # in the air
    assert feet.max() > hopper.SOLE + 0.2
    com = solution.com_path()[first + 1 : last + 1, 2]
    times = 0.01 * np.arange(len(com))
    np.testing.assert_allclose(np.polyfit(times, com, 2)[0], -GRAVITY / 2, rtol=0.02)
    return first, last


@pytest.mark.parametrize("limits", [False, True])
def test_the_hopper_jumps_from_a_guess_without_torque(limits: bool) -> None:
    case, solution = case_of("hopper", limits=limits), solution_of("hopper", limits=limits)
    assert isinstance(case.us, np.ndarray)
    assert not case.us.any()
    assert case.solver is (SolverSQP if limits else SolverFDDP)
    assert solution.converged
    jump_of(solution)
    assert solution.xs[50, 0] == pytest.approx(0.7, abs=2e-3)
    assert solution.xs[:, 0].max() < 0.71
    np.testing.assert_allclose(solution.xs[-1], case.problem.x0, atol=1e-2)
    if limits:
        assert np.abs(solution.us).max() == pytest.approx(20.0, abs=1e-6)


@pytest.mark.parametrize("limits", [False, True])
def test_the_hopper_lands_on_its_foot_in_smaller_steps_too(limits: bool) -> None:
    solution = solution_of("hopper", limits=limits)
    motion = replay(solution, clip=limits)
    assert len(motion.xs) == 1001
    heights = motion.xs[:, 0]
    assert heights.max() == pytest.approx(0.7, abs=0.03)
    np.testing.assert_allclose(motion.xs[-1, :3], solution.xs[-1, :3], atol=0.02)
    assert np.abs(motion.xs[-1, 3:]).max() < 0.2


@pytest.mark.parametrize(("torque", "height"), [(15.0, 0.7), (17.5, 0.8), (20.0, 0.8)])
def test_the_hopper_jumps_with_weaker_motors(torque: float, height: float) -> None:
    """Solves whose first rollout would be wild, or that are slow near the end and must not begin anew."""
    solution = solution_of("hopper", limits=True, torque=torque, height=height)
    assert solution.converged
    assert np.abs(solution.us).max() == pytest.approx(torque, abs=1e-6)
    assert solution.xs[50, 0] == pytest.approx(height, abs=2e-2)
    jump_of(solution)


@pytest.mark.slow
def test_direct_transcription_of_implicit_steps_finds_the_jump() -> None:
    """The residual of BACKWARD_RK1F in place of forward steps, with limits: another order of dt, the same jump."""
    case = case_of("hopper", limits=True)
    forward = case.problem.running[0]
    assert isinstance(forward, ActionModelSimulator)
    barrier = float(case.problem.get_parameter("barrier_weight"))
    simulator = Simulator(forward.state.robot, hopper.ground_contacts(), "BACKWARD_RK1F", barrier_weight=barrier)
    options: dict[str, Any] = {"constraints": forward.constraints, "actuation": forward.actuation}
    model = ActionModelSimulator(simulator, forward.costs, dt=0.01, **options)
    problem = ShootingProblem(case.problem.x0, [model] * 100, case.problem.terminal)
    problem.set_parameter("height.weight", 1e5, knots=50)
    solution = SolverSQP(problem, SQPOptions(steps="linear")).solve(case.xs, case.us)
    assert solution.converged
    jump_of(solution)
    assert solution.cost == pytest.approx(solution_of("hopper", limits=True).cost, rel=0.05)


def test_the_barrier_weight_is_tightened() -> None:
    """Contacts get more rigid, and the hopper jumps with each barrier."""
    case = problems.load("hopper", limits=False)
    first = case.problem.get_parameter("barrier_weight")
    solver = SolverFDDP(case.problem, FDDPOptions(max_iterations=200))
    found = continuation(solver, "barrier_weight", (10 * first, first, first / 3), case.xs, case.us)
    assert [s.parameters["barrier_weight"].flat[0] / first for s in found] == pytest.approx([10, 1, 1 / 3])
    for solution in found:
        assert solution.converged
        jump_of(solution)


def carried(solution: Solution, kind: str) -> np.ndarray:
    """Vertical force (T,) of all contacts whose names begin so [N]."""
    return np.sum([f[:, 2] for name, f in solution.contact_forces().items() if name.startswith(kind)], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [False, True])
def test_the_quadruped_stands_up_from_its_belly_without_a_schedule(limits: bool) -> None:
    """From a guess without torque; it ends on its feet alone, and so it does in steps ten times smaller."""
    case, solution = case_of("stand-up", limits=limits), solution_of("stand-up", limits=limits)
    assert isinstance(case.us, np.ndarray)
    assert not case.us.any()
    assert case.solver is (SolverSQP if limits else SolverFDDP)
    assert solution.converged
    weight = 12 * GRAVITY
    assert carried(solution, "belly")[0] > 0.5 * weight
    assert solution.xs[0, 2] < 0.08
    assert solution.xs[-1, 2] == pytest.approx(0.31, abs=0.02)
    assert np.abs(carried(solution, "belly")[35:] + carried(solution, "knee")[35:]).max() < 1e-6
    assert carried(solution, "foot")[35:60].mean() == pytest.approx(weight, rel=0.15)
    assert not limits or np.abs(solution.us).max() == pytest.approx(4.0, abs=1e-6)
    motion = replay(solution, clip=limits)
    state = case.problem.state
    away = np.array([state.difference(a, b)[:18] for a, b in zip(solution.xs, motion.xs[::10])])
    assert np.abs(away).max() < 0.05  # [m, rad]
    assert np.abs(away[-1]).max() < 0.02
    felt = case.problem.running[0].make_simulator().contact_forces(1e-3, motion.xs[-1])
    assert all((force[2] > 1.0) == name.startswith("foot") for name, force in felt.items())
    depth = 0.02 - min(solution.frame_path(foot)[:, 2].min() for foot in legged_robot("small-quadruped").feet)
    assert 0.0 < depth < 0.03
    assert case.report(solution)["feet"] == f"sink by {1e3 * depth:.0f} mm at most (soft contacts)"
    rises = [1e3 * np.ptp(solution.frame_path(foot)[:, 2]) for foot in legged_robot("small-quadruped").feet]
    words = re.search(r"feet rise (\d+ to )?(\d+) mm", heading(solution))  # of feet, not of the belly or knees
    assert words is None or float(words[2]) <= max(rises) + 1.0


@pytest.mark.slow
def test_gains_within_limits_that_nothing_reaches_are_those_without_limits() -> None:
    """Interior points leave multipliers above 0 at all limits, none of which is active."""
    within, free = solution_of("stand-up", limits=True, torque=100.0), solution_of("stand-up", limits=False)
    assert np.abs(within.us).max() < 50.0
    assert within.K is not None
    assert free.K is not None
    assert np.abs(within.K - free.K).max() < 1e-3 * np.abs(free.K).max()


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "height", "torque"), [("go2", 0.32, 20.0), ("solo12", 0.24, 2.0)])
def test_robots_stand_up_from_their_belly(robot: str, height: float, torque: float) -> None:
    """Within the torques that their motors give, on their feet alone, and in steps ten times smaller too."""
    case, solution = case_of("stand-up", robot=robot), solution_of("stand-up", robot=robot)
    state = solution.problem.state  # type: ignore[union-attr]
    assert isinstance(case.us, np.ndarray)
    assert not case.us.any()
    assert case.reference_cost is None  # the one that is known is of another robot
    assert solution.converged
    weight = pin.computeTotalMass(state.model) * GRAVITY
    assert carried(solution, "belly")[0] > 0.3 * weight
    assert solution.xs[0, 2] < 0.06
    assert solution.xs[-1, 2] == pytest.approx(height, abs=0.03)
    assert np.abs(carried(solution, "belly")[40:] + carried(solution, "knee")[40:]).max() < 1e-6
    assert carried(solution, "foot")[40:60].mean() == pytest.approx(weight, rel=0.15)
    assert np.abs(solution.us).max() < torque
    joints = solution.xs[:, 7 : state.nq]
    assert np.all(joints <= state.model.upperPositionLimit[7:])
    assert np.all(joints >= state.model.lowerPositionLimit[7:])
    motion = replay(solution)
    away = np.array([state.difference(a, b)[:18] for a, b in zip(solution.xs, motion.xs[::10])])
    assert np.abs(away).max() < 0.1  # [m, rad]
    assert np.abs(away[-1]).max() < 0.03


@pytest.mark.slow
def test_the_quadruped_walks_without_a_schedule() -> None:
    """Feet lift, carry in turn and hardly slip, within the motors' limits; in smaller steps it walks as far."""
    case, solution = case_of("walk-freely"), solution_of("walk-freely")
    state = case.problem.state
    feet = legged_robot("small-quadruped").feet
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)
    assert solution.xs[-1, 0] - solution.xs[0, 0] == pytest.approx(0.4, abs=0.03)
    assert np.all(np.abs(solution.us) <= case.problem.running[0].upper + 1e-9)
    paths = {foot: solution.frame_path(foot) for foot in feet}
    for foot, path in paths.items():
        swings, slip = walk_freely.steps(solution, foot)
        assert swings >= 1
        assert path[:, 2].max() - walk_freely.SOLE > 0.02
        assert slip < 0.015
        assert path[-1, 0] - path[0, 0] > 0.3
    joints, rates = solution.xs[:, 7 : state.nq], solution.xs[:, state.nq + 6 :]
    assert np.all((joints <= state.model.upperPositionLimit[7:]) & (joints >= state.model.lowerPositionLimit[7:]))
    assert np.all(np.abs(rates) <= state.model.velocityLimit[6:])
    assert min(solution.frame_path(f"{leg}_kfe_link")[:, 2].min() for leg in ("lf", "rf", "lh", "rh")) > 0.03  # knees
    carries = np.array([solution.contact_forces()[foot][:, 2] > walk_freely.LOADED for foot in feet])
    assert len({tuple(knot) for knot in carries.T if 2 <= sum(knot) <= 3}) >= 4  # feet that carry together
    assert np.mean(carries.sum(axis=0) >= 2) > 0.8
    motion = replay(solution, clip=True)
    assert motion.xs[-1, 0] - motion.xs[0, 0] == pytest.approx(solution.xs[-1, 0] - solution.xs[0, 0], rel=0.05)
    assert motion.xs[:, 2].min() > 0.25
    assert np.abs(state.difference(solution.xs[-1], motion.xs[-1])[:18]).max() < 0.1  # [m, rad]
    assert case.report(solution)["steps"].count("foot") == 4
    assert not solution.converged
    assert "ends at max_iterations" in case.report(solution)["judged by"]


def held(name: str, steps: int, **parameters: float) -> tuple[np.ndarray, np.ndarray]:
    """First and last state (nx,) of steps of 1 ms without force from the end of a solution."""
    solution = solution_of(name)
    simulator = case_of(name).problem.running[0].make_simulator()
    for parameter, value in parameters.items():
        simulator.set_parameter(parameter.replace("__", "."), value)
    x = solution.xs[-1]
    return x, simulator.rollout(x, np.zeros((steps, simulator.model.nv)), steps, 1e-3).xs[-1]


def test_friction_holds_the_block_where_it_is_let_go() -> None:
    """Without a push it stays for a second, or with less friction slides down at g (sin - mu cos); energy balances."""
    solution, slope = solution_of("block-on-incline"), 0.35
    way = (solution.xs[:, :2] - solution.xs[0, :2]) @ np.array([np.cos(slope), np.sin(slope)])
    assert way[-1] == pytest.approx(0.5, abs=1e-3)
    barrier = float(solution.problem.get_parameter("barrier_weight"))  # type: ignore[union-attr]
    for part in (1.0, 0.1):  # it creeps, as fast as the barrier weight allows
        first, last = held("block-on-incline", 1000, barrier_weight=part * barrier)
        assert np.linalg.norm(last[:2] - first[:2]) < part * 3e-3
    first, last = held("block-on-incline", 1000, contacts__incline__friction=0.2)
    acceleration = GRAVITY * (np.sin(slope) - 0.2 * np.cos(slope))
    assert np.linalg.norm(last[:2] - first[:2]) == pytest.approx(acceleration / 2, rel=0.03)
    normal = solution.contact_forces()["incline"] @ np.array([-np.sin(slope), 0.0, np.cos(slope)])
    work = np.sum(solution.us[:, 0] * np.diff(solution.xs[:, 0]))
    assert work == pytest.approx(GRAVITY * np.ptp(solution.xs[:, 1]) + 0.6 * np.sum(normal * np.diff(way)), rel=0.02)


@pytest.mark.parametrize(("name", "body", "friction"), [("puck", 1, 0.3), ("cart-push", 1, 0.4)])
def test_what_is_pushed_slides_on_as_far_as_friction_lets_it(name: str, body: int, friction: float) -> None:
    """v² / (2 mu g) from where nothing touches it any more; nothing bounces."""
    solution, half = solution_of(name), solution_of(name).problem.state.nv
    pushers = [force for contact, force in solution.contact_forces().items() if contact not in FLOORS]
    last = int(np.flatnonzero(np.abs(np.sum(pushers, axis=0)[:, 0]) > 0.1)[-1]) + 1
    speeds, ways = solution.xs[:, half + body], solution.xs[:, body]
    assert last < len(solution.us) - 20
    assert speeds[last] > 1.0
    assert ways[-1] - ways[0] == pytest.approx(0.5, abs=2e-3)
    assert ways[-1] - ways[last] == pytest.approx(speeds[last] ** 2 / (2 * friction * GRAVITY), rel=0.03)
    assert abs(speeds[-1]) < 1e-3


@pytest.mark.parametrize("name", ["block-on-incline", "cart-push", "puck"])
def test_replaying_with_smaller_steps_ends_at_the_same_state(name: str) -> None:
    solution = solution_of(name)
    motion = replay(solution)
    np.testing.assert_allclose(motion.xs[-1], solution.xs[-1], atol=0.02)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hopper", {"height": -1.0}, r"height: expected a number > 0"),
        ("stand-up", {"torque": 0.0}, r"torque: expected a number > 0"),
        (
            "stand-up",
            {"limits": False, "torque": 4.0},
            r"torque: expected None without limits, got 4.0; also pass limits=True",
        ),
        (
            "walk-freely",
            {"robot": "go2"},
            r"robot: expected None for walk-freely, .* got 'go2'; omit it \(--robot\)",
        ),
        ("block-on-incline", {"distance": 0.0}, r"distance: expected a number > 0"),
        ("puck", {"target": 0.0}, r"target: expected a number > 0"),
        ("walk-freely", {"distance": 0.0}, r"distance: expected a number > 0"),
        ("walk-freely", {"slip": -1.0}, r"slip: expected a number > 0"),
        ("cart-push", {"friction": -0.1}, r"friction: expected a number >= 0"),
    ],
)
def test_misuse(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        problems.load(name, **options)


def test_a_replay_needs_gains_and_one_simulator() -> None:
    puck = solution_of("puck")
    first, *others = puck.problem.running
    other = copy.copy(first)
    two = ShootingProblem(puck.problem.x0, [other, *others], puck.problem.terminal)
    with pytest.raises(InvalidArgumentError, match="solution: expected a problem with one model at all knots"):
        replay(dataclasses.replace(puck, problem=two))
    found = dataclasses.replace(solution_of("puck"), K=None)
    with pytest.raises(InvalidArgumentError, match="solution: expected one with gains K"):
        replay(found)


def test_continuation_refuses_wrong_arguments() -> None:
    case = case_of("puck")
    with pytest.raises(InvalidArgumentError, match="values: expected one value or more"):
        continuation(SolverFDDP(case.problem), "barrier_weight", ())
    with pytest.raises(InvalidArgumentError, match="solver: expected a solver"):
        continuation(case.problem, "barrier_weight", (1.0,))  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="barier_weight"):
        continuation(SolverFDDP(case.problem), "barier_weight", (1.0,))
