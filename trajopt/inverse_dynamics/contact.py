"""Frames of a robot that can touch the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.checks import check_items, check_known, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.residuals.friction_cone import FrictionCone
from trajopt.residuals.wrench_cone import WrenchCone
from trajopt.robots import Robot


@dataclass(frozen=True)
class ContactFrame:
    """Frame at which the world may exert forces on a robot.

    Attributes:
        frame: Name of the frame.
        kind: "sole" for forces and torques, "point" for forces only.
        cone: Limits without slipping or tipping: a FrictionCone, or for a sole a WrenchCone. The normal of the surface
            is the world's z axis, unless `rotation` of the cone turns it; the sides of a sole turn with the frame.
            None allows any wrench, even pulling forces.
    """

    frame: str
    kind: str = "sole"
    cone: FrictionCone | WrenchCone | None = None

    def __post_init__(self) -> None:
        check_text("frame", self.frame)
        check_known("kind", self.kind, ("sole", "point"))
        if self.cone is not None and not isinstance(self.cone, (FrictionCone, WrenchCone)):
            raise InvalidArgumentError(f"cone: expected a FrictionCone or a WrenchCone, got {type(self.cone).__name__}")
        if self.kind == "point" and isinstance(self.cone, WrenchCone):
            raise InvalidArgumentError(
                "cone: expected a FrictionCone for a point, got a WrenchCone; set kind='sole' or use a FrictionCone"
            )

    @property
    def size(self) -> int:
        """Number of elements of the wrench [-]: 6 for a sole, 3 for a point."""
        return 6 if self.kind == "sole" else 3


def checked_contacts(robot: Robot, contacts: str | ContactFrame | Sequence[str | ContactFrame]) -> list[ContactFrame]:
    """Contacts whose frames the robot has; a name becomes a sole without a cone."""
    items = [contacts] if isinstance(contacts, (str, ContactFrame)) else contacts
    frames = []
    for item in check_items("contacts", items, "names of frames or ContactFrames"):
        contact = item if isinstance(item, ContactFrame) else ContactFrame(check_text("contacts", item))
        robot.frame_id(contact.frame)
        frames.append(contact)
    if not frames:
        raise InvalidArgumentError("contacts: expected at least one, got none; without contacts use inverse_dynamics")
    if len({c.frame for c in frames}) < len(frames):
        raise InvalidArgumentError(f"contacts: expected distinct frames, got {[c.frame for c in frames]}")
    if not robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a floating base, got {robot.name} with a fixed base; "
            "robots.with_base(model, base) adds a floating one"
        )
    return frames


def columns_of(contacts: Sequence[ContactFrame]) -> np.ndarray:
    """Indices of the elements that the contacts can transmit, in flattened wrenches (k, 6)."""
    return np.concatenate([6 * i + np.arange(contact.size) for i, contact in enumerate(contacts)])
