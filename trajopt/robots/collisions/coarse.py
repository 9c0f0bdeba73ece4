"""Pairs of links whose shapes are near mostly where the links are not."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.distances import pair_distances, world_axes
from trajopt.robots.collisions.pairs import FEW, NEAR
from trajopt.robots.collisions.samples import random_configurations
from trajopt.robots.frame_index import frame_index
from trajopt.types import Reals

SAMPLES = 200
"""Number of configurations [-]."""
MOST = 0.5
"""Share of configurations that counts as most [-]."""


def without_coarse_pairs(model: pin.Model, geometry: pin.GeometryModel, shapes: CollisionShapes) -> CollisionShapes:
    """Returns shapes without the pairs of links whose rows would refuse more postures by mistake than by right.

    A pair of links with one link between them moves little, and may stay within the excess of its shapes over its
    meshes. Of the random configurations that bring its shapes closer than 1 cm, its meshes are apart by 1 cm or more
    in most: such a pair goes to the reason "coarse". The base and the upper arm of a UR3 are one: their shapes are
    closer than 1 cm in all configurations, their meshes in 14 %. A robot with reference configurations is judged by
    these instead.

    If the meshes themselves overlap in most of all configurations, they are housings of a joint that are drawn into
    each other, as those of Talos' hips in 88 %: such a pair goes to the reason "always".

    Args:
        model: Model of the robot.
        geometry: Its collision geometry.
        shapes: Its shapes and pairs.
    """
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, j in shapes.pairs:
        links = str(shapes.bodies[i].frame), str(shapes.bodies[j].frame)
        if _two_joints_apart(model, *links):
            pairs.setdefault(links, []).append((i, j))
    out: dict[str, list[tuple[int, int]]] = {"always": [], "coarse": []}
    few = MOST if len(model.referenceConfigurations) else FEW
    configurations = random_configurations(model, SAMPLES)
    axes = world_axes(model, shapes.bodies, configurations)
    for links, own in pairs.items():
        near = pair_distances(shapes.bodies, own, axes).min(axis=1) < NEAR
        if near.mean() <= few:
            continue
        distances = _distances(model, geometry, links, configurations[near])
        if np.count_nonzero(distances <= 0.0) > MOST * SAMPLES:
            out["always"] += own
        elif few < MOST and (distances >= NEAR).mean() > MOST:
            out["coarse"] += own
    gone = {pair for own in out.values() for pair in own}
    left_out = {reason: (*shapes.left_out.get(reason, ()), *own) for reason, own in out.items() if own}
    return CollisionShapes(
        bodies=shapes.bodies,
        pairs=tuple(pair for pair in shapes.pairs if pair not in gone),
        left_out={**shapes.left_out, **left_out},
    )


def _two_joints_apart(model: pin.Model, first: str, second: str) -> bool:
    """Whether two joints, one after the other, move one of two links against the other."""
    a, b = (model.frames[frame_index(model, link)].parentJoint for link in (first, second))
    return bool(model.parents[model.parents[a]] == b or model.parents[model.parents[b]] == a)


def _distances(model: pin.Model, geometry: pin.GeometryModel, links: Sequence[str], configurations: Reals) -> Reals:
    """Distances (n,) of the meshes of two links [m]."""
    pair, objects = geometry.copy(), geometry.geometryObjects
    pair.removeAllCollisionPairs()
    own = [[i for i, each in enumerate(objects) if model.frames[each.parentFrame].name == link] for link in links]
    for i, j in itertools.product(*own):
        pair.addCollisionPair(pin.CollisionPair(min(i, j), max(i, j)))
    data, results, least = model.createData(), pair.createData(), np.empty(len(configurations))
    for row, q in enumerate(configurations):
        pin.computeDistances(model, data, pair, results, q)
        least[row] = min(result.min_distance for result in results.distanceResults)
    return least
