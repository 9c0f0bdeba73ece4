"""Simple bodies for robots without meshes: rods between joints, and boxes with the inertia of a base."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from trajopt.analysis.skeleton import ends_of
from trajopt.display.meshes import Color, Mesh, solid
from trajopt.types import Reals

ROD: Color = (70, 110, 160)
BODY: Color = (210, 130, 60)
_THICK = 0.06  # radius of a rod, relative to the mean length of the robot's rods [-]


def link_solids(model: pin.Model) -> list[tuple[int, Mesh]]:
    """Returns rods from each joint to its children or end, and boxes for bases and bodies without rods.

    Args:
        model: The Pinocchio model.
    """
    parents = list(model.parents)
    rods = [(parents[j], np.array(model.jointPlacements[j].translation)) for j in range(1, model.njoints) if parents[j]]
    rods += [(joint, point) for joint, point, _ in ends_of(model)]
    rods = [(joint, end) for joint, end in rods if np.linalg.norm(end) > 1e-6]
    radius = _THICK * float(np.mean([np.linalg.norm(end) for _, end in rods])) if rods else 0.05
    solids = [(joint, _rod(end, radius)) for joint, end in rods]
    for joint in range(1, model.njoints):
        inertia = model.inertias[joint]
        if (parents[joint] == 0 or not any(j == joint for j, _ in rods)) and inertia.mass > 0:
            box = _box(inertia)
            solids += [] if box is None else [(joint, box)]
    return solids


def _rod(end: Reals, radius: float) -> Mesh:
    """Capsule from the origin to a point."""
    length = float(np.linalg.norm(end))
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), end / length).matrix()
    return solid("capsule", [radius, length], ROD).moved(pin.SE3(turn, end / 2).homogeneous)


def _box(inertia: pin.Inertia) -> Mesh | None:
    """Homogeneous box with this inertia; None for a point or a thin rod."""
    moments, axes = np.linalg.eigh(inertia.inertia)
    sides = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / inertia.mass, 0.0))
    if sides.min() < 1e-3:
        return None
    axes = axes if np.linalg.det(axes) > 0 else -axes
    return solid("box", sides, BODY).moved(pin.SE3(axes, np.array(inertia.lever)).homogeneous)
