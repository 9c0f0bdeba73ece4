"""Weighted quadratic activation: half the weighted squared norm."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations.base import ActivationModelAbstract, vector_size
from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


class ActivationModelWeightedQuad(ActivationModelAbstract):
    """Weighted quadratic activation a(r) = ½ Σ wᵢ rᵢ² [cost].

    Args:
        weights: Weights w, >= 0, shape (nr,) [-]. Run-time parameter `weights`. The cost term's weight has the unit.

    Raises:
        InvalidArgumentError: A weight is negative or not finite.
    """

    def __init__(self, weights: npt.ArrayLike) -> None:
        self.size = vector_size("weights", weights)
        self.weights = self.parameter("weights", weights, convert=self._checked)

    def _checked(self, argument: str, value: npt.ArrayLike) -> Reals:
        return check_weights(argument, value, self.size)

    def check_size(self, nr: int) -> None:
        if nr != self.size:
            raise InvalidArgumentError(
                f"weights: expected {nr} weights, one for each element of the residual, got {self.size}"
            )

    def value(self, r: SX) -> SX:
        return 0.5 * ca.dot(self.weights, r * r)

    def gradient(self, r: SX) -> SX:
        return self.weights * r

    def hessian(self, r: SX) -> SX:
        return self.weights


def check_weights(argument: str, value: npt.ArrayLike, size: int) -> Reals:
    """Weights >= 0 of the elements of a residual (size,)."""
    array = check_array(argument, value, (size,), cure="pass one weight for each element of the residual")
    if np.any(array < 0):
        raise InvalidArgumentError(
            f"{argument}: expected weights >= 0, got {array.min()} at index {int(array.argmin())}"
        )
    return array
