"""Bodies of a robot whose masses are run-time parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from casadi import SX

from trajopt.checks import check_texts
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.model.parameters import Parameter, positive
from trajopt.robots import Robot


@dataclass(frozen=True)
class BodyMass:
    """A rigid body with a mass that may change; its centre of mass stays, its inertia is proportional to the mass.

    Attributes:
        frame: Name of the frame by which the user named it.
        joint: Index of the joint that moves it.
        mass: Run-time parameter [kg].
    """

    frame: str
    joint: int
    mass: Parameter

    @property
    def factor(self) -> SX:
        """Mass over that of the robot's file [-]."""
        return self.mass.symbol / float(self.mass.default)


def body_masses(robot: Robot, frames: Sequence[str]) -> list[BodyMass]:
    """The bodies that have these frames; links that are welded together are one body.

    Raises:
        UnknownNameError: There is no such frame.
        DuplicateNameError: Two are on one body.
        InvalidArgumentError: A body is fixed to the world, or has no mass.
    """
    found: list[BodyMass] = []
    for frame in check_texts("masses", frames):
        joint = int(robot.model.frames[robot.frame_id(frame)].parentJoint)
        for other in found:
            if other.joint == joint:
                raise DuplicateNameError(f"masses: {other.frame!r} and {frame!r} are one rigid body; name one of them")
        mass = float(robot.model.inertias[joint].mass)
        if joint == 0 or not mass > 0:
            why = "fixed to the world" if joint == 0 else f"of mass {mass}"
            raise InvalidArgumentError(
                f"masses: expected frames of bodies that move and have a mass, got {frame!r}, {why}"
            )
        found.append(BodyMass(frame, joint, Parameter("mass", SX.sym("mass"), np.array(mass), "kg", positive)))
    return found
