"""Constant rigid-body inertias about the origin of a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.dynamics.spatial import Inertia
from trajopt.types import Reals


@dataclass
class RigidParameters:
    """Numeric rigid-body inertia about the origin of a frame: mass, first moment, rotational inertia."""

    mass: float
    moment: Reals
    rotational: Reals

    @staticmethod
    def zero() -> RigidParameters:
        """Returns the parameters of a body without mass."""
        return RigidParameters(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def of(inertia: pin.Inertia) -> RigidParameters:
        """Parameters of a Pinocchio inertia, about the origin of its frame."""
        lever = np.array(inertia.lever)
        cross = pin.skew(lever)
        return RigidParameters(inertia.mass, inertia.mass * lever, inertia.inertia - inertia.mass * cross @ cross)

    def is_zero(self) -> bool:
        """Whether it is a body without mass, up to the last bit."""
        return self.mass == 0.0 and not self.moment.any() and not self.rotational.any()

    def seen_from(self, placement: pin.SE3) -> RigidParameters:
        """The same inertia about another frame; `placement` is its own frame in that one."""
        r, p = placement.rotation, placement.translation
        h = r @ self.moment
        hx, px = pin.skew(h), pin.skew(p)
        rotational = r @ self.rotational @ r.T - px @ hx - hx @ px - self.mass * px @ px
        return RigidParameters(self.mass, h + self.mass * p, rotational)

    def plus(self, other: RigidParameters) -> RigidParameters:
        """Returns the parameters of two bodies joined together, about the same frame."""
        return RigidParameters(self.mass + other.mass, self.moment + other.moment, self.rotational + other.rotational)

    def minus(self, other: RigidParameters) -> RigidParameters:
        """Difference of two bodies with the same frame."""
        return RigidParameters(self.mass - other.mass, self.moment - other.moment, self.rotational - other.rotational)

    def expression(self) -> Inertia:
        """The parameters as an expression of constants."""
        rotational = (self.rotational + self.rotational.T) / 2
        return Inertia(SX(self.mass), SX(cleaned(self.moment)), SX(cleaned(rotational)))

    def second_moments(self) -> Reals:
        """J = Σ m r rᵀ = tr(I) / 2 - I, (3, 3) [kg m²]."""
        return np.trace(self.rotational) / 2 * np.eye(3) - (self.rotational + self.rotational.T) / 2


def cleaned(a: Reals) -> Reals:
    """Entries, where those at the level of rounding errors become 0; this simplifies products."""
    return np.where(np.abs(a) < 1e-15 * np.abs(a).max(initial=0.0), 0.0, a)
