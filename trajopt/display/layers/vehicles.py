"""Shapes of vehicles around the origin of a body: x to the front, y to the left, z up."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.analysis.vehicles import vehicle_of
from trajopt.display.layers.drawing import Color, rgb, turned_up
from trajopt.plotting.style import PALETTE, RAMP
from trajopt.solution import Solution
from trajopt.types import Reals

_DARK, _RED = rgb("#333333"), rgb(PALETTE[1])


def build_vehicle(scene: Any, solution: Solution, name: str) -> str:
    """Adds the vehicle that fits the controls of a solution below a frame, and returns its kind as text.

    Args:
        scene: viser's scene.
        solution: The solution; its states are poses.
        name: Path of the frame.
    """
    vehicle = vehicle_of(solution)
    kind, half = vehicle.kind, vehicle.half
    if kind == "quadrotor":
        _quadrotor(scene, name, half)
    elif kind == "differential drive":
        _drive(scene, name, half, vehicle.radius, vehicle.body or 0.85 * half)
    elif kind == "unicycle":
        _cart(scene, name, half)
    elif kind == "point":
        scene.add_icosphere(f"{name}/ball", 0.4 * half, rgb(RAMP[2]))
    else:
        scene.add_box(f"{name}/box", rgb(RAMP[2]), (half, 0.7 * half, 0.4 * half))
        scene.add_frame(f"{name}/axes", axes_length=half, axes_radius=0.05 * half)
    return kind


def _quadrotor(scene: Any, name: str, arm: float) -> None:
    """Adds two crossed beams with four rotors; the front rotor is red."""
    beam = (2.0 * arm, 0.1 * arm, 0.08 * arm)
    scene.add_box(f"{name}/beam0", _DARK, beam)
    scene.add_box(f"{name}/beam1", _DARK, (beam[1], beam[0], beam[2]))
    scene.add_box(f"{name}/hub", rgb(RAMP[2]), (0.5 * arm, 0.4 * arm, 0.22 * arm))
    for i, (x, y) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        place = (x * arm, y * arm, 0.12 * arm)
        color = _RED if i == 0 else rgb(RAMP[1])
        scene.add_cylinder(f"{name}/rotor{i}", 0.5 * arm, 0.04 * arm, color, opacity=0.75, position=place)


def _drive(scene: Any, name: str, half_track: float, radius: float, platform: float) -> None:
    """Adds a round platform with a radius [m] between two wheels, with a red nose."""
    rise, thick = radius, 0.25 * radius
    body: dict[str, Any] = {"position": (0.0, 0.0, rise)}
    scene.add_cylinder(f"{name}/platform", platform, 0.8 * radius, rgb(RAMP[1]), **body)
    _wheels(scene, name, [(0.0, half_track), (0.0, -half_track)], radius, thick)
    nose = (platform, 0.0, rise)
    scene.add_icosphere(f"{name}/nose", 0.25 * half_track, _RED, position=nose)


def _cart(scene: Any, name: str, half: float) -> None:
    """Adds a car of length 2 `half` with four wheels and a red front."""
    radius = 0.28 * half
    scene.add_box(f"{name}/chassis", rgb(RAMP[1]), (2.0 * half, 0.9 * half, 0.36 * half), position=(0, 0, 1.4 * radius))
    cabin = (-0.15 * half, 0.0, 1.4 * radius + 0.3 * half)
    scene.add_box(f"{name}/cabin", rgb(RAMP[2]), (0.9 * half, 0.75 * half, 0.3 * half), position=cabin)
    scene.add_box(f"{name}/front", _RED, (0.08 * half, 0.9 * half, 0.2 * half), position=(half, 0.0, 1.4 * radius))
    places = [(x * half, y * half) for x in (-0.6, 0.6) for y in (-0.5, 0.5)]
    _wheels(scene, name, places, radius, 0.4 * radius)


def _wheels(scene: Any, name: str, places: list[tuple[float, float]], radius: float, width: float) -> None:
    across: Reals = np.array([0.0, 1.0, 0.0])
    color: Color = _DARK
    for i, (x, y) in enumerate(places):
        where: dict[str, Any] = {"position": (x, y, radius), "wxyz": turned_up(across)}
        scene.add_cylinder(f"{name}/wheel{i}", radius, width, color, **where)
