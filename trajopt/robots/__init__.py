"""Robots from files, from example-robot-data, and small ones defined in code."""

from trajopt.robots.legged import LeggedRobot, configuration_on_ground, legged_robot
from trajopt.robots.robot import Robot, load_robot

__all__ = ["LeggedRobot", "Robot", "configuration_on_ground", "legged_robot", "load_robot"]
