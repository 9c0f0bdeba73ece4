"""A robot and its contacts as a file of MuJoCo (MJCF)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pinocchio as pin

from trajopt.errors import UnsupportedOperationError
from trajopt.plants.mujoco.joints import WXYZ, JointPlan, plan_of
from trajopt.plants.mujoco.states import joint_names
from trajopt.robots import Box, Robot
from trajopt.robots.shapes import Shape
from trajopt.simulator import BodySurface, MDPContact, Plane, SurfaceAbstract
from trajopt.simulator.box_surface import BoxSurface
from trajopt.simulator.union_surface import UnionSurface
from trajopt.types import Reals

Solid = tuple[str, str, str, str]
"""A geom of the ground: type, size, position and quaternion."""
SIDE = "50 50 1"  # half sides and thickness of planes in pictures [m]
FLOOR: Solid = ("plane", SIDE, "0 0 0", "1 0 0 0")  # z = 0

LEAST = "1e-14"  # mass and moments of bodies without any, of which MuJoCo refuses moving ones [kg, kg m²]
IMPEDANCE = "100"  # of friction to that of normal forces: at 1, MuJoCo's default, a foot creeps by 17 mm a second [-]
POINT = 1e-4  # radius of contact points [m]
GROUNDS = 31  # largest number of surfaces: MuJoCo has that many groups of what may touch


@dataclass(frozen=True)
class Joints:
    """Inertia and losses of joints, by velocity.

    Attributes:
        armature: Inertia of each motor at its joint (nv,) [kg m², kg].
        damping: Damping (nv,) [N m s/rad, N s/m].
        dry_friction: Dry friction (nv,) [N m, N].
    """

    armature: Reals
    damping: Reals
    dry_friction: Reals

    def attributes(self, i: int) -> dict[str, str]:
        """Attributes of the joint of velocity i in the file."""
        numbers = {"armature": self.armature, "damping": self.damping, "frictionloss": self.dry_friction}
        return {name: _text(values[i]) for name, values in numbers.items()}


def mjcf_of(
    robot: Robot,
    contacts: Sequence[MDPContact | Shape],
    joints: Joints,
    *,
    limits: bool,
    friction: float,
    dt: float,
) -> str:
    """Text of an MJCF file: bodies, joints with their limits, contact geometry and the ground; no motors, no meshes.

    Args:
        robot: The robot.
        contacts: Spheres with their surfaces (planes, boxes, and a terrain of them), or solids on links, which touch
            the floor z = 0.
        joints: Armature, damping and dry friction of the joints.
        limits: Whether joints stop at their limits.
        friction: Friction coefficient of the solids [-].
        dt: Time step [s].

    Raises:
        UnsupportedOperationError: MuJoCo has no such joint, a surface is none of planes and boxes of the world, or
            there are more than 31 surfaces.
    """
    model = robot.model
    root = ET.Element("mujoco", model=robot.name)
    _add(root, "compiler", angle="radian", autolimits="true", boundmass=LEAST, boundinertia=LEAST)
    how = {"cone": "elliptic", "impratio": IMPEDANCE, "integrator": "implicitfast"}
    _add(root, "option", timestep=_text(dt), gravity=_text(model.gravity.linear), **how)
    world = _add(root, "worldbody")
    bodies = {0: world}
    for i in range(1, model.njoints):
        plan = plan_of(model, i)
        place = {"pos": _text(plan.placement.translation), "quat": _quaternion(plan.placement.rotation)}
        bodies[i] = _add(bodies[model.parents[i]], "body", name=model.names[i], **place)
        _add_joints(bodies[i], model, i, plan, joints, limits)
        _add_inertia(bodies[i], model.inertias[i])
    grounds = {solids: str(1 << i) for i, solids in enumerate(dict.fromkeys(map(_ground, contacts)))}
    if len(grounds) > GROUNDS:
        raise UnsupportedOperationError(f"contacts: expected at most {GROUNDS} surfaces, got {len(grounds)}")
    for i, contact in enumerate(contacts):
        _add_geometry(bodies, robot, contact, friction, grounds[_ground(contact)], geom_name(i))
    for solids, group in grounds.items():
        _add_ground(world, solids, group)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode")


def _add_joints(body: ET.Element, model: pin.Model, i: int, plan: JointPlan, joints: Joints, limits: bool) -> None:
    name, first = model.names[i], model.idx_vs[i]
    if plan.kind == "free":
        _add(body, "freejoint", name=name)
        return
    if plan.kind == "ball":
        _add(body, "joint", name=name, type="ball", **joints.attributes(first))
        return
    for k, (screw, own_name) in enumerate(zip(plan.screws, joint_names(name, len(plan.screws)))):
        own = joints.attributes(first + k)
        if limits and model.nqs[i] == len(plan.screws):
            ends = [bound[model.idx_qs[i] + k] for bound in (model.lowerPositionLimit, model.upperPositionLimit)]
            if np.all(np.abs(ends) < 1e10) and ends[0] < ends[1]:
                own["range"] = _text(np.array(ends))
        _add(body, "joint", name=own_name, type=screw.kind, axis=_text(screw.axis), pos=_text(screw.at), **own)


def _add_inertia(body: ET.Element, inertia: pin.Inertia) -> None:
    moments, axes = _principal(inertia)
    place = {"pos": _text(inertia.lever), "quat": _quaternion(axes)}
    _add(body, "inertial", mass=_text(inertia.mass), diaginertia=_text(moments), **place)


def set_inertia(model: Any, body: str, inertia: pin.Inertia) -> None:
    """Gives a body of MuJoCo's model another inertia; `mj_setConst` is to follow."""
    own, least = model.body(body), float(LEAST)
    moments, axes = _principal(inertia)
    own.mass[:], own.inertia[:] = max(inertia.mass, least), np.maximum(moments, least)
    own.ipos[:], own.iquat[:] = inertia.lever, pin.Quaternion(axes).coeffs()[WXYZ]


