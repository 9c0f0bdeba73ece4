"""Paths of targets: followed, left where limits or reach say so, within limits of position, velocity, acceleration."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from matplotlib.axes import Axes

import trajopt
from tests.support import ik_paths
from tests.support.ik_paths import ACCELERATION, POSTURE, circle, hand_and_posture, panda
from tests.support.ik_robots import errors, placement_task, placements, three_links
from tests.support.model_list import state_of
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.ik import IKPathStatus
from trajopt.kernels import compilations
from trajopt.plotting.film import film_of
from trajopt.plotting.ik_path import motion_of_path

FINE = 1e-9  # of a limit that holds exactly, up to rounding of (v⁺ - v) / dt


def keeps_limits(track: ik.IKPath, slack: float = FINE) -> bool:
    """Whether positions, velocities and accelerations of a fixed-base arm are within limits."""
    low, high, slowest, fastest, most = track.limits
    a = np.diff(track.vs, axis=0) / np.diff(track.times)[:, None]
    inside = np.all((track.qs >= low - slack) & (track.qs <= high + slack))
    slow = np.all((track.vs >= slowest - slack) & (track.vs <= fastest + slack))
    return bool(inside and slow and np.all(np.abs(a) <= most * (1.0 + slack) + slack))


def is_consistent(track: ik.IKPath) -> bool:
    """Whether q_{k+1} = q_k ⊕ dt v_{k+1}, by Pinocchio."""
    model, dt = track.robot.model, np.diff(track.times)
    found = [pin.difference(model, a, b) / h for a, b, h in zip(track.qs, track.qs[1:], dt)]
    return bool(np.abs(np.array(found) - track.vs[1:]).max() < 1e-8)


def test_a_circle_is_followed_within_the_robots_limits() -> None:
    state = panda()
    targets = circle(4.0, 1e-3)
    track = ik.track(state.robot, hand_and_posture(state), targets, 1e-3, q0=POSTURE, acceleration=ACCELERATION)
    assert track.status is IKPathStatus.FOLLOWED
    assert track.departures == ()
    assert errors(placements(state, "panda_hand", track.qs), targets).max() < 1e-6
    assert keeps_limits(track, 0.0) or keeps_limits(track)
    np.testing.assert_array_equal(track.limits[3], state.robot.model.velocityLimit)
    assert is_consistent(track)
    assert np.abs(track.vs).max() > 0.1
    assert np.abs(track.residuals["hand"].value).max() < 1e-6
    assert track.residuals["hand"].unit == "m, rad"
    np.testing.assert_allclose(track.distance, np.linalg.norm(track.residuals["hand"].value, axis=1))
    assert len(track) == 4001


def test_steps_that_are_too_long_are_no_limit() -> None:
    state = panda()
    coarse = ik.track(state.robot, hand_and_posture(state), circle(4.0, 0.05), 0.05, q0=POSTURE)
    assert coarse.status is IKPathStatus.COARSE
    assert all(each.reachable and not each.limits for each in coarse.departures)
    assert "no limit is near" in str(coarse.departures[0])
    assert "pass a smaller dt" in str(coarse)
    fine = ik.track(state.robot, hand_and_posture(state), circle(4.0, 0.01), 0.01, q0=POSTURE)
    assert fine.status is IKPathStatus.FOLLOWED


def test_a_track_lags_at_its_limits_and_catches_up() -> None:
    state = panda()
    targets = circle(1.2, 2e-3, radius=0.2, rest=0.8)
    track = ik.track(state.robot, hand_and_posture(state), targets, 2e-3, q0=POSTURE, acceleration=ACCELERATION)
    assert track.status is IKPathStatus.LIMITED
    (departure,) = track.departures
    assert departure.reachable
    assert departure.distance > 0.1
    assert {"v:panda_joint4", "a:panda_joint4"} <= set(departure.limits)
    assert departure.distance == track.distance[departure.worst]
    assert np.all(track.distance[: departure.first] < 2e-4)
    assert np.all(track.distance[departure.last + 1 :] < 2e-4)
    assert keeps_limits(track)
    assert (np.abs(track.vs) >= track.limits[3] - FINE).any(axis=0)[[0, 3, 5]].all()
    assert is_consistent(track)
    assert track.distance[-1] < 1e-8
    quiet = np.abs(track.accelerations[-100:] / ACCELERATION).max()
    assert quiet < 0.2  # neither hand nor posture chatter at the end
    assert "limits" in str(track)


@pytest.mark.parametrize("acceleration", [None, 20.0])
def test_a_track_follows_a_jump_of_the_target_without_overshoot(acceleration: float | None) -> None:
    """Joints brake before they arrive: the tool passes its target by no more than a hundredth of the way."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-3r"))
    tip = trajopt.ResidualModelFrameTranslation(state, "tool")
    tasks = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    q0 = np.array([0.3, 0.8, 0.7])
    here = state.robot.placement(q0, "tool")[:3, 3]
    goal = here + np.array([0.2, 0.0, -0.2])
    track = ik.track(state.robot, tasks, [here, *[goal] * 2000], 1e-3, q0=q0, acceleration=acceleration)
    along = (placements(state, "tool", track.qs)[:, :3, 3] - here) @ (goal - here) / np.sum((goal - here) ** 2)
    assert along.max() < 1.01
    assert along[-1] == pytest.approx(1.0, abs=1e-9)
    assert keeps_limits(track)


