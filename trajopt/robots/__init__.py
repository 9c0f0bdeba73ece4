"""Robots from files, from example-robot-data, and small ones defined in code."""

from typing import TYPE_CHECKING

from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.robots.bases import with_base
from trajopt.robots.box import Box
from trajopt.robots.builtin import planar_arm
from trajopt.robots.loading import load_robot
from trajopt.robots.names import unknown_robot
from trajopt.robots.robot import Robot
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.robots.scene import Scene
from trajopt.robots.shapes import Shape
from trajopt.robots.single_body import single_rigid_body
from trajopt.robots.triangle_mesh import TriangleMesh

if TYPE_CHECKING:
    from trajopt.robots.collisions import CollisionShapes, fit_collision_shapes
    from trajopt.robots.geometry import load_geometry
    from trajopt.robots.legged import LeggedRobot, configuration_on_ground, legged_robot
    from trajopt.robots.skeleton import Skeleton
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "Box",
    "Capsule",
    "CollisionShapes",
    "LeggedRobot",
    "Robot",
    "Scene",
    "Shape",
    "Skeleton",
    "Sphere",
    "TriangleMesh",
    "configuration_on_ground",
    "fit_collision_shapes",
    "legged_robot",
    "load_geometry",
    "load_robot",
    "planar_arm",
    "single_rigid_body",
    "unknown_robot",
    "with_base",
]

explain_calls(__name__)
