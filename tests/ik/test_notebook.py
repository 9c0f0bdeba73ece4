"""Numbers of the robotics notebook: each of its results for manipulators, beside what a user of this package calls.

Source of all numbers: "robotics notebook", a course's Julia notebook, computed from its definitions and inputs. Its
plane is x-y, that of our planar arms x-z. Its slow methods live in the examples.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.test_examples import EXAMPLES, load
from trajopt import ik
from trajopt.ik import IKStatus, planar_2r
from trajopt.robots import planar_arm
from trajopt.types import Reals

PLANE = [0, 2]


@cache
def arm(*lengths: float) -> trajopt.StateMultibody:
    """State of a planar arm."""
    return trajopt.StateMultibody(trajopt.Robot(planar_arm(lengths=lengths)))


def tip(state: trajopt.StateMultibody, q: Any) -> Reals:
    """Position (..., 2) of the tip."""
    return state.robot.placement(q, "tool")[..., PLANE, 3]


def jacobian(state: trajopt.StateMultibody, q: Any) -> Reals:
    """Jacobian (..., 2, nv) of the tip."""
    return state.robot.jacobian(q, "tool")[..., PLANE, :]


def task(state: trajopt.StateMultibody, x: float = 0.0, y: float = 0.0) -> trajopt.ConstraintStack:
    """The tip at a point, as a hard task."""
    residual = trajopt.ResidualModelFrameTranslation(state, "tool", [x, 0.0, y])
    return trajopt.ConstraintStack(state).add("tip", residual, equals=0.0)


@cache
def example(number: int) -> Any:
    """The module of an example."""
    return load(next(path for path in EXAMPLES if Path(path).name.startswith(f"{number}_")))


def within(low: float, high: float, values: Reals) -> None:
    """Checks the range of values."""
    np.testing.assert_allclose([values.min(), values.max()], [low, high], rtol=1e-9)


# Two links


def test_two_links_forward() -> None:
    np.testing.assert_allclose(tip(arm(15.0, 15.1), [0.1, 0.2]), [29.350643465, 5.959856370], rtol=1e-9)


def test_two_links_in_closed_form() -> None:
    """θ = (1.8045, -2.2595), with D = -0.63556; the notebook has one of the two elbows."""
    branches, distance = planar_2r([10.0, 8.0], first=15.0, second=15.0)
    np.testing.assert_allclose(branches[1], [1.8045030492, -2.2595242140], rtol=1e-9)
    assert np.cos(branches[1, 1]) == pytest.approx(-0.6355555556, abs=1e-9)
    assert distance < 1e-14
    np.testing.assert_allclose(tip(arm(15.0, 15.0), branches), [[10.0, 8.0]] * 2, atol=1e-13)


def test_jacobian_and_velocities_there_and_back() -> None:
    J = jacobian(arm(10.0, 10.0), [0.1, 0.2])
    np.testing.assert_allclose(J, [[-3.9535362331, -2.9552020666], [19.503406544, 9.5533648913]], rtol=1e-9)
    np.testing.assert_allclose(J @ [5.0, 10.0], [-49.3197018315, 193.0506816327], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.solve(J, J @ [5.0, 10.0]), [5.0, 10.0], rtol=1e-12)


@pytest.mark.slow
def test_the_notebooks_loop_newton_and_least_squares() -> None:
    """9991 steps, 7, and fewer than 20; the loop's angles are the notebook's modulo 2π."""
    module, state = example(20), arm(10.0, 10.0)
    q, errors = module.iterate(np.array([0.1, 0.2]), 0.1, 1e-3)
    assert len(errors) - 1 == 9991
    turned = q - 2 * np.pi * np.trunc(q / (2 * np.pi))  # as the notebook prints them
    np.testing.assert_allclose(turned, [-4.7325598383, 4.9341767071], rtol=1e-9)
    q, errors = module.iterate(np.array([0.5, 0.2]), None, 1e-8)
    assert len(errors) - 1 == 7
    np.testing.assert_allclose(np.mod(q + np.pi, 2 * np.pi) - np.pi, [1.5505489787, -1.3489818563], atol=1e-9)
    found = ik.solve(state.robot, task(state, 10.0, 12.0), start=[0.1, 0.2], starts=1, tolerance=1e-10)
    assert found.solved
    assert found.iterations < 20
    np.testing.assert_allclose(tip(state, found.q), [10.0, 12.0], atol=1e-9)  # either branch
    closed = planar_2r([10.0, 12.0], first=10.0, second=10.0)[0]
    np.testing.assert_allclose(closed, [[0.2015671224, 1.3489818563], [1.5505489787, -1.3489818563]], atol=1e-9)


def test_ten_points_there_and_back() -> None:
    """The notebook adds (y - y1) * 2 where it means the square."""
    points = np.array([9.0, 7.0]) + 0.1 * np.arange(1, 11)[:, None]
    branches, distances = planar_2r(points, first=15.0, second=15.0)
    assert np.sum((tip(arm(15.0, 15.0), branches[:, 1]) - points) ** 2, axis=1).max() < 1e-27
    np.testing.assert_allclose(distances, 0.0, atol=1e-14)
    for each, point in zip(branches, points, strict=True):
        np.testing.assert_array_equal(each, planar_2r(point, first=15.0, second=15.0)[0])


def test_circle_in_closed_form() -> None:
    t = np.linspace(0.0, 2 * np.pi, 100)
    points = np.stack([10.0 + 5.0 * np.cos(t), 8.0 + 5.0 * np.sin(t)], axis=1)
    q = planar_2r(points, first=15.0, second=15.0)[0][:, 1]
    assert np.abs(tip(arm(15.0, 15.0), q) - points).max() < 2e-14
    within(1.3941315095, 2.2741027315, q[:, 0])
    within(-2.6150971261, -1.8707694694, q[:, 1])


def test_straight_line_in_closed_form() -> None:
    t = np.linspace(1.0, 5.0, 50)
    points = np.stack([t + 1.0, 2.0 * t - 1.0], axis=1)
    q = planar_2r(points, first=10.0, second=10.0)[0][:, 1]
    within(-0.975, -0.415, np.cos(q[:, 1]))
    assert np.abs(tip(arm(10.0, 10.0), q) - points).max() < 1e-14
    np.testing.assert_allclose(q[0], [1.9224062931, -2.9175173683], rtol=1e-9)
    np.testing.assert_allclose(q[-1], [1.9821632881, -1.9987391298], rtol=1e-9)


def test_circle_by_stairs_by_lines_between_joints_and_planned(capsys: pytest.CaptureFixture[str]) -> None:
    """950 points of stairs; the plan stays within 1e-3 of the circle, between its knots too."""
    module, t = example(21), np.linspace(0.0, 2 * np.pi, 20)
    q = planar_2r(np.stack([10.0 + 5.0 * np.cos(t), 8.0 + 5.0 * np.sin(t)], axis=1), first=15.0, second=15.0)[0][:, 1]
    stairs = module.joint_linear(module.stairs(q), 25)
    twin = []  # as the notebook writes it
    for a, b in pairwise(q):
        twin += [(one, a[1]) for one in np.linspace(a[0], b[0], 25)]
        twin += [(b[0], two) for two in np.linspace(a[1], b[1], 25)]
    assert stairs.shape == (950, 2)
    np.testing.assert_allclose(stairs, twin, atol=1e-14)
    module.main()
    rows = [line.replace(":", ",").split(",") for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: [float(part.split()[0]) for part in row[1:]] for row in rows}
    np.testing.assert_allclose(found["stair-step"], [950, 1.350228, 0.305549], atol=1e-6)
    np.testing.assert_allclose(found["joint-linear"], [475, 0.113031, 0.043042], atol=1e-6)
    assert found["planned"][1] < 1e-3


# Three links


def test_three_links_cannot_reach() -> None:
    """(20, 25) is 32.0156 away, and the arm 30 long: Newton's method fails for that reason too, which is not said."""
    state = arm(10.0, 10.0, 10.0)
    result = ik.solve(state.robot, task(state, 20.0, 25.0))
    assert result.status is IKStatus.UNREACHABLE
    assert result.distance == pytest.approx(2.0156, abs=5e-5)
    np.testing.assert_allclose(tip(state, result.q), 30.0 * np.array([20.0, 25.0]) / 32.0156, atol=1e-4)
    assert "no configuration within limits was found" in str(result)