def test_a_track_stretches_towards_targets_out_of_reach_and_rests_there() -> None:
    """The arm of 10, 10, 10 stretches towards (20, 25), 32.0156 away; then the target comes back."""
    state, far = three_links(), np.array([20.0, 25.0, 0.0])
    near = np.array([12.0, 15.0, 0.0])
    tasks = trajopt.ConstraintStack(state).add("tip", trajopt.ResidualModelFrameTranslation(state, "tip"), equals=0.0)
    out = near + (0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 1500)))[:, None] * (far - near)
    targets = np.concatenate([out, np.tile(far, (3000, 1)), out[::-1], np.tile(near, (500, 1))])
    track = ik.track(state.robot, tasks, targets, 2e-3, acceleration=20.0)
    assert track.status is IKPathStatus.UNREACHABLE
    assert [departure.reachable for departure in track.departures] == [False]
    assert track.distance[4490] == pytest.approx(np.hypot(20.0, 25.0) - 30.0, abs=1e-4)
    tip = state.robot.placement(track.qs[4490], "tip")[:2, 3]
    np.testing.assert_allclose(tip, 30.0 * far[:2] / np.hypot(20.0, 25.0), atol=0.05)
    assert np.abs(track.vs[4400:4490]).max() < 1e-2
    assert track.distance[-1] < 1e-6
    assert keeps_limits(track)
    assert ": out of reach, " in str(track)


def around_the_base(pan: float, T: float) -> ik.IKPath:
    """A UR5 turns once about its base, tool ahead, from a place of the first joint [rad] that has limits of ±2 pi."""
    state = trajopt.StateMultibody(trajopt.load_robot("ur5"))
    arm = np.array([-1.5, 1.5, -1.5, -1.5, 0.0])
    angles = pan + np.linspace(0.0, 2.0 * np.pi, 201)
    targets = placements(state, "tool0", np.column_stack([angles, np.tile(arm, (201, 1))]))
    task = placement_task(state, "tool0")
    return ik.track(state.robot, task, targets, T / 200, q0=np.r_[pan, arm], velocity=1.0)


@pytest.mark.parametrize(
    ("pan", "T", "status", "why"),
    [
        (-3.0, 10.0, IKPathStatus.FOLLOWED, ""),
        (5.4, 10.0, IKPathStatus.OTHER_START, "only other configurations reach the targets"),
        (-3.0, 4.0, IKPathStatus.LIMITED, ": limits, "),
    ],
)
def test_poses_in_reach_are_not_said_to_be_out_of_reach(pan: float, T: float, status: IKPathStatus, why: str) -> None:
    """The joint ends at its limit, or is too slow; from another start and slowly enough the tool follows."""
    track = around_the_base(pan, T)
    assert track.status is status
    assert all(each.reachable and why in str(each) for each in track.departures)
    assert any("q:shoulder_pan_joint" in each.limits for each in track.departures) == (pan > 0.0)


def test_the_posture_is_held_where_the_hand_leaves_room() -> None:
    """At the end it is that of the least cost under the constraint, found from there."""
    state = panda()
    tasks = hand_and_posture(state)
    aside = POSTURE + np.r_[0.6, 0.0, -0.6, 0.2, 0.5, 0.0, 0.0, 0.01, 0.0]
    target = state.robot.placement(aside, "panda_hand")
    track = ik.track(state.robot, tasks, np.tile(target, (3000, 1, 1)), 1e-3, q0=aside, acceleration=ACCELERATION)
    assert track.followed
    assert track.distance.max() < 1e-4
    best = ik.solve(state.robot, ik_paths.hand_and_posture(state, target), start=track.qs[-1], starts=1)
    np.testing.assert_allclose(track.qs[-1], best.q, atol=1e-4)
    assert np.linalg.norm(track.qs[-1] - POSTURE) < 0.95 * np.linalg.norm(aside - POSTURE)


