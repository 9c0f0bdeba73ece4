"""Translucent copies of a body: a strobe of the whole motion, and ghosts of where the body has just been."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.display.layers.base import Layer
from trajopt.display.layers.bodies import PoseBody, SkeletonBody, is_pose, is_skeleton
from trajopt.display.meshes import GREY
from trajopt.display.timeline import Timeline
from trajopt.solution import Solution
from trajopt.types import Reals

STROBE = 6  # number of copies in a strobe, the first and the last at the ends of the motion [-]
GHOSTS = 3  # number of ghosts [-]
_APART = 1 / 15  # time from one ghost to the next, relative to the motion's duration [-]
_STRONG, _WEAK = 0.35, 0.12  # opacity of the strongest and the weakest copy [-]
_SOLIDS = ("add_box", "add_cylinder", "add_icosphere", "add_mesh_simple")


class Strobe(Layer):
    """Copies of the body at equally spaced times from the start to the end of the motion."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._times: Reals = np.linspace(0.0, Timeline(solution).duration, STROBE)
        self._copies = _copies(scene, solution, name, np.full(STROBE, (_STRONG + _WEAK) / 2))
        self._copies.place(self._times)

    def follow(self, xs: Reals) -> None:
        self._copies.follow(xs)
        self._copies.place(self._times)


class Ghosts(Layer):
    """Copies of the body at its last few places, fading with their age."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._ages = np.array([i * _APART * Timeline(solution).duration for i in range(1, GHOSTS + 1)])
        self._copies = _copies(scene, solution, name, np.linspace(_STRONG, _WEAK, GHOSTS))
        self.at(0.0)

    def follow(self, xs: Reals) -> None:
        self._copies.follow(xs)

    def at(self, time: float) -> None:
        self._copies.place(time - self._ages)


class _RobotCopies:
    """Copies of a robot: each mesh is in the scene once, with one pose for each copy."""

    def __init__(self, scene: Any, solution: Solution, name: str, opacities: Reals) -> None:
        from trajopt.display.robot import joint_poses
        from trajopt.display.visuals import joint_meshes

        robot: Any = solution.robot
        self._poses = joint_poses
        self._model, self._timeline, self._xs = robot.model, Timeline(solution), solution.xs
        parts, count = joint_meshes(robot), len(opacities)
        self._joints, self._opacities = [part.joint for part in parts], opacities
        still: dict[str, Any] = {
            "batched_positions": np.zeros((count, 3)),
            "batched_wxyzs": np.tile([1.0, 0.0, 0.0, 0.0], (count, 1)),
            "batched_opacities": opacities,
        }
        self._meshes = [
            [
                scene.add_batched_meshes_simple(
                    f"{name}/{part.joint}/{i}",
                    mesh.vertices.astype(np.float32),
                    mesh.faces.astype(np.uint32),
                    **still,
                    batched_colors=mesh.color or GREY,
                    lod="off",
                    side="double",
                    cast_shadow=False,
                )
                for i, mesh in enumerate(part.meshes)
            ]
            for part in parts
        ]

    def follow(self, xs: Reals) -> None:
        self._xs = xs

    def place(self, times: Reals) -> None:
        """Moves the copies to times (n,) [s], and hides those before the start."""
        states = self._timeline.states(self._xs, np.maximum(times, 0.0))
        poses = self._poses(self._model, states[:, : self._model.nq], self._joints).astype(np.float32)
        opacities = np.where(times >= 0.0, self._opacities, 0.0).astype(np.float32)
        for i, meshes in enumerate(self._meshes):
            for mesh in meshes:
                mesh.batched_positions, mesh.batched_wxyzs = poses[:, i, :3], poses[:, i, 3:]
                mesh.batched_opacities = opacities


class _BodyCopies:
    """Copies of a body that is no robot."""

    def __init__(self, scene: Any, solution: Solution, name: str, opacities: Reals) -> None:
        build = SkeletonBody if is_skeleton(solution) else PoseBody
        self._bodies = [build(_Faded(scene, float(o)), solution, f"{name}/{i}") for i, o in enumerate(opacities)]

    def follow(self, xs: Reals) -> None:
        for body in self._bodies:
            body.follow(xs)

    def place(self, times: Reals) -> None:
        """Moves the copies to times (n,) [s], and hides those before the start."""
        for body, time in zip(self._bodies, times):
            body.visible = bool(time >= 0.0)
            body.at(max(float(time), 0.0))


class _Faded:
    """A scene whose solids are translucent and cast no shadow."""

    def __init__(self, scene: Any, opacity: float) -> None:
        self._scene, self._opacity = scene, opacity

    def __getattr__(self, call: str) -> Any:
        add = getattr(self._scene, call)
        if call not in _SOLIDS:
            return add

        def faded(*arguments: Any, **options: Any) -> Any:
            opacity = self._opacity * (options.get("opacity") or 1.0)
            return add(*arguments, **{**options, "opacity": opacity, "cast_shadow": False})

        return faded


def _copies(scene: Any, solution: Solution, name: str, opacities: Reals) -> _RobotCopies | _BodyCopies:
    """Returns copies of a solution's body with opacities (n,) [-]."""
    return (_BodyCopies if solution.robot is None else _RobotCopies)(scene, solution, name, opacities)


def has_copies(solution: Solution) -> bool:
    """Whether there is a body that moves in space."""
    return len(solution.xs) > 1 and (solution.robot is not None or is_skeleton(solution) or is_pose(solution))
