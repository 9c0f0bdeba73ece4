"""Barrier weight of problems through contact."""

from __future__ import annotations

from trajopt.checks import check_positive
from trajopt.robots import Robot
from trajopt.simulator.contact import weight_of


def barrier_weight(robot: Robot, smoothing: float) -> float:
    """Barrier weight of a simulator's contacts, smoothing · m g [W].

    Args:
        robot: The robot.
        smoothing: Barrier weight divided by the robot's weight, > 0 [m/s].
    """
    return check_positive("smoothing", smoothing, unit="m/s") * weight_of(robot)