@pytest.mark.parametrize("acceleration", [None, 5.0])
def test_a_start_beyond_limits_is_moved_inside(acceleration: float | None) -> None:
    state = panda()
    beyond = POSTURE + np.r_[3.3, 0.0, 0.0, 0.0, -3.5, 0.0, 0.0, 0.05, -0.1]
    target = state.robot.placement(POSTURE, "panda_hand")
    task = placement_task(state, "panda_hand")
    track = ik.track(state.robot, task, np.tile(target, (5000, 1, 1)), 1e-3, q0=beyond, acceleration=acceleration)
    low, high, slowest, fastest, _ = track.limits
    assert np.all((track.vs >= slowest) & (track.vs <= fastest))
    outside = np.maximum(np.maximum(low - track.qs, track.qs - high), 0.0)
    assert np.all(np.diff(outside, axis=0) <= 1e-12)
    assert np.all(outside[0, [0, 4, 7, 8]] > 0)
    assert outside[-1].max() == 0.0
    a = np.abs(np.diff(track.vs, axis=0) / 1e-3)
    assert acceleration is None or a.max() <= acceleration * (1 + FINE)


def test_joints_stop_before_their_limits() -> None:
    """Pulled beyond its limit at full speed, a joint brakes in time, and arrives."""
    bounds = np.array([0.8, 0.9, 1.5, 1.5])
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"), lower=-bounds, upper=bounds)
    target = state.robot.placement(np.array([2.0, 0.5]), "tool")[:3, 3]
    tip = trajopt.ResidualModelFrameTranslation(state, "tool", target)
    task = trajopt.ConstraintStack(state).add("tip", tip, equals=0.0)
    track = ik.track(state.robot, task, np.tile(target, (4000, 1)), 1e-3, q0=[-0.7, 0.1], acceleration=8.0)
    assert keeps_limits(track)
    assert np.abs(track.vs).max() == 1.5
    room, v = 0.8 - track.qs[:-1, 0], np.maximum(track.vs[1:, 0], 0.0)
    assert np.all(v * 5e-4 + v**2 / 16.0 <= room + 1e-9)
    assert track.qs[-1, 0] == pytest.approx(0.8, abs=1e-6)
    assert track.status is IKPathStatus.UNREACHABLE
    assert "q:joint_1" in track.departures[0].limits
    assert ": out of reach, " in str(track)  # of all configurations


def test_a_hand_leaves_its_path_before_it_meets_an_obstacle() -> None:
    state = panda()
    targets = circle(4.0, 2e-3, rest=0.5)
    there = targets[1000, :3, 3]
    ball = trajopt.Sphere(0.05, center=there + np.array([0.02, 0.0, 0.0]))
    tasks, costs = hand_and_posture(state)
    tasks.add("apart", trajopt.ResidualModelPairDistance(state, trajopt.Sphere(0.03, frame="panda_hand"), ball))
    track = ik.track(state.robot, (tasks, costs), {"hand.reference": targets}, 2e-3, q0=POSTURE, acceleration=20.0)
    away = np.linalg.norm(placements(state, "panda_hand", track.qs)[:, :3, 3] - ball.points[0], axis=1)
    assert away.min() > 0.08 - 1e-4
    assert len(track.departures) >= 1
    assert track.distance[-1] < 1e-5
    assert keeps_limits(track)


@pytest.mark.slow
def test_a_quadruped_shifts_its_weight_on_its_feet() -> None:
    """A free flyer: feet and centre of mass are hard, the posture weighted; steps stay on the manifold."""
    state = state_of("solo12")
    robot, q0 = state.robot, state.robot.configuration("standing")
    com = pin.centerOfMass(state.model, state.model.createData(), q0)
    tasks = trajopt.ConstraintStack(state).add("com", trajopt.ResidualModelCoMPosition(state, com), equals=0.0)
    feet = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
    for foot in feet:
        there = robot.placement(q0, foot)[:3, 3]
        tasks.add(foot, trajopt.ResidualModelFrameTranslation(state, foot, there), equals=0.0)
    posture = trajopt.ResidualModelState(state, np.r_[q0, np.zeros(state.nv)])
    costs = trajopt.CostStack(state).add("posture", posture, weight=0.1)

    def path(t: float) -> object:
        return com + 0.03 * np.array([np.sin(3.0 * t), 0.5 - 0.5 * np.cos(3.0 * t), -0.5 * np.sin(1.5 * t) ** 2])

    track = ik.track(robot, (tasks, costs), {"com.reference": path}, 2e-3, duration=2.0, q0=q0)
    assert track.followed
    assert is_consistent(track)
    data = state.model.createData()
    found = np.array([pin.centerOfMass(state.model, data, q).copy() for q in track.qs])
    np.testing.assert_allclose(found, [path(t) for t in track.times], atol=1e-5)
    for foot in feet:
        np.testing.assert_allclose(placements(state, foot, track.qs)[:, :3, 3], np.tile(
            robot.placement(q0, foot)[:3, 3], (len(track), 1)), atol=1e-5)  # fmt: skip
    assert all(pin.isNormalized(state.model, q, 1e-12) for q in track.qs)


