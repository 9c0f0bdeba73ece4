"""Named impulses of a robot."""

from __future__ import annotations

from casadi import SX

from trajopt.contacts.base import Motions
from trajopt.contacts.impulse import ImpulseModelAbstract
from trajopt.contacts.stack import TouchStackAbstract, stacked


class ImpulseStack(TouchStackAbstract[ImpulseModelAbstract]):
    """Named impulses of a robot; which of them are active is the run-time parameter "impulses.NAME.active" of a knot.

    Args:
        state: A robot's state.
    """

    kind = "impulse"
    item = ImpulseModelAbstract

    def impact(self, motions: Motions) -> SX:
        """Velocities that impacts make zero, (nc,) [m/s, rad/s], for frames that move with v⁺ + e v⁻, all active."""
        return stacked([item.impact(motions) for item in self._items.values()])
