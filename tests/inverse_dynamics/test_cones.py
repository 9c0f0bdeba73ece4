"""Wrenches within cones and torque limits, beside OSQP; motions that no such wrenches make."""

import itertools

import numpy as np
import osqp
import pytest
import scipy.sparse as sp

from tests.inverse_dynamics.support import base_maps, biped
from trajopt import FrictionCone, WrenchCone, load_robot
from trajopt.errors import InvalidArgumentError
from trajopt.inverse_dynamics import (
    ContactFrame,
    Motion,
    multiple_contact_inverse_dynamics,
    multiple_contact_inverse_dynamics_over_time,
)
from trajopt.inverse_dynamics.kinetics import motors
from trajopt.types import Reals

FEET = ["left_sole", "right_sole"]
CONE = WrenchCone(0.5, (0.2, 0.1))
SOLES = [ContactFrame(foot, cone=CONE) for foot in FEET]
SINGLE = np.tile([0.01, 0.01, 0.01, 1.0, 1.0, 1.0], 2)


def sway(push: float, count: int = 8) -> Motion:
    """Standing still, while accelerations of the base ask for a sideways push [m/s²] that comes and goes."""
    robot = biped()
    q, a = np.tile(robot.configuration("half_sitting"), (count, 1)), np.zeros((count, robot.nv))
    a[:, 1] = push * np.sin(np.linspace(0.0, np.pi, count))
    return Motion(robot=robot, times=0.01 * np.arange(count), positions=q, velocities=np.zeros_like(a), accelerations=a)


def by_osqp(motion: Motion, smoothness: float) -> Reals:
    """The same program, whole, by another solver; soles are level, their axes those of the world."""
    A, b = base_maps(motion, FEET)
    n, W = len(motion), 12
    change = np.kron(np.diff(np.eye(n), axis=0), np.eye(W))
    H = np.kron(np.eye(n), np.diag(SINGLE)) + smoothness * change.T @ change
    cone = np.kron(np.eye(n), np.kron(np.eye(2), CONE.matrix))
    equal = np.zeros((6 * n, W * n))
    for i in range(n):
        equal[6 * i : 6 * i + 6, W * i : W * i + W] = A[i]
    lower = np.concatenate([b.ravel(), np.tile(CONE.lower, 2 * n)])
    upper = np.concatenate([b.ravel(), np.tile(CONE.upper, 2 * n)])
    solver = osqp.OSQP()
    rows = sp.csc_matrix(np.vstack([equal, cone]))
    solver.setup(sp.csc_matrix(2.0 * H), np.zeros(n * W), rows, lower, upper, verbose=False, eps_abs=1e-9, eps_rel=1e-9,
                 max_iter=200000, polishing=True)  # fmt: skip
    return np.array(solver.solve(raise_error=False).x).reshape(n, W)


@pytest.mark.parametrize("push", [0.5, 2.0])
def test_cones_hold_and_the_cost_is_least(push: float) -> None:
    motion = sway(push)
    found = multiple_contact_inverse_dynamics_over_time(motion, SOLES, smoothness=0.1)
    assert found.optimal
    rows = np.einsum("rs,nks->nkr", CONE.matrix, np.concatenate([found.forces, found.moments], axis=2))
    assert np.all(rows < CONE.upper + 1e-6)
    assert np.all(rows > CONE.lower - 1e-6)
    assert np.abs(found.base_residual).max() < 1e-6
    free = multiple_contact_inverse_dynamics_over_time(motion, FEET, smoothness=0.1)
    bent = np.abs(found.wrenches - free.wrenches).max()
    assert bent < 1e-5 if push == 0.5 else bent > 1.0  # the cones matter where the push is large
    np.testing.assert_allclose(found.wrenches.reshape(len(motion), -1), by_osqp(motion, 0.1), atol=2e-3)


def test_a_push_beyond_friction_is_not_explained() -> None:
    """8 m/s² sideways at μ = 0.5 lacks (8 - 0.5 · 9.81 cos 45°) m, the inner pyramid's side being μ cos 45°."""
    motion = sway(8.0, 5)
    found = multiple_contact_inverse_dynamics_over_time(motion, SOLES, smoothness=0.0)
    mass = sum(inertia.mass for inertia in motion.robot.model.inertias)
    missing = np.abs(found.base_residual[2]).max()
    assert missing > 0.2 * mass * (8.0 - 0.5 * 9.81)
    rows = np.einsum("rs,nks->nkr", CONE.matrix, np.concatenate([found.forces, found.moments], axis=2))
    assert np.all(rows < CONE.upper + 1e-6)
    assert "not explained" in found.explain()


def test_point_feet_push_and_do_not_pull() -> None:
    """The base accelerates down faster than it falls: the feet would have to pull."""
    motion = sway(0.0, 3)
    a = motion.accelerations.copy()
    a[:, 2] = -15.0
    q, v = motion.positions, motion.velocities
    points = [ContactFrame(foot, "point", FrictionCone(0.7)) for foot in FEET]
    held = multiple_contact_inverse_dynamics(motion.robot, q, v, a, points, axes="world")
    assert held.wrenches[:, :, 2].min() > -1e-6
    assert not held.wrenches[:, :, 3:].any()
    assert np.linalg.norm(held.base_residual[:, :3], axis=1).min() > 10.0
    pulled = multiple_contact_inverse_dynamics(motion.robot, q, v, a, FEET, axes="world")
    assert pulled.wrenches[:, :, 2].max() < 0.0
    assert "pulls" in pulled.explain()