def test_the_first_target_gives_the_start_and_a_second_path_compiles_nothing() -> None:
    state = panda()
    tasks = hand_and_posture(state)
    ik.track(state.robot, tasks, circle(1.0, 0.01), 0.01)
    before = compilations()
    track = ik.track(state.robot, hand_and_posture(state), circle(1.0, 0.005, radius=0.05), 0.005, limits=False)
    assert compilations() == before
    assert track.followed
    assert track.distance[0] < 1e-4
    np.testing.assert_array_equal(track.vs[0], 0.0)
    assert not np.isfinite(track.limits).any()


@pytest.fixture(scope="module")
def tracks() -> dict[str, ik.IKPath]:
    """A circle that is too fast for the joints' limits of acceleration at its begin and end, by both methods."""
    state, given = panda(), {"q0": POSTURE, "acceleration": 0.3 * ACCELERATION}
    targets = circle(1.6, 0.02, rest=0.2)
    return {
        method: ik.track(state.robot, hand_and_posture(state), targets, 0.02, method=method, **given)
        for method in ("differential", "optimal")
    }


@pytest.mark.slow
def test_the_optimal_motion_is_smooth_and_keeps_limits(tracks: dict[str, ik.IKPath]) -> None:
    track = tracks["optimal"]
    assert track.solution is not None
    assert track.solution.status.name == "CONVERGED"
    assert keeps_limits(track, 1e-6)
    assert is_consistent(track)
    assert np.mean(track.distance) < 0.7 * np.mean(tracks["differential"].distance)
    assert tracks["differential"].status is track.status is IKPathStatus.LIMITED
    np.testing.assert_array_equal(track.qs[0], POSTURE)
    np.testing.assert_array_equal(track.vs[0], 0.0)


def test_within_limits_the_optimal_motion_is_on_the_path_exactly() -> None:
    state = panda()
    targets = circle(4.0, 0.02)
    given = {"q0": POSTURE, "acceleration": ACCELERATION}
    step = ik.track(state.robot, hand_and_posture(state), targets, 0.02, **given)
    track = ik.track(state.robot, hand_and_posture(state), targets, 0.02, method="optimal", **given)
    assert track.followed
    assert errors(placements(state, "panda_hand", track.qs), targets).max() < 5e-6
    assert keeps_limits(track, 1e-6)
    assert np.sum(np.square(track.accelerations)) < np.sum(np.square(step.accelerations))


@pytest.mark.slow
def test_the_optimal_motion_of_a_start_beyond_limits() -> None:
    state = panda()
    q0 = POSTURE + np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 2.3, 0.0, 0.0, 0.0]
    targets = np.tile(state.robot.placement(POSTURE, "panda_hand"), (60, 1, 1))
    track = ik.track(
        state.robot, placement_task(state, "panda_hand"), targets, 0.02, method="optimal", q0=q0, acceleration=20.0
    )
    low, high = track.limits[:2]
    assert q0[5] > high[5]
    assert np.all((track.qs[-1] >= low - 1e-6) & (track.qs[-1] <= high + 1e-6))
    assert np.all(np.abs(track.accelerations) <= 20.0 + 1e-6)
    assert track.distance[-1] < 1e-3


def test_tasks_with_costs_only_are_tracked() -> None:
    state = panda()
    hand = trajopt.ResidualModelFramePlacement(state, "panda_hand")
    rest = trajopt.ResidualModelState(state, np.r_[POSTURE, np.zeros(9)])
    tasks = trajopt.CostStack(state).add("hand", hand, weight=1.0).add("rest", rest, weight=1e-8)
    targets = circle(2.0, 2e-3)
    track = ik.track(state.robot, tasks, {"hand.reference": targets}, 2e-3, q0=POSTURE, settling=0.0)
    assert errors(placements(state, "panda_hand", track.qs), targets).max() < 1e-4
    assert track.followed
    assert track.residuals["hand"].value.shape == (len(track), 6)


