"""Bodies of systems without a robot: skeletons of pendulums and carts, vehicles, quadrotors, points, beads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.analysis.vehicles import vehicle_of
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import hull, quaternion, rgb, turned_up
from trajopt.display.layers.films import beads, has_place
from trajopt.display.layers.vehicles import build_vehicle
from trajopt.plotting.style import GREY, PALETTE, RAMP
from trajopt.solution import Solution
from trajopt.types import Reals

_BONE, _JOINT = 0.025, 0.06  # radii of a rod and of the ball at its end, relative to the longest rod [-]
_CART = (0.5, 0.3, 0.22)  # sides of a cart, relative to the longest rod [-]
_BEAD = 0.04  # radius of a bead, relative to the largest travel of a bead [-]


class SkeletonBody(Layer):
    """Skeleton that a model returns: rods with balls at their ends, carts on rails, solids."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        shown = self.film.skeleton
        start = shown.points[0]
        lengths = [float(np.linalg.norm(start[a] - start[b])) for a, b in shown.bones]
        size = max(lengths, default=float(np.ptp(shown.points.reshape(-1, 3), axis=0).max())) or 1.0
        self._thick = (_CART[2] / 2 if shown.sliders else _JOINT) * size
        steel, dark = rgb(GREY), rgb(RAMP[2])
        self._rods = [
            scene.add_cylinder(f"{name}/rod{i}", _BONE * size, 1.0, rgb(RAMP[1])) for i in range(len(shown.bones))
        ]
        carts, fixed = set(shown.sliders), {i for pair in shown.fixed for i in pair}
        balls = sorted({i for pair in shown.bones for i in pair} - carts - fixed)
        self._balls = {i: scene.add_icosphere(f"{name}/ball{i}", _JOINT * size, dark) for i in balls}
        self._carts = {
            i: scene.add_box(f"{name}/cart{i}", rgb(PALETTE[1]), tuple(size * side for side in _CART)) for i in carts
        }
        for i in fixed:
            base = 1.5 * _JOINT * size
            scene.add_box(f"{name}/base{i}", steel, (2 * base, 2 * base, base), position=tuple(start[i]))
        for i in carts:
            track = shown.points[:, i]
            middle, way = (track.min(axis=0) + track.max(axis=0)) / 2, float(np.ptp(track, axis=0).max())
            along = np.eye(3)[int(np.argmax(np.ptp(track, axis=0)))]
            rail = scene.add_cylinder(f"{name}/rail{i}", 0.4 * _BONE * size, way + size, steel)
            rail.position, rail.wxyz = tuple(middle), turned_up(along)
        self._solids = [
            scene.add_mesh_simple(f"{name}/solid{i}", *hull(solid.points[0]), color=rgb(solid.color or RAMP[2]))
            for i, solid in enumerate(shown.solids)
        ]
        self.at(0.0)

    def follow(self, xs: Reals) -> None:
        self.solution = replace(self.solution, xs=xs)

    def at(self, time: float) -> None:
        shown = self.film.skeleton
        points = self.film.between(shown.points, time)
        self._place = points[0]
        for rod, (a, b) in zip(self._rods, shown.bones):
            along = points[b] - points[a]
            length = float(np.linalg.norm(along))
            rod.position, rod.scale = tuple((points[a] + points[b]) / 2), (1.0, 1.0, max(length, 1e-9))
            rod.wxyz = turned_up(along) if length > 1e-9 else (1.0, 0.0, 0.0, 0.0)
        for i, handle in (*self._balls.items(), *self._carts.items()):
            handle.position = tuple(points[i])
        for handle, solid in zip(self._solids, shown.solids):
            handle.vertices = self.film.between(solid.points, time).astype(np.float32)

    @property
    def place(self) -> Reals:
        return self._place

    def points(self) -> Reals:
        every = self.film.skeleton.points.reshape(-1, 3)
        return np.concatenate([every - self._thick, every + self._thick])


class PoseBody(Layer):
    """Body whose state is a pose: a vehicle, a quadrotor, or a ball for a point without rotation."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self.follow(solution.xs)
        self._body = scene.add_frame(f"{name}/body", show_axes=False)
        self.kind = build_vehicle(scene, solution, f"{name}/body")
        self._corners = vehicle_of(solution).corners
        self.at(0.0)

    def follow(self, xs: Reals) -> None:
        poses = replace(self.solution, xs=xs).description.poses
        assert poses is not None
        self._poses = poses

    def pose(self, time: float) -> Reals:
        """Returns the pose (4, 4) at a time [s], interpolated by a straight line and a rotation about one axis."""
        t, part = self.film.knot(time)
        first, second = (pin.SE3(self._poses[k]) for k in (t, min(t + 1, len(self._poses) - 1)))
        turn = first.rotation @ pin.exp3(part * pin.log3(first.rotation.T @ second.rotation))
        place = (1.0 - part) * first.translation + part * second.translation
        return np.array(pin.SE3(turn, place).homogeneous)

    def at(self, time: float) -> None:
        pose = self.pose(time)
        self._place = pose[:3, 3]
        self._body.position, self._body.wxyz = tuple(pose[:3, 3]), quaternion(pose[:3, :3])

    @property
    def place(self) -> Reals:
        return self._place

    def points(self) -> Reals:
        around = self._corners @ np.swapaxes(self._poses[:, :3, :3], 1, 2)  # (T + 1, 8, 3)
        return np.asarray(around + self._poses[:, None, :3, 3]).reshape(-1, 3)


class Beads(Layer):
    """State without a position in space: each coordinate is a bead on a rail along x, with one metre per unit."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        self._beads, self._rails, self._names = [], [], []
        for i, (coordinate, unit) in enumerate(zip(solution.coordinate_names, solution.coordinate_units)):
            self._beads.append(scene.add_icosphere(f"{name}/{i}/bead", 1.0, rgb(PALETTE[i % len(PALETTE)])))
            self._rails.append(self.add_lines(f"{i}/rail", np.zeros((1, 2, 3)), rgb(GREY), 2.0))
            words = coordinate if unit in ("", "-") else f"{coordinate} [{unit}]"
            self._names.append(scene.add_label(f"{name}/{i}/name", words, anchor="center-right"))
        self.follow(solution.xs)
        self.at(0.0)

    def follow(self, xs: Reals) -> None:
        self._places = beads(xs)
        lows, highs = self._places.min(axis=0), self._places.max(axis=0)
        way = max(float((highs - lows).max()), 1e-3)
        for bead, rail, words, low, high in zip(self._beads, self._rails, self._names, lows, highs):
            bead.scale = (_BEAD * way,) * 3
            rail.points = np.array([[low, high + 1e-6 * way * np.eye(3)[0]]], dtype=np.float32)
            words.position = tuple(low - 0.08 * way * np.eye(3)[0])

    def at(self, time: float) -> None:
        for handle, point in zip(self._beads, self.film.between(self._places, time)):
            handle.position = tuple(point)

    def points(self) -> Reals:
        return self._places.reshape(-1, 3)


def is_skeleton(solution: Solution) -> bool:
    """Whether a solution without a robot has a model that returns a skeleton."""
    return solution.robot is None and solution.description.skeleton is not None


def is_pose(solution: Solution) -> bool:
    """Whether the states of a solution without robot or skeleton are poses."""
    description = solution.description
    return description.robot is None and description.skeleton is None and description.poses is not None


def is_placeless(solution: Solution) -> bool:
    """Whether the state of a solution with a description has no position in space."""
    return solution.description.known and not has_place(solution)
