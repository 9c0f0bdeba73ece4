"""Robots: from files, from example-robot-data, and small ones built in code."""

from trajopt.robots.legged import LeggedRobot, legged_robot, standing
from trajopt.robots.robot import Robot, load_robot

__all__ = ["LeggedRobot", "Robot", "legged_robot", "load_robot", "standing"]