def test_torque_limits_hold_where_internal_forces_can_help() -> None:
    motion = sway(0.0, 4)
    guesses = np.zeros((4, 2, 6))
    guesses[:, 0, 1], guesses[:, 1, 1] = 300.0, -300.0  # feet that press against each other [N]
    options = {"guesses": guesses, "axes": "world"}
    args = motion.robot, motion.positions, motion.velocities, motion.accelerations, FEET
    limits = motors(motion.robot).upper
    free = multiple_contact_inverse_dynamics(*args, **options)
    held = multiple_contact_inverse_dynamics(*args, torque_limits=True, **options)
    assert np.any(np.abs(free.torques[:, 6:]) > limits)
    assert "beyond limits" in free.explain()
    assert np.all(np.abs(held.torques[:, 6:]) < limits + 1e-4)
    assert np.abs(held.base_residual).max() < 1e-5
    assert "within limits" in held.explain()


def test_torques_that_nothing_helps_leave_the_base_explained() -> None:
    """Limits that cannot hold are exceeded; the wrenches still make the motion."""
    motion = sway(0.0, 2)
    a = motion.accelerations.copy()
    a[:, 6 + 3] = 2e4  # of a knee [rad/s²]
    args = motion.robot, motion.positions, motion.velocities, a, FEET
    found = multiple_contact_inverse_dynamics(*args, torque_limits=True)
    assert np.abs(found.base_residual).max() < 1e-4 * np.abs(found.wrenches).max()
    assert "beyond limits" in found.explain()


def test_soles_turn_with_their_feet() -> None:
    """A robot that faces another way has the same wrenches in the axes of its feet, where cones hold them back."""
    motion = sway(2.0)
    turned = motion.positions.copy()
    turned[:, 5:7] = np.sin(0.4), np.cos(0.4)  # 0.8 rad about the vertical
    other = Motion(
        robot=motion.robot, times=motion.times, positions=turned, velocities=motion.velocities,
        accelerations=motion.accelerations,
    )  # fmt: skip
    found, again = (multiple_contact_inverse_dynamics_over_time(m, SOLES, smoothness=0.1) for m in (motion, other))
    free = multiple_contact_inverse_dynamics_over_time(motion, FEET, smoothness=0.1)
    assert np.abs(found.wrenches - free.wrenches).max() > 1.0
    np.testing.assert_allclose(again.wrenches, found.wrenches, atol=1e-4)


def test_cones_of_feet_in_the_air_do_not_matter() -> None:
    motion = sway(0.0, 6)
    stands = np.array([[True, True]] * 2 + [[True, False]] * 2 + [[False, False]] * 2)
    found = multiple_contact_inverse_dynamics_over_time(motion, SOLES, stands=stands, smoothness=0.0)
    assert found.optimal
    assert not found.wrenches[~stands].any()
    both = multiple_contact_inverse_dynamics_over_time(motion, SOLES, smoothness=0.0)
    np.testing.assert_allclose(found.wrenches[:2], both.wrenches[:2], atol=1e-4)


@pytest.mark.parametrize("push", [0.0, 0.5])
def test_times_that_lack_forces_do_not_blur_others(push: float) -> None:
    """On one foot the robot would tip over. While it has both, forces are those without cones, which do not matter."""
    motion = sway(push, 6)
    free = multiple_contact_inverse_dynamics_over_time(motion, FEET, smoothness=0.0)
    for both, foot in itertools.product(range(1, 6), range(2)):
        stands = np.ones((6, 2), dtype=bool)
        stands[both:, foot] = False
        found = multiple_contact_inverse_dynamics_over_time(motion, SOLES, stands=stands, smoothness=0.0)
        assert found.optimal
        assert np.abs(found.base_residual[both:]).max() > 1.0
        np.testing.assert_allclose(found.wrenches[:both], free.wrenches[:both], atol=1e-5)


def test_weights_that_are_all_zero_are_named() -> None:
    motion = sway(0.0, 2)
    args = motion.robot, motion.positions, motion.velocities, motion.accelerations
    wanted = "^force_weight, moment_weight, .*: expected weights that determine every wrench, got 0 for wrenches and 0"
    with pytest.raises(InvalidArgumentError, match=wanted):
        multiple_contact_inverse_dynamics(*args, SOLES, force_weight=0.0, moment_weight=0.0)
    with pytest.raises(InvalidArgumentError, match=wanted):
        multiple_contact_inverse_dynamics_over_time(motion, SOLES, smoothness=0.0, least_wrench=0.0)


@pytest.mark.parametrize(("push", "words"), [(0.0, "explained by"), (2.0, "not explained at 3 of 3 times")])
def test_a_robot_that_tips_over_a_line_of_feet_is_not_explained(push: float, words: str) -> None:
    """Two point feet lack the torque about their line: a small force, but the weight as far beside it as a h / g."""
    robot = load_robot("small-quadruped")
    q, a = np.tile(robot.configuration("standing"), (3, 1)), np.zeros((3, robot.nv))
    a[:, 1] = push
    feet = [ContactFrame(name, "point") for name in ("lf_foot", "rh_foot")]
    found = multiple_contact_inverse_dynamics(robot, q, np.zeros_like(a), a, feet)
    force, torque = np.split(found.base_residual[0], 2)
    height = robot.com(q[0])[2] - robot.placement(q[0], "lf_foot")[2, 3]
    across = robot.placement(q[0], "lf_foot")[:2, 3] - robot.placement(q[0], "rh_foot")[:2, 3]
    needed = robot.weight * push * height / 9.81 * abs(across[0]) / np.linalg.norm(across)
    assert np.linalg.norm(torque) == pytest.approx(needed, rel=0.15, abs=1e-9)
    assert np.linalg.norm(force) < 0.02 * robot.weight
    assert words in found.explain()
