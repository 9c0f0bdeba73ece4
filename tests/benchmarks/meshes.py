"""Collisions of a robot's meshes with each other and with obstacles, by Coal."""

from __future__ import annotations

import itertools

import coal
import numpy as np
import pinocchio as pin

import trajopt
from trajopt.robots.collisions.surfaces import collision_geometry
from trajopt.robots.scene import Body, solid
from trajopt.types import Reals


class Meshes:
    """Collisions of a robot's meshes with each other and with a scene, by Coal.

    Args:
        robot: The robot.
        scene: The obstacles; they do not collide with links on the robot's root joint.
    """

    def __init__(self, robot: trajopt.Robot, scene: trajopt.Scene) -> None:
        self.model, self.geometry = robot.model, collision_geometry(robot)
        shapes, model = robot.collision_shapes, robot.model
        frames = [body.frame for body in shapes.bodies]
        self.links = {frozenset((frames[i], frames[j])) for i, j in shapes.pairs}
        entries = list(self.geometry.geometryObjects)
        for i, j in itertools.combinations(range(len(entries)), 2):
            if frozenset(model.frames[entries[k].parentFrame].name for k in (i, j)) in self.links:
                self.geometry.addCollisionPair(pin.CollisionPair(i, j))
        for name, obstacle in scene.obstacles.items():
            number = self.geometry.addGeometryObject(_object(name, obstacle))
            for i, entry in enumerate(entries):
                if entry.parentJoint > 0:
                    self.geometry.addCollisionPair(pin.CollisionPair(i, number))
        self.data, self.results = model.createData(), self.geometry.createData()

    def collide(self, q: Reals) -> bool:
        """Whether two bodies collide at a configuration."""
        return bool(pin.computeCollisions(self.model, self.data, self.geometry, self.results, q, True))


def _object(name: str, obstacle: Body) -> pin.GeometryObject:
    shape = solid(obstacle)
    made = {"box": coal.Box, "sphere": coal.Sphere, "capsule": coal.Capsule}[shape.kind](*np.asarray(shape.size))
    return pin.GeometryObject(name, 0, 0, pin.SE3(np.asarray(shape.placement)), made)
