"""Inverse kinematics that keeps links apart from each other and from a scene."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.benchmarks.collision_ik import measure
from tests.support.collision_arm import collision_arm
from trajopt import ik
from trajopt.errors import InvalidArgumentError
from trajopt.ik.collisions import farthest_apart, with_collisions
from trajopt.ik.tasks import TaskModel
from trajopt.robots import CollisionShapes
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


@pytest.mark.slow
def test_batches_keep_links_apart_from_each_other_and_from_a_scene() -> None:
    plain = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS})
    assert plain.solved.all()
    assert np.any(least(plain.q) < 0.01)
    apart = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS}, collisions=True)
    assert apart.unchecked == SHAPES.unchecked
    named = dataclasses.replace(apart, unchecked="one and two (by the SRDF)")
    assert repr(named).endswith("on average; not checked for collisions: one and two (by the SRDF))")
    assert "residuals" not in vars(named)  # a text computes nothing
    assert not plain.unchecked
    assert apart.solved.mean() > 0.9
    assert np.all(least(apart.q)[apart.solved] > 0.01 - 2e-6)
    assert np.any(from_ball(apart.q)[apart.solved] < 0.02)
    around = ik.solve_batch(ROBOT, TASKS, {"tool.reference": TARGETS}, collisions=SCENE, margin=0.02)
    assert around.solved.mean() > 0.5
    assert np.all(least(around.q)[around.solved] > 0.01 - 2e-6)  # beside obstacles links keep 1 cm at most
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


@pytest.mark.parametrize("margin", [0.0, 0.04])
def test_obstacles_keep_the_margin(margin: float) -> None:
    """Links touch the ball with a margin of 0."""
    gaps = []
    for target in TARGETS[:12]:
        found = ik.solve(ROBOT, TASKS, {"tool.reference": target}, collisions=SCENE, margin=margin)
        if found.status is ik.IKStatus.SOLVED:
            gaps.append(from_ball(found.q[None])[0])
    assert margin - 2e-6 < min(gaps) < margin + 5e-3


def test_wrong_collisions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="collisions: expected True, False or a Scene, got 'all'"):
        ik.solve(ROBOT, TASKS, collisions="all")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="margin: expected"):
        ik.solve(ROBOT, TASKS, collisions=True, margin=np.inf)
    with pytest.raises(InvalidArgumentError, match=r"margin: expected a number >= 0 \[m\], got -0.01"):
        ik.solve(ROBOT, TASKS, collisions=True, margin=-0.01)


def test_a_margin_of_metres_warns(caplog: pytest.LogCaptureFixture) -> None:
    with_collisions(ROBOT, TASKS, True, 0.3)
    assert not caplog.text
    with_collisions(ROBOT, TASKS, True, 10)
    assert "margin: 10 m; it is in metres, so 10 mm are 0.01" in caplog.text


@pytest.mark.slow
def test_coal_finds_no_collision_of_meshes_in_what_is_solved() -> None:
    figures = measure("panda", 20)
    assert figures.solved[:, 1].mean() >= 0.9
    assert not np.any(figures.solved & figures.collide, axis=0)[1]
    assert figures.batch_solved[1] >= 18
    assert figures.batch_collide[1] == 0


def test_starts_are_at_a_reference_configuration_where_the_neutral_one_overlaps() -> None:
    model, q = ROBOT.model, random_configurations(ROBOT.model, 20, 1)
    centres = [trajopt.Sphere(1e-3, frame=f"arm_left_{i}_link") for i in (1, 7)]
    lengths = body_distances(model, centres, [(0, 1)], np.array([pin.neutral(model), *q]))[:, 0] + 2e-3
    farther = float(lengths[1:].max())
    assert farther > lengths[0]
    for length, expected in ((0.5 * (lengths[0] + farther), q[lengths[1:].argmax()]), (0.99 * lengths[0], None)):
        bodies = tuple(trajopt.Sphere(length / 2.0, frame=each.frame) for each in centres)
        shapes = CollisionShapes(bodies=bodies, pairs=((0, 1),))
        reference = {} if expected is None else {"other": q[lengths[1:].argmin()], "apart": expected}
        robot = trajopt.Robot(model, configurations=reference).with_collision_shapes(shapes)
        tasks = TaskModel.of(
            robot,
            with_collisions(
                robot,
                trajopt.ConstraintStack(trajopt.StateMultibody(robot)).add(
                    "tool",
                    trajopt.ResidualModelFrameTranslation(trajopt.StateMultibody(robot), "arm_left_3_link"),
                    equals=0.0,
                ),
                True,
                0.0,
            ),
        )
        np.testing.assert_array_equal(farthest_apart(tasks), pin.neutral(model) if expected is None else expected)
        assert len(tasks.led) < len(tasks.moving)