def test_results_are_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = panda()
    track = ik.track(state.robot, hand_and_posture(state), circle(0.4, 0.01), 0.01, q0=POSTURE, acceleration=20.0)
    again = pickle.loads(pickle.dumps(track))
    np.testing.assert_array_equal(again.qs, track.qs)
    assert str(again) == str(track)
    figure = track.plot(tmp_path / "track.png")
    assert "distance\nto path [m, rad]" in [axes.get_ylabel() for axes in figure.findobj(Axes)]
    assert (tmp_path / "track.png").stat().st_size > 20_000
    assert track.animate(tmp_path / "track.gif").stat().st_size > 5_000
    motion = motion_of_path(track)
    np.testing.assert_array_equal(motion.xs, np.hstack([track.qs, track.vs]))
    np.testing.assert_array_equal(motion.times, track.times)
    np.testing.assert_array_equal(film_of(motion).goals, track.wanted[:, -1])
    monkeypatch.setattr("trajopt.display.pictures.find_browser", lambda: None)
    assert track.film(tmp_path / "track.png", time=0.1).stat().st_size > 5_000


@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_a_limit_of_velocity_is_kept_by_both_methods(method: str) -> None:
    """It replaces that of the robot, for all joints or for each; by default the robot's holds."""
    state = panda()
    given = {"q0": POSTURE, "acceleration": ACCELERATION, "method": method}
    targets, dt = circle(2.0, 1e-2), 1e-2
    free = ik.track(state.robot, hand_and_posture(state), targets, dt, **given)
    fastest = np.abs(free.vs).max(axis=0)
    for velocity in (0.5 * float(fastest.max()), 0.6 * fastest + 0.01):
        track = ik.track(state.robot, hand_and_posture(state), targets, dt, velocity=velocity, **given)
        np.testing.assert_array_equal(track.limits[3], np.broadcast_to(velocity, 9))
        np.testing.assert_array_equal(track.limits[2], -track.limits[3])
        assert np.all(np.abs(track.vs) <= track.limits[3] + 1e-6)
        assert np.any(np.abs(track.vs) > 0.99 * track.limits[3])
        assert keeps_limits(track, 1e-6)
    none = ik.track(state.robot, hand_and_posture(state), targets, dt, velocity=np.inf, **given)
    assert np.all(none.limits[3] == np.inf)
    np.testing.assert_array_equal(free.limits[3], state.robot.model.velocityLimit)


def test_a_tracker_keeps_a_limit_of_velocity() -> None:
    state = panda()
    tracker = ik.IKTracker(state.robot, hand_and_posture(state), POSTURE, 1e-2, velocity=0.05)
    steps = [tracker.step({"hand.reference": target}) for target in circle(2.0, 1e-2)[50:80]]
    assert np.abs([step.v for step in steps]).max() == pytest.approx(0.05)
    for wrong in (0.0, [1.0, 2.0], -1.0):
        with pytest.raises(InvalidArgumentError, match="velocity: expected a positive number, or 9 of them"):
            ik.IKTracker(state.robot, hand_and_posture(state), POSTURE, 1e-2, velocity=wrong)


def test_text_tells_how_far_each_constraint_is_from_holding() -> None:
    """A centre of mass within its bounds had its height as "largest 0.53", beside a path that holds."""
    robot = trajopt.load_robot("panda")
    state, q = trajopt.StateMultibody(robot), robot.configuration("default")
    path = np.tile(robot.placement(q, "panda_hand"), (20, 1, 1))
    path[:, 0, 3] += np.linspace(0.0, 0.02, 20)
    hand, com = trajopt.ResidualModelFramePlacement(state, "panda_hand"), trajopt.ResidualModelCoMPosition(state)
    tasks = trajopt.ConstraintStack(state).add("hand", hand, equals=0.0).add("com", com, lower=-1.0, upper=1.0)
    tasks.add("low", com, upper=[1.0, 1.0, 0.3], soft=(0.0, 1e-9))
    posture = trajopt.ResidualModelState(state, state.at_rest(q))
    costs = trajopt.CostStack(state).add("posture", posture, weight=1.0)
    motion = ik.track(robot, (tasks, costs), {"hand.reference": path}, dt=0.02)
    lines = dict(line.split(maxsplit=1) for line in str(motion).splitlines())
    assert motion.followed
    assert re.fullmatch(r"off by \S+ m and \S+ rad at knot \d+", lines["hand"])
    assert lines["com"] == "within its bounds"
    assert re.fullmatch(r"off by up to 0\.2\d+ m at knot \d+ \(soft\)", lines["low"])
    assert lines["posture"].startswith("cost, residuals up to 0.")
