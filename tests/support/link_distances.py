"""Distances between links of a robot: of its collision shapes, and of its collision geometry by Coal."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from trajopt.robots import CollisionShapes, Robot
from trajopt.robots.collisions.distances import body_distances
from trajopt.robots.collisions.pairs import disabled_pairs
from trajopt.robots.collisions.surfaces import collision_geometry, srdf_path
from trajopt.types import Reals


class LinkDistances(NamedTuple):
    """Pairs of links, and the distances of their shapes and of their geometry (n, pairs) [m]."""

    links: list[tuple[str, str]]
    shapes: Reals
    geometry: Reals

    def waste(self, below: float = 0.2) -> Reals:
        """By how much shapes are nearer than geometry, where that is apart by less than `below` [m]."""
        near = (self.geometry > 0.0) & (self.geometry < below)
        return np.asarray((self.geometry - self.shapes)[near])

    @property
    def excess(self) -> float:
        """By how much a distance of shapes exceeds that of geometry at most, where that is apart [m]."""
        return float((self.shapes - self.geometry)[self.geometry > 0.0].max())


def link_distances(robot: Robot, collision_shapes: CollisionShapes, configurations: Reals) -> LinkDistances:
    """All pairs of links with geometry on joints that do not move each other, without those that an SRDF disables."""
    model, geometry, path = robot.model, collision_geometry(robot), srdf_path(robot)
    disabled = frozenset() if path is None else disabled_pairs(path)
    objects: dict[str, list[int]] = {}
    for number, entry in enumerate(geometry.geometryObjects):
        objects.setdefault(model.frames[entry.parentFrame].name, []).append(number)
    joint = {link: model.frames[model.getFrameId(link, pin.FrameType.BODY)].parentJoint for link in objects}
    links = [
        (a, b)
        for a, b in itertools.combinations(objects, 2)
        if joint[a] != joint[b]
        and joint[a] != model.parents[joint[b]]
        and joint[b] != model.parents[joint[a]]
        and frozenset((a, b)) not in disabled
    ]
    bodies: dict[str | None, list[int]] = {}
    for number, body in enumerate(collision_shapes.bodies):
        bodies.setdefault(body.frame, []).append(number)
    theirs = np.full((len(configurations), len(links)), np.inf)
    pairs = [list(itertools.product(bodies[a], bodies[b])) for a, b in links]
    distances = body_distances(model, collision_shapes.bodies, list(itertools.chain(*pairs)), configurations)
    starts = np.cumsum([0, *map(len, pairs)])[:-1]
    ours = np.minimum.reduceat(distances, starts, axis=1)
    columns = []
    for column, (a, b) in enumerate(links):
        for i, j in itertools.product(objects[a], objects[b]):
            geometry.addCollisionPair(pin.CollisionPair(i, j))
            columns.append(column)
    data, results = model.createData(), geometry.createData()
    for row, q in enumerate(configurations):
        pin.computeDistances(model, data, geometry, results, q)
        np.minimum.at(theirs[row], columns, [result.min_distance for result in results.distanceResults])
    return LinkDistances(links, ours, theirs)
