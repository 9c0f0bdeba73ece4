"""Gaits that turn: their footholds, reference postures, guesses, and what says that a guess is poor."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pinocchio as pin
import pytest

from tests.support.gait_robots import FEET, SOLES, models_of, robot_of, stance_of
from trajopt import SolverStatus, gaits
from trajopt.gaits.carried import turns
from trajopt.gaits.posing import foot_misses
from trajopt.simulator import Plane
from trajopt.solvers import SolverFDDP, SolverSQP

QUARTER = np.pi / 2


def turning_trot() -> gaits.ContactSchedule:
    return gaits.quadruped_trot(stance_of("go2"), step_length=0.0, step_height=0.07, turn=QUARTER, cycles=4)


def yaw_of(x: np.ndarray) -> float:
    return float(pin.rpy.matrixToRpy(pin.Quaternion(x[3:7]).matrix())[2])


@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("gait", ["quadruped_walk", "quadruped_trot", "quadruped_bound", "biped_walk"])
def test_feet_end_turned_about_their_middle(gait: str, cycles: int) -> None:
    stance = stance_of("talos_legs" if gait == "biped_walk" else "go2")
    end = getattr(gaits, gait)(stance, step_length=0.0, turn=0.6, cycles=cycles).end
    turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 0.6), np.zeros(3))
    middle = pin.SE3(np.eye(3), stance.centre)
    for name, foot in stance.feet.items():
        wanted = foot.moved(middle * turn * middle.inverse())
        np.testing.assert_allclose(end.feet[name].placement, wanted.placement, atol=1e-12)


def test_steps_go_along_an_arc_and_all_strides_turn_by_equal_parts() -> None:
    """Full steps of 0.1 m, two for each foot: three turns by a third, on a path whose directions are their means."""
    trot = gaits.quadruped_trot(stance_of("go2"), step_length=0.1, first_step="full", turn=0.9, cycles=2)
    middles = np.array([stance.centre[:2] for stance in trot.stances])
    np.testing.assert_allclose(middles[-1] - middles[0], 0.1 * np.array([
        np.cos(0.15) + np.cos(0.75), np.sin(0.15) + np.sin(0.75)]), atol=1e-12)  # fmt: skip
    swings = [swing for phase in trot.phases for swing in phase.swings if swing.foot == FEET["go2"][1]]
    first = np.subtract(swings[0].to.position, trot.start.centre)[:2]
    start = np.subtract(trot.start.feet[FEET["go2"][1]].position, trot.start.centre)[:2]
    turn = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    np.testing.assert_allclose(first, 0.1 * np.array([np.cos(0.15), np.sin(0.15)]) + turn @ start, atol=1e-12)


@pytest.mark.parametrize("gait", ["walk", "trot", "pace", "bound", "jump"])
def test_straight_gaits_do_not_turn(gait: str) -> None:
    for heading in (0.0, QUARTER):
        schedule = getattr(gaits, f"quadruped_{gait}")(
            stance_of("anymal"), **({} if gait == "jump" else {"heading": heading})
        )
        assert not turns(schedule)
    assert not turns(gaits.biped_walk(stance_of("talos_legs")))


@pytest.mark.parametrize("heading", [0.0, 0.5])
@pytest.mark.parametrize("gait", ["walk", "trot", "pace", "bound"])
def test_terrain_does_not_turn_the_base_of_a_straight_gait(gait: str, heading: float) -> None:
    """Feet of a walk are up to a step ahead of others; on stairs they also move away from edges, a diagonal apart."""
    stance = stance_of("go2")
    height = min(foot.position[2] for foot in stance.feet.values())
    on = {"step_length": 0.14, "step_height": 0.07, "cycles": 3, "heading": heading}
    straight = getattr(gaits, f"quadruped_{gait}")(stance, **on)
    level = straight.on(gaits.Terrain(Plane((0.0, 0.0, 1.0, 0.02 - height))))
    carried = gaits.carried_postures(robot_of("go2"), level)
    np.testing.assert_allclose(carried[:, 3:7], np.tile(carried[0, 3:7], (len(carried), 1)), atol=1e-9)
    stairs = straight.on(gaits.Terrain.stairs(3, rise=0.08, depth=0.28, start=0.45))
    assert not turns(stairs)
    base = gaits.carried_postures(robot_of("go2"), stairs)
    assert np.abs([yaw_of(x) for x in base]).max() < np.radians(2.0)  # of the lean; 7.5 degrees with that of the feet


def test_one_cycle_turns() -> None:
    for name, make in (("go2", gaits.quadruped_trot), ("go2", gaits.quadruped_walk), ("talos_legs", gaits.biped_walk)):
        assert turns(make(stance_of(name), step_length=0.1, turn=-0.1))
        assert name in SOLES or not turns(make(stance_of(name), step_length=0.1, turn=0.01))


@pytest.mark.parametrize("turn", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("gait", ["walk", "trot", "pace"])
def test_left_turns_mirror_right_turns(gait: str, turn: float) -> None:
    """Feet a step ahead of others turn the lines between them to the right, against a turn to the left."""
    for cycles, step_length in ((1, 0.1), (2, 0.2), (3, -0.1)):
        for sign in (-1, 1):
            schedule = getattr(gaits, f"quadruped_{gait}")(
                stance_of("go2"), step_length=step_length, turn=sign * turn, cycles=cycles
            )
            assert turns(schedule)
            angles = np.array([yaw_of(x) for x in gaits.carried_postures(robot_of("go2"), schedule)])
            np.testing.assert_allclose(angles[-1], sign * turn, atol=1e-6)
            assert np.all(sign * np.diff(angles) > -1e-9)


@pytest.mark.slow
def test_solved_walks_turn_left_as_far_as_right() -> None:
    yaws = []
    for turn in (0.25, -0.25):
        walk = gaits.quadruped_walk(stance_of("go2"), step_length=0.2, step_height=0.07, turn=turn, cycles=2)
        problem = models_of("go2").problem(walk)
        solution = SolverFDDP(problem).solve(*gaits.gait_guess(problem, walk))
        assert solution.converged
        yaws.append(yaw_of(solution.xs[-1]))
    assert yaws[0] == pytest.approx(-yaws[1], abs=np.radians(1.0))
    assert yaws[0] == pytest.approx(0.25, abs=np.radians(2.0))


def test_feet_of_schedules_by_hand_turn_as_their_lines() -> None:
    """Points without headings; `turns` compares the lines between them."""
    for turn in (-0.5, 0.5):
        trot = gaits.quadruped_trot(stance_of("go2"), step_length=0.05, turn=turn, cycles=2)
        bare = [
            dataclasses.replace(p, swings=[dataclasses.replace(s, to=s.to.position) for s in p.swings])
            for p in trot.phases
        ]
        schedule = dataclasses.replace(trot, phases=tuple(bare))
        assert turns(schedule)
        assert yaw_of(gaits.carried_postures(robot_of("go2"), schedule)[-1]) == pytest.approx(turn, abs=0.1)


def test_a_gait_after_a_turn_goes_on_from_it() -> None:
    """Headings move with a schedule: a straight gait does not turn from where another one, or the robot, has turned."""
    trot = gaits.quadruped_trot(stance_of("go2"), step_length=0.0, turn=0.5, cycles=2)
    straight = gaits.quadruped_walk(stance_of("go2"), step_length=0.1)
    assert not turns(straight.after(trot.end))
    carried = gaits.carried_postures(robot_of("go2"), trot + straight.after(trot))
    assert yaw_of(carried[-1]) == pytest.approx(0.5, abs=1e-6)


def test_posture_and_guess_turn_with_the_feet() -> None:
    schedule = turning_trot()
    problem = models_of("go2").problem(schedule)
    carried = gaits.carried_postures(robot_of("go2"), schedule)
    np.testing.assert_array_equal(problem.parameter_values()["state.reference"], carried)
    xs, us = gaits.gait_guess(problem, schedule)
    assert yaw_of(xs[-1]) == pytest.approx(QUARTER, abs=0.02)
    assert np.abs(xs[:, 7:19] - xs[0, 7:19]).max() < 1.0
    assert foot_misses(robot_of("go2"), schedule, xs[:, :19])[1:].max() < 1e-3
    solution = SolverFDDP(problem).solve(xs, us)
    assert solution.converged
    assert solution.iterations < 15
    assert yaw_of(solution.xs[-1]) == pytest.approx(QUARTER, abs=1e-2)


@pytest.mark.parametrize("model", ["srbd", "centroidal"])
def test_plans_of_reduced_models_turn(model: str) -> None:
    schedule = turning_trot()
    reduced = gaits.gait_problem(robot_of("go2"), schedule, model=model, limits=True)
    plan = SolverSQP(reduced).solve(*gaits.gait_guess(reduced, schedule))
    assert plan.converged
    whole = gaits.gait_problem(robot_of("go2"), schedule, plan=plan)
    xs, _ = gaits.gait_guess(whole, schedule, plan=plan)
    assert yaw_of(xs[-1]) == pytest.approx(QUARTER, abs=0.02)


def test_a_guess_says_that_feet_are_out_of_reach(caplog: pytest.LogCaptureFixture) -> None:
    """Steps of 1.5 m; joints must not whirl around either."""
    with caplog.at_level(logging.WARNING):
        far = gaits.quadruped_trot(stance_of("go2"), step_length=1.5, cycles=2)
        caplog.clear()
        xs, _ = gaits.gait_guess(models_of("go2").problem(far), far)
        assert "away from its reference at knot" in caplog.text
        assert np.abs(xs[:, 7:19]).max() < np.pi
        caplog.clear()
        gaits.gait_guess(models_of("go2").problem(turning_trot()), turning_trot())
        assert not caplog.text


def test_a_guess_that_is_no_motion_is_not_said_to_lack_a_cost_of_controls() -> None:
    schedule = turning_trot()
    problem = models_of("go2").problem(schedule)
    rng = np.random.default_rng(0)
    xs, us = np.tile(problem.x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu))
    xs[1:, 19:] = rng.normal(scale=1e5, size=(problem.T, 18))
    solution = SolverSQP(problem).solve(xs, us)
    assert solution.status is not SolverStatus.CONVERGED
    advice = solution.explain()
    assert "add a cost > 0" not in advice
    assert "the cost is convex in all controls" in advice
    assert "start from one that is closer to a motion" in advice


@pytest.mark.parametrize("reduced", [False, True])
def test_references_of_the_state_follow_an_exchanged_schedule(reduced: bool) -> None:
    """Straight, turning the one way, the other way, straight again; own references of straight gaits stay."""
    stance = stance_of("go2")
    models = gaits.ReducedGaitModels(robot_of("go2"), stance) if reduced else models_of("go2")
    gait = [gaits.quadruped_trot(stance, step_length=0.05, turn=turn) for turn in (0.0, 0.8, -0.5, 0.0)]
    problem = models.problem(gait[0])
    for schedule in gait[1:]:
        models.set_schedule(problem, schedule)
        fresh = models.problem(schedule).parameter_values()["state.reference"]
        np.testing.assert_allclose(problem.parameter_values()["state.reference"], fresh, atol=1e-12)
    own = problem.parameter_values()["state.reference"] + 0.0
    own[:, 2] += np.linspace(0.0, 0.05, len(own))
    problem.set_parameter("state.reference", own, "all")
    models.set_schedule(problem, gait[0])
    np.testing.assert_array_equal(problem.parameter_values()["state.reference"], own)


def test_references_of_the_state_come_back_from_a_slope() -> None:
    """Also where the robot already leans at the first knot."""
    stance, models, slope = stance_of("go2"), models_of("go2"), gaits.Terrain(Plane((-0.2, 0.0, 1.0, 0.06)))
    level = gaits.quadruped_trot(stance, step_length=0.05)
    uphill = level.on(slope)
    onward = gaits.quadruped_trot(uphill.end, step_length=0.05).on(slope)
    problem = models.problem(onward)
    leaning = problem.parameter_values()["state.reference"]
    assert np.abs(leaning[0, 3:6]).max() > 1e-3
    for schedule in (uphill, onward, level):
        models.set_schedule(problem, schedule)
        fresh = models.problem(schedule).parameter_values()["state.reference"]
        np.testing.assert_allclose(problem.parameter_values()["state.reference"], fresh, atol=1e-12)
