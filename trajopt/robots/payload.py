"""Payloads: bodies that are fixed to a frame of a robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.checks import check_array, check_positive, check_text
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.robots.parameters import are_moments, is_payload
from trajopt.robots.shapes import Shape

STEEL = 7850.0
"""Density of the ball that stands for a payload without an inertia in pictures [kg/m³]."""
_THIN = 2e-3  # smallest side of a payload in pictures [m]


def with_payload(model: pin.Model, frame: int, mass: Any, com: Any, inertia: Any, name: Any) -> pin.Model:
    """Copy of a model with a payload; see `Robot.with_payload`.

    Args:
        model: The model.
        frame: Index of the frame that carries the payload.
        mass: Its mass [kg].
        com: Its centre of mass in the frame (3,) [m].
        inertia: Its inertia about the centre of mass (6,) [kg m²]; None for a point.
        name: Name of the new frame.
    """
    name = check_text("name", name, such_as="payload")
    if model.existFrame(name):
        raise DuplicateNameError(f"name: the robot has a frame {name!r} already; pass name=...")
    carrier = model.frames[frame]
    if carrier.parentJoint == 0:
        raise InvalidArgumentError(f"frame: expected one on a moving body, got {carrier.name!r}, fixed to the world")
    numbers = np.zeros(6) if inertia is None else check_array("inertia", inertia, (6,), cure="(xx, xy, xz, yy, yz, zz)")
    about_com = np.zeros((3, 3))
    about_com[np.triu_indices(3)] = numbers
    about_com += np.triu(about_com, 1).T
    if not are_moments(about_com):
        raise InvalidArgumentError(
            "inertia: expected (xx, xy, xz, yy, yz, zz) with principal moments >= 0, none above the sum of the others, "
            f"got {np.linalg.eigvalsh(about_com)} kg m², which no body has; pass inertia=None for a point"
        )
    lever = check_array("com", com, (3,), cure="pass its centre of mass in the frame [m]")
    body = pin.Inertia(float(check_positive("mass", mass, unit="kg")), lever, np.eye(3))
    body.inertia = about_com
    changed = model.copy()
    changed.addFrame(pin.Frame(name, carrier.parentJoint, frame, carrier.placement, pin.FrameType.OP_FRAME, body), True)
    return changed


def payload_shapes(model: pin.Model) -> list[Shape]:
    """Returns a solid for each payload of a model, for pictures.

    It is the homogeneous box with the payload's inertia, or without an inertia a ball of its mass with the density of
    steel, around its centre of mass.
    """
    return [_shape(frame) for frame in model.frames if is_payload(frame)]


def _shape(frame: pin.Frame) -> Shape:
    mass, placement = float(frame.inertia.mass), np.eye(4)
    placement[:3, 3] = frame.inertia.lever
    moments, axes = np.linalg.eigh(frame.inertia.inertia)
    if not moments[-1] > 0.0:
        radius = (3.0 * mass / (4.0 * np.pi * STEEL)) ** (1.0 / 3.0)
        return Shape(link=frame.name, kind="sphere", size=np.array([radius]), placement=placement)
    placement[:3, :3] = axes
    sides = np.sqrt(np.maximum(6.0 * (moments.sum() - 2.0 * moments) / mass, _THIN**2))
    return Shape(link=frame.name, kind="box", size=sides, placement=placement)
