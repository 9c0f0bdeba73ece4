"""The interface of impulses: contacts at the instant in which they are made."""

from __future__ import annotations

from casadi import SX

from trajopt.contacts.base import Motions, TouchModelAbstract


class ImpulseModelAbstract(TouchModelAbstract):
    """A contact that is made: J v⁺ = -e J v⁻, with the restitution e of the action model."""

    def impact(self, motions: Motions) -> SX:
        """Velocity that the impact brings to zero, (nc,) [m/s, rad/s], for frames that move with v⁺ + e v⁻."""
        return self.velocity(motions)
