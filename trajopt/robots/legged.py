"""Legged robots by name: feet, soles, and a standing configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_instance, check_text, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.robots.builtin_legged import SMALL_BIPED_SOLE
from trajopt.robots.names import unknown_robot
from trajopt.robots.robot import Robot
from trajopt.types import Reals

_GROUND_TOLERANCE = 1e-3
"""A reference configuration is used unchanged if all feet are this close to the ground [m]."""


@dataclass(frozen=True, kw_only=True)
class LeggedRobot:
    """Feet and standing configuration of a legged robot.

    Attributes:
        feet: Frames of the feet: left front, right front, left hind, right hind; or right, left.
        configuration: Name of the reference configuration in which the robot is standing.
        sole: Length and width of the load-bearing part of a flat sole, centred at the frame of the foot [m]; None for a
            point foot.
    """

    feet: tuple[str, ...]
    configuration: str = "standing"
    sole: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "feet", check_texts("feet", self.feet))
        check_text("configuration", self.configuration)
        if self.sole is not None:
            length, width = check_array("sole", self.sole, (2,), cure="length and width [m]")
            object.__setattr__(self, "sole", (float(length), float(width)))
        if not self.feet:
            raise InvalidArgumentError("feet: expected at least one frame, got none")


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
        sole=(SMALL_BIPED_SOLE[0] - 0.02, SMALL_BIPED_SOLE[1] - 0.02),  # 1 cm inside the edges: cones are penalties
    ),
}
"""Legged robots by their names in `load_robot`."""


def legged_robot(name: str) -> LeggedRobot:
    """Feet and standing configuration of a robot.

    Raises:
        UnknownNameError: The robot is not in the table; the message lists the robots that are.
    """
    if check_text("legged robot", name) not in LEGGED_ROBOTS:
        raise unknown_robot("legged robot", name, LEGGED_ROBOTS)
    return LEGGED_ROBOTS[name]


def configuration_on_ground(robot: Robot, feet: Sequence[str], configuration: str | npt.ArrayLike) -> Reals:
    """Returns a configuration (nq,), raised or lowered so that the feet are on the ground.

    In some files the feet are above the ground, since the frame of a foot is the centre of a ball or a number is
    rounded. Here the ground is at the frames of the feet: the mean of their heights becomes zero.

    Args:
        robot: The robot; its base is a free flyer.
        feet: Frames of the feet.
        configuration: Name of a reference configuration of the robot, or a configuration (nq,).

    Raises:
        InvalidArgumentError: The base is fixed, there are no feet, or the configuration has a wrong size.
        UnknownNameError: The robot has no such frame or reference configuration.
    """
    if not check_texts("feet", feet):
        raise InvalidArgumentError("feet: expected at least one frame, got none")
    if not check_instance("robot", robot, Robot).floating_base:
        raise InvalidArgumentError(f"robot: expected a floating base, got {robot.name!r}, which is fixed to the world")
    if isinstance(configuration, str):
        q = robot.configuration(configuration)
    else:
        q = check_array("configuration", configuration, (robot.nq,))
    heights = np.array([robot.placement(q, foot)[2, 3] for foot in check_texts("feet", feet)])  # [m]
    if np.abs(heights).max() > _GROUND_TOLERANCE:
        q[2] -= heights.mean()
    return q
