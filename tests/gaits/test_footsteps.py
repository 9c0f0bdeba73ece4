"""Footsteps of bipeds: lists, paths, turns."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from tests.support.gait_robots import stance_of
from trajopt import InvalidArgumentError, UnknownNameError, gaits

RIGHT, LEFT = "right_sole_link", "left_sole_link"


def test_a_walk_ahead_is_a_list_of_footsteps() -> None:
    stance = stance_of("talos_legs")
    walk = gaits.biped_walk(stance, final_knots=6)
    steps = [(name, walk.end.feet[name]) for name in (RIGHT, LEFT)]
    other = gaits.biped_footsteps(stance, steps)
    assert other.active.tolist() == walk.active.tolist()
    np.testing.assert_allclose(other.foot_references, walk.foot_references, atol=1e-15)
    np.testing.assert_allclose(other.com_references, walk.com_references, atol=1e-15)


def test_a_straight_path_gives_feet_side_by_side_at_its_end() -> None:
    stance = stance_of("talos_legs")
    steps = gaits.footsteps_along(stance, [[0, 0], [1.0, 0]], step_length=0.3, width=0.2)
    assert [foot for foot, _ in steps] == [RIGHT, LEFT, RIGHT, LEFT, RIGHT]
    x, y, z = np.array([place.position for _, place in steps]).T
    np.testing.assert_allclose(x - stance.centre[0], [0.25, 0.5, 0.75, 1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(y - stance.centre[1], [-0.1, 0.1, -0.1, 0.1, -0.1], atol=1e-12)
    np.testing.assert_allclose(z, [stance.feet[foot].position[2] for foot, _ in steps])


@pytest.mark.parametrize("first", [RIGHT, LEFT])
def test_feet_turn_with_a_circle_and_stay_on_their_side(first: str) -> None:
    stance, radius, width = stance_of("talos_legs"), 1.5, 0.18
    centre = np.add(stance.centre[:2], (0.0, radius))

    def quarter(s: float) -> tuple[float, float]:
        return radius * np.sin(s * np.pi / 2), radius * (1 - np.cos(s * np.pi / 2))

    steps = gaits.footsteps_along(stance, quarter, step_length=0.2, width=width, first=first)
    assert steps[0][0] == first
    angles = []
    for foot, place in steps:
        distance = np.linalg.norm(np.array(place.position[:2]) - centre)
        assert distance == pytest.approx(radius + (width / 2 if foot == RIGHT else -width / 2), abs=1e-5)
        outward = np.array(place.position[:2]) - centre
        heading = np.arctan2(place.rotation[1, 0], place.rotation[0, 0])
        assert heading == pytest.approx(np.arctan2(outward[0], -outward[1]), abs=2e-3)
        angles.append(heading)
    assert angles[-1] == pytest.approx(np.pi / 2, abs=2e-3)
    schedule = gaits.biped_footsteps(stance, steps)
    np.testing.assert_allclose(schedule.end.com[:2], schedule.end.centre[:2], atol=1e-9)
    turned = schedule.end.feet[LEFT].rotation @ pin.utils.rotate("z", -np.pi / 2)
    np.testing.assert_allclose(turned, np.eye(3), atol=2e-3)


def test_points_for_feet_that_are_points() -> None:
    stance = stance_of("bolt")
    steps = gaits.footsteps_along(stance, [[0, 0], [0.3, 0.0], [0.3, 0.3]], step_length=0.1)
    assert not any(place.sole for _, place in steps)
    apart = np.linalg.norm(np.subtract(steps[-1][1].position, steps[-2][1].position))
    width = stance.feet["FL_FOOT"].position[1] - stance.feet["FR_FOOT"].position[1]
    assert apart == pytest.approx(width)


def test_a_path_far_shorter_than_a_step_is_one_step_of_each_foot() -> None:
    stance = stance_of("talos_legs")
    steps = gaits.footsteps_along(stance, [(0.0, 0.0), (2e-9, 0.0)], step_length=1e3)
    assert [foot for foot, _ in steps] == [RIGHT, LEFT]


def test_paths_and_footsteps_that_cannot_be_are_refused() -> None:
    stance = stance_of("talos_legs")
    with pytest.raises(InvalidArgumentError, match="distinct points, got a path of length 0"):
        gaits.footsteps_along(stance, [[0, 0], [0, 0]])
    with pytest.raises(InvalidArgumentError, match="at least two points"):
        gaits.footsteps_along(stance, [[0, 0, 0], [1, 0, 0]])
    with pytest.raises(InvalidArgumentError, match=r"path: expected finite numbers, got \[1.0, nan\] at index 1"):
        gaits.footsteps_along(stance, [[0, 0], [1, np.nan]])
    with pytest.raises(InvalidArgumentError, match="with 'right_sole_link' on its right"):
        gaits.footsteps_along(stance, [[0, 0], [-1, 0]])
    with pytest.raises(InvalidArgumentError, match="step_length: expected a number > 0"):
        gaits.footsteps_along(stance, [[0, 0], [1, 0]], step_length=0.0)
    with pytest.raises(UnknownNameError, match="first: foot 'left' not found"):
        gaits.footsteps_along(stance, [[0, 0], [1, 0]], first="left")
    with pytest.raises(UnknownNameError, match=r"footsteps\[1\]: foot 'left' not found"):
        gaits.biped_footsteps(stance, [(RIGHT, (0.1, -0.1, 0)), ("left", (0.1, 0.1, 0))])
    with pytest.raises(InvalidArgumentError, match=r"footsteps\[0\]: expected \(foot, foothold\)"):
        gaits.biped_footsteps(stance, [RIGHT])  # type: ignore[list-item]
    with pytest.raises(InvalidArgumentError, match="expected at least one"):
        gaits.biped_footsteps(stance, [])
