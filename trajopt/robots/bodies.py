"""Parts of robots in code: bodies on joints, and frames on bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin


def floating_base(name: str, body: pin.Inertia, *, above: float = 0.0, link: str = "base_link") -> pin.Model:
    """A model with the free flyer "root_joint" and a body on it, whose centre is `above` the joint [m]."""
    model = pin.Model()
    model.name = name
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint")
    model.addJointFrame(base, 0)
    model.appendBodyToJoint(base, body, _placed((0.0, 0.0, above)))
    model.addBodyFrame(link, base, pin.SE3.Identity(), -1)
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    lower[:7], upper[:7] = -1.0, 1.0  # range for pin.randomConfiguration; states ignore these limits
    model.lowerPositionLimit, model.upperPositionLimit = lower, upper
    return model


def add_body(
    model: pin.Model,
    parent: int,
    joint: pin.JointModel,
    name: str,
    inertia: pin.Inertia,
    *,
    at: pin.SE3 | Sequence[float] = (0.0, 0.0, 0.0),
    lever: pin.SE3 | Sequence[float] = (0.0, 0.0, 0.0),
    link: str | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
    effort: float = np.inf,
    speed: float = np.inf,
) -> int:
    """Adds a joint of one coordinate and its body to a model; returns the joint's index.

    Args:
        model: The model.
        parent: Index of the parent joint.
        joint: The joint.
        name: Name of the joint.
        inertia: Inertia of the body about its centre of mass.
        at: The joint in the parent's frame: its placement, or its origin (3,) [m].
        lever: Centre of mass in the joint's frame (3,) [m], or the placement of the inertia's frame.
        link: Name of the body's frame; None for NAME_link.
        limits: Smallest and largest coordinate [rad, m].
        effort: Largest torque or force of the joint's motor, > 0 [N m, N].
        speed: Largest velocity [rad/s, m/s].
    """
    bounds = (np.full(1, value) for value in (effort, speed, *limits))
    index = model.addJoint(parent, joint, _placed(at), name, *bounds)
    model.addJointFrame(index, -1)
    model.appendBodyToJoint(index, inertia, _placed(lever))
    model.addBodyFrame(f"{name}_link" if link is None else link, index, pin.SE3.Identity(), -1)
    return int(index)


def add_tip(model: pin.Model, joint: int, name: str, at: pin.SE3 | Sequence[float]) -> None:
    """Adds a frame at a placement or a point (3,) [m] of a joint's body."""
    parent = model.getFrameId(model.names[joint])
    model.addFrame(pin.Frame(name, joint, parent, _placed(at), pin.FrameType.OP_FRAME))


def add_solid(
    geometry: pin.GeometryModel, model: pin.Model, link: str, number: int, placement: pin.SE3, solid: Any
) -> None:
    """Adds a solid of `coal` to a geometry model, at a placement in the frame of a link of the robot's model."""
    index = model.getFrameId(link, pin.FrameType.BODY)
    frame = model.frames[index]
    place = frame.placement * placement
    geometry.addGeometryObject(pin.GeometryObject(f"{link}_{number}", frame.parentJoint, index, place, solid))


def _placed(at: pin.SE3 | Sequence[float]) -> pin.SE3:
    return at if isinstance(at, pin.SE3) else pin.SE3(np.eye(3), np.array(at, dtype=float))
