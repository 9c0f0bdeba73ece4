"""Inverse kinematics that keeps links apart from each other and from a scene."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.collision_arm import collision_arm
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.collisions.samples import random_configurations

STATE = collision_arm()
ROBOT, SHAPES = STATE.robot, STATE.robot.collision_shapes
FRAME = "gripper_left_joint"
TASKS = trajopt.ConstraintStack(STATE).add("tool", trajopt.ResidualModelFrameTranslation(STATE, FRAME), equals=0.0)
TARGETS = ROBOT.placement(random_configurations(ROBOT.model, 60, 4), FRAME)[:, :3, 3]
BALL = trajopt.Sphere(0.15, center=[0.2, 0.3, 0.2])
SCENE = trajopt.Scene({"ball": BALL, "shelf": trajopt.Box([0.1, 0.1, 0.1], placement=pin.SE3(np.eye(3), np.ones(3)))})


def least(qs: np.ndarray) -> np.ndarray:
    """Least distance of all pairs of links at each configuration [m]."""
    return np.asarray(body_distances(ROBOT.model, SHAPES.bodies, SHAPES.pairs, qs).min(axis=1))


def from_ball(qs: np.ndarray) -> np.ndarray:
    """Least distance of the links that move from the ball at each configuration [m]."""
    bodies = (*SHAPES.bodies[2:], BALL)
    pairs = [(i, len(bodies) - 1) for i in range(len(bodies) - 1)]
    return np.asarray(body_distances(ROBOT.model, bodies, pairs, qs).min(axis=1))


def test_batches_keep_links_apart_from_each_other_and_from_a_scene() -> None:
    plain = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS})
    assert plain.solved.all()
    assert np.any(least(plain.q) < 0.01)
    apart = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS}, collisions=True)
    assert apart.solved.mean() > 0.9
    assert np.all(least(apart.q)[apart.solved] > 0.01 - 2e-6)
    assert np.any(from_ball(apart.q)[apart.solved] < 0.02)
    around = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS}, collisions=SCENE, margin=0.02)
    assert around.solved.mean() > 0.5
    assert np.all(least(around.q)[around.solved] > 0.02 - 2e-6)
    assert np.all(from_ball(around.q)[around.solved] > 0.02 - 2e-6)


def test_one_target_keeps_links_apart_and_obstacles_move() -> None:
    moved = {"collisions.ball": [0.0, 0.0, 5.0]}
    for target in TARGETS[:6]:
        values: dict[str, Any] = {"tool.reference": target}
        there = ik.solve(ROBOT, TASKS, values, collisions=SCENE)
        away = ik.solve(ROBOT, TASKS, values | moved, collisions=SCENE)
        for result in (there, away):
            if result.status is ik.IKStatus.SOLVED:
                assert least(result.q[None])[0] > 0.01 - 2e-6
        assert away.status is ik.IKStatus.SOLVED or there.status is not ik.IKStatus.SOLVED
        if there.status is ik.IKStatus.SOLVED:
            assert from_ball(there.q[None])[0] > 0.01 - 2e-6
            assert np.abs(there.residuals["collisions"].violation).max() <= 1e-6


def test_wrong_collisions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="collisions: expected True, False or a Scene, got 'all'"):
        ik.solve(ROBOT, TASKS, collisions="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="margin: expected"):
        ik.solve(ROBOT, TASKS, collisions=True, margin=np.inf)
