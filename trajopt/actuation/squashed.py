"""Actuation whose motor torques are squashed into their limits."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actuation.base import ActuationModelAbstract, Numbers, check_actuation, check_linear
from trajopt.checks import as_numbers, check_array, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

_INSIDE = 0.05  # least distance of the torques that `controls_for` inverts from their limits, relative to the range

_MOST = 10.0  # smoothness [-]


class ActuationModelSquashed(ActuationModelAbstract):
    """Smooth saturation of motors: m = (l + h)/2 + (√(a² + (u - l)²) - √(a² + (u - h)²)) / 2, with a = s (h - l).

    Torques m stay between their limits l and h for every control u, so that solvers without limits keep them. The
    slope is about 1 in between. The controls have no limits.

    Args:
        actuation: The actuation; its motor torques become m(u).
        lower: Lower limits l of the motor torques (nu,) [N m, N]; by default those of the actuation.
        upper: Upper limits h (nu,) [N m, N]; by default those of the actuation.
        smoothness: s, > 0 and at most 10 [-].

    Attributes:
        actuation: The actuation inside.
        smoothness: s [-].

    Raises:
        InvalidArgumentError: A limit is infinite, a lower one is not below the upper one, or `smoothness` is too large.

    Source: Crocoddyl's SquashingModelSmoothSat; Martí-Saumell et al., Squash-box feasibility driven differential
    dynamic programming (IROS 2020), eq. 9.
    """

    is_linear = False

    def __init__(
        self,
        actuation: ActuationModelAbstract,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        smoothness: float = 0.1,
    ) -> None:
        self.actuation = check_actuation(actuation)
        check_linear(actuation, "ActuationModelSquashed")
        super().__init__(actuation.state, actuation.matrix)
        self.smoothness = check_positive("smoothness", smoothness)
        if self.smoothness > _MOST:
            raise InvalidArgumentError(f"smoothness: expected at most {_MOST:g}, got {smoothness:g}; 0.1 is usual")
        self.names = [*actuation.names]
        self._low = _limit("lower", actuation.lower if lower is None else lower, self.nu)
        self._high = _limit("upper", actuation.upper if upper is None else upper, self.nu)
        if not np.all(self._low < self._high):
            i = int(np.flatnonzero(~(self._low < self._high))[0])
            raise InvalidArgumentError(
                f"lower: expected lower < upper, got {self._low[i]:g} and {self._high[i]:g} for control {i}"
            )
        self.lower, self.upper = np.full(self.nu, -np.inf), np.full(self.nu, np.inf)

    @property
    def motor_limits(self) -> tuple[Reals, Reals]:
        return self._low, self._high

    def _motor_torque(self, u: Numbers) -> Numbers:
        low, high = self._low, self._high
        a = self.smoothness * (high - low)
        result: Any = 0.5 * (low + high + (a**2 + (u - low) ** 2) ** 0.5 - (a**2 + (u - high) ** 2) ** 0.5)
        return result  # type: ignore[no-any-return]

    def motor_slope(self, u: SX) -> SX:
        low, high = self._low, self._high
        a = self.smoothness * (high - low)
        parts = [(u - limit) / ca.sqrt(a**2 + (u - limit) ** 2) for limit in (low, high)]
        return SX(0.5 * (parts[0] - parts[1]))

    def controls_for(self, torques: Reals) -> Reals:
        """Controls (nu,) that have these motor torques (nu,), or the nearest ones just inside their limits [N m, N]."""
        half, middle = 0.5 * (self._high - self._low), 0.5 * (self._high + self._low)
        a = self.smoothness * 2.0 * half
        y = np.clip(self._checked("torques", torques) - middle, -(1.0 - _INSIDE) * half, (1.0 - _INSIDE) * half)
        return np.asarray(middle + y * np.sqrt((a**2 + half**2 - y**2) / (half**2 - y**2)))


def _limit(name: str, value: npt.ArrayLike, nu: int) -> Reals:
    limit = as_numbers(name, value)
    if limit.shape == (nu,) and np.isinf(limit).any():
        i = int(np.flatnonzero(np.isinf(limit))[0])
        raise InvalidArgumentError(
            f"{name}: expected a finite limit of each motor, got {limit[i]} for control {i}; pass {name}="
        )
    return check_array(name, limit, (nu,), cure="one limit for each motor")
