"""Ready closed loops: limits hold, disturbances are overcome, and physics by other means than our own."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np
import pytest

from tests.plants import impulses
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.kernels import compilations
from trajopt.mpc import ClosedLoop
from trajopt.problems import mpc as loops
from trajopt.problems.mpc import drive, drive_scans, quadruped, rest, trot
from trajopt.problems.mpc.quadruped_report import contact_forces
from trajopt.residuals import FrictionCone
from trajopt.robots import load_robot
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

PUSH = 10.0  # [N s]
"""Impulse on the trunk of 16 kg."""


@functools.cache
def case_of(name: str, **options: Any) -> loops.MPCCase:
    return loops.load(name, **options)


@functools.cache
def log_of(name: str, duration: float | None = None, **options: Any) -> ClosedLoop:
    return case_of(name, **options).simulate(duration)


@functools.cache
def trotting() -> ClosedLoop:
    """2.2 s of a trot, pushed at 1.1 s."""
    commands = ((0.0, 0.0, 0.0, 0.0), (0.4, 0.4, 0.0, 0.0))
    return log_of("quadruped-trot-mpc", 2.2, commands=commands, pushes=((1.1, 0.0, PUSH),))


def mean_of_last(values: Reals, count: int) -> Reals:
    return np.asarray(values[-count:].mean(axis=0))


# The registry


def test_every_option_has_a_meaning() -> None:
    for name in loops.names():
        about = loops.describe(name)
        assert set(about.options) == set(about.meanings), name
        assert about.description.endswith("."), name


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="closed loop 'arm-trackin' not found; did you mean 'arm-tracking'"):
        loops.load("arm-trackin")
    with pytest.raises(UnknownNameError, match="cart-pole-balance: option 'strength' not found"):
        loops.load("cart-pole-balance", strength=3.0)
    with pytest.raises(UnknownNameError, match="plant 'mujco' not found; did you mean 'mujoco'"):
        loops.load("quadruped-trot-mpc", plant="mujco")


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="opening"):
        loops.load("quadrotor-gates", opening=0.5)
    with pytest.raises(InvalidArgumentError, match="payload"):
        loops.load("arm-tracking", payload=-1.0)


@pytest.mark.parametrize("name", loops.names())
def test_controls_hold_and_no_step_fails(name: str) -> None:
    log = log_of(name, 0.5)
    assert np.all(log.us <= log.upper + 1e-6)
    assert np.all(log.us >= log.lower - 1e-6)
    assert "failed" not in log.statuses
    assert all(isinstance(words, str) for words in case_of(name).report(log).values())


# The arm


def test_arm_follows_its_target() -> None:
    case, log = case_of("arm-tracking", period=5e-3), log_of("arm-tracking", 1.5, period=5e-3)
    robot = case.controller.problem.state.robot
    hand = np.array([robot.placement(x[:7], "panda_hand_tcp")[:3, 3] for x in log.xs])
    away = np.linalg.norm(hand - case.follows(log.times), axis=1)
    assert away[log.times > 0.5].max() < 2e-3


def test_arm_flees_within_its_limits() -> None:
    """The target moves away faster than the joints can turn."""
    log = log_of("arm-tracking", 1.8, period=5e-3, jump=1.0)
    model = load_robot("panda").model
    assert np.abs(log.us / model.effortLimit[:7]).max() <= 1.0 + 1e-9
    rates = np.abs(log.xs[:, 7:] / model.velocityLimit[:7]).max()
    assert 0.95 < rates < 1.01  # a soft limit
    words = case_of("arm-tracking", period=5e-3, jump=1.0).report(log)
    assert set(words) == {"torques", "velocities", "positions"}


# The cart-pole


def test_cart_pole_swings_up_and_is_pushed() -> None:
    log = log_of("cart-pole-balance", 6.0, pushes=((4.0, 0.1),))
    angle = np.degrees(np.abs(log.xs[:, 1] - np.pi))
    assert angle[(log.times > 3.0) & (log.times < 4.0)].max() < 3.0
    assert 3.0 < angle[log.times >= 4.0].max() < 15.0
    assert angle[log.times > 5.5].max() < 2.0
    assert np.abs(log.xs[:, 0]).max() < 0.6 + 0.02


@pytest.mark.slow
def test_cart_pole_balances_all_pushes_on_its_rail() -> None:
    """The whole run by default: 0.3 mm beyond the rail at most, upright before the next push and at the end."""
    case, log = case_of("cart-pole-balance"), log_of("cart-pole-balance")
    angle = np.degrees(np.abs(log.xs[:, 1] - np.pi))
    assert set(log.statuses) == {"solved"}
    assert np.abs(log.xs[:, 0]).max() < 0.6 + 3e-4
    assert angle[log.times >= 4.0].max() < 12.0
    for start, end in ((3.0, 4.0), (5.0, 6.0), (7.0, 8.0), (9.0, 12.1)):
        assert angle[(log.times > start) & (log.times < end)].max() < 10.0
    assert angle[-1] < 1.0
    words = case.report(log)
    assert [name for name in words if name.startswith("push")] == ["push +0.1 N s", "push -0.15 N s", "push +0.15 N s"]
    assert all(text.startswith("within 10 deg after 0.") for name, text in words.items() if name.startswith("push"))


def test_cart_pole_moves_as_newton_says() -> None:
    """The plant of the log, by Runge-Kutta steps written here, with the pole's own mass of 0.22 kg."""
    log = log_of("cart-pole-balance", 6.0, pushes=((4.0, 0.1),))

    def rate(x: Reals, f: float) -> Reals:
        sine, cosine = np.sin(x[1]), np.cos(x[1])
        cart = (f + 0.22 * sine * (0.5 * x[3] ** 2 + 9.81 * cosine)) / (1.0 + 0.22 * sine**2)
        return np.array([x[2], x[3], cart, -(cart * cosine + 9.81 * sine) / 0.5])

    for k in [*range(0, 195, 15), 199]:
        x, f, h = log.xs[k], log.us[k, 0], 2e-3
        for _ in range(10):
            a = rate(x, f)
            b = rate(x + h / 2 * a, f)
            c = rate(x + h / 2 * b, f)
            x = x + h / 6 * (a + 2 * b + 2 * c + rate(x + h * c, f))
        jump = [0, 0, 0, -0.1 / (0.22 * 0.5)] if abs(log.times[k + 1] - 4.0) < 1e-6 else np.zeros(4)
        assert min(np.abs(x - log.xs[k + 1]).max(), np.abs(x + jump - log.xs[k + 1]).max()) < 1e-9


