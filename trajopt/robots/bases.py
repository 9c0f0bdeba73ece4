"""Bases of a robot: the joints by which its root link moves in the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_instance, check_known
from trajopt.types import Reals

BASES = ("free_flyer", "euler", "planar", "fixed")
"""Names of the bases, see `with_base`."""


def with_base(model: pin.Model, base: str) -> pin.Model:
    """Returns a copy of a model with another base, the joints by which its root link moves.

    | base         | joints                                   | coordinates                                        |
    |--------------|------------------------------------------|----------------------------------------------------|
    | "free_flyer" | "root_joint"                             | position, quaternion x y z w; twist in local axes  |
    | "euler"      | "base_translation", "base_rotation"      | position, angles a, b, c: R = Rx(a) Ry(b) Rz(c)    |
    | "planar"     | "base_planar"                            | x, z, angle about y: it moves in the x-z plane     |
    | "fixed"      | none                                     | none                                               |

    Velocities of "euler" and "planar" are the rates of their coordinates; "euler" is singular at b = ±π/2. Reference
    configurations keep their joint angles; the coordinates of a new base are zero in them.

    Args:
        model: The model. Its first joint is a free flyer, or its root link is fixed to the world.
        base: Name of the base.

    Raises:
        InvalidArgumentError: `model` is not a Pinocchio model.
        UnknownNameError: `base` is not in the table.
    """
    check_instance("model", model, pin.Model, "that of a Robot is robot.model")
    check_known("base", base, BASES)
    if base == ("free_flyer" if floats(model) else "fixed"):
        return model.copy()
    fixed = without_joints(model, [1], pin.neutral(model)) if floats(model) else model.copy()
    if base == "fixed":
        return fixed
    root = pin.Model()
    parent = 0
    for name, joint in _root_joints(base):
        parent = root.addJoint(parent, joint, pin.SE3.Identity(), name)
        root.addJointFrame(parent, -1)
    moving = pin.appendModel(root, fixed, root.getFrameId(root.names[parent]), pin.SE3.Identity())
    moving.name, moving.gravity = model.name, model.gravity
    for entry in fixed.referenceConfigurations:
        moving.referenceConfigurations[entry.key()] = np.concatenate([pin.neutral(root), entry.data()])
    return moving


def without_joints(model: pin.Model, joints: Sequence[int], q: Reals) -> pin.Model:
    """Returns a copy of a model in which the joints with these indices are fixed at the configuration q (nq,)."""
    copy = model.copy()
    # For some robots Pinocchio 4.1 fills the lower limits with the upper ones, and then rejects them here.
    copy.lowerVelocityLimit = -np.abs(np.array(copy.upperVelocityLimit))
    return pin.buildReducedModel(copy, sorted(set(joints)), q)


def floats(model: pin.Model) -> bool:
    """True if the first joint of a model is a free flyer."""
    return bool(model.njoints > 1 and model.joints[1].shortname() == "JointModelFreeFlyer")


def base_joints(model: pin.Model) -> int:
    """Number of joints that move the root link: a free flyer, or a base from `with_base`; else 0."""
    return 1 if floats(model) else next((len(names) for names in _NAMES if _begins_with(model, names)), 0)


def driven_joints(model: pin.Model) -> npt.NDArray[np.bool_]:
    """Mask (nv,) of the velocities with motors: all except those of a base."""
    driven = np.ones(model.nv, dtype=np.bool_)
    for joint in range(1, 1 + base_joints(model)):
        driven[model.idx_vs[joint] : model.idx_vs[joint] + model.nvs[joint]] = False
    return driven


_NAMES = (("base_translation", "base_rotation"), ("base_planar",))


def _begins_with(model: pin.Model, names: tuple[str, ...]) -> bool:
    return tuple(model.names)[1 : 1 + len(names)] == names


def _root_joints(base: str) -> list[tuple[str, pin.JointModel]]:
    """Names and joints of a base, from the world outwards."""
    if base == "free_flyer":
        return [("root_joint", pin.JointModelFreeFlyer())]
    if base == "planar":
        return [("base_planar", _chain(pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()))]
    turns = _chain(pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())
    return [("base_translation", pin.JointModelTranslation()), ("base_rotation", turns)]


def _chain(*joints: pin.JointModel) -> pin.JointModelComposite:
    chain = pin.JointModelComposite()
    for joint in joints:
        chain.addJoint(joint)
    return chain
