"""Robots from files, from example-robot-data, and small ones defined in code."""

from trajopt.model.calls import explain_calls
from trajopt.robots.bases import with_base
from trajopt.robots.builtin import planar_arm
from trajopt.robots.geometry import load_geometry
from trajopt.robots.legged import LeggedRobot, configuration_on_ground, legged_robot
from trajopt.robots.names import unknown_robot
from trajopt.robots.robot import Robot, load_robot
from trajopt.robots.shapes import Shape
from trajopt.robots.skeleton import Skeleton

__all__ = [
    "LeggedRobot",
    "Robot",
    "Shape",
    "Skeleton",
    "configuration_on_ground",
    "legged_robot",
    "load_geometry",
    "load_robot",
    "planar_arm",
    "unknown_robot",
    "with_base",
]

explain_calls(__name__)
