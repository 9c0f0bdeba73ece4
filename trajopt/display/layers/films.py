"""Data of a solution shared by several layers: its film in world axes, computed once."""

from __future__ import annotations

import weakref

import numpy as np

from trajopt.analysis.basics import time_axis
from trajopt.plotting.film import KNOT, Film, body_of, film_of, filmed
from trajopt.robots.skeleton import Skeleton
from trajopt.solution import Solution
from trajopt.types import Reals

_FILMS: dict[int, Film] = {}  # by the id of a living solution
_APART = 0.25  # distance between two rails of beads, relative to the largest travel of a bead [-]


def film(solution: Solution) -> Film:
    """Returns the film of a solution in world axes; for a state without a position that of `beads`."""
    key = id(solution)
    if key not in _FILMS:
        solved = solution.status is not None  # for an iterate nothing is evaluated
        _FILMS[key] = film_of(solution, aside=False, forces=solved) if has_place(solution) else _film_of_beads(solution)
        weakref.finalize(solution, _FILMS.pop, key, None)
    return _FILMS[key]


def trails_of(solution: Solution) -> Reals:
    """Returns the paths of the tool, of all feet, or of other points, (n, T + 1, 3) [m]; empty for beads."""
    if id(solution) in _FILMS:
        return _FILMS[id(solution)].trails
    return np.reshape(body_of(solution)[1] if has_place(solution) else [], (-1, len(solution.xs), 3))


def has_place(solution: Solution) -> bool:
    """Whether a solution has a robot, poses, or a model with a skeleton, and so a position in space."""
    description = solution.description
    return any(part is not None for part in (description.robot, description.skeleton, description.poses))


def beads(xs: Reals) -> Reals:
    """Returns the coordinates of states (T + 1, nx) as beads on parallel rails along x, (T + 1, nx, 3).

    One unit of a coordinate is one metre.
    """
    apart = _APART * max(float(np.ptp(xs, axis=0).max()), 1e-3)
    places = np.zeros((*xs.shape, 3))
    places[:, :, 0] = xs
    places[:, :, 1] = -apart * np.arange(xs.shape[1])
    return places


def size_of(shown: Film) -> float:
    """Returns the size of a body at the start of a motion [m]; for a point that of its path."""
    points = shown.skeleton.points[:, 1:] if shown.motion is not None else shown.skeleton.points  # without the world's
    at_start = float(np.ptp(points[0], axis=0).max())
    every = np.concatenate([points.reshape(-1, 3), shown.goals])
    return at_start if at_start > 1e-6 else max(float(np.ptp(every, axis=0).max()), 1e-3)


def _film_of_beads(solution: Solution) -> Film:
    places = beads(solution.xs)
    abscissa, label = time_axis(solution)
    return filmed(
        Skeleton(points=places, bones=(), sliders=range(places.shape[1])),
        None,
        times=abscissa if label.startswith("time") else KNOT * abscissa,
        label=label,
    )