# The quadrotor


def test_quadrotor_passes_every_gate() -> None:
    """Its body is a ball of 0.3 m, the openings are 1 m wide and high."""
    log, gates = log_of("quadrotor-gates"), case_of("quadrotor-gates").follows.gates
    for x, y, z, heading, time in gates:
        near = np.abs(log.times - time) < 0.5
        offset = log.xs[near, :3] - [x, y, z]
        ahead = offset @ [np.cos(heading), np.sin(heading), 0.0]
        assert ahead[0] < 0.0 < ahead[-1]
        assert np.all(np.diff(ahead) > 0.0)
        left, up = (
            np.interp(0.0, ahead, offset @ axis) for axis in ([-np.sin(heading), np.cos(heading), 0], [0, 0, 1])
        )
        assert max(abs(left), abs(up)) < 0.2 + 1e-3


def test_quadrotor_in_a_storm_misses_a_gate_and_the_report_says_so() -> None:
    case = loops.load("quadrotor-gates", gusts=[(1.3, 0.5, 0.0, 12.0)])
    log = case.simulate(3.0)
    assert case.report(log)["gates"].startswith("1 of 2")


# The wheels


def test_wheels_keep_away_from_circles() -> None:
    log, case = log_of("drive-obstacles"), case_of("drive-obstacles")
    crossing = np.column_stack([1.2 * np.cos(2 * np.pi * log.times / 6.0), 0.5 + 0.0 * log.times])
    for center, radius in [*((row[:2], row[2]) for row in case.obstacles), (crossing, 0.2)]:
        assert np.linalg.norm(log.xs[:, :2] - center, axis=1).min() > radius + 0.2 + 0.04
    assert drive.RADIUS * np.abs(log.xs[:, 3:]).max() < 1.2 + 1e-3
    assert (log.xs[:, 3] + log.xs[:, 4]).min() > -1e-3  # forwards
    assert np.median(np.linalg.norm(log.xs[:, :2] - drive.path(log.times), axis=1)) < 0.1


