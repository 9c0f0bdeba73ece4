"""Assembles a Pinocchio model from declared links and joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pinocchio as pin

from trajopt.articulations.declared import DeclaredJoint, DeclaredLink
from trajopt.errors import InvalidArgumentError
from trajopt.robots.masses import check_masses

WORLD = "world"
_CURE = "give its link a mass, and an inertia or a solid such as add_sphere(link, 0.05), or the joint an armature"


def assembled(
    name: str,
    links: Mapping[str, DeclaredLink],
    joints: Iterable[DeclaredJoint],
    frames: Iterable[tuple[str, str, pin.SE3]],
) -> pin.Model:
    """Builds the model. Joints are in depth-first order: each is followed by its child's subtree, as declared.

    Args:
        name: Name of the model.
        links: Links by name.
        joints: Joints.
        frames: Name, link and placement of further frames.

    Raises:
        InvalidArgumentError: A link has no joint or is not connected to the world, no joint moves, or a joint moves no
            mass.
    """
    model = pin.Model()
    model.name = name
    order = _ordered(links, list(joints))
    places = {WORLD: (0, pin.SE3.Identity(), 0)}  # joint, placement on it, frame
    for joint in order:
        places[joint.child] = _add(model, links[joint.child], joint, *places[joint.parent])
    for frame, link, placement in frames:
        index, offset, parent = places[link]
        model.addFrame(pin.Frame(frame, index, parent, offset * placement, pin.FrameType.OP_FRAME))
    if not model.nv:
        raise InvalidArgumentError(
            "joints: expected at least one that moves, got only fixed ones; use add_revolute, say"
        )
    check_masses(model, _CURE)
    return model


def _ordered(links: Mapping[str, DeclaredLink], joints: list[DeclaredJoint]) -> list[DeclaredJoint]:
    held = {joint.child for joint in joints}
    loose = [link for link in links if link not in held]
    if not links or loose:
        got = f"none for {', '.join(map(repr, loose))}" if links else "no link"
        first = loose[0] if loose else "base"
        raise InvalidArgumentError(
            f"joints: expected one for each link, got {got}; add_free('world', {first!r}) lets it float, "
            f"add_fixed('world', {first!r}) fixes it"
        )
    ordered: list[DeclaredJoint] = []
    waiting = [joint for joint in reversed(joints) if joint.parent == WORLD]
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting += [each for each in reversed(joints) if each.parent == joint.child]
    if len(ordered) < len(joints):
        reached = {joint.child for joint in ordered}
        lost = ", ".join(repr(link) for link in links if link not in reached)
        raise InvalidArgumentError(
            f"joints: expected each link to be connected to the world, got a loop of {lost}; remove one joint of the "
            "loop, and close it with a ContactModelLoop"
        )
    return ordered


def _add(
    model: pin.Model, link: DeclaredLink, joint: DeclaredJoint, parent: int, offset: pin.SE3, frame: int
) -> tuple[int, pin.SE3, int]:
    """Adds a joint and its link; returns the joint index, the link's placement on it, and the link's frame."""
    place = offset * joint.X_p
    if joint.kind == "fixed":
        index, own = parent, place * joint.X_c.inverse()
        before = model.addFrame(pin.Frame(joint.name, parent, frame, place, pin.FrameType.FIXED_JOINT))
    else:
        index, own = model.addJoint(parent, joint.model(), place, joint.name, *joint.limits()), joint.X_c.inverse()
        before = model.addJointFrame(index, frame)
        for i, axis in enumerate((*joint.linear, *joint.angular)):
            model.armature[model.idx_vs[index] + i] = axis.armature
            model.damping[model.idx_vs[index] + i] = axis.damping
    model.appendBodyToJoint(index, link.inertia(), own)
    return index, own, model.addBodyFrame(link.name, index, own, before)
