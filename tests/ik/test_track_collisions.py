"""Paths that lead through obstacles: the robot keeps the margin, and follows as far as that allows."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest

import trajopt
from tests.ik.test_collisions import BALL, FRAME, ROBOT, SHAPES, TASKS, from_ball, least
from trajopt import ik
from trajopt.robots.collisions.distances import body_distances

DT, MARGIN = 0.01, 0.02
SCENE = trajopt.Scene({"ball": BALL})


@functools.cache
def path() -> tuple[np.ndarray, np.ndarray]:
    """Start and targets of a line through the ball between two configurations that keep the margin."""
    q0 = ik.solve(ROBOT, TASKS, {"tool.reference": [0.2, 0.45, 0.2]}, collisions=SCENE, margin=0.05).q
    tool = ROBOT.placement(q0, FRAME)[:3, 3]
    end = tool + 1.2 * (BALL.center - tool)
    shares = np.concatenate([np.linspace(0.0, 1.0, 90), np.ones(10)])[:, None]
    return q0, tool + shares * (end - tool)


def largest_overlap(qs: np.ndarray) -> float:
    """By how much distances fall below the margin at most [m]."""
    return MARGIN - float(min(least(qs).min(), from_ball(qs).min()))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["differential", "optimal"])
def test_a_path_through_a_ball_is_left_before_it(method: str) -> None:
    q0, targets = path()
    alone = ik.track(ROBOT, TASKS, targets, DT, q0=q0, method=method, acceleration=20.0)
    apart = ik.track(
        ROBOT, TASKS, targets, DT, q0=q0, method=method, acceleration=20.0, collisions=SCENE, margin=MARGIN
    )
    assert largest_overlap(alone.qs) > 0.05
    assert largest_overlap(apart.qs) < 2e-3
    assert apart.status is not ik.IKPathStatus.FOLLOWED
    assert np.abs(apart.residuals["tool"].value[:5]).max() < 1e-3
    found = np.minimum(least(apart.qs), from_ball(apart.qs)) - MARGIN
    np.testing.assert_allclose(apart.residuals["collisions"].violation.min(axis=1), np.minimum(found, 0.0), atol=1e-9)


def test_a_tracker_keeps_away_from_a_ball_that_moves_and_is_one_with_track() -> None:
    q0, targets = path()
    options = {"acceleration": 20.0, "collisions": SCENE, "margin": MARGIN}
    centre = BALL.center + np.linspace(0.0, 1.0, len(targets))[:, None] * np.array([0.0, 0.1, 0.0])
    still = np.tile(targets[0], (len(targets), 1))
    values = {"tool.reference": still, "collisions.ball": centre}
    track = ik.track(ROBOT, TASKS, values, DT, q0=q0, **options)
    tracker = ik.IKTracker(ROBOT, TASKS, q0, DT, **options)
    steps = []
    for t in range(1, len(targets)):
        if t == 60:
            tracker = pickle.loads(pickle.dumps(tracker))
        steps.append(tracker.step({"tool.reference": still[t], "collisions.ball": centre[t]}).q)
    assert np.abs(np.array(steps) - track.qs[1:]).max() < 1e-3
    assert np.abs(track.qs[-1] - q0).max() > 0.05
    (ball,) = track.obstacles
    np.testing.assert_allclose(ball.points[:, 0], centre)
    np.testing.assert_allclose(ball.radii, BALL.radius)
    panel = track.plot().subfigs[0]
    assert "moving obstacle" in [text.get_text() for legend in panel.legends for text in legend.get_texts()]
    balls = [(*SHAPES.bodies[2:], trajopt.Sphere(BALL.radius, center=each)) for each in centre]
    moving = [(i, 6) for i in range(6)]
    gaps = [body_distances(ROBOT.model, each, moving, q[None]).min() for each, q in zip(balls, track.qs)]
    assert min(gaps) > MARGIN - 3e-4