def test_pseudo_inverse_of_three_links() -> None:
    J = jacobian(arm(10.0, 10.0, 10.0), [0.1, 0.2, 0.3])
    rows = [[-9.599960967, -8.6016268006, -5.646424734], [27.7567626931, 17.8067210404, 8.2533561491]]
    np.testing.assert_allclose(J, rows, rtol=1e-9)
    _, singular, V = np.linalg.svd(J)
    np.testing.assert_allclose(singular, [36.6760450863, 2.9209827835], rtol=1e-9)
    np.testing.assert_allclose(np.linalg.pinv(J) @ [1.0, 1.0], [0.2498849635, -0.1849263745, -0.3202412715], atol=1e-9)
    np.testing.assert_allclose(V[2] * np.sign(V[2, 0]), [0.2758517139, -0.7233688499, 0.6329639318], atol=1e-9)
    state = arm(10.0, 10.0, 10.0)
    measure = trajopt.ResidualModelManipulability(state, "tool", rows=(0, 2))
    cost = trajopt.CostStack(state).add("m", measure, weight=2.0)
    found = ik.solve(state.robot, (task(state, *tip(state, [0.1, 0.2, 0.3])), cost), start=[0.1, 0.2, 0.3], starts=1)
    assert measure.nr == 1
    assert found.judge(np.array([0.1, 0.2, 0.3]))["m"].value[0] == pytest.approx(singular.prod(), rel=1e-9)


