"""Smooth paths along lines: splines that bend as little as the free space allows."""

from __future__ import annotations

import numpy as np

from trajopt.planning.free_space import TURN, FreeSpace
from trajopt.retiming import JointPath
from trajopt.types import Reals

LEAST, PER_LINE = 24, 6  # number of points: at least, and for each line [-]
TIGHTER = 8.0  # factor of the weights where a spline is not free [-]
ROUNDS, DENSER = 40, 3  # most splines of a number of points, and most doublings of that number [-]


def smooth_path(space: FreeSpace, corners: Reals) -> JointPath | None:
    """A free spline near the lines through corners (n, nq); None if none was found.

    With points p of equal distance on the lines, its waypoints x minimise Σ |x_(i-1) - 2 x_i + x_(i+1)|² +
    Σ w_i |x_i - p_i|². The weights w begin with a small value and grow near places that are not free.
    """
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    places = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    count = max(LEAST, PER_LINE * len(lengths))
    for _ in range(DENSER + 1):
        s = np.linspace(0.0, 1.0, count + 1)
        points = np.stack([np.interp(s, places, each) for each in corners.T], axis=1)
        bends = np.diff(np.eye(count + 1), 2, axis=0)
        energy = bends.T @ bends
        weights = np.full(count + 1, (2.0 / count) ** 4)
        weights[[0, -1]] = 1e6
        for _ in range(ROUNDS):
            x = np.linalg.solve(energy + np.diag(weights), weights[:, None] * points)
            x[[0, -1]] = points[[0, -1]]
            path = JointPath(x)
            hits = space.hits(path.at, _parts(path))
            if not len(hits):
                return path
            where = np.interp(hits, path.parameters, np.arange(count + 1))
            near = np.exp(-0.5 * ((np.arange(count + 1) - where[:, None]) / 1.5) ** 2).max(axis=0)
            weights[1:-1] *= (TIGHTER**near)[1:-1]
        count *= 2
    return None


def _parts(path: JointPath) -> Reals:
    """Parameters (n,) between which joints move by little and the spline has one bend at most."""
    parameters = path.parameters
    moves = np.abs(np.diff(path.waypoints, axis=0)).sum(axis=1)
    counts = np.maximum(np.ceil(1.5 * moves / TURN), 2).astype(int)
    parts = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(parameters[:-1], parameters[1:], counts)]
    return np.concatenate([*parts, [1.0]])
