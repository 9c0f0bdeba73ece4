"""Joints of a robot as joints of MuJoCo, and states, velocities and forces of both.

| Pinocchio                           | MuJoCo                | coordinates                                        |
|-------------------------------------|-----------------------|----------------------------------------------------|
| revolute, prismatic                 | hinge, slide          | the same                                           |
| continuous (cos, sin)               | hinge                 | its angle                                          |
| universal, ZYX, translation,        | hinges and slides on  | the same                                           |
| composite                           | one body              |                                                    |
| spherical, x y z w                  | ball, w x y z         | the same velocity, in the body's axes              |
| planar, twist in body axes          | two slides, a hinge   | v_mujoco = R(q) v                                  |
| free flyer, twist in body axes      | free                  | velocity R(q) v, angular velocity in body axes      |

Forces are dual to velocities: f_mujoco = R(q) f, so that the power stays the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.errors import UnsupportedOperationError
from trajopt.types import Reals

WXYZ = [3, 0, 1, 2]  # x y z w to w x y z
XYZW = [1, 2, 3, 0]
_AXES = np.eye(3)


@dataclass(frozen=True)
class Screw:
    """A hinge or slide of MuJoCo.

    Attributes:
        kind: "hinge" or "slide".
        axis: Axis (3,) in the axes of the body at rest.
        at: Point (3,) on the axis of a hinge, in the same axes [m].
    """

    kind: str
    axis: Reals
    at: Reals


@dataclass(frozen=True)
class JointPlan:
    """A joint of Pinocchio as joints of MuJoCo.

    Attributes:
        kind: "screws", "ball", "planar" or "free".
        screws: Hinges and slides, from the parent outwards; empty for a ball and a free joint.
        placement: Placement of the body at rest in its parent, including what lies between parts of a composite joint.
    """

    kind: str
    screws: tuple[Screw, ...]
    placement: pin.SE3


def plan_of(model: pin.Model, joint_id: int) -> JointPlan:
    """Returns a joint as joints of MuJoCo.

    Raises:
        UnsupportedOperationError: MuJoCo has no such joint.
    """
    joint, placement = model.joints[joint_id].extract(), model.jointPlacements[joint_id]
    name, at = joint.shortname(), f"joint {model.names[joint_id]!r}"
    if name == "JointModelFreeFlyer":
        if model.parents[joint_id]:
            raise UnsupportedOperationError(f"{at}: expected a free joint below the world, as MuJoCo has no other")
        return JointPlan("free", (), placement)
    if name == "JointModelSpherical":
        return JointPlan("ball", (), placement)
    if name == "JointModelPlanar":
        turn = (_slide(0), _slide(1), Screw("hinge", _AXES[2], np.zeros(3)))
        return JointPlan("planar", turn, placement)
    parts = [(joint, pin.SE3.Identity())]
    if name == "JointModelComposite":
        parts = [(sub.extract(), sub_placement) for sub, sub_placement in zip(joint.joints, joint.jointPlacements)]
    screws: list[Screw] = []
    for part, before in parts:
        screws = [_moved(screw, before) for screw in screws] + _screws(part, at)
        placement = placement * before
    return JointPlan("screws", tuple(screws), placement)


def _slide(axis: int) -> Screw:
    return Screw("slide", _AXES[axis], np.zeros(3))


def _moved(screw: Screw, after: pin.SE3) -> Screw:
    """The screw in the axes of a frame placed `after` it."""
    R = after.rotation
    return Screw(screw.kind, R.T @ screw.axis, R.T @ (screw.at - after.translation))


def _screws(joint: Any, at: str) -> list[Screw]:
    """Hinges and slides of a joint without a placement."""
    name = joint.shortname()
    if name == "JointModelTranslation":
        return [_slide(axis) for axis in range(3)]
    if name == "JointModelSphericalZYX":
        return [Screw("hinge", _AXES[axis], np.zeros(3)) for axis in (2, 1, 0)]
    if name == "JointModelUniversal":
        return [Screw("hinge", np.array(axis).ravel(), np.zeros(3)) for axis in (joint.axis1, joint.axis2)]
    if joint.nv == 1 and name.startswith(("JointModelR", "JointModelP")):
        data, q = joint.createData(), np.zeros(joint.idx_q + joint.nq)
        q[joint.idx_q] = float(joint.nq == 2)
        joint.calc(data, q)
        twist = np.array(data.S).ravel()
        hinge = bool(np.any(twist[3:]))
        return [Screw("hinge" if hinge else "slide", twist[3:] if hinge else twist[:3], np.zeros(3))]
    raise UnsupportedOperationError(
        f"{at}: expected a joint that MuJoCo has, got a {name.removeprefix('JointModel').lower()} joint; lock it: "
        "robot.lock_joints(...)"
    )
