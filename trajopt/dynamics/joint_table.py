"""Table of Pinocchio's joints, each as a chain of elementary joints.

| Pinocchio joint            | elementary chain                                  | nq | nv |
|----------------------------|---------------------------------------------------|----|----|
| RX RY RZ, RevoluteUnaligned| revolute about z of a rotated frame               | 1  | 1  |
| RUBX RUBY RUBZ, unaligned  | the same from (cos, sin)                          | 2  | 1  |
| PX PY PZ, unaligned        | prismatic along z of a rotated frame              | 1  | 1  |
| HX HY HZ, unaligned        | helical about z of a rotated frame                | 1  | 1  |
| Spherical                  | spherical, quaternion xyzw                        | 4  | 3  |
| SphericalZYX               | revolute z, y, x                                  | 3  | 3  |
| Translation                | translation                                       | 3  | 3  |
| Planar                     | planar (x, y, cos, sin), local twist              | 4  | 3  |
| FreeFlyer                  | free flyer (p, quaternion xyzw), local twist      | 7  | 6  |
| Universal                  | revolute, revolute                                | 2  | 2  |
| Ellipsoid                  | three prismatic on the surface, revolute x, y, z  | 3  | 3  |
| Composite                  | its joints, nested                                | Σ  | Σ  |
| Mimic                      | its joint at scaling · q + offset                 | 0  | 0  |

Each elementary joint has a constant motion subspace S in its child frame (Featherstone 2008, table 4.1). Its rates
ẏ = H(q) v are v itself, except for mimic joints (H is constant) and ellipsoid joints (H depends on q).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.spatial import Placement, rounded
from trajopt.errors import UnsupportedOperationError
from trajopt.lie import quaternion_to_rotation
from trajopt.lie.scalars import matrix3
from trajopt.types import Reals

JointKind = Literal["revolute", "prismatic", "helical", "spherical", "translation", "planar", "free_flyer", "fixed"]
Rate = dict[int, SX | float]

_E = np.eye(6)
SUBSPACES: dict[JointKind, Reals] = {
    "revolute": _E[:, [5]],
    "prismatic": _E[:, [2]],
    "spherical": _E[:, 3:],
    "translation": _E[:, :3],
    "planar": _E[:, [0, 1, 5]],
    "free_flyer": _E,
}


@dataclass(frozen=True)
class ElementaryJoint:
    """One elementary joint at one configuration.

    Attributes:
        kind: Kind of motion.
        before: Constant placement of the joint frame in the frame of the previous joint.
        motion: Placement of the child frame in the joint frame, SX.
        subspace: S, (6, k), linear part first: the twist of the child is S ẏ.
        rates: For each of the k columns, ẏ = Σ coefficient · v[index] as {index: coefficient}.
        angle: (cos, sin) for a motion about z, else None.
    """

    kind: JointKind
    before: pin.SE3
    motion: Placement
    subspace: Reals
    rates: tuple[Rate, ...]
    angle: tuple[SX, SX] | None = field(default=None)


def expand_joint(model: pin.Model, joint_id: int, q: SX) -> tuple[list[ElementaryJoint], pin.SE3]:
    """Elementary chain of a joint, without its placement in the parent, and the constant placement behind it.

    Raises:
        UnsupportedOperationError: The type of the joint is not in the table.
    """
    joint = model.joints[joint_id].extract()
    if joint.shortname() == "JointModelMimic":
        return _mimic(model, joint_id, joint, q)
    return _expand(joint, q)


def placed_at(placement: Placement) -> ElementaryJoint:
    """Joint without rates, which has its child at a placement."""
    return ElementaryJoint("fixed", pin.SE3.Identity(), placement, np.zeros((6, 0)), ())


def simple_joints(model: pin.Model) -> Iterator[Any]:
    """Joints of a model; composite joints are replaced by their parts."""
    pending = [model.joints[i].extract() for i in range(1, model.njoints)]
    while pending:
        joint = pending.pop()
        if joint.shortname() == "JointModelComposite":
            pending.extend(sub.extract() for sub in joint.joints)
        else:
            yield joint


def _expand(joint: Any, q: SX) -> tuple[list[ElementaryJoint], pin.SE3]:
    name = joint.shortname()
    iq, iv = joint.idx_q, joint.idx_v
    if name == "JointModelComposite":
        return _composite(joint, q)
    if name == "JointModelSphericalZYX":
        axes = [_E[2, :3], _E[1, :3], _E[0, :3]]
        return _chain([_screw(np.r_[np.zeros(3), axis], q[iq + i], iv + i) for i, axis in enumerate(axes)])
    if name == "JointModelUniversal":
        axes = [np.array(joint.axis1).ravel(), np.array(joint.axis2).ravel()]
        return _chain([_screw(np.r_[np.zeros(3), axis], q[iq + i], iv + i) for i, axis in enumerate(axes)])
    if name == "JointModelEllipsoid":
        return _ellipsoid(joint, q)
    if name in _MULTIPLE:
        kind, motion = _MULTIPLE[name]
        rates: tuple[Rate, ...] = tuple({iv + i: 1.0} for i in range(joint.nv))
        placement = motion(q[iq : iq + joint.nq])
        cs = (q[iq + 2], q[iq + 3]) if kind == "planar" else None
        return [ElementaryJoint(kind, pin.SE3.Identity(), placement, SUBSPACES[kind], rates, cs)], pin.SE3.Identity()
    if joint.nv == 1 and name.startswith(_SINGLE):
        data = joint.createData()
        joint.calc(data, _neutral(joint))
        twist = np.array(data.S).ravel()  # constant in the child frame for all of these types
        if joint.nq == 2:
            return _chain([_screw(twist, (q[iq], q[iq + 1]), iv)])
        return _chain([_screw(twist, q[iq], iv)])
    raise UnsupportedOperationError(f"joint type {name}: expected one of the types in {__name__}; lock this joint")


_SINGLE = ("JointModelR", "JointModelP", "JointModelH")


def _neutral(joint: Any) -> Reals:
    q = np.zeros(joint.idx_q + joint.nq)
    if joint.nq == 2:
        q[joint.idx_q] = 1.0
    return q


Chain = tuple[list[ElementaryJoint], pin.SE3]


def _chain(parts: list[Chain]) -> Chain:
    """Concatenates chains; the constant placement behind each is merged into the next joint."""
    joints: list[ElementaryJoint] = []
    after = pin.SE3.Identity()
    for part, part_after in parts:
        for i, joint in enumerate(part):
            before = after * joint.before if i == 0 else joint.before
            joints.append(ElementaryJoint(**{**joint.__dict__, "before": before}))
        after = part_after if part else after * part_after
    return joints, after


def _turned(axis: Reals) -> Reals:
    """Rotation that takes z to a unit axis; a permutation of the axes if possible."""
    axis = rounded(axis / np.linalg.norm(axis), 1e-12)
    k = int(np.argmax(np.abs(axis)))
    if np.count_nonzero(axis) == 1 and axis[k] > 0:
        return np.roll(np.eye(3), k + 1, axis=0)
    x = np.cross(np.eye(3)[(k + 1) % 3], axis)
    x /= np.linalg.norm(x)
    return rounded(np.column_stack([x, np.cross(axis, x), axis]))


def _screw(
    twist: Reals,
    coordinate: SX | tuple[SX, SX],
    iv: int,
    scaling: float = 1.0,
    rate: Rate | None = None,
) -> Chain:
    """Joint with one constant twist (v, w): revolute, prismatic or helical about z of a rotated frame.

    A coordinate pair is (cos, sin) of the angle.
    """
    linear, angular = twist[:3], twist[3:]
    turning = np.linalg.norm(angular) > 0.5
    axis = angular if turning else linear
    turned = pin.SE3(_turned(axis), np.zeros(3))
    pitch = float(rounded(np.array(angular @ linear))) if turning else 0.0
    rates: tuple[Rate, ...] = (rate if rate is not None else {iv: scaling},)
    if not turning:
        assert isinstance(coordinate, SX)
        motion = Placement(SX(np.eye(3)), ca.vertcat(0, 0, coordinate))
        joint = ElementaryJoint("prismatic", turned, motion, SUBSPACES["prismatic"], rates)
        return [joint], turned.inverse()
    cosine, sine = coordinate if isinstance(coordinate, tuple) else (ca.cos(coordinate), ca.sin(coordinate))
    if pitch == 0.0:
        motion = Placement(rotation_z(cosine, sine), SX(np.zeros(3)))
        joint = ElementaryJoint("revolute", turned, motion, SUBSPACES["revolute"], rates, (cosine, sine))
    else:
        assert isinstance(coordinate, SX)
        motion = Placement(rotation_z(cosine, sine), ca.vertcat(0, 0, pitch * coordinate))
        subspace = np.array([[0.0, 0.0, pitch, 0.0, 0.0, 1.0]]).T
        joint = ElementaryJoint("helical", turned, motion, subspace, rates, (cosine, sine))
    return [joint], turned.inverse()


def rotation_z(cosine: SX, sine: SX) -> SX:
    """Rotation about z, SX (3, 3), with zeros and one as constants."""
    zero, one = SX(0), SX(1)
    return matrix3([cosine, sine, zero, -sine, cosine, zero, zero, zero, one])


def _composite(joint: Any, q: SX) -> Chain:
    parts: list[Chain] = []
    for sub, placement in zip(joint.joints, joint.jointPlacements, strict=True):
        parts.append(([], placement))
        parts.append(_expand(sub.extract(), q))
    return _chain(parts)


def _ellipsoid(joint: Any, q: SX) -> Chain:
    """Rotation R = Rx Ry Rz whose origin moves on the ellipsoid: p = diag(radii) R e_z."""
    iq, iv = joint.idx_q, joint.idx_v
    a = q[iq : iq + 3]
    c0, s0, c1, s1 = ca.cos(a[0]), ca.sin(a[0]), ca.cos(a[1]), ca.sin(a[1])
    radii = (joint.radius_x, joint.radius_y, joint.radius_z)
    normal = (s1, -s0 * c1, c0 * c1)
    slopes: list[Rate] = [
        {iv + 1: radii[0] * c1},
        {iv: -radii[1] * c0 * c1, iv + 1: radii[1] * s0 * s1},
        {iv: -radii[2] * s0 * c1, iv + 1: -radii[2] * c0 * s1},
    ]
    parts = [_screw(_E[i], radii[i] * normal[i], iv, rate=slopes[i]) for i in range(3)]
    return _chain(parts + [_screw(_E[3 + i], a[i], iv + i) for i in range(3)])


def _mimic(model: pin.Model, joint_id: int, joint: Any, q: SX) -> Chain:
    """Chain of a mimicking joint, whose coordinate is scaling · q + offset of the mimicked joint.

    Pinocchio's Python interface does not show the type of a mimicking joint, so the twist is computed as log6 of the
    motion from angle or length 0 to 1.
    """
    iq, iv = joint.idx_q, joint.idx_v  # of the mimicked joint; model.mimicked_joints is in another order
    unbounded = any(model.idx_qs[j] == iq and model.nqs[j] == 2 for j in range(1, model.njoints))
    if joint.scaling == 0.0:
        return [], _mimic_motion(model, joint_id, iq, 0.0, unbounded)
    start, end = (_mimic_motion(model, joint_id, iq, (y - joint.offset) / joint.scaling, unbounded) for y in (0.0, 1.0))
    twist = rounded(pin.log6(start.actInv(end)).vector, 1e-12)
    value = ca.atan2(q[iq + 1], q[iq]) if unbounded else q[iq]
    return _screw(twist, joint.scaling * value + joint.offset, iv, scaling=joint.scaling)


def _mimic_motion(model: pin.Model, joint_id: int, iq: int, value: float, unbounded: bool) -> pin.SE3:
    q = pin.neutral(model)
    q[iq : iq + 1 + unbounded] = [np.cos(value), np.sin(value)] if unbounded else [value]
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    return model.jointPlacements[joint_id].actInv(data.liMi[joint_id])


_MULTIPLE: dict[str, tuple[JointKind, Callable[[SX], Placement]]] = {
    "JointModelSpherical": ("spherical", lambda q: Placement(quaternion_to_rotation(q), SX(np.zeros(3)))),
    "JointModelTranslation": ("translation", lambda q: Placement(SX(np.eye(3)), q)),
    "JointModelPlanar": ("planar", lambda q: Placement(rotation_z(q[2], q[3]), ca.vertcat(q[0], q[1], 0))),
    "JointModelFreeFlyer": ("free_flyer", lambda q: Placement(quaternion_to_rotation(q[3:]), q[:3])),
}
