"""Distances between spheres and capsules of a robot at many configurations."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import casadi as ca
import numpy as np
import pinocchio as pin

from trajopt.robots.closest_points import closest_points
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.types import Reals


def body_distances(
    model: pin.Model, bodies: Sequence[Sphere | Capsule], pairs: Sequence[tuple[int, int]], configurations: Reals
) -> Reals:
    """Signed distances (n, pairs) of pairs of bodies, negative where they overlap [m].

    Args:
        model: Model of the robot.
        bodies: Its spheres and capsules.
        pairs: Indices of two bodies each.
        configurations: Configurations (n, nq).
    """
    points = _in_world(model, bodies, configurations)
    distances = np.zeros((len(configurations), len(pairs)))
    kinds = [(len(bodies[i].points), len(bodies[j].points)) for i, j in pairs]
    for kind in set(kinds):
        columns = [column for column, each in enumerate(kinds) if each == kind]
        sides = [np.stack([points[pairs[c][side]] for c in columns], axis=1) for side in (0, 1)]
        flat = [side.reshape(-1, 3 * side.shape[2]).T for side in sides]
        gaps = _function(*kind).map(flat[0].shape[1])(*flat)
        distances[:, columns] = np.asarray(gaps).reshape(len(configurations), len(columns))
    radii = np.array([body.radius for body in bodies])
    return distances - np.array([radii[i] + radii[j] for i, j in pairs])


def axis_distances(first: Reals, second: Reals) -> Reals:
    """Distances (...) of the axes of pairs of bodies, whose ends are (..., 2, 3) and may coincide [m]."""
    sides = [np.ascontiguousarray(side).reshape(-1, 6).T for side in (first, second)]
    return np.asarray(_function(2, 2).map(sides[0].shape[1])(*sides)).reshape(first.shape[:-2])


def _in_world(model: pin.Model, bodies: Sequence[Sphere | Capsule], configurations: Reals) -> list[Reals]:
    """Points (n, 1 or 2, 3) of each body in the world [m]."""
    data = model.createData()
    frames = [None if body.frame is None else model.getFrameId(body.frame) for body in bodies]
    points = [np.empty((len(configurations), *body.points.shape)) for body in bodies]
    for row, q in enumerate(configurations):
        pin.framesForwardKinematics(model, data, q)
        for body, frame, out in zip(bodies, frames, points):
            if frame is None:
                out[row] = body.points
            else:
                placement = data.oMf[frame]
                out[row] = body.points @ placement.rotation.T + placement.translation
    return points


@functools.cache
def _function(first: int, second: int) -> ca.Function:
    """(points of the first (3 · first,), of the second) -> distance of their closest points."""
    columns = [ca.SX.sym("points", 3 * count) for count in (first, second)]
    a, b = (ca.reshape(column, 3, count).T for column, count in zip(columns, (first, second)))
    weights = closest_points(a, b, degenerate=True)
    return ca.Function("distance", columns, [ca.norm_2(a.T @ weights[0] - b.T @ weights[1])])
