"""Index of a frame by its name, which a joint and its link may share."""

from __future__ import annotations

import pinocchio as pin


def frame_index(model: pin.Model, name: str) -> int:
    """Returns the index of the first frame of this name; `Robot.frame_id` has checked that all of the name coincide.

    `model.getFrameId(name)` raises where a fixed joint and its link have the same name, such as the gripper of a Z1.

    Args:
        model: The model.
        name: Name of one of its frames.
    """
    return next(i for i, frame in enumerate(model.frames) if frame.name == name)
