"""Balls of round feet, from a robot's collision geometry."""

from __future__ import annotations

import functools

import coal
import numpy as np

from trajopt.errors import TrajoptError
from trajopt.robots.collisions.surfaces import collision_geometry
from trajopt.robots.robot import Robot
from trajopt.robots.round_bodies import Sphere

_CENTRED = 1e-4  # distance of a frame from the centre of its ball at which it counts as there [m]


@functools.lru_cache(maxsize=64)
def foot_ball(robot: Robot, frame: str) -> Sphere | None:
    """Collision sphere around a foot's frame whose centre is elsewhere, as at ANYmal's feet; None without one.

    Args:
        robot: The robot; without collision geometry that can be read, it has no balls.
        frame: Frame of the foot.
    """
    placed = robot.model.frames[robot.frame_id(frame)]
    try:
        shapes = collision_geometry(robot).geometryObjects
    except TrajoptError:
        return None
    for shape in shapes:
        if shape.parentJoint == placed.parentJoint and isinstance(shape.geometry, coal.Sphere):
            centre = placed.placement.actInv(shape.placement).translation
            if _CENTRED < float(np.linalg.norm(centre)) < shape.geometry.radius:
                return Sphere(shape.geometry.radius, frame=frame, center=centre)
    return None
