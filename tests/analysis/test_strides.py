"""Gaits whose feet pass each other, and gaits whose feet come side by side at every second step."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import gaits
from trajopt.analysis import legged_motion
from trajopt.analysis.strides import never_pass
from trajopt.plotting.legged_summary import heading
from trajopt.robots.legged import legged_robot
from trajopt.solution import Solution

WALK, TROT, BOUND = (
    ("small-biped", "biped_walk"),
    ("small-quadruped", "quadruped_trot"),
    ("small-quadruped", "quadruped_bound"),
)
SIDE_BY_SIDE = "feet come side by side"


@functools.cache
def models(name: str) -> tuple[gaits.GaitModels, gaits.Stance]:
    robot, legged = trajopt.load_robot(name), legged_robot(name)
    stance = gaits.Stance.of(robot, legged.feet, soles=name == "small-biped")
    return gaits.GaitModels(robot, stance), stance


def posed(kind: tuple[str, str], **shape: object) -> Solution:
    """The robot in the postures of the schedule."""
    (robot, generator), first = kind, {} if kind is BOUND else {"first_step": "half"}
    shared, stance = models(robot)
    arguments = {"step_length": 0.1, "step_height": 0.05, "dt": 0.02, "step_knots": 12, "cycles": 2}
    schedule = getattr(gaits, generator)(stance, **{**arguments, **first, **shape})
    problem = shared.problem(schedule)
    return solution_of(problem, *gaits.gait_guess(problem, schedule))


@pytest.mark.parametrize("kind", [WALK, TROT])
def test_the_title_says_that_feet_come_side_by_side(kind: tuple[str, str]) -> None:
    """From feet side by side, full steps bring each foot beside the other one, and half a step lets it pass."""
    half, full = (posed(kind, first_step=first) for first in ("half", "full"))
    assert SIDE_BY_SIDE not in heading(half)
    assert heading(full).endswith(SIDE_BY_SIDE)


def test_a_gait_that_goes_on_with_full_steps_passes() -> None:
    """The displacement of each foot in its second gait, and who is ahead after each step."""
    _, stance = models("small-biped")
    first = gaits.biped_walk(stance, step_length=0.1)
    walk = gaits.biped_walk(first.end, step_length=0.1, cycles=2, first_step="full")
    right, left = ([s.feet[foot].position[0] for s in walk.stances] for foot in stance.names)
    leads = np.subtract(right, left)[2::2]  # after each step
    np.testing.assert_allclose(leads, [0.05, -0.05, 0.05, -0.05], atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "shape"), [(BOUND, {}), (WALK, {"turn": 0.6, "first_step": "full"}), (WALK, {"step_length": 0.0})]
)
def test_other_gaits_have_no_such_words(kind: tuple[str, str], shape: dict[str, object]) -> None:
    """Feet that step together, a walk that turns, steps on the spot."""
    solution = posed(kind, **shape)
    assert not never_pass(solution, legged_motion(solution))