@pytest.mark.slow
def test_scans_alone_lead_through_an_unknown_room() -> None:
    """By the map the body keeps apart; a second run has the same noise, and its scans compile nothing."""
    case = drive_scans.build()
    log = case.simulate(13.0)
    away = [case.plant.grid.cast(x[:2], np.linspace(0, 2 * np.pi, 90)).min() for x in log.xs]
    assert min(away) > drive.BODY_RADIUS + 0.05
    assert np.linalg.norm(log.xs[-1, :2] - [7.2, 2.6]) < 0.02
    assert "failed" not in log.statuses
    before = compilations()
    again = case.simulate(3.0)
    assert compilations() == before
    np.testing.assert_array_equal(again.xs, log.xs[: len(again.xs)])
    scans = case.surroundings["scans"]
    np.testing.assert_array_equal([scan.pose for scan in scans], again.xs[:-1, :3])  # one for each control period
    around = case.surroundings | {"grid": None}
    drawn = next(part for part in again.plot(**around).axes[0].get_children() if part.get_label() == "LIDAR readings")
    every = np.concatenate([scan.points for scan in scans])
    assert len(every) // 5 < len(drawn.get_xdata()) <= 3000
    assert np.isin(drawn.get_xdata(), every[:, 0]).all()
    assert not any(part.get_label() == "LIDAR readings" for part in again.plot().axes[0].get_children())


@pytest.mark.slow
def test_pictures_show_gates_obstacles_that_move_rails_and_references() -> None:
    """A cart's rail as long as it is, not as far as the cart went."""
    for name, duration, count in (
        ("drive-obstacles", None, 7),
        ("quadrotor-gates", 2.0, 5),
        ("cart-pole-balance", 0.5, 1),
    ):
        log, case = log_of(name, duration), case_of(name)
        drawn = log.plot(lines=case.lines, obstacles=case.obstacles).axes[0].get_children()
        labels = [str(part.get_label()) for part in drawn]
        assert labels.count("_line") == count == len(case.lines)
        assert labels.count("reference") == (name != "cart-pole-balance")
        assert "_rail" not in labels
        if name == "drive-obstacles":
            (dashed,) = [part for part in drawn if part.get_label() == "reference"]
            np.testing.assert_allclose(np.column_stack(dashed.get_data()), drive.path(log.times[:-1]), atol=1e-9)
    rail = np.asarray(case_of("cart-pole-balance").lines[0])
    assert np.abs(rail[:, 0]).max() == 0.6
    with pytest.raises(InvalidArgumentError, match=r"lines\[0\]: expected points \(n, 2\) or \(n, 3\)"):
        log_of("cart-pole-balance", 0.5).plot(lines=[[1.0, 2.0]])


# The quadruped


def test_commanded_velocities_lead_along_a_circle() -> None:
    """Forward at 0.5 m/s and turning at 0.25 rad/s: a circle of 2 m."""
    command = trot.VelocityCommand(np.array([[0.0, 0.5, 0.0, 0.25]]), 10.0)
    times = np.linspace(0.0, 9.0, 50)
    angle = 0.25 * times
    expected = np.column_stack([2 * np.sin(angle), 2 * (1 - np.cos(angle)), angle])
    np.testing.assert_allclose(command.path(times), expected, atol=5e-6)


