"""Index of a frame by its name, which a joint and its link may share."""

from __future__ import annotations

import pinocchio as pin

from trajopt.errors import InvalidArgumentError

_JOINTS = (pin.FrameType.JOINT, pin.FrameType.FIXED_JOINT)


def frame_index(model: pin.Model, name: str) -> int:
    """Returns the index of the frame of this name; a name that a joint and a link share is that of the link.

    ANYmal C has such names: its link LF_HFE ends at the joint LF_HFE. Geometry, SRDF files and contacts name links. Of
    several frames in one place it is the first. `model.getFrameId(name)` raises for any name that is not unique, such
    as that of the gripper of a Z1.

    Args:
        model: The model.
        name: Name of one of its frames.

    Raises:
        InvalidArgumentError: Several frames in different places have this name, besides joints.
    """
    same = [i for i, frame in enumerate(model.frames) if frame.name == name]
    meant = [i for i in same if model.frames[i].type not in _JOINTS] or same
    if not all(_coincide(model, meant[0], i) for i in meant):
        raise InvalidArgumentError(
            f"frame {name!r}: expected one placement, got frames {same} of {model.name} with this name; give them "
            "different names in the robot's file"
        )
    return next(i for i in same if _coincide(model, meant[0], i))


def _coincide(model: pin.Model, i: int, j: int) -> bool:
    """Whether two frames are in one place of one body."""
    a, b = model.frames[i], model.frames[j]
    return bool(a.parentJoint == b.parentJoint and a.placement == b.placement)
