"""Displacement of a base: in its first heading, with its turn, and with a fall."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from tests.support.unsolved import trot
from trajopt.analysis import legged_motion, motion_report
from trajopt.analysis.moved import displacement, moved_words
from trajopt.plotting.legged_summary import heading
from trajopt.solution import Solution
from trajopt.types import Reals


def carried(places: Reals, turns: list[Reals], angles: Reals | None = None) -> Solution:
    """The trotting robot with its base in other places (T + 1, 3), with rotations, without its old description."""
    trotting = trot()
    xs = trotting.xs.copy()
    xs[:, :3] = places
    xs[:, 3:7] = [pin.Quaternion(R).coeffs() for R in turns]
    return dataclasses.replace(trotting, xs=xs)


def along(start: Reals, end: Reals) -> Reals:
    share = np.linspace(0.0, 1.0, len(trot().xs))[:, None]
    return np.asarray((1 - share) * start + share * np.asarray(end))


def turned(axis: str, first: float, last: float) -> list[Reals]:
    return [pin.utils.rotate(axis, a) for a in np.radians(np.linspace(first, last, len(trot().xs)))]


def test_a_turn_is_told_and_the_way_is_that_of_the_first_heading() -> None:
    start = trot().xs[0, :3]
    moved = carried(along(start, np.add(start, [-0.1, 0.6, 0.0])), turned("z", 90.0, 178.0))
    words = moved_words(moved)
    assert words.startswith("+0.600 m forward, +0.100 m to the left, turned 88° left in ")
    assert motion_report(moved)["moved"] == words
    assert f"moved {words}" in heading(moved)
    assert "turned 88° right in" in moved_words(carried(along(start, start), turned("z", 88.0, 0.0)))


def test_a_turn_of_more_than_half_a_circle_is_counted() -> None:
    start = trot().xs[0, :3]
    moved = displacement(carried(along(start, start), turned("z", 10.0, 470.0)))
    assert moved.turn == pytest.approx(np.radians(460.0))


def test_a_motion_without_turn_and_fall_says_neither() -> None:
    words = moved_words(trot())
    assert words.startswith("+0.075 m forward, +0.000 m to the left in ")
    assert not {"turned", "tipped", "fell"} & set(words.replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_base_that_tips_over_has_no_turn(axis: str) -> None:
    start = trot().xs[0, :3]
    words = moved_words(carried(along(start, start), turned(axis, 0.0, 110.0)))
    assert words.endswith("; tipped over, the base ends 110° from upright")
    assert "turned" not in words
    assert "tipped" not in moved_words(carried(along(start, start), turned(axis, 110.0, 0.0)))  # it stands up


def test_a_base_that_sinks_to_the_ground_fell() -> None:
    """Its legs fold, so that the feet stay at their heights while the base comes down."""
    trotting = trot()
    xs, robot = trotting.xs.copy(), trotting.robot
    assert robot is not None
    xs[:, 3:7] = [0.0, 0.0, 0.0, 1.0]
    for x, knee in zip(xs, np.linspace(0.9, 2.8, len(xs))):
        x[7:19] = [0.0, knee / 2, -knee, 0.0, -knee / 2, knee] * 2
        x[2] -= robot.placement(x[: robot.nq], "lf_foot")[2, 3]
    sunk = dataclasses.replace(trotting, xs=xs)
    heights = displacement(sunk).heights
    np.testing.assert_allclose(heights, xs[:, 2], atol=1e-12)
    first, last = heights[[0, -1]]
    assert last < 0.5 * first
    assert moved_words(sunk).endswith(
        f"; fell, the base ends {last:.2f} m above the lowest contact, {first:.2f} m at first"
    )


def test_a_base_over_feet_on_the_spot_is_named() -> None:
    """All feet end where they began, as in a squat; a base that ends there as well needs no such words."""
    trotting = trot()
    first = trotting.xs[0]
    lean = np.tile(first, (len(trotting.xs), 1))
    lean[-1, 0] -= 0.024
    motion = legged_motion(dataclasses.replace(trotting, xs=np.tile(first, (len(trotting.xs), 1))))
    words = moved_words(dataclasses.replace(trotting, xs=lean), motion)
    assert words.startswith("-0.024 m forward, +0.000 m to the left in ")
    assert words.endswith(" s (base; the feet stay)")
    lean[-1, 0] = first[0]
    assert moved_words(dataclasses.replace(trotting, xs=lean), motion).endswith(" s")
    assert moved_words(trotting).startswith("+")
