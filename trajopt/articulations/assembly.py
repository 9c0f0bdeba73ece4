"""Pinocchio model of declared links and joints."""

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
    """The model, depth first: each joint is followed by those of its child's subtree, in the order of declaration.

    Args:
        name: Name of the model.
        links: Links by their names.
        joints: Joints.
        frames: Name, link and placement of further frames.

    Raises:
        InvalidArgumentError: A link has no joint, or no way to the world, or no joint moves, or one moves no mass.
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
        raise InvalidArgumentError("joints: expected at least one that moves, got fixed ones alone; add_free, ...")
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
            f"add_fixed('world', {first!r}) holds it"
        )
    found: list[DeclaredJoint] = []
    waiting = [joint for joint in reversed(joints) if joint.parent == WORLD]
    while waiting:
        joint = waiting.pop()
        found.append(joint)
        waiting += [each for each in reversed(joints) if each.parent == joint.child]
    if len(found) < len(joints):
        reached = {joint.child for joint in found}
        lost = ", ".join(repr(link) for link in links if link not in reached)
        raise InvalidArgumentError(
            f"joints: expected a way from the world to each link, got a loop of {lost}; cut it at one joint, and close "
            "it with a ContactModelLoop"
        )
    return found


def _add(
    model: pin.Model, link: DeclaredLink, joint: DeclaredJoint, parent: int, offset: pin.SE3, frame: int
) -> tuple[int, pin.SE3, int]:
    """Adds a joint and its link; returns the link's joint, its placement on it, and its frame."""
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
