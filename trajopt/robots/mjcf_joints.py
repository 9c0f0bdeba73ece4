"""Joints of MJCF files: which coordinates of Pinocchio's model they have, and their limits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pinocchio as pin

from trajopt.errors import shown
from trajopt.robots.bases import base_joints
from trajopt.robots.mjcf_classes import texts, with_classes
from trajopt.robots.xml_elements import XmlElement

_LOG = logging.getLogger(__name__)

_SIZES = {"free": (7, 6), "ball": (4, 3), "slide": (1, 1), "hinge": (1, 1)}
"""Numbers of coordinates and of velocities of a joint of a type [-]."""

_WANTED = "a body with a name in the tree of the first body of the world"


@dataclass(frozen=True, kw_only=True)
class FileJoint:
    """A joint of an MJCF file.

    Attributes:
        element: Its element.
        attributes: Texts of its attributes, with those of its class.
        kind: Its type: "free", "ball", "slide" or "hinge".
        at_q: Index of its first coordinate in the model [-].
        at_v: Index of its first velocity [-].
    """

    element: XmlElement
    attributes: dict[str, str]
    kind: str
    at_q: int
    at_v: int


def file_joints(root: XmlElement, model: pin.Model) -> list[FileJoint]:
    """Joints of a file, in its order, which is that of the model's coordinates.

    Args:
        root: The file.
        model: Its model, which may have a floating base that the file does not have.

    Raises:
        InvalidArgumentError: The model lacks joints of the file. In silence Pinocchio's reader leaves out all bodies of
            the world but the first one, and bodies without a name.
    """
    joints = list(_in_file(root))
    tree = _tree(root, joints)
    at_q = at_v = 0
    added = base_joints(model)
    if added and model.names[added] == "root_joint" and (not joints or joints[0][2] != "free"):
        at_q, at_v = _SIZES["free"]
    found = []
    for element, attributes, kind in joints:
        found.append(FileJoint(element=element, attributes=attributes, kind=kind, at_q=at_q, at_v=at_v))
        at_q, at_v = at_q + _SIZES[kind][0], at_v + _SIZES[kind][1]
    if (at_q, at_v) != (model.nq, model.nv):
        read = {frame.name for frame in model.frames if frame.type == pin.FrameType.BODY}
        bodies = {joint.element: joint.element.parent or root for joint in found}
        lost = next((joint for joint, body in bodies.items() if body.attributes.get("name") not in read), root)
        raise lost.refusal(
            _WANTED,
            f"one that Pinocchio's reader leaves out: it reads {model.nv} of {at_v} degrees of freedom",
        )
    fixed = [e for e in tree if e.tag == "body" and not any(e.all(tag) for tag in ("joint", "freejoint"))]
    unnamed = [body for body in fixed if "name" not in body.attributes]
    if len(unnamed) > 1:
        raise unnamed[1].refusal("a name of this body", "none, as of another one: Pinocchio's reader loses its mass")
    return found


def warn_of_forces(root: XmlElement, joints: list[FileJoint]) -> None:
    """Warns of forces in MuJoCo that Pinocchio's reader leaves out of a robot: springs of joints, and closed loops."""
    springs = [
        joint.attributes.get("name", joint.kind)
        for joint in joints
        if any(float(word) for word in joint.attributes.get("stiffness", "0").split())
    ]
    closed = any(
        each.tag in ("connect", "weld") and each.attributes.get("active") != "false"
        for part in root.all("equality")
        for each in part.children
    )
    for what, cure in (
        (f"springs of joints {', '.join(springs)}" if springs else "", "torque= of the dynamics adds them"),
        ("loops of <connect> or <weld>" if closed else "", "ContactModelLoop closes them"),
    ):
        if what:
            _LOG.warning("%s: %s are left out; %s", root.path.name, what, cure)


def limit_positions(model: pin.Model, joints: list[FileJoint], *, degrees: bool, automatic: bool) -> None:
    """Sets the position limits of a model to those of its MJCF file.

    Pinocchio 4.1 reads ranges of slides as degrees, subtracts `ref`, and keeps ranges that are switched off.

    Args:
        model: Model of the file.
        joints: Joints of the file.
        degrees: Whether angles in the file are in degrees.
        automatic: Whether a range is a limit without `limited`.
    """
    for joint in joints:
        if "range" not in joint.attributes or joint.kind not in ("slide", "hinge"):
            continue
        limited = joint.attributes.get("limited", "auto")
        ends = np.array([float(word) for word in joint.attributes["range"].split()])
        if limited == "false" or (limited == "auto" and not (automatic and ends.any())):
            ends = np.array([-np.inf, np.inf])
        elif degrees and joint.kind == "hinge":
            ends = np.radians(ends)
        model.lowerPositionLimit[joint.at_q], model.upperPositionLimit[joint.at_q] = ends


def _tree(root: XmlElement, joints: list[tuple[XmlElement, dict[str, str], str]]) -> list[XmlElement]:
    """Elements of the first tree; checks that joints are of it, and a hinge with `ref` the last of its body."""
    (world, *others) = root.all("worldbody") or [root]
    if others:
        raise others[0].refusal("one <worldbody>", "another one, which Pinocchio adds to the first body")
    first = world.first("body")
    tree = [] if first is None else list(first.every())
    lost = next((joint for joint, _, _ in joints if joint not in tree), None)
    if lost is not None:
        raise lost.refusal(_WANTED, "one that Pinocchio's reader leaves out")
    for (joint, attributes, kind), (following, _, _) in pairwise(joints):
        if kind == "hinge" and float(attributes.get("ref", 0.0)) != 0.0 and following.parent is joint.parent:
            raise joint.refusal("ref='0' before another joint of the body", "another one, which Pinocchio misreads")
    return tree


def _in_file(root: XmlElement) -> Iterator[tuple[XmlElement, dict[str, str], str]]:
    for element, attributes in with_classes(root, ("joint", "freejoint")):
        own = texts(attributes)
        kind = "free" if element.tag == "freejoint" else own.get("type", "hinge")
        if kind not in _SIZES:
            raise element.refusal(f"a type of {', '.join(_SIZES)}", shown(kind))
        yield element, own, kind
