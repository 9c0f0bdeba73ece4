"""Pinocchio model of declared links and joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pinocchio as pin

from trajopt.articulations.declared import Joint, Link
from trajopt.errors import InvalidArgumentError

WORLD = "world"
_LEAST = 1e-12  # eigenvalue of the mass matrix, scaled to a diagonal of ones, that counts as none [-]


def assembled(
    name: str, links: Mapping[str, Link], joints: Iterable[Joint], frames: Iterable[tuple[str, str, pin.SE3]]
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
    _check_masses(model)
    return model


def _ordered(links: Mapping[str, Link], joints: list[Joint]) -> list[Joint]:
    held = {joint.child for joint in joints}
    loose = [link for link in links if link not in held]
    if not links or loose:
        got = f"none for {', '.join(map(repr, loose))}" if links else "no link"
        first = loose[0] if loose else "base"
        raise InvalidArgumentError(
            f"joints: expected one for each link, got {got}; add_free('world', {first!r}) lets it float, "
            f"add_fixed('world', {first!r}) holds it"
        )
    found: list[Joint] = []
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
    model: pin.Model, link: Link, joint: Joint, parent: int, offset: pin.SE3, frame: int
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


def _check_masses(model: pin.Model) -> None:
    """Raises unless the mass matrix is positive definite at a configuration that is nothing special."""
    if not model.nv:
        raise InvalidArgumentError("joints: expected at least one that moves, got fixed ones alone; add_free, ...")
    q = pin.integrate(model, pin.neutral(model), np.sin(1.0 + 2.3 * np.arange(model.nv)))
    data = model.createData()
    upper = np.triu(pin.crba(model, data, q))
    scales = np.sqrt(np.maximum(np.diag(upper), 0.0))  # light fingers on a heavy base are no defect
    weights = 1.0 / np.where(scales > 0.0, scales, 1.0)
    sizes, directions = np.linalg.eigh((upper + np.triu(upper, 1).T) * np.outer(weights, weights))
    if sizes[0] <= _LEAST:
        column = int(np.abs(directions[:, 0]).argmax())
        joint = next(i for i in range(1, model.njoints) if model.idx_vs[i] <= column < model.idx_vs[i] + model.nvs[i])
        raise InvalidArgumentError(
            f"joint {model.names[joint]!r}: expected inertia behind it, got none that each of its motions moves; give "
            "its link a mass, and an inertia or a solid such as add_sphere(link, 0.05), or the joint an armature"
        )