def test_diagonal_pairs_swing_in_turn() -> None:
    case = case_of("quadruped-trot-mpc")
    gait, times = case.follows, 0.01 * np.arange(300)
    active, heights = gait.active(times), gait.heights(times)
    assert np.array_equal(active[:, 0], active[:, 3])
    assert np.array_equal(active[:, 1], active[:, 2])
    assert active.max(axis=1).min() == 1.0  # some feet always stand
    ticks = np.arange(300)
    front_left = (ticks >= 20) & ((ticks - 20) % 50 < 21)
    np.testing.assert_array_equal(active[:, 0], ~front_left)
    assert np.all(heights[active > 0] == pytest.approx(quadruped.RADIUS))
    assert heights.max() == pytest.approx(quadruped.RADIUS + 0.06, abs=1e-3)


def test_a_rhythm_is_faster_for_a_while() -> None:
    rhythm, times = trot.Rhythm(2.0), np.linspace(0.0, 3.0, 61)
    np.testing.assert_array_equal(rhythm(times), times)
    rhythm.hurry(1.0)
    rhythm.hurry(1.2)
    rhythm.hurry(2.0)
    fast = np.interp(times, [0.0, 1.0, 1.2 + trot.HURRY, 2.0, 2.0 + trot.HURRY, 3.0], [0, 0, 0.5, 0.5, 0.8, 0.8])
    np.testing.assert_allclose(rhythm(times), times + fast, atol=1e-12)
    rhythm.go_back(0.5)  # another run begins
    rhythm.hurry(0.5)
    np.testing.assert_allclose(rhythm(times), times + np.interp(times, [0.5, 0.8], [0.0, 0.3]), atol=1e-12)


def test_a_trot_hurries_far_from_the_commanded_velocity_alone() -> None:
    gait, x = case_of("quadruped-trot-mpc").follows, case_of("quadruped-trot-mpc").x0.copy()
    times = np.array([0.0, 2.0])
    gait.see(0.0, x)
    for speed, hurries in ((0.9, 0.0), (-1.1, trot.HURRY)):
        x[20] = speed
        gait.see(1.0, x)
        np.testing.assert_allclose(gait.rhythm(times), times + np.array([0.0, hurries]))
    gait.see(0.0, case_of("quadruped-trot-mpc").x0)
    np.testing.assert_array_equal(gait.rhythm(times), times)


def test_a_late_foot_is_not_in_contact_at_the_first_knot() -> None:
    gait, x = case_of("quadruped-trot-mpc").follows, case_of("quadruped-trot-mpc").x0.copy()
    times = 0.02 * np.arange(5)
    gait.see(0.0, x)
    assert gait.contacts(times).min() == 1.0
    x[8:10] += 0.3, -0.6  # thigh and knee of the left front leg: the foot is 97 mm up
    gait.see(0.0, x)
    expected = np.ones((5, 4))
    expected[0, 0] = 0.0
    np.testing.assert_array_equal(gait.contacts(times), expected)
    np.testing.assert_array_equal(gait(times)["contacts.FL_foot.active"], expected[:, 0])
    assert gait.active(times).min() == 1.0
    gait.see(0.0, case_of("quadruped-trot-mpc").x0)


def test_a_guess_at_rest_holds_the_trunk() -> None:
    """At the measured place and heading, with torques under which standing feet bear the weight and legs hang."""
    case = case_of("quadruped-trot-mpc")
    gait, problem = case.follows, case.controller.problem
    case.controller.reset()
    times, x = case.controller.offsets, case.x0.copy()
    x[:2], x[3:7] = (3.0, -2.0), (0.0, 0.0, np.sin(0.4), np.cos(0.4))
    xs, us = rest.AtRest(problem, gait)(x, times)
    np.testing.assert_allclose(xs, np.tile(x, (len(times), 1)), atol=1e-12)
    evaluator = Evaluator(problem)
    evaluator.xs[:], evaluator.us[:] = xs, us
    evaluator.expand(None)
    stands = np.flatnonzero(gait.active(times[:-1]).min(axis=1) == 1.0)
    assert len(stands) >= 10
    np.testing.assert_allclose(evaluator.f[1:][stands], 0.0, atol=1e-6)  # the next state is the same one
    swings = np.setdiff1d(np.arange(len(us)), stands)
    assert len(swings) >= 10
    assert np.abs(evaluator.f[1:][swings]).max() < 1.0  # a trunk on two legs tips, and no leg is kicked


