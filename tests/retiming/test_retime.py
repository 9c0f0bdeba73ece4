"""Retiming along paths: closed forms of one joint, scaling laws, limits between knots, errors."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.retiming import JointPath, RetimedPath, retime
from trajopt.solution import SolverStatus

Reals = npt.NDArray[np.float64]


@functools.cache
def arm() -> trajopt.Robot:
    return trajopt.load_robot("ur5")


@functools.cache
def waypoints() -> Reals:
    return np.random.default_rng(1).uniform(-1.2, 1.2, (5, 6))


@functools.cache
def retimed(**limits: float) -> RetimedPath:
    return retime(arm(), waypoints(), intervals=100, **limits)


def line(way: float) -> Reals:
    """The first joint, which gravity does not load, turns by an angle."""
    return np.outer([0.0, way], np.eye(6)[0])


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"acceleration": 3.0, "velocity": np.inf}, 2.0 * np.sqrt(2.0 / 3.0)),
        ({"acceleration": 3.0, "velocity": 1.5}, 2.0 / 1.5 + 1.5 / 3.0),
        ({"acceleration": 1e4, "velocity": np.inf, "jerk": 50.0}, (32.0 * 2.0 / 50.0) ** (1.0 / 3.0)),
    ],
)
def test_line_takes_the_time_of_the_closed_form(limits: dict[str, float], expected: float) -> None:
    """2 √(d / a), d / v + v / a, and (32 d / j)^⅓."""
    errors = []
    for intervals in (25, 400):
        found = retime(arm(), line(2.0), torque=np.inf, intervals=intervals, **limits)
        assert found.converged
        errors.append(abs(found.duration / expected - 1.0))
    assert errors[1] < 2e-3
    assert errors[1] < 0.5 * errors[0]


def bends(seed: int = 0) -> Reals:
    """Configurations between which the path bends all the time."""
    steps = np.random.default_rng(seed).uniform(-0.12, 0.12, (25, 6))
    return np.asarray(np.cumsum(steps, axis=0) + np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0]))


@pytest.mark.slow
def test_number_of_intervals_grows_until_the_motion_is_as_fast_as_can_be() -> None:
    found, few, many = (retime(arm(), bends(), acceleration=8.0, intervals=n) for n in (None, 100, 1600))
    assert few.duration > 1.01 * many.duration
    assert found.duration < 1.002 * many.duration
    assert len(found.slopes) < 1600
    assert max(found.usage().values()) < 1.001


def test_slopes_that_change_in_an_interval_lose_time_by_its_square() -> None:
    """Constant slopes lose 0.25 % with 100 intervals, and half of it with 200."""
    fine, *coarse = (retime(arm(), waypoints(), intervals=n).duration for n in (800, 100, 200))
    lost = np.array(coarse) / fine - 1.0
    assert lost[0] < 6e-4
    assert lost[1] < 0.4 * lost[0]


def test_few_intervals_are_enough_for_a_line() -> None:
    found = retime(arm(), line(2.0), torque=np.inf, velocity=1.5, acceleration=3.0)
    assert len(found.slopes) <= 200
    assert found.iterations <= 60  # of both numbers


def test_slowest_joint_of_a_line_decides() -> None:
    limits = np.array([1.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    both = retime(
        arm(), line(1.0) + line(1.0)[:, [1, 0, 2, 3, 4, 5]], acceleration=limits, torque=np.inf, velocity=np.inf
    )
    one = retime(arm(), line(1.0), acceleration=1.0, torque=np.inf, velocity=np.inf)
    assert both.duration == pytest.approx(one.duration, rel=1e-6)


@pytest.mark.parametrize("jerk", [np.inf, 200.0])
def test_limits_in_another_unit_of_time_scale_the_duration(jerk: float) -> None:
    slow = retimed(velocity=3.0, acceleration=8.0, torque=np.inf, jerk=jerk)
    fast = retimed(velocity=6.0, acceleration=32.0, torque=np.inf, jerk=8.0 * jerk)
    assert fast.duration == pytest.approx(0.5 * slow.duration, rel=1e-7)


@pytest.mark.parametrize("limits", [{"acceleration": 8.0}, {}, {"acceleration": 8.0, "jerk": 200.0}], ids=repr)
def test_motion_keeps_its_limits_and_uses_one_of_them_everywhere(limits: dict[str, float]) -> None:
    found = retimed(**limits)
    assert found.converged
    assert found.iterations <= 90  # 51 to 63 measured, in three solves
    assert set(found.usage()) == {"velocity", "torque", *limits}
    assert max(found.usage().values()) < 1.0002  # 1.03 without rows that are added between the first points
    middle = 0.5 * (found.times[2:-1] + found.times[1:-2])
    used = np.concatenate(list(found.parts(middle).values()), axis=1)
    assert np.quantile(np.abs(used).max(axis=1), 0.1) > (0.6 if "jerk" in limits else 0.95)


@pytest.mark.parametrize("limits", [{"acceleration": 8.0}, {}], ids=repr)
def test_whole_motion_becomes_as_slow_as_it_needs(limits: dict[str, float]) -> None:
    """Without it the motion exceeds its limits by 2e-5 and 4e-5 at points without a row."""
    assert max(retimed(**limits).usage().values()) < 1.0 + 1e-6


@pytest.mark.parametrize("limits", [{"acceleration": 8.0}, {"jerk": 200.0}], ids=repr)
def test_coarse_grid_keeps_limits_at_the_cost_of_little_time(limits: dict[str, float]) -> None:
    coarse = retime(arm(), waypoints(), intervals=40, **limits)
    fine = retime(arm(), waypoints(), intervals=160, **limits)
    assert coarse.converged
    times = np.linspace(0.0, coarse.duration, 3011)
    assert max(np.abs(part).max() for part in coarse.parts(times).values()) < 1.001  # 1.06 to 1.1 at the ends alone
    assert fine.duration < coarse.duration < 1.03 * fine.duration


@pytest.mark.parametrize("seed", [0, 4])
def test_path_with_many_bends_keeps_its_limits_at_all_times(seed: int) -> None:
    """Its third derivative jumps within intervals. Limits that are tighter in all of an interval took 4.6 s."""
    found = retime(arm(), bends(seed), jerk=200.0, intervals=60)
    assert found.converged
    assert found.duration < 4.2  # 4.08 and 3.75 s; 3.86 and 3.60 s with many intervals
    used = found.parts(np.linspace(0.0, found.duration, 20_001))
    assert 0.99 < max(np.abs(part).max() for part in used.values()) < 1.001
    times = np.linspace(0.0, found.duration, 5_001)
    jerks = np.diff(found.at(times)[2][1:-1], axis=0) / times[1]
    assert np.abs(jerks).max() < 1.001 * 200.0


def test_times_of_waypoints_are_on_the_path() -> None:
    path = JointPath(waypoints())
    for rest in (2, 3):
        tau = path.waypoint_times(rest)
        np.testing.assert_allclose(path.derivatives(tau, rest)[0], path.waypoints[1:-1], atol=1e-12)
    np.testing.assert_allclose(path.at(path.parameters), path.waypoints, atol=1e-12)


def test_times_of_limits_are_in_order() -> None:
    free, some, most = retimed(), retimed(acceleration=8.0), retimed(acceleration=8.0, jerk=200.0)
    assert free.duration < some.duration < most.duration < 1.1 * some.duration


@pytest.mark.parametrize("limits", [{}, {"acceleration": 8.0, "jerk": 200.0}], ids=repr)
def test_velocities_and_accelerations_are_derivatives_of_the_motion(limits: dict[str, float]) -> None:
    found, h = retimed(**limits), 1e-5
    times = np.linspace(0.02, found.duration - 0.02, 37) + 1e-3
    q, v, a = found.at(times)
    before, after = found.at(times - h), found.at(times + h)
    np.testing.assert_allclose(v, (after[0] - before[0]) / (2.0 * h), atol=2e-4)
    np.testing.assert_allclose(np.median(np.abs(a - (after[1] - before[1]) / (2.0 * h))), 0.0, atol=1e-3)
    path = JointPath(waypoints())
    nearest = np.abs(found.at(np.linspace(0.0, found.duration, 20_000))[0][:, None] - path.waypoints).max(axis=2)
    assert nearest.min(axis=0).max() < 1e-3
    ends = found.at([-1.0, found.duration + 1.0])
    np.testing.assert_allclose(ends[0], path.waypoints[[0, -1]], atol=1e-9)
    assert not np.concatenate(ends[1:]).any()
    np.testing.assert_allclose(found.qs[-1], path.waypoints[-1], atol=1e-9)
    assert q.shape == found.torques(times).shape == (37, 6)


def test_torques_are_those_of_inverse_dynamics() -> None:
    import pinocchio as pin

    found = retimed()
    t = np.array([-0.5, 0.0, 0.3, 0.9, found.duration + 1.0])  # the first and last at rest
    model = arm().model
    expected = [pin.rnea(model, model.createData(), *each) for each in zip(*found.at(t))]
    np.testing.assert_allclose(found.torques(t), expected, atol=1e-9)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"velocity": -1.0}, "velocity: expected one number > 0 or 6, one for each joint, inf for no limit, got -1"),
    ({"jerk": [1.0, 2.0]}, "jerk: expected one number > 0 or 6"),
    ({"torque": np.inf}, r"acceleration, torque: expected a finite limit, .* pass acceleration=\.\.\."),
    ({"torque": 20.0}, "torque: expected limits that hold the robot at rest, but velocity coordinate 1 needs"),
    ({"intervals": 1}, "intervals"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_errors_name_the_cure(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        retime(arm(), waypoints(), **arguments)


def test_no_times_give_no_rows() -> None:
    assert [each.shape for each in retimed(acceleration=8.0).at([])] == [(0, 6)] * 3


@pytest.mark.parametrize("method", ["at", "torques", "parts"])
def test_a_time_that_is_no_number_is_refused(method: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"times: expected times \[s\] without NaN"):
        getattr(retimed(acceleration=8.0), method)([0.1, np.nan])


def test_a_path_that_nothing_limits_is_refused() -> None:
    """Only a joint that rests has a limit of the acceleration."""
    limits = np.where(np.arange(6) == 1, 3.0, np.inf)
    with pytest.raises(InvalidArgumentError, match=r"limit of a joint that moves along the path; pass acceleration="):
        retime(arm(), line(1.0), acceleration=limits, torque=np.inf, velocity=np.inf)


def test_errors_of_paths_and_robots() -> None:
    with pytest.raises(InvalidArgumentError, match="equal rows 1 and 2"):
        JointPath([[0.0], [1.0], [1.0]])
    with pytest.raises(InvalidArgumentError, match="n >= 2, got shape"):
        JointPath([[0.0]])
    with pytest.raises(InvalidArgumentError, match=r"waypoints: expected finite numbers, got nan at index \(1, 0\)"):
        JointPath([[0.0], [np.nan]])
    with pytest.raises(InvalidArgumentError, match=r"configurations \(n, 6\) of ur5, got shape \(2, 3\)"):
        retime(arm(), np.eye(3)[:2])
    with pytest.raises(InvalidArgumentError, match="expected a fixed base and joints with one coordinate each"):
        retime(trajopt.load_robot("solo12"), np.zeros((2, 19)))


def test_waypoints_beyond_joint_limits_are_refused() -> None:
    limit = arm().model.upperPositionLimit[2]
    at = np.zeros((2, 6))
    at[1, 2] = limit + 1e-5
    assert retime(arm(), at, intervals=10).converged
    at[1, 2] = limit + 0.1
    with pytest.raises(InvalidArgumentError, match=r"waypoints\[1\]: .* elbow_joint = 3.24159 beyond .*, 3.14159\]$"):
        retime(arm(), at)
    at[1, 2] = -90.0
    with pytest.raises(InvalidArgumentError, match="elbow_joint = -90 beyond .* looks like degrees.* np.radians"):
        retime(arm(), at)


def test_plot_shows_parts_of_the_limits_that_there_are(tmp_path: Path) -> None:
    figure = retimed(acceleration=8.0).plot(tmp_path / "retimed.png")
    assert (tmp_path / "retimed.png").stat().st_size > 5000
    assert [axes.get_ylabel().split("\n")[0] for axes in figure.axes] == ["velocity", "acceleration", "torque"]
    lines = figure.axes[0].get_lines()
    assert len(lines) == 6 + 2
    assert max(np.abs(line.get_ydata()).max() for line in lines[:6]) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("limits", [{"velocity": np.inf}, {"velocity": 0.1}], ids=repr)
def test_a_jerk_that_limits_nothing_costs_no_time(limits: dict[str, float]) -> None:
    """The cost that keeps slopes from alternating took 3.2 and 2.1 % of the time."""
    ways = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 6))[: 20 if np.isinf(limits["velocity"]) else 3]
    free, limited = (retime(arm(), ways, acceleration=5.0, jerk=j, intervals=400, **limits) for j in (None, 1e4))
    assert free.converged
    assert limited.converged
    assert limited.duration == pytest.approx(free.duration, rel=0.015)
    turns = np.sign(limited.bends)
    assert np.mean(turns[1:] != turns[:-1]) < 0.3  # from knot to knot would be 1


@pytest.mark.parametrize("velocity", [0.1, 1e-3])
def test_slow_motions_are_far_below_limits_of_acceleration(velocity: float) -> None:
    """The speed, which only a limit of the velocity bounded, fell below 0 between knots: "`x` must be finite"."""
    motion = retime(arm(), waypoints(), acceleration=10.0, velocity=velocity, intervals=50)
    assert motion.converged
    way = np.abs(motion.path.derivatives(np.linspace(0.0, 1.0, 2001), 2)[1]).max(axis=1)
    assert motion.duration == pytest.approx(np.mean(way) / velocity, rel=0.02)  # the fastest joint is at its limit
    assert max(motion.usage().values()) < 1.001


def test_a_path_without_a_motion_says_so() -> None:
    """A solve that ends early may leave speeds that are no numbers; the text was "nan s", or an error of scipy."""
    for squares in (-1.0, np.nan):
        motion = retimed(acceleration=8.0)
        still = dataclasses.replace(motion, squares=squares * motion.squares, status=SolverStatus.MAX_ITERATIONS)
        assert "5 waypoints of ur5 without a motion, stopped at max_iterations" in repr(still)
        assert still.duration == np.inf
        with pytest.raises(UnsupportedOperationError, match="along the whole path, but the solver stopped"):
            still.usage()
        with pytest.raises(UnsupportedOperationError, match="along the whole path, but the solver stopped"):
            still.plot()


def test_limits_of_zero_in_a_file_are_no_limits() -> None:
    robot = trajopt.load_robot("double_pendulum")  # its file has zeros for all limits
    motion = retime(robot, [[0.0, 0.0], [2.0, 0.0]], acceleration=3.0)
    assert motion.converged
    assert motion.duration == pytest.approx(2.0 * np.sqrt(2.0 / 3.0), rel=5e-3)
