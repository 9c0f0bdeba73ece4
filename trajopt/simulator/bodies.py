"""Rigid bodies whose masses are run-time parameters."""

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
    """Rigid body with a variable mass; its centre of mass is fixed, and its inertia is proportional to the mass.

    Attributes:
        frame: Name of the frame with which the user selected the body.
        joint: Index of the joint that moves the body.
        mass: Run-time parameter of the mass [kg].
    """

    frame: str
    joint: int
    mass: Parameter

    @property
    def factor(self) -> SX:
        """Ratio of the mass to that of the robot's file [-]."""
        return self.mass.symbol / float(self.mass.default)


def body_masses(robot: Robot, frames: Sequence[str]) -> list[BodyMass]:
    """Returns the rigid bodies with these frames. Links that are welded together form one body.

    Raises:
        UnknownNameError: The robot has no frame of this name.
        DuplicateNameError: Two frames are on one body.
        InvalidArgumentError: A body is fixed to the world, or has no mass.
    """
    bodies: list[BodyMass] = []
    for frame in check_texts("masses", frames):
        joint = int(robot.model.frames[robot.frame_id(frame)].parentJoint)
        for other in bodies:
            if other.joint == joint:
                raise DuplicateNameError(
                    f"masses: {other.frame!r} and {frame!r} are on one rigid body; remove one of them"
                )
        mass = float(robot.model.inertias[joint].mass)
        if joint == 0 or not mass > 0:
            why = "fixed to the world" if joint == 0 else f"of mass {mass}"
            raise InvalidArgumentError(
                f"masses: expected frames on moving bodies with a mass, got {frame!r}, which is {why}"
            )
        bodies.append(BodyMass(frame, joint, Parameter("mass", SX.sym("mass"), np.array(mass), "kg", positive)))
    return bodies
