"""An arm with balls and rods as collision shapes, so that nothing needs to be fitted."""

from __future__ import annotations

import functools

import numpy as np

import trajopt
from trajopt.robots import CollisionShapes


@functools.cache
def collision_arm() -> trajopt.StateMultibody:
    """Talos' arm with a ball and a rod on every other link, of which those on different links may touch."""
    robot, rng = trajopt.load_robot("talos_arm"), np.random.default_rng(3)
    bodies: list[trajopt.Sphere | trajopt.Capsule] = []
    for frame in (f"arm_left_{i}_link" for i in (1, 3, 5, 7)):
        bodies.append(trajopt.Sphere(0.03, frame=frame, center=rng.uniform(-0.1, 0.1, 3)))
        start, end = rng.uniform(-0.15, 0.15, (2, 3))
        bodies.append(trajopt.Capsule(0.02, start=start, end=end, frame=frame))
    pairs = tuple((i, j) for i in range(8) for j in range(i + 1, 8) if i // 2 != j // 2)
    return trajopt.StateMultibody(robot.with_collision_shapes(CollisionShapes(bodies=tuple(bodies), pairs=pairs)))
