"""The interface of impulses, which model the instant at which a contact is made."""

from __future__ import annotations

from casadi import SX

from trajopt.contacts.base import Motions, TouchModelAbstract


class ImpulseModelAbstract(TouchModelAbstract):
    """Base of impulses: a contact is made with J v⁺ = -e J v⁻, where e is the restitution of the action model."""

    def impact(self, motions: Motions) -> SX:
        """Velocity that the impact brings to zero (nc,) [m/s, rad/s], if frames move with v⁺ + e v⁻."""
        return self.velocity(motions)
