"""Named impulses of a robot."""

from __future__ import annotations

from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.impulse import ImpulseModelAbstract
from trajopt.contacts.stack import TouchStackAbstract, stacked


class ImpulseStack(TouchStackAbstract[ImpulseModelAbstract]):
    """Named impulses of a robot. The run-time parameter "impulses.NAME.active" of a knot switches each of them.

    Args:
        state: State of a robot.
    """

    kind = "impulse"
    item = ImpulseModelAbstract

    def impact(self, motions: Motions) -> SX:
        """Velocities of all impulses that impacts bring to zero (nc,) [m/s, rad/s], if frames move with v⁺ + e v⁻."""
        return stacked([item.impact(motions) for item in self._items.values()])
