"""Walks of a biped on footsteps that are listed, or generated along a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_count, check_items, check_known, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.biped import ORDER
from trajopt.gaits.foothold import Foothold, turned
from trajopt.gaits.phase import Phase
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import StepShape, above_the_feet, check_stance, check_step_height, step_phase, support_phases
from trajopt.types import Reals

GroundPath = Callable[[float], npt.ArrayLike] | npt.ArrayLike
_SAMPLES = 2000  # number of points at which a path function is evaluated [-]
_SHORTEST = 1e-9  # smallest length of a path [m]


def biped_footsteps(
    stance: Stance,
    footsteps: Sequence[tuple[str, Any]],
    *,
    step_height: float = 0.1,
    dt: float = 2e-2,
    step_knots: int = 25,
    support_knots: int = 6,
    final_knots: int = 6,
    profile: str = "smooth",
    impulse: bool = True,
) -> ContactSchedule:
    """Generates a biped's walk on listed footholds; the centre of mass is above the middle of the feet between steps.

    Args:
        stance: Initial stance: `Stance.of(robot, (right, left), soles=True)`, or the `end` of another schedule.
        footsteps: Name of the foot and foothold for each step; a foothold is a point (3,) [m], or a pinocchio.SE3 for
            a sole. `footsteps_along` generates such a list.
        step_height: Height of a swing, >= 0 [m].
        dt: Time step [s].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots of the double support before each step [-].
        final_knots: Number of knots of the double support at the end [-].
        profile: Path of a swinging foot, "smooth" or "triangle", see `Swing`.
        impulse: Whether touch-downs are impulses, see `Phase`.

    Raises:
        InvalidArgumentError: There is no footstep, or an argument has a wrong value.
        UnknownNameError: A footstep names a foot that is not in the stance.
    """
    start = now = above_the_feet(check_stance(stance, 2, ORDER))
    check_step_height(start, step_height)
    shape = StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse)
    footsteps = check_items("footsteps", footsteps, "(foot, foothold)", cure="see footsteps_along")
    if not footsteps:
        raise InvalidArgumentError("footsteps: expected at least one (foot, foothold), got none; use footsteps_along")
    phases: list[Phase] = []
    for i, footstep in enumerate(footsteps):
        if not isinstance(footstep, (tuple, list)) or len(footstep) != 2:
            raise InvalidArgumentError(f"footsteps[{i}]: expected (foot, foothold), got {footstep!r}")
        foot, place = footstep
        check_known(f"footsteps[{i}]: foot", foot, now.feet)
        phase, after = step_phase(now, {foot: Foothold.of(place, f"footsteps[{i}]")}, shape)
        phases += [*support_phases("support_knots", now, support_knots), phase]
        now = after
    phases += support_phases("final_knots", now, final_knots)
    return ContactSchedule(start=start, phases=tuple(phases), dt=dt)


def footsteps_along(
    stance: Stance, path: GroundPath, *, step_length: float = 0.25, width: float | None = None, first: str | None = None
) -> list[tuple[str, Foothold]]:
    """Generates footholds left and right of a path, in turn; at its end the feet are side by side.

    The path is divided into equal strides of at most `step_length`. In each stride one foot steps forward. The feet
    turn with the path.

    Args:
        stance: Initial stance, with the feet in the order right, left.
        path: Points in the plane (n, 2) [m], or a function that returns a point (2,) for s from 0 to 1. The path is
            translated to start in the middle of the feet; its initial direction should be that of the feet.
        step_length: Largest distance along the path between successive footholds, > 0 [m].
        width: Distance between the feet across the path, > 0 [m]; by default that of the initial stance.
        first: Name of the foot that steps first; by default the right one.

    Raises:
        InvalidArgumentError: The path has no length, or the feet are on the wrong sides of it.
        UnknownNameError: `first` is not a foot of the stance.
    """
    right, left = check_stance(stance, 2, ORDER).names
    first = right if first is None else first
    check_known("first: foot", first, stance.feet)
    points = _points(path)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    if not along[-1] > _SHORTEST:
        raise InvalidArgumentError(
            "path: expected distinct points, got a path of length 0; add points ahead of the robot"
        )
    points = points + (stance.centre[:2] - points[0])
    apart = _distance(stance, right, left, points[1] - points[0]) if width is None else check_positive("width", width)
    longest = check_positive("step_length", step_length, unit="m")
    strides = check_count(
        "step_length: number of steps", int(np.clip(np.ceil(along[-1] / longest - 1e-9), 1, 2**62)), most=10_000
    )
    begin = _direction(points, along, 0.0)
    order = (first, left if first == right else right)
    footsteps = []
    for i in range(1, strides + 2):
        s = min(i, strides) / strides * along[-1]
        foot, ahead = order[(i - 1) % 2], _direction(points, along, s)
        across = np.array([-np.sin(ahead), np.cos(ahead)]) * (apart / 2 if foot == left else -apart / 2)
        x, y = np.array([np.interp(s, along, points[:, 0]), np.interp(s, along, points[:, 1])]) + across
        place = stance.feet[foot]
        footsteps.append((foot, turned(place, ahead - begin, (x, y, place.position[2]))))
    return footsteps


def _points(path: GroundPath) -> Reals:
    """Points of a path (n, 2) [m], without repetitions."""
    values = [path(float(s)) for s in np.linspace(0.0, 1.0, _SAMPLES)] if callable(path) else path
    points = as_numbers("path", values, "points (n, 2) [m]")
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 2:
        raise InvalidArgumentError(
            f"path: expected at least two points (n, 2) [m], or a function of s that returns one (2,), got shape "
            f"{points.shape}"
        )
    if not np.all(np.isfinite(points)):
        i = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InvalidArgumentError(f"path: expected finite numbers, got {points[i].tolist()} at index {i}")
    moved = np.linalg.norm(np.diff(points, axis=0), axis=1) > 0
    return points[np.concatenate([[True], moved])]


def _direction(points: Reals, along: Reals, s: float) -> float:
    """Angle of the path's tangent at arc length s [rad]; at a corner, the mean of both sides."""
    step = 1e-3 * along[-1]
    low, high = max(s - step, 0.0), min(s + step, along[-1])
    dx, dy = (np.interp(high, along, points[:, i]) - np.interp(low, along, points[:, i]) for i in range(2))
    return float(np.arctan2(dy, dx))


def _distance(stance: Stance, right: str, left: str, ahead: Reals) -> float:
    """Distance between the feet across the direction `ahead` [m]."""
    apart = np.subtract(stance.feet[left].position, stance.feet[right].position)
    distance = float(ahead[0] * apart[1] - ahead[1] * apart[0]) / float(np.linalg.norm(ahead))
    if not distance > 0:
        raise InvalidArgumentError(
            f"path: expected a path that starts with {right!r} on its right and {left!r} on its left, got another "
            "direction; name the feet in the order right, left, and start the path ahead of them"
        )
    return distance
