"""Kind and size of a vehicle whose states are poses, and its outline."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from trajopt.states.place_names import place_columns
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_PART = 0.1  # half length of a body of unknown size, relative to the size of its motion [-]
_MARK = 0.18  # size of an outline that is not to scale, relative to that of the body, so that paths stay visible [-]
_LEAST = 1e-3  # smallest size of a motion [m]
_WIDE = 0.45  # half width of a car, relative to its half length [-]
_ROUND = 24  # number of corners of a round outline [-]
ROTORS = ("front", "left", "rear", "right")


@dataclass(frozen=True, kw_only=True)
class Vehicle:
    """A vehicle, with x to the front, y to the left and z up.

    Attributes:
        kind: "quadrotor", "differential drive", "unicycle", "point" or "body".
        half: Length of an arm, half of the track, or half of a length that follows from the motion [m].
        radius: Radius of a wheel [m]; 0 without wheels of a known size.
        body: Radius of the disc that distance costs and constraints keep off obstacles [m]; 0 without these.
        to_scale: Whether its size is a parameter of the problem, and not a part of the motion's size.
    """

    kind: str
    half: float
    radius: float = 0.0
    body: float = 0.0
    to_scale: bool = False

    @property
    def label(self) -> str:
        """Name of the outline in a legend."""
        return "vehicle" if self.to_scale else "vehicle, not to scale"

    @property
    def corners(self) -> Reals:
        """Corners of a box around the drawing (8, 3) [m]; wheels stand on the plane z = 0, a point is a ball."""
        side = 1.5 * self.half if self.kind == "quadrotor" else max(self.half, self.body) + 0.25 * self.half
        low = 0.0 if self.kind in ("differential drive", "unicycle") else -0.4 * self.half
        ends = [(-side, side), (-side, side), (low, max(self.half, 2.0 * self.radius))]
        return np.array(list(product(*ends)))

    @property
    def outline(self) -> Reals:
        """Outline around the origin (n, 3), with gaps at NaN [m]; empty for a point and for a body of unknown shape.

        That of the disc that keeps off obstacles, if there is one. One that is not to scale is a mark of at
        most 4 % of the motion's size.
        """
        half = self.half if self.to_scale else _MARK * self.half
        if self.kind == "quadrotor":
            gap = np.full((1, 3), np.nan)
            return half * np.vstack([np.eye(3)[:1], -np.eye(3)[:1], gap, np.eye(3)[1:2], -np.eye(3)[1:2]])
        if self.body or self.kind == "differential drive":
            turn = np.linspace(0.0, 2.0 * np.pi, _ROUND + 1)
            return (self.body or half) * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
        if self.kind == "unicycle":
            corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 1.0)]
            return half * np.array([(x, _WIDE * y, 0.0) for x, y in corners])
        return np.zeros((0, 3))


def vehicle_of(solution: Solution) -> Vehicle:
    """Returns the vehicle that fits the controls and coordinates of a solution whose states are poses."""
    controls = {control.removeprefix("u:") for control in solution.control_names}
    half = _PART * _size(solution)
    coordinates, columns = {name.rpartition(".")[2] for name in solution.coordinate_names}, _columns(solution)
    if controls.issuperset(ROTORS):
        arm = _parameter(solution, "arm")
        return Vehicle(kind="quadrotor", half=arm or half, to_scale=arm is not None)
    body = _body(solution)
    if controls == {"right", "left"} and "theta" in columns:  # those of a planar drone are rotors
        track, radius = _parameter(solution, "half_track"), _parameter(solution, "radius")
        known, half = body > 0.0 or track is not None, track or half
        return Vehicle(kind="differential drive", half=half, radius=radius or 0.5 * half, body=body, to_scale=known)
    if "theta" in columns:  # under any name of a heading, such as psi
        return Vehicle(kind="unicycle", half=body or half, body=body, to_scale=body > 0.0)
    return Vehicle(kind="body" if "qw" in coordinates else "point", half=half)


def in_vertical_plane(solution: Solution) -> bool:
    """Whether the state of a solution is a place (x, z) in the vertical plane y = 0."""
    columns = _columns(solution)
    return "z" in columns and "y" not in columns


def seen_along(solution: Solution) -> int:
    """Index of the world axis along which a motion in a plane is seen: from above for a state without z, else y."""
    return 2 if {"x", "y"} <= (columns := _columns(solution)).keys() and "z" not in columns else 1


def _columns(solution: Solution) -> dict[str, int]:
    """Columns of the place, as from `place_columns`; empty for a robot."""
    if solution.robot is not None:
        return {}
    names = [name.rpartition(".")[2] for name in solution.coordinate_names]
    return place_columns(names, solution.description.coordinate_units)


def outlines_of(solution: Solution) -> Reals:
    """Returns the outline of a vehicle at each knot (T + 1, n, 3) [m]; empty for other bodies."""
    poses, robot = solution.description.poses, solution.robot
    if poses is None or robot is not None or solution.description.skeleton is not None:
        return np.zeros((len(solution.xs), 0, 3))
    outline = vehicle_of(solution).outline
    return np.asarray(outline @ np.swapaxes(poses[:, :3, :3], 1, 2) + poses[:, None, :3, 3])


def _size(solution: Solution) -> float:
    """Largest extent of the motion [m]."""
    poses = solution.description.poses
    return _LEAST if poses is None else max(float(np.ptp(poses[:, :3, 3], axis=0).max()), _LEAST)


def _body(solution: Solution) -> float:
    """Largest radius of the body in distance costs and constraints [m]; 0 without one."""
    radii = [_parameter(solution, name) for name in solution.description.values if name.endswith(".radius")]
    return max((radius for radius in radii if radius is not None), default=0.0)


def _parameter(solution: Solution, name: str) -> float | None:
    """Value of a parameter at its first knot; None if there is none."""
    values = np.ravel(solution.description.values.get(name, ()))
    values = values[np.isfinite(values)]
    return float(values[0]) if len(values) else None