def test_forces_are_those_of_pinocchio() -> None:
    """Contact forces of a plan, and those of the equations of motion by Pinocchio, which the report stands on."""
    case = case_of("quadruped-trot-mpc")
    problem, gait, dt = case.controller.problem, case.follows, 0.02
    rows = gait(dt * np.arange(problem.T + 1))
    for name, values in rows.items():
        knots = "running" if name.startswith("contacts") or "_force" in name else "all"
        problem.set_parameter(name, list(values[:-1]) if knots == "running" else list(values), knots)
    plan = SolverSQP(problem).solve()
    forces, robot = plan.contact_forces(), problem.state.robot
    active = gait.active(dt * np.arange(problem.T))
    for t in (0, 12, 20, 30):
        held = [foot for foot, on in zip(gait.feet, active[t]) if on]
        expected = contact_forces(robot, held, plan.xs[t], plan.us[t], 1 / dt)
        np.testing.assert_allclose([forces[foot][t] for foot in held], expected, atol=1e-6)


@pytest.mark.slow
def test_quadruped_recovers_from_a_push() -> None:
    """10 N s make 16 kg 0.6 m/s faster; contacts are those that the simulator finds."""
    log = trotting()
    velocity = log.xs[:, 20]  # to the left
    assert velocity[(log.times > 1.1) & (log.times < 1.2)].max() > 0.4
    np.testing.assert_allclose(mean_of_last(log.xs[:, 19:21], 50), [0.4, 0.0], atol=0.1)
    tilt = np.degrees(np.arccos(1 - 2 * (log.xs[:, 3] ** 2 + log.xs[:, 4] ** 2)))
    assert tilt.max() < 5.0
    assert log.xs[:, 2].min() > 0.31
    assert np.abs(log.us / load_robot("go2").model.effortLimit[6:]).max() <= 1.0 + 1e-9


def test_cones_hold_by_pinocchio() -> None:
    """After the push too, whose measured states are far from those that were predicted."""
    log, case = trotting(), case_of("quadruped-trot-mpc")
    robot, gait = case.controller.problem.state.robot, case.follows
    cone = FrictionCone(0.6)
    margins = []
    for t, x, u in zip(log.times, log.measured, log.us):
        held = [foot for foot, on in zip(gait.feet, gait.active(np.array([t]))[0]) if on]
        rows = contact_forces(robot, held, x, u, 50.0) @ cone.matrix.T
        margins.append(min(float(np.min(cone.upper - rows)), float(np.min(rows - cone.lower))))
    worst = np.array(margins)
    assert worst.min() > -1e-3
    assert worst.min() < 10.0  # some of them are near
    told = max(float(values.max()) for name, values in log.violations.items() if name.endswith("_force"))
    assert told == pytest.approx(max(0.0, -worst.min()), abs=1e-6)


@pytest.mark.slow
def test_quadruped_survives_an_impulse_of_its_weight_times_a_quarter_second() -> None:
    """40 N s from behind make it 2.5 m/s faster; it fell at 28 N s. `tests.plants.impulses` has all sides."""
    case = case_of("quadruped-trot-mpc", commands=impulses.COMMANDS, pushes=())
    assert impulses.survives(case, 0.0, 40.0)


def test_controllers_own_contacts_trot_too() -> None:
    log = log_of("quadruped-trot-mpc", 1.2, plant="contacts", pushes=())
    assert log.xs[:, 2].min() > 0.31
    assert abs(log.xs[:, 20]).max() < 0.1
    assert "failed" not in log.statuses


def test_nothing_is_compiled_after_the_first_step() -> None:
    case = case_of("quadruped-trot-mpc")
    case.simulate(0.05)
    before = compilations()
    case.simulate(0.3)
    assert compilations() == before


def test_references_pickle() -> None:
    for name in ("drive-obstacles", "quadrotor-gates", "quadruped-trot-mpc"):
        follows, times = case_of(name).follows, np.linspace(0.0, 2.0, 7)
        again = pickle.loads(pickle.dumps(follows))
        for key, value in follows(times).items():
            np.testing.assert_array_equal(again(times)[key], value)
