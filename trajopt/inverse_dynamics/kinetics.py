"""Generalized forces of a motion, and Jacobians of the contact frames."""

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

FRAMES = {"local": pin.ReferenceFrame.LOCAL, "world": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED}
"""Axes of wrenches; the reference point is the origin of the contact's frame in both cases."""


@dataclass(frozen=True)
class Kinetics:
    """Forces, Jacobians and placements at N times, for a robot with k contacts.

    Attributes:
        h: Generalized forces without contacts, M a + C v + g (N, nv) [N, N m].
        J: Jacobians of the contact frames, linear rows first (N, k, 6, nv).
        rotations: Rotations T_world_axes of the axes of wrenches (N, k, 3, 3).
        frames: Rotations of the frames themselves (N, k, 3, 3).
        points: Origins of the frames in the world (N, k, 3) [m].
        speeds: Squared speeds of the origins (N, k) [m²/s²].
    """

    h: Reals
    J: Reals
    rotations: Reals
    frames: Reals
    points: Reals
    speeds: Reals


def motors(robot: Robot) -> ActuationModelFloatingBase:
    """Actuation with a motor at each joint, its name, and its limit `upper` (nv - 6,), inf for no limit [N m, N]."""
    return ActuationModelFloatingBase(StateMultibody(robot))


def kinetics(motion: Motion, frames: Sequence[str], axes: str) -> Kinetics:
    """Evaluates forces, Jacobians and placements of a motion with Pinocchio."""
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
