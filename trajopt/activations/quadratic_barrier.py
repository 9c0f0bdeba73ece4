"""A penalty outside of bounds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract, vector_size
from trajopt.errors import InvalidArgumentError, check_bounds

Reals = npt.NDArray[np.float64]


class ActivationModelQuadraticBarrier(ActivationModelAbstract):
    """a(r) = ½ |min(r - lower, 0)|² + ½ |max(r - upper, 0)|² [cost]: zero within the bounds.

    Args:
        lower: Lower bounds (nr,) [unit of r]; -inf where there is none. Run-time parameter `lower`.
        upper: Upper bounds (nr,) [unit of r]; inf where there is none. Run-time parameter `upper`.

    Raises:
        InvalidArgumentError: Sizes differ, a bound is NaN, or a lower bound is above the upper one.
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        self.size = vector_size("lower", lower)
        low, high = self._checked("lower", lower), self._checked("upper", upper)
        if np.any(low > high):
            index = int(np.argmax(low > high))
            raise InvalidArgumentError(
                f"lower: expected lower <= upper, got {low[index]} > {high[index]} at {index}; exchange the two"
            )
        self.lower = self.parameter("lower", low, unit="unit of the residual", convert=self._checked)
        self.upper = self.parameter("upper", high, unit="unit of the residual", convert=self._checked)

    def _checked(self, argument: str, value: npt.ArrayLike) -> Reals:
        return check_bounds(argument, value, self.size)

    def check_size(self, nr: int) -> None:
        if nr != self.size:
            raise InvalidArgumentError(
                f"lower: expected one bound for each of the residual's {nr} elements, got {self.size}"
            )

    def _excess(self, r: SX) -> SX:
        return ca.fmin(r - self.lower, 0) + ca.fmax(r - self.upper, 0)

    def value(self, r: SX) -> SX:
        return 0.5 * ca.sumsqr(self._excess(r))

    def gradient(self, r: SX) -> SX:
        return self._excess(r)

    def hessian(self, r: SX) -> SX:
        return ca.logic_or(r < self.lower, r > self.upper)
