"""Configuration spaces of Pinocchio's joints, and the indices of their coordinates in q and v."""

from __future__ import annotations

from collections.abc import Sequence
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
"""Space of each joint type, by `shortname()`. Composite joints are split; mimic joints have no coordinates."""


@dataclass(frozen=True, kw_only=True)
class JointSpace:
    """Configuration space of a joint, with the indices of its coordinates.

    Attributes:
        label: Name of the joint; for a part of a composite joint with its axis, such as
            "NAME.x" of a sliding and "NAME.ry" of a turning part, or with its index along other axes.
        space: The configuration space.
        q: Indices of its coordinates in a configuration (nq,).
        v: Indices of its coordinates in a tangent vector (nv,).
    """

    label: str
    space: ConfigurationSpace
    q: slice
    v: slice


def joint_spaces(model: pin.Model) -> tuple[JointSpace, ...]:
    """Configuration spaces of a model's joints, in the order of their coordinates.

    Raises:
        UnsupportedOperationError: The table `SPACES` does not list the type of a joint.
    """
    result: list[JointSpace] = []
    for i in range(1, model.njoints):
        _append(result, model.joints[i], model.names[i])
    return tuple(result)


def _part_names(kinds: Sequence[str]) -> list[str]:
    """Names of the parts of a composite joint: their axes if all differ, otherwise their indices."""
    names = [_PARTS.get(kind, str(i)) for i, kind in enumerate(kinds)]
    return names if len(set(names)) == len(names) else [str(i) for i in range(len(kinds))]


_PARTS = {f"JointModel{kind}{axis.upper()}": f"{word}{axis}" for kind, word in (("P", ""), ("R", "r"), ("RUB", "r"))
          for axis in "xyz"}  # fmt: skip
"""Name of a part of a composite joint by its type."""


def _append(result: list[JointSpace], joint: pin.JointModel, label: str) -> None:
    kind = joint.shortname()
    if joint.nq == 0:
        return
    if kind == "JointModelComposite":
        composite = joint.extract() if hasattr(joint, "extract") else joint
        for part, name in zip(composite.joints, _part_names([part.shortname() for part in composite.joints])):
            _append(result, part, f"{label}.{name}")
        return
    if kind not in SPACES:
        raise UnsupportedOperationError(
            f"joint {label!r}: expected one of the types {', '.join(SPACES)}, got {kind}; lock this joint"
        )
    q, v = slice(joint.idx_q, joint.idx_q + joint.nq), slice(joint.idx_v, joint.idx_v + joint.nv)
    result.append(JointSpace(label=label, space=SPACES[kind], q=q, v=v))
