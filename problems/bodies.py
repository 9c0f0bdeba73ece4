"""Small mechanisms in code: bodies on joints, for ready problems of the simulator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin


def add_body(
    model: pin.Model,
    parent: int,
    joint: pin.JointModel,
    name: str,
    inertia: pin.Inertia,
    *,
    at: Sequence[float] = (0.0, 0.0, 0.0),
    lever: Sequence[float] = (0.0, 0.0, 0.0),
    effort: float = np.inf,
) -> int:
    """Adds a joint and its body to a model; returns the joint's index.

    Args:
        model: The model.
        parent: Index of the parent joint.
        joint: The joint.
        name: Name of the joint; the frame of the body is NAME_link.
        inertia: Inertia of the body about its centre of mass.
        at: Position of the joint in the parent's frame (3,) [m].
        lever: Centre of mass in the joint's frame (3,) [m].
        effort: Largest torque or force of each of the joint's motors, > 0 [N m, N].
    """
    place = pin.SE3(np.eye(3), np.array(at, dtype=float))
    free = (np.full(joint.nv, np.inf), np.full(joint.nq, -np.inf), np.full(joint.nq, np.inf))
    index = model.addJoint(parent, joint, place, name, np.full(joint.nv, effort), *free)
    model.addJointFrame(index, -1)
    model.appendBodyToJoint(index, inertia, pin.SE3(np.eye(3), np.array(lever, dtype=float)))
    model.addBodyFrame(f"{name}_link", index, pin.SE3.Identity(), -1)
    return int(index)


def add_tip(model: pin.Model, joint: int, name: str, at: Sequence[float]) -> None:
    """Adds a frame at a point (3,) [m] of a joint's body."""
    place = pin.SE3(np.eye(3), np.array(at, dtype=float))
    model.addFrame(pin.Frame(name, joint, model.getFrameId(model.names[joint]), place, pin.FrameType.OP_FRAME))
