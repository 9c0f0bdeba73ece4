"""Paths of a Panda's hand."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

import trajopt
from trajopt.types import Reals

POSTURE = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4, 0.02, 0.02])
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0, 5.0, 5.0])
"""Of the joints, as the maker says; of the fingers, a guess [rad/s², m/s²]."""


@functools.cache
def panda() -> trajopt.StateMultibody:
    """Its state."""
    return trajopt.StateMultibody(trajopt.load_robot("panda"))


def circle(duration: float, dt: float, *, radius: float = 0.12, rest: float = 0.0) -> Reals:
    """Placements (n, 4, 4) of the hand on a circle that begins and ends at rest, then a time of rest."""
    times = dt * np.arange(round((duration + rest) / dt) + 1)
    part = np.minimum(times / duration, 1.0)
    angle = 2.0 * np.pi * part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    result = np.tile(panda().robot.placement(POSTURE, "panda_hand"), (len(times), 1, 1))
    result[:, 1, 3] += radius * np.sin(angle)
    result[:, 2, 3] += radius * (np.cos(angle) - 1.0)
    return result


def hand_and_posture(
    state: trajopt.StateMultibody, target: npt.ArrayLike | None = None
) -> tuple[trajopt.ConstraintStack, trajopt.CostStack]:
    """The hand's placement, hard, and a posture beside it."""
    hand = trajopt.ResidualModelFramePlacement(state, "panda_hand", target)
    rest = trajopt.ResidualModelState(state, np.r_[POSTURE, np.zeros(state.nv)])
    tasks = trajopt.ConstraintStack(state).add("hand", hand, equals=0.0)
    return tasks, trajopt.CostStack(state).add("posture", rest, weight=1.0)
