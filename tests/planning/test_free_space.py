"""Free space and smooth paths: lines against dense samples, thin obstacles between samples, ends of splines."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.planning.test_plan import GOAL, LENGTHS, START, THICK, arm, gaps, scene
from trajopt.planning.free_space import FreeSpace
from trajopt.planning.smoothing import smooth_path


@pytest.fixture(scope="module")
def space() -> FreeSpace:
    return FreeSpace(arm(), scene(), 0.02)


def test_lines_are_free_as_dense_samples_of_them_are(space: FreeSpace) -> None:
    rng, answers = np.random.default_rng(2), []
    for _ in range(60):
        start, end = rng.uniform(-1.5, 1.5, (2, 3)) * [1.0, 0.8, 0.8]  # links do not fold onto each other
        if not space.contains(start):
            continue
        line = start + np.linspace(0.0, 1.0, 800)[:, None] * (end - start)
        least = gaps(line).min()
        answers.append(space.connects(start, end))
        assert least > 0.02 - 2.5e-3 if answers[-1] else least < 0.02 + 1e-3
    assert 0.1 < np.mean(answers) < 0.9


def test_needles_that_the_tip_grazes_are_hit() -> None:
    """The tip overlaps each by 0.2 mm along 8 mm of its way, between two of the first samples."""
    reach = sum(LENGTHS) + THICK + 1e-3 - 2e-4  # [m]
    start, turn = np.array([-0.8, 0.0, 0.0]), np.array([1.6, 0.0, 0.0])
    for angle in np.linspace(-0.53, 0.55, 10):
        center = arm().placement(np.array([angle, 0.0, 0.0]), "tool")[:3, 3] * reach / sum(LENGTHS)
        space = FreeSpace(arm(), trajopt.Scene({"needle": trajopt.Sphere(1e-3, center=center)}), 0.0)
        first = start + np.linspace(0.0, 1.0, 9)[:, None] * turn
        assert min(space.nearest(each)[0] for each in first) > 0.0
        assert not space.connects(start, start + turn)


def test_a_line_beyond_a_joint_limit_is_not_free(space: FreeSpace) -> None:
    inside, turn = np.array([3.0, 0.2, 0.1]), np.array([0.3, 0.0, 0.0])
    assert space.contains(inside)
    assert space.connects(inside, inside - turn)
    assert not space.contains(inside + turn)
    assert not space.connects(inside, inside + turn)


@pytest.mark.slow
def test_splines_are_free_and_have_the_ends_of_their_lines(space: FreeSpace) -> None:
    corners = trajopt.plan(arm(), START, GOAL, scene(), margin=0.02, acceleration=4.0).corners
    assert len(corners) > 2
    path = smooth_path(space, corners)
    assert path is not None
    np.testing.assert_allclose(path.waypoints[[0, -1]], corners[[0, -1]], atol=1e-12)
    dense = path.at(np.linspace(0.0, 1.0, 20_000))
    assert gaps(dense).min() > 0.02 - 1e-6
    second = np.diff(dense, 2, axis=0)
    turns = np.diff(corners, axis=0) / np.linalg.norm(np.diff(corners, axis=0), axis=1)[:, None]
    sharp = np.linalg.norm(np.diff(turns, axis=0), axis=1).max()
    assert np.linalg.norm(second, axis=1).max() < 1e-2 * sharp * np.linalg.norm(np.diff(dense, axis=0), axis=1).max()


def test_paths_without_room_for_a_spline_have_none() -> None:
    space = FreeSpace(arm(), scene(), 0.02)
    blocked = np.array([START, 0.5 * (START + GOAL), GOAL])  # whose middle touches the ball
    assert smooth_path(space, blocked) is None


def test_links_keep_less_of_a_wide_margin_than_obstacles(space: FreeSpace) -> None:
    """Folded links that are 16 mm apart are free with a margin of 2 cm from a ball."""
    distance, bodies, margin = space.nearest(np.array([2.5, 2.9, 0.0]))
    assert bodies == "link_1 and link_3"
    assert 0.01 < distance < 0.02
    assert margin == pytest.approx(0.01, abs=1e-5)
    assert space.contains(np.array([2.5, 2.9, 0.0]))
    assert not FreeSpace(arm(), None, 0.02).contains(np.array([2.5, 2.9, 0.0]))
    assert space.nearest(np.zeros(3))[1:] == ("link_2 and ball", 0.02)
