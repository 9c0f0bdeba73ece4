"""Generalised forces of a motion, and Jacobians of the frames that touch the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from trajopt.actuation import ActuationModelFloatingBase
from trajopt.inverse_dynamics.motion import Motion
from trajopt.robots import Robot
from trajopt.states import StateMultibody
from trajopt.types import Reals

GRAVITY = 9.81  # [m/s²]
FRAMES = {"local": pin.ReferenceFrame.LOCAL, "world": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED}
"""Axes of wrenches; their reference point is the origin of the contact's frame in both."""


@dataclass(frozen=True)
class Kinetics:
    """Forces, Jacobians and placements at N times, of a robot with k contacts.

    Attributes:
        h: M a + C v + g, generalised forces without contacts (N, nv).
        J: Jacobians of the contacts' frames, linear rows first (N, k, 6, nv).
        rotations: Rotations T_world_axes of the axes in which wrenches are given (N, k, 3, 3).
        frames: Rotations of the frames themselves (N, k, 3, 3).
        points: Origins of the frames in the world (N, k, 3) [m].
        speeds: Squared speeds of these points (N, k) [m²/s²].
    """

    h: Reals
    J: Reals
    rotations: Reals
    frames: Reals
    points: Reals
    speeds: Reals


def motors(robot: Robot) -> ActuationModelFloatingBase:
    """A motor at each joint, with its name and its limit `upper` (nv - 6,), inf where there is none."""
    return ActuationModelFloatingBase(StateMultibody(robot))


def weight_of(robot: Robot) -> float:
    """Weight of the robot [N]."""
    return GRAVITY * robot.mass


def kinetics(motion: Motion, frames: Sequence[str], axes: str) -> Kinetics:
    """Evaluates a motion with Pinocchio."""
    robot, n, k = motion.robot, len(motion), len(frames)
    model, data = robot.model, robot.model.createData()
    ids = [robot.frame_id(frame) for frame in frames]
    h, J = np.empty((n, robot.nv)), np.empty((n, k, 6, robot.nv))
    turns, points = np.empty((n, k, 3, 3)), np.empty((n, k, 3))
    for i in range(n):
        q = motion.positions[i]
        h[i] = pin.rnea(model, data, q, motion.velocities[i], motion.accelerations[i])
        pin.computeJointJacobians(model, data, q)
        for j, frame in enumerate(ids):
            place = pin.updateFramePlacement(model, data, frame)
            turns[i, j], points[i, j] = place.rotation, place.translation
            J[i, j] = pin.getFrameJacobian(model, data, frame, FRAMES[axes])
    twists = np.einsum("ikrv,iv->ikr", J[:, :, :3], motion.velocities)
    rotations = turns if axes == "local" else np.broadcast_to(np.eye(3), turns.shape)
    return Kinetics(h, J, rotations, turns, points, np.sum(twists**2, axis=2))
