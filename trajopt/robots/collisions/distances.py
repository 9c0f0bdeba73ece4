"""Distances between spheres and capsules of a robot at many configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from trajopt.robots.closest_points import NO_LENGTH, PARALLEL
from trajopt.robots.frame_index import frame_index
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
    points, radii = _in_world(model, bodies, configurations), np.array([body.radius for body in bodies])
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    return axis_distances(points[:, first], points[:, second]) - radii[first] - radii[second]


def axis_distances(first: Reals, second: Reals) -> Reals:
    """Distances (...) of the axes of pairs of bodies, whose ends are (..., 2, 3) and may coincide [m].

    The formula is that of `closest_points`.
    """
    d1, d2, r = (
        first[..., 1, :] - first[..., 0, :],
        second[..., 1, :] - second[..., 0, :],
        first[..., 0, :] - second[..., 0, :],
    )
    a, b, e, c, f = (np.einsum("...x,...x", *each) for each in ((d1, d1), (d1, d2), (d2, d2), (d1, r), (d2, r)))
    across = np.maximum(a * e - b * b + PARALLEL * a * e, NO_LENGTH)
    a, e = np.maximum(a, NO_LENGTH), np.maximum(e, NO_LENGTH)
    s = np.clip((b * f - c * e) / across, 0.0, 1.0)
    t = np.clip((b * s + f) / e, 0.0, 1.0)
    s = np.clip((b * t - c) / a, 0.0, 1.0)
    return np.asarray(np.linalg.norm(r + s[..., None] * d1 - t[..., None] * d2, axis=-1))


def _in_world(model: pin.Model, bodies: Sequence[Sphere | Capsule], configurations: Reals) -> Reals:
    """Ends (n, bodies, 2, 3) of the axis of each body in the world, equal for a sphere [m]."""
    data = model.createData()
    frames = [None if body.frame is None else frame_index(model, body.frame) for body in bodies]
    ends = [np.broadcast_to(body.points, (2, 3)) for body in bodies]
    points = np.empty((len(configurations), len(bodies), 2, 3))
    for row, q in enumerate(configurations):
        pin.framesForwardKinematics(model, data, q)
        for out, each, frame in zip(points[row], ends, frames):
            place = pin.SE3.Identity() if frame is None else data.oMf[frame]
            out[:] = each @ place.rotation.T + place.translation
    return points
