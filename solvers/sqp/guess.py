"""Kinds of guesses: noise, motions with small gaps, and others."""

from __future__ import annotations

import numpy as np

from trajopt.states import StateAbstract
from trajopt.types import Reals

NOISE = 1.2  # second differences over first ones: √3 of white noise, at most 0.8 of a gait's quasi-static guess
JUMPS = 0.1  # part of the knots where states may jump, as velocities do at touch-downs and take-offs
WIDTH = 1.0 / 12.0  # deviation of the Gaussian of knots over which noise is averaged, as a part of the horizon
NEARLY = 0.1  # gaps over steps of a guess that is nearly a motion


def is_noisy(xs: Reals) -> bool:
    """Whether states (T + 1, nx) are noise rather than a motion: second differences exceed the first ones.

    The knots where it bends most, `JUMPS` of them, are left out.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the guess is checked when it is expanded
        steps, bends = (np.linalg.norm(np.diff(xs, order, axis=0), axis=1) for order in (1, 2))
    kept = np.argsort(bends)[: bends.size - int(JUMPS * bends.size)]
    return bool(bends[kept].sum() > NOISE * 0.5 * (steps[kept] + steps[kept + 1]).sum())


def smoothed(state: StateAbstract, xs: Reals, us: Reals) -> tuple[Reals, Reals]:
    """Returns the course of noisy states (T + 1, nx), whose first one stays, and of controls (T, nu)."""
    from scipy.ndimage import gaussian_filter1d

    steps = np.array([state.difference_unchecked(xs[0], x) for x in xs])
    courses = [gaussian_filter1d(each, WIDTH * len(us), axis=0, mode="nearest") for each in (steps, us)]
    courses[0][0] = 0.0
    return np.array([state.integrate(xs[0], step) for step in courses[0]]), courses[1]


def is_nearly_a_motion(xs: Reals, gaps: Reals, least: float) -> bool:
    """Whether states (T + 1, nx) have gaps (T + 1, ndx) above `least`, but small ones, as a shifted solution has.

    A rollout would leave such a motion where it is unstable.
    """
    steps, jumps = np.linalg.norm(np.diff(xs, axis=0), axis=1).sum(), np.linalg.norm(gaps[1:], axis=1).sum()
    return bool(least < jumps < NEARLY * steps)
