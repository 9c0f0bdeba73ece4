"""Coordinates of unknown parameters in which dynamics are linear: (m, m c, I about the frame) instead of (m, c, I_c).

In these coordinates the combinations that a log cannot tell do not depend on the values.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.robots.parameters import BODY_QUANTITIES, PREFIX
from trajopt.shooting.unknown import Unknown, labels_of
from trajopt.types import Reals

_NUMBERS = (
    *(("m", "kg"), ("m c_x", "kg m"), ("m c_y", "kg m"), ("m c_z", "kg m")),
    *((f"I_{axes}", "kg m²") for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
)
_SMALL = 1e-3  # least size of a parameter [its unit]
_FAR = 1e3  # largest change of a mass [-]
_LEAST = 0.1  # of its mass that a body keeps in one step [-]


class Coordinates:
    """Coordinates η of unknown parameters θ. Bodies whose mass, centre and inertia are all unknown have linear ones.

    Args:
        unknowns: The unknowns by name, in the order of θ.

    Attributes:
        names: Name of each coordinate.
        units: Unit of each coordinate.
        bodies: Places of the ten coordinates (m, m c, I) of each body with linear ones.
    """

    def __init__(self, unknowns: Mapping[str, Unknown]) -> None:
        self.names: list[str] = []
        self.units: list[str] = []
        places = self._places = dict[str, list[int]]()
        for name, unknown in unknowns.items():
            places[name] = list(range(len(self.names), len(self.names) + unknown.size))
            self.names += labels_of(name.removeprefix(PREFIX), unknown.shape)
            self.units += [unknown.unit] * unknown.size
        owners = dict.fromkeys(name.rpartition(".")[0] for name in unknowns if name.startswith(PREFIX))
        self.bodies: list[list[int]] = []
        for owner in owners:
            own = [places.get(f"{owner}.{quantity}") for quantity in BODY_QUANTITIES]
            if None not in own:
                self.bodies.append([i for place in own if place for i in place])
                for i, (label, unit) in zip(self.bodies[-1], _NUMBERS):
                    self.names[i], self.units[i] = f"{owner.removeprefix(PREFIX)} {label}", unit

    @property
    def size(self) -> int:
        """Number of coordinates [-]."""
        return len(self.names)

    def of(self, theta: Reals) -> Reals:
        """η (k,) of θ (k,)."""
        eta = theta.copy()
        for at in self.bodies:
            eta[at] = _maps()[0](theta[at]).full().ravel()
        return eta

    def theta(self, eta: Reals) -> Reals:
        """θ (k,) of η (k,)."""
        theta = eta.copy()
        for at in self.bodies:
            theta[at] = _maps()[1](eta[at])[0].full().ravel()
        return theta

    def slope(self, eta: Reals) -> Reals:
        """Derivative dθ/dη (k, k)."""
        slope = np.eye(self.size)
        for at in self.bodies:
            slope[np.ix_(at, at)] = _maps()[1](eta[at])[1].full()
        return slope

    def scales(self, eta: Reals) -> Reals:
        """Typical sizes of the coordinates (k,) > 0: of a parameter that of its largest element.

        For a body they are m, m r and m r² with its radius of gyration r.
        """
        scales = np.ones(self.size)
        for at in self._places.values():
            scales[at] = max(np.abs(eta[at]).max(), _SMALL)
        for at in self.bodies:
            m, inertia = eta[at[0]], eta[[at[4], at[7], at[9]]].sum() / 2.0
            r = np.sqrt(max(inertia / m, 1e-6))
            scales[at] = [m, *[m * r] * 3, *[m * r * r] * 6]
        return scales

    @property
    def _masses(self) -> list[int]:
        """Places of the masses of bodies."""
        return [at[0] for name, at in self._places.items() if name.startswith(PREFIX) and name.endswith(".mass")]

    def has_diverged(self, eta: Reals, first: Reals) -> bool:
        """Whether a mass is not within a thousandth and a thousand times its first value."""
        ratio = eta[self._masses] / first[self._masses]
        return bool(np.any((ratio < 1.0 / _FAR) | (ratio > _FAR)))

    def largest_step(self, eta: Reals, step: Reals) -> float:
        """Largest factor in (0, 1] of a step with which masses stay well above zero."""
        masses = self._masses
        falls = -step[masses] / ((1.0 - _LEAST) * eta[masses])
        return 1.0 / max(1.0, float(falls.max(initial=0.0)))


@functools.cache
def _maps() -> tuple[ca.Function, ca.Function]:
    """Functions from (m, c, I_c) to (m, m c, I), and back with the derivative."""
    theta, eta = SX.sym("theta", 10), SX.sym("eta", 10)
    m, c, h = theta[0], theta[1:4], eta[1:4]
    to = ca.vertcat(m, m * c, theta[4:] + m * _spread(c))
    back = ca.vertcat(eta[0], h / eta[0], eta[4:] - _spread(h) / eta[0])
    return ca.Function("to", [theta], [to]), ca.Function("back", [eta], [back, ca.jacobian(back, eta)])


def _spread(c: SX) -> SX:
    """Upper triangle, row by row, of |c|² 1 - c cᵀ (6,)."""
    x, y, z = c[0], c[1], c[2]
    return ca.vertcat(y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
