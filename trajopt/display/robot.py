"""Display of a robot's meshes, moved along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import mixed
from trajopt.display.meshes import GREY
from trajopt.display.timeline import Timeline
from trajopt.display.visuals import joint_meshes
from trajopt.solution import Solution
from trajopt.types import Reals

ACCENTS = ((214, 96, 77), (67, 147, 195), (90, 174, 97), (153, 112, 171))
"""Colours of the second and further robots, which are translucent."""


def joint_poses(model: pin.Model, configurations: npt.ArrayLike, joints: Sequence[int]) -> Reals:
    """Returns poses of joints in the world, (K, n, 7): position x, y, z [m], then quaternion w, x, y, z [-].

    Args:
        model: The Pinocchio model.
        configurations: Configurations (K, nq).
        joints: Indices of the n joints.
    """
    rows, data = np.atleast_2d(np.asarray(configurations, dtype=float)), model.createData()
    poses = np.empty((len(rows), len(joints), 7))
    for row, out in zip(rows, poses):
        pin.forwardKinematics(model, data, row)
        for i, joint in enumerate(joints):
            out[i] = pin.SE3ToXYZQUAT(data.oMi[joint])
    return poses[:, :, [0, 1, 2, 6, 3, 4, 5]]


class RobotBody(Layer):
    """Meshes of a solution's robot.

    Args:
        scene: viser's scene.
        solution: The solution; it has a robot.
        name: Path in the scene; each joint is an entry below it, by its name.
        number: Index among several robots: the first has its own colours, others are translucent.
    """

    def __init__(self, scene: Any, solution: Solution, name: str, number: int = 0) -> None:
        super().__init__(scene, solution, name)
        robot: Any = solution.robot
        self._model, self._timeline, self._xs = robot.model, Timeline(solution), solution.xs
        parts = joint_meshes(robot)
        self._joints = [part.joint for part in parts]
        self._reach = max(
            (float(np.linalg.norm(m.vertices, axis=1).max()) for p in parts for m in p.meshes), default=0.1
        )
        self._nodes = []
        for part in parts:
            node = f"{name}/{self._model.names[part.joint]}"
            self._nodes.append(scene.add_frame(node, show_axes=False))
            for i, mesh in enumerate(part.meshes):
                color, opacity = mesh.color or GREY, mesh.opacity
                if number:
                    accent = ACCENTS[(number - 1) % len(ACCENTS)]
                    color, opacity = mixed(color, accent, 0.65), 0.45 * opacity
                scene.add_mesh_simple(
                    f"{node}/{i}",
                    mesh.vertices.astype(np.float32),
                    mesh.faces.astype(np.uint32),
                    color=color,
                    opacity=None if opacity > 0.99 else opacity,
                    side="double",
                )
        self.at(0.0)

    def follow(self, xs: Reals) -> None:
        """Switches to another trajectory (T + 1, nx), for example of an earlier iteration."""
        self._xs = xs

    def at(self, time: float) -> None:
        configuration = self._timeline.states(self._xs, time)[:, : self._model.nq]
        poses = joint_poses(self._model, configuration, [1, *self._joints])[0]
        self._place = poses[0, :3]
        for node, pose in zip(self._nodes, poses[1:]):
            node.position, node.wxyz = pose[:3], pose[3:]

    @property
    def place(self) -> Reals:
        return self._place

    def points(self) -> Reals:
        """Returns two opposite corners (2, 3) of a box around the joints at some times [m]."""
        times = np.linspace(0.0, self._timeline.duration, 20)
        configurations = self._timeline.states(self._xs, times)[:, : self._model.nq]
        places = joint_poses(self._model, configurations, range(1, self._model.njoints))[:, :, :3].reshape(-1, 3)
        margin = min(self._reach, 0.5 * float(np.ptp(places, axis=0).max()) + 0.1)
        return np.array([places.min(axis=0) - 0.3 * margin, places.max(axis=0) + 0.5 * margin])