def _principal(inertia: pin.Inertia) -> tuple[Reals, Reals]:
    """Principal moments (3,) [kg m²], >= 0, and their axes (3, 3), a rotation."""
    moments, axes = np.linalg.eigh(inertia.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return np.maximum(moments, 0.0), axes


def _add_geometry(
    bodies: dict[int, ET.Element], robot: Robot, contact: MDPContact | Shape, friction: float, group: str, name: str
) -> None:
    """Adds a sphere or a solid that touches its own ground, of this group, and nothing else."""
    frame = robot.model.frames[robot.frame_id(contact.link if isinstance(contact, Shape) else contact.frame)]
    if isinstance(contact, Shape):
        place = frame.placement * pin.SE3(np.asarray(contact.placement))
        # MuJoCo takes half sides and lengths
        size = np.asarray(contact.size) * {"box": [0.5] * 3, "sphere": [1.0]}.get(contact.kind, [1.0, 0.5])
        own = {"type": contact.kind, "size": _text(size), "friction": _text(friction)}
    else:
        place = frame.placement * pin.SE3(np.eye(3), contact.offset)
        mu = float(contact.parameters()["friction"].default)
        own = {"type": "sphere", "size": _text(max(contact.radius, POINT)), "friction": _text(mu)}
    at = {"pos": _text(place.translation), "quat": _quaternion(place.rotation)}
    _add(bodies[frame.parentJoint], "geom", name=name, **own, **at, contype=group, conaffinity="0")


def geom_name(i: int) -> str:
    """Name of the geom of contact i."""
    return f"contact{i}"


def _ground(contact: MDPContact | Shape) -> tuple[Solid, ...]:
    """Solids of the world that a sphere or solid may touch."""
    if isinstance(contact, Shape):
        return (FLOOR,)
    surface = contact.surface
    solids = [_solid(part) for part in (surface.parts if isinstance(surface, UnionSurface) else (surface,))]
    if None in solids:
        raise UnsupportedOperationError(
            f"contacts: expected planes and boxes fixed to the world, got {_named(surface)} for {contact.name!r}; pass "
            "an MJCF file with this ground, MuJoCoPlant('model.xml'), or take a Simulator, which has all surfaces"
        )
    return tuple(solid for solid in solids if solid is not None)


def _named(surface: SurfaceAbstract) -> str:
    """Words for a surface, such as "BodySurface on 'block'"."""
    kind = type(surface).__name__
    return kind if surface.body is None else f"{kind} on {surface.body!r}"


def _solid(surface: SurfaceAbstract) -> Solid | None:
    """Geom of a surface that is fixed to the world; None if MuJoCo has none."""
    if surface.body is None and isinstance(surface, Plane):  # a x + b y + c z + d >= 0
        normal, d = surface.coefficients[:3], float(surface.coefficients[3])
        turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
        return "plane", SIDE, _text(-d * normal), _quaternion(turn)
    if surface.body is None and isinstance(surface, BoxSurface):
        half, middle = (surface.high - surface.low) / 2.0, (surface.high + surface.low) / 2.0
        return "box", _text(half), _text(middle), _quaternion(np.eye(3))
    if surface.body is None and isinstance(surface, BodySurface) and isinstance(surface.shape, Box):
        place = np.asarray(surface.shape.placement)
        return "box", _text(np.asarray(surface.shape.size) / 2.0), _text(place[:, 3]), _quaternion(place[:, :3])
    return None


def _add_ground(world: ET.Element, solids: tuple[Solid, ...], group: str) -> None:
    """Adds solids without friction of their own: MuJoCo takes the larger one of a pair."""
    for kind, size, position, quaternion in solids:
        at = {"pos": position, "quat": quaternion}
        _add(world, "geom", type=kind, size=size, friction="0", **at, contype="0", conaffinity=group)


def _add(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, attributes)


def _quaternion(R: Reals) -> str:
    return _text(pin.Quaternion(R).coeffs()[WXYZ])


def _text(numbers: Reals | float) -> str:
    """Numbers in 17 digits, so that none changes."""
    return " ".join(f"{number:.17g}" for number in np.atleast_1d(numbers))
