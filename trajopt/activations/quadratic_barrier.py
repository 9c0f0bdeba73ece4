"""Quadratic barriers: penalties on violated bounds."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract, vector_size
from trajopt.activations.weighted_quadratic import check_weights
from trajopt.checks import check_bounds
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


class ActivationModelQuadraticBarrier(ActivationModelAbstract):
    """Quadratic barrier a(r) = ½ |min(r - lower, 0)|² + ½ |max(r - upper, 0)|² [cost]: zero within the bounds.

    Args:
        lower: Lower bounds (nr,) [unit of r]; -inf for no bound. Run-time parameter `lower`.
        upper: Upper bounds (nr,) [unit of r]; inf for no bound. Run-time parameter `upper`.

    The compiled code contains only the bounds that are finite at construction; an infinite bound must stay infinite.
    Exactly on a bound the Hessian is that outside of it, as in Crocoddyl, so the first step already holds a joint that
    rests on its limit.

    Raises:
        InvalidArgumentError: Sizes differ, a bound is NaN, or a lower bound exceeds the upper bound.
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> None:
        self.size = vector_size("lower", lower)
        low, high = check_bounds("lower", lower, self.size), check_bounds("upper", upper, self.size)
        if np.any(low > high):
            index = int(np.argmax(low > high))
            raise InvalidArgumentError(
                f"lower: expected lower <= upper, got {low[index]} > {high[index]} at index {index}; swap the two"
            )
        self._has_lower, self._has_upper = np.isfinite(low), np.isfinite(high)
        self.lower = self.parameter("lower", low, unit="unit of the residual", convert=self._check_lower)
        self.upper = self.parameter("upper", high, unit="unit of the residual", convert=self._check_upper)

    def _check_lower(self, argument: str, value: npt.ArrayLike) -> Reals:
        return self._checked(argument, value, self._has_lower)

    def _check_upper(self, argument: str, value: npt.ArrayLike) -> Reals:
        return self._checked(argument, value, self._has_upper)

    def _checked(self, argument: str, value: npt.ArrayLike, there: npt.NDArray[np.bool_]) -> Reals:
        bounds = check_bounds(argument, value, self.size)
        late = np.flatnonzero(np.isfinite(bounds) & ~there)
        if len(late):
            raise InvalidArgumentError(
                f"{argument}: expected ±inf at index {late[0]}, got {bounds[late[0]]}; this bound was infinite at "
                "construction, so the compiled code does not have it: construct the activation with a wide finite "
                "bound"
            )
        return bounds

    def check_size(self, nr: int) -> None:
        if nr != self.size:
            raise InvalidArgumentError(
                f"lower: expected {nr} bounds, one for each element of the residual, got {self.size}"
            )

    def _excess(self, r: SX) -> SX:
        below, above = ca.fmin(r - self.lower, 0), ca.fmax(r - self.upper, 0)
        return _only(below, self._has_lower) + _only(above, self._has_upper)

    def value(self, r: SX) -> SX:
        return 0.5 * ca.sumsqr(self._excess(r))

    def gradient(self, r: SX) -> SX:
        return self._excess(r)

    def hessian(self, r: SX) -> SX:
        below, above = _only(r <= self.lower, self._has_lower), _only(r >= self.upper, self._has_upper)
        return ca.logic_or(below, above)


class ActivationModelWeightedQuadraticBarrier(ActivationModelQuadraticBarrier):
    """Weighted quadratic barrier a(r) = ½ Σ wᵢ eᵢ² with the excess e = min(r - lower, 0) + max(r - upper, 0) [cost].

    Args:
        lower: As in ActivationModelQuadraticBarrier.
        upper: As in ActivationModelQuadraticBarrier.
        weights: Weights w, >= 0, shape (nr,) [-]. Run-time parameter `weights`.

    Raises:
        InvalidArgumentError: As in ActivationModelQuadraticBarrier, or a weight is negative or not finite.

    Source: Crocoddyl's ActivationModelWeightedQuadraticBarrier, whose weights are the roots of these, and whose Hessian
        is not that of its value.
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, weights: npt.ArrayLike) -> None:
        super().__init__(lower, upper)
        self.weights = self.parameter("weights", weights, convert=self._check_weights)

    def _check_weights(self, argument: str, value: npt.ArrayLike) -> Reals:
        return check_weights(argument, value, self.size)

    def value(self, r: SX) -> SX:
        excess = self._excess(r)
        return 0.5 * ca.dot(self.weights, excess * excess)

    def gradient(self, r: SX) -> SX:
        return self.weights * self._excess(r)

    def hessian(self, r: SX) -> SX:
        return self.weights * super().hessian(r)


def _only(values: SX, chosen: npt.NDArray[np.bool_]) -> SX:
    """Values with structural zeros in place of the elements that are not chosen."""
    rows = np.flatnonzero(chosen).tolist()
    return SX(ca.project(values, ca.Sparsity.triplet(len(chosen), 1, rows, [0] * len(rows))))
