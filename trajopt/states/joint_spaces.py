"""Which configuration space each of Pinocchio's joints has, and where its coordinates lie."""

from __future__ import annotations

from dataclasses import dataclass

import pinocchio as pin

from trajopt.errors import UnsupportedOperationError
from trajopt.states.spaces import (
    CircleSpace,
    ConfigurationSpace,
    PlanarPoseSpace,
    PoseSpace,
    RotationSpace,
    VectorSpace,
)

_ANGLE = VectorSpace(("",), ("rad",))
_LENGTH = VectorSpace(("",), ("m",))
_CIRCLE = CircleSpace()

SPACES: dict[str, ConfigurationSpace] = {
    **{f"JointModelR{axis}": _ANGLE for axis in ("X", "Y", "Z", "evoluteUnaligned")},
    **{f"JointModelH{axis}": _ANGLE for axis in ("X", "Y", "Z", "elicalUnaligned")},
    **{f"JointModelP{axis}": _LENGTH for axis in ("X", "Y", "Z", "rismaticUnaligned")},
    **{f"JointModelR{axis}": _CIRCLE for axis in ("UBX", "UBY", "UBZ", "evoluteUnboundedUnaligned")},
    "JointModelTranslation": VectorSpace(("x", "y", "z"), ("m",) * 3),
    "JointModelUniversal": VectorSpace(("1", "2"), ("rad",) * 2),
    "JointModelSphericalZYX": VectorSpace(("rz", "ry", "rx"), ("rad",) * 3),
    "JointModelEllipsoid": VectorSpace(("rx", "ry", "rz"), ("rad",) * 3),
    "JointModelSpherical": RotationSpace(),
    "JointModelPlanar": PlanarPoseSpace(),
    "JointModelFreeFlyer": PoseSpace(),
}
"""By `shortname()`; composite joints are split into their parts, mimic joints have no coordinates of their own."""


@dataclass(frozen=True, kw_only=True)
class JointSpace:
    """A space and its place in a configuration q (nq,) and a tangent vector v (nv,)."""

    label: str
    """The joint's name; for a part of a composite joint, "name.index"."""
    space: ConfigurationSpace
    q: slice
    v: slice


def joint_spaces(model: pin.Model) -> tuple[JointSpace, ...]:
    """Spaces of a model's joints in the order of their coordinates.

    Raises:
        UnsupportedOperationError: a joint has a type that is not in the table.
    """
    result: list[JointSpace] = []
    for i in range(1, model.njoints):
        _append(result, model.joints[i], model.names[i])
    return tuple(result)


def _append(result: list[JointSpace], joint: pin.JointModel, label: str) -> None:
    kind = joint.shortname()
    if joint.nq == 0:
        return
    if kind == "JointModelComposite":
        composite = joint.extract() if hasattr(joint, "extract") else joint
        for i, part in enumerate(composite.joints):
            _append(result, part, f"{label}.{i}")
        return
    if kind not in SPACES:
        raise UnsupportedOperationError(
            f"joint {label!r}: its type {kind} has no configuration space here; known: {', '.join(SPACES)}"
        )
    q, v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
    result.append(JointSpace(label=label, space=SPACES[kind], q=q, v=v))
