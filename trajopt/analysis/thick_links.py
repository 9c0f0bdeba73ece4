"""Balls and capsules on the links of a robot that its distance costs and constraints keep away from obstacles."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.references import distances_of
from trajopt.residuals import Capsule, ResidualModelObstacleDistance
from trajopt.robots.skeleton import Solid
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_SIDES = np.array([side for side in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(side)])
_BALL = _SIDES / np.linalg.norm(_SIDES, axis=1, keepdims=True)
"""Points on a ball of radius 1, (26, 3) [-]."""


def thick_links(solution: Solution) -> list[Solid]:
    """Returns the balls and capsules of a robot in distance costs and constraints; empty without the problem."""
    robot, solids = solution.robot, []
    if robot is None:
        return []
    for item in distances_of(solution)[0]:
        shape = getattr(item.residual, "shape", None)
        if isinstance(item.residual, ResidualModelObstacleDistance) and shape is not None:
            ends = [shape.start, shape.end] if isinstance(shape, Capsule) else [shape.center]
            points = np.concatenate([np.asarray(end) + shape.radius * _BALL for end in ends])
            places = robot.placement(solution.xs[:, : robot.nq], shape.frame)
            solids.append(Solid(points=_moved(places, points)))
    return solids


def _moved(places: Reals, points: Reals) -> Reals:
    """Points (n, 3) of a frame in the world, (T + 1, n, 3), at its placements (T + 1, 4, 4) [m]."""
    return np.asarray(np.einsum("tij,nj->tni", places[:, :3, :3], points) + places[:, None, :3, 3])
