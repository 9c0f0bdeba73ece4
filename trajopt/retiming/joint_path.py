"""A path through configurations, as a function of a parameter that moves while the robot rests at its ends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import as_numbers, check_array, check_count
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.types import Reals

BISECTIONS = 60  # halvings of [0, 1] for τ of a waypoint [-]
ASIDE = 1e-9  # distance from a waypoint at which a side's third derivative is taken [-]


class JointPath(Immutable):
    """Cubic spline q(s) through waypoints, with s in [0, 1] in proportion to the distance between them.

    The spline is not-a-knot, as `scipy.interpolate.CubicSpline`; through two waypoints it is a line. Retiming takes s
    as a function of τ in [0, 1], whose first `rest` - 1 derivatives are 0 at both ends:

        s = 3 τ² - 2 τ³ (rest = 2),  s = 10 τ³ - 15 τ⁴ + 6 τ⁵ (rest = 3)

    so that a robot starts and ends at rest while τ moves on, and its time ∫ dτ / (dτ/dt) has no singularity there.

    Args:
        waypoints: Configurations (n, nq) [rad, m], n >= 2.

    Attributes:
        waypoints: The waypoints.
        parameters: s of each waypoint (n,) [-].

    Raises:
        InvalidArgumentError: There are fewer than two waypoints, or two that follow one another are equal.
    """

    def __init__(self, waypoints: npt.ArrayLike) -> None:
        from scipy.interpolate import CubicSpline

        self.waypoints = as_numbers("waypoints", waypoints, "configurations (n, nq)")
        if self.waypoints.ndim != 2 or len(self.waypoints) < 2:
            raise InvalidArgumentError(
                f"waypoints: expected configurations (n, nq) with n >= 2, got shape {self.waypoints.shape}"
            )
        check_array("waypoints", self.waypoints, self.waypoints.shape)
        lengths = np.linalg.norm(np.diff(self.waypoints, axis=0), axis=1)
        if not lengths.all():
            i = int(np.flatnonzero(lengths == 0.0)[0])
            raise InvalidArgumentError(f"waypoints: expected a way between any two, got equal rows {i} and {i + 1}")
        self.parameters = np.concatenate([[0.0], np.cumsum(lengths) / lengths.sum()])
        self.parameters[-1] = 1.0
        self._curve = CubicSpline(self.parameters, self.waypoints)

    def at(self, parameters: npt.ArrayLike) -> Reals:
        """Returns configurations (n, nq) at parameters s (n,), clipped to [0, 1] [rad, m]."""
        s = as_numbers("parameters", parameters, "parameters s in [0, 1]")
        return np.asarray(self._curve(np.clip(s, 0.0, 1.0)))

    def waypoint_times(self, rest: int) -> Reals:
        """Returns τ (n - 2,) of the waypoints between the ends, in order [-].

        Args:
            rest: 2, or 3, see the class.
        """
        check_count("rest", rest, least=2, most=3)
        s = self.parameters[1:-1]
        low, high = np.zeros_like(s), np.ones_like(s)
        for _ in range(BISECTIONS):
            tau = 0.5 * (low + high)
            before = _eased(tau, rest)[0] < s
            low, high = np.where(before, tau, low), np.where(before, high, tau)
        return np.asarray(0.5 * (low + high))

    def derivatives(self, tau: Reals, rest: int, side: int | Reals = 0) -> tuple[Reals, Reals, Reals, Reals]:
        """Returns q and its first three derivatives by τ, (n, nq) each [rad, m].

        Args:
            tau: τ (n,) [-].
            rest: 2, or 3, see the class.
            side: 1 or -1 for the third derivative behind or before a waypoint, one or (n,).
        """
        check_count("rest", rest, least=2, most=3)
        s, s1, s2, s3 = (each[:, None] for each in _eased(tau, rest))
        at = np.clip(s[:, 0] + side * ASIDE, 0.0, 1.0)
        q, q1, q2, q3 = (np.asarray(self._curve(at, order)) for order in range(4))
        return q, q1 * s1, q2 * s1**2 + q1 * s2, q3 * s1**3 + 3.0 * q2 * s1 * s2 + q1 * s3

    def __repr__(self) -> str:
        return f"JointPath({len(self.waypoints)} waypoints of {self.waypoints.shape[1]} joints)"


def _eased(t: Reals, rest: int) -> tuple[Reals, Reals, Reals, Reals]:
    """s and its first three derivatives by τ."""
    if rest == 2:
        return t**2 * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t), 6.0 - 12.0 * t, np.full_like(t, -12.0)
    s = t**3 * (10.0 + t * (6.0 * t - 15.0))
    return s, 30.0 * (t * (1.0 - t)) ** 2, 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t), 60.0 - 360.0 * t * (1.0 - t)
