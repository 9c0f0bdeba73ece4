"""Frames of a robot that touch the world."""

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
    """A frame at which the world may push a robot.

    Attributes:
        frame: Its name.
        kind: "sole" transmits forces and torques, "point" forces alone.
        cone: What it transmits without slipping or tipping: a FrictionCone, of a sole also a WrenchCone. `rotation` of
            the cone turns the surface, whose normal is the world's z axis by default; the sides of a sole turn with the
            frame. None transmits anything, pulling forces too.
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
                "cone: expected a FrictionCone for a point, got a WrenchCone, which is for soles"
            )

    @property
    def size(self) -> int:
        """Number of elements of its wrench: 6 of a sole, 3 of a point."""
        return 6 if self.kind == "sole" else 3


def checked_contacts(robot: Robot, contacts: str | ContactFrame | Sequence[str | ContactFrame]) -> list[ContactFrame]:
    """Contacts of which each has a frame of the robot; a name stands for a sole without a cone."""
    given = [contacts] if isinstance(contacts, (str, ContactFrame)) else contacts
    found = []
    for item in check_items("contacts", given, "names of frames or ContactFrames"):
        contact = item if isinstance(item, ContactFrame) else ContactFrame(check_text("contacts", item))
        robot.frame_id(contact.frame)
        found.append(contact)
    if not found:
        raise InvalidArgumentError("contacts: expected at least one, got none; inverse_dynamics is without contacts")
    if len({c.frame for c in found}) < len(found):
        raise InvalidArgumentError(f"contacts: expected each frame once, got {[c.frame for c in found]}")
    if not robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a floating base, got {robot.name} on a fixed one, whose base takes any force; "
            "robots.with_base(model, base) changes that"
        )
    return found


def columns_of(contacts: Sequence[ContactFrame]) -> np.ndarray:
    """Elements of (k, 6) wrenches, counted through, that the contacts can transmit."""
    return np.concatenate([6 * i + np.arange(contact.size) for i, contact in enumerate(contacts)])