def test_null_space_motion_drifts_and_a_constraint_does_not() -> None:
    """Ten steps of 0.01: the tip drifts by 1.5214e-3; held by a constraint it does not, on a longer way."""
    state, q = arm(10.0, 10.0, 10.0), np.array([0.2, 0.3, 0.4])
    start = tip(state, q)
    np.testing.assert_allclose(start, [24.79259108, 14.6142177903], rtol=1e-9)
    moved = example(22).null_space(q, 0.01, 10)
    assert np.linalg.norm(tip(state, moved) - start) == pytest.approx(1.5214e-3, abs=5e-8)
    assert np.linalg.norm(moved - q) == pytest.approx(0.0999771, abs=5e-8)
    posture = trajopt.CostStack(state).add("posture", trajopt.ResidualModelState(state, [-0.5, 1.2, 0.6, 0, 0, 0]), 1.0)
    path = np.tile([start[0], 0.0, start[1]], (301, 1))
    held = ik.track(state.robot, (task(state), posture), {"tip.reference": path}, 0.01, q0=q, method="optimal")
    assert np.linalg.norm(held.qs[-1] - q) > 0.2
    assert np.abs(tip(state, held.qs) - start).max() < 1e-6


def test_one_pseudo_inverse_step_is_off_and_repeated_ones_arrive() -> None:
    state, q = arm(10.0, 10.0, 10.0), np.array([0.2, 0.3, 0.4])
    step = np.linalg.pinv(jacobian(state, q)) @ [-2.0, 3.0]
    np.testing.assert_allclose(tip(state, q + step), [22.6096725954, 17.4664742019], rtol=1e-9)
    assert np.linalg.norm(step) == pytest.approx(0.1017773811, abs=1e-9)
    wanted = tip(state, q) + np.array([-2.0, 3.0])
    np.testing.assert_allclose(wanted, [22.79259, 17.61422], atol=5e-6)
    found = ik.solve(state.robot, task(state, *wanted), start=q, starts=1, tolerance=1e-10)
    assert found.iterations < 20
    np.testing.assert_allclose(tip(state, found.q), wanted, atol=1e-9)
    assert np.linalg.norm(found.q - q) < 0.13  # as near as the single step


def test_resolved_rates_leave_the_ellipse_and_a_plan_does_not() -> None:
    state, s = arm(10.0, 10.0, 10.0), np.arange(1, 101) / 100
    velocities, q = 0.1 * np.stack([-np.sin(s), 2 * np.cos(s)], axis=1), np.array([0.0, 2 * np.pi / 3, -3 * np.pi / 4])
    start = tip(state, q)
    np.testing.assert_allclose(start, [14.6592582629, 6.0720635868], rtol=1e-9)
    wanted = start + np.concatenate([np.zeros((1, 2)), velocities.cumsum(axis=0)])
    np.testing.assert_allclose(wanted[-1], [10.0202460805, 22.8553732682], rtol=1e-9)
    plan = ik.track(state.robot, task(state), np.insert(wanted, 1, 0.0, axis=1), 0.04, q0=q, method="optimal")
    for v in velocities:
        q = q + np.linalg.pinv(jacobian(state, q)) @ v
    np.testing.assert_allclose(tip(state, q), [9.9384204741, 22.8309536728], rtol=1e-9)
    assert np.linalg.norm(tip(state, q) - wanted[-1]) == pytest.approx(0.0854, abs=5e-5)
    assert plan.followed
    assert np.linalg.norm(tip(state, plan.qs) - wanted, axis=1).max() < 1e-6


# In space


@pytest.mark.parametrize("q", [(0.0, 2.0, 3.0), (0.7, 4.1, 1.6)])
def test_arm_that_turns_reaches_and_lowers(q: tuple[float, float, float]) -> None:
    """Joints of arm3 with d = 5: (0, 0, d), (a1 cos θ1, a1 sin θ1, d), (a1 cos θ1, a1 sin θ1, d - a2)."""
    robot = example(24).sliding_arm()
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, np.array(q))
    at = [data.oMi[robot.joint_id(name)].translation for name in ("turn", "reach", "lower")]
    turn, reach, lower = q
    elbow = np.array([reach * np.cos(turn), reach * np.sin(turn), 5.0])
    np.testing.assert_allclose(at, [[0.0, 0.0, 5.0], elbow, elbow - [0.0, 0.0, lower]], atol=1e-14)
    np.testing.assert_array_equal(robot.placement(q, "tool")[:3, 3], at[2])
