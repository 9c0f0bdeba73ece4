"""What gaits need to know of legged robots, as data: feet, soles, and a posture to stand in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.errors import unknown_name
from trajopt.robots.builtin_legged import SMALL_BIPED_SOLE
from trajopt.robots.robot import Robot
from trajopt.types import Reals

_GROUND_TOLERANCE = 1e-3
"""A stored posture whose feet are this close to the ground is taken as it is [m]."""


@dataclass(frozen=True, kw_only=True)
class LeggedRobot:
    """Feet and posture of a robot.

    Attributes:
        feet: Frames of the feet: left front, right front, left hind, right hind; or right, left.
        configuration: Reference configuration in which it stands.
        sole: Length and width of the part of a flat sole that may carry load, about the foot's frame; None for a foot
            that is a point [m].
    """

    feet: tuple[str, ...]
    configuration: str = "standing"
    sole: tuple[float, float] | None = None


def _quadruped(*feet: str) -> LeggedRobot:
    return LeggedRobot(feet=feet)


_UNITREE = _quadruped("FL_foot", "FR_foot", "RL_foot", "RR_foot")
_TALOS = LeggedRobot(
    feet=("right_sole_link", "left_sole_link"),
    configuration="half_sitting",
    sole=(0.1, 0.05),  # half of the sole's 0.2 m x 0.1 m, as in Crocoddyl's gaits
)

LEGGED_ROBOTS: dict[str, LeggedRobot] = {
    "anymal": _quadruped("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "anymal_c": _quadruped("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "hyq": _quadruped("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "solo12": _quadruped("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    "go1": _UNITREE,
    "go2": _UNITREE,
    "a1": _UNITREE,
    "b1": _UNITREE,
    "small-quadruped": _quadruped("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "bolt": LeggedRobot(feet=("FR_FOOT", "FL_FOOT")),
    "talos_legs": _TALOS,
    "talos": _TALOS,
    "small-biped": LeggedRobot(
        feet=("right_sole", "left_sole"),
        configuration="half_sitting",
        sole=(SMALL_BIPED_SOLE[0] - 0.02, SMALL_BIPED_SOLE[1] - 0.02),  # a centimetre from the edges: cones are soft
    ),
}
"""Robots by the name that `load_robot` knows."""


def legged_robot(name: str) -> LeggedRobot:
    """What is known of a robot.

    Raises:
        UnknownNameError: nothing is; lists the robots of which something is.
    """
    if name not in LEGGED_ROBOTS:
        raise unknown_name("legged robot", name, LEGGED_ROBOTS)
    return LEGGED_ROBOTS[name]


def standing(robot: Robot, feet: tuple[str, ...], configuration: str) -> Reals:
    """A reference configuration, raised or lowered so that the feet are on the ground, shape (nq,).

    Files leave some robots hanging above the ground (a foot's frame is the middle of a ball, or a number is rounded).
    Here the ground is where the frames of the feet are: the mean of their heights is zero.

    Args:
        robot: The robot, with a free flyer.
        feet: Frames of the feet.
        configuration: Name of the reference configuration.
    """
    q = robot.configuration(configuration)
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, q)
    heights = np.array([data.oMf[robot.frame_id(foot)].translation[2] for foot in feet])  # [m]
    if np.abs(heights).max() > _GROUND_TOLERANCE:
        q[2] -= heights.mean()
    return q
