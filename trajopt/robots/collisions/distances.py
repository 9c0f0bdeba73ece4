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
    return pair_distances(bodies, pairs, world_axes(model, bodies, configurations))


def pair_distances(bodies: Sequence[Sphere | Capsule], pairs: Sequence[tuple[int, int]], axes: Reals) -> Reals:
    """Signed distances (n, pairs) of pairs of bodies [m], from their axes in the world (n, bodies, 2, 3) [m]."""
    radii = np.array([body.radius for body in bodies])
    first, second = np.array(pairs, dtype=int).reshape(-1, 2).T
    return axis_distances(axes[:, first], axes[:, second]) - radii[first] - radii[second]


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


def world_axes(model: pin.Model, bodies: Sequence[Sphere | Capsule], configurations: Reals) -> Reals:
    """Ends (n, bodies, 2, 3) of the axis of each body in the world, equal for a sphere [m]."""
    data, joints, ends = model.createData(), [], np.empty((len(bodies), 2, 3))
    for out, body in zip(ends, bodies):
        frame = None if body.frame is None else model.frames[frame_index(model, body.frame)]
        place = pin.SE3.Identity() if frame is None else frame.placement
        out[:] = body.points @ place.rotation.T + place.translation
        joints.append(0 if frame is None else frame.parentJoint)
    own, where = np.unique(np.array(joints, dtype=int), return_inverse=True)
    places = np.empty((len(configurations), len(own), 4, 4))
    for row, q in enumerate(configurations):
        pin.forwardKinematics(model, data, q)
        for out, joint in zip(places[row], own.tolist()):
            out[:] = data.oMi[joint]
    places = places[:, where]
    return np.asarray(ends @ places[..., :3, :3].swapaxes(-1, -2) + places[..., None, :3, 3])
