"""Kind and size of a vehicle whose states are poses, and its outline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

_PART = 0.1  # half length of a body of unknown size, relative to the size of its motion [-]
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
        to_scale: Whether `half` is a parameter of the model, and not a part of the motion's size.
    """

    kind: str
    half: float
    radius: float = 0.0
    to_scale: bool = False

    @property
    def label(self) -> str:
        """Name of the outline in a legend."""
        return "vehicle" if self.to_scale else "vehicle, not to scale"

    @property
    def outline(self) -> Reals:
        """Outline around the origin (n, 3), with gaps at NaN [m]; empty for a point and for a body of unknown shape."""
        if self.kind == "quadrotor":
            gap = np.full((1, 3), np.nan)
            return self.half * np.vstack([np.eye(3)[:1], -np.eye(3)[:1], gap, np.eye(3)[1:2], -np.eye(3)[1:2]])
        if self.kind == "differential drive":
            turn = np.linspace(0.0, 2.0 * np.pi, _ROUND + 1)
            return self.half * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
        if self.kind == "unicycle":
            corners = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (1.0, 1.0)]
            return self.half * np.array([(x, _WIDE * y, 0.0) for x, y in corners])
        return np.zeros((0, 3))


def vehicle_of(solution: Solution) -> Vehicle:
    """Returns the vehicle that fits the controls and coordinates of a solution whose states are poses."""
    controls = {control.removeprefix("u:") for control in solution.control_names}
    values = solution.description.values
    half = _PART * _size(solution)
    coordinates = {coordinate.rpartition(".")[2] for coordinate in solution.coordinate_names}
    if controls.issuperset(ROTORS):
        return Vehicle(kind="quadrotor", half=_first(values, "arm", half), to_scale="arm" in values)
    if controls == {"right", "left"}:
        track, radius = (_first(values, *each) for each in (("half_track", half), ("radius", 0.5 * half)))
        return Vehicle(kind="differential drive", half=track, radius=radius, to_scale="half_track" in values)
    if "theta" in coordinates:
        return Vehicle(kind="unicycle", half=half)
    return Vehicle(kind="body" if "qw" in coordinates else "point", half=half)


def outlines_of(solution: Solution) -> Reals:
    """Returns the outline of a vehicle at each knot (T + 1, n, 3) [m]; empty for other bodies."""
    poses, robot = solution.description.poses, solution.robot
    if poses is None or robot is not None or solution.description.skeleton is not None:
        return np.zeros((len(solution.xs), 0, 3))
    outline = vehicle_of(solution).outline
    return np.asarray(outline @ np.swapaxes(poses[:, :3, :3], 1, 2) + poses[:, None, :3, 3])


def _size(solution: Solution) -> float:
    """Largest extent of the motion and its goals [m]."""
    description = solution.description
    if description.poses is None:
        return _LEAST
    every = np.concatenate([description.poses[:, :3, 3], description.pose_goals])
    return max(float(np.ptp(every, axis=0).max()), _LEAST)


def _first(parameters: Any, parameter: str, otherwise: float) -> float:
    """Value of a parameter at its first knot, or the default `otherwise`."""
    values = np.ravel(parameters.get(parameter, ()))
    values = values[np.isfinite(values)]
    return float(values[0]) if len(values) else otherwise
