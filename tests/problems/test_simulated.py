"""Ready problems through the simulator: contacts are found, motions are replayed in smaller steps, physics is right."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.analysis import replay
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.plotting import plot_summary
from trajopt.problems import hopper
from trajopt.solution import Solution
from trajopt.solvers import FDDPOptions, SolverFDDP, SolverSQP, continuation

GRAVITY = 9.81
MOST = {"block-on-incline": 50, "cart-push": 180, "hopper": 260, "puck": 60, "stand-up": 35}  # iterations
FLOORS = ("table", "floor_rear", "floor_ahead")


@functools.cache
def case_of(name: str, **options: Any) -> problems.ProblemCase:
    return problems.load(name, **options)


@functools.cache
def solution_of(name: str, **options: Any) -> Solution:
    case = case_of(name, **options)
    return case.solver(case.problem, case.options).solve(case.xs, case.us)


@pytest.mark.parametrize("name", MOST)
def test_it_is_solved_at_the_known_cost(name: str) -> None:
    case, solution = case_of(name), solution_of(name)
    assert solution.converged
    assert solution.iterations <= MOST[name]
    assert solution.cost == pytest.approx(case.reference_cost, rel=1e-6)
    np.testing.assert_allclose(solution.gaps(), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", MOST)
def test_it_is_described(name: str) -> None:
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
        axes.get_ylabel().split("\n")[0] for axes in plot_summary(solution).axes if "force [N]" in axes.get_ylabel()
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


def test_the_barrier_weight_is_tightened() -> None:
    """Contacts get more rigid, and the hopper jumps with each barrier."""
    case = problems.load("hopper")
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
def test_it_gets_there_in_smaller_steps_too(name: str) -> None:
    solution = solution_of(name)
    motion = replay(solution)
    np.testing.assert_allclose(motion.xs[-1], solution.xs[-1], atol=0.02)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("hopper", {"height": -1.0}, r"height: expected a number > 0"),
        ("stand-up", {"limits": True, "torque": 0.0}, r"torque: expected a number > 0"),
        ("block-on-incline", {"distance": 0.0}, r"distance: expected a number > 0"),
        ("puck", {"target": 0.0}, r"target: expected a number > 0"),
        ("cart-push", {"friction": -0.1}, r"friction: expected a number >= 0"),
    ],
)
def test_misuse(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        problems.load(name, **options)


def test_a_replay_needs_gains_and_the_simulator() -> None:
    with pytest.raises(InvalidArgumentError, match="solution: expected a problem of ActionModelSimulator"):
        replay(solution_of("pendulum"))
    found = dataclasses.replace(solution_of("puck"), K=None)
    with pytest.raises(InvalidArgumentError, match="solution: expected one with gains K"):
        replay(found)


def test_continuation_refuses_what_it_cannot_do() -> None:
    case = case_of("puck")
    with pytest.raises(InvalidArgumentError, match="values: expected one value or more"):
        continuation(SolverFDDP(case.problem), "barrier_weight", ())
    with pytest.raises(InvalidArgumentError, match="solver: expected a solver"):
        continuation(case.problem, "barrier_weight", (1.0,))  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="barier_weight"):
        continuation(SolverFDDP(case.problem), "barier_weight", (1.0,))
