"""A cost for what is to stand upright, with its exact Hessian."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations import ActivationModelAbstract
from trajopt.errors import InvalidArgumentError, check_array


class ActivationModelUpright(ActivationModelAbstract):
    """a(r) = Σ_angles wᵢ (1 - cos rᵢ) + Σ_others ½ wᵢ rᵢ² [cost].

    For an angle this is ½ w (sin² r + (1 - cos r)²), the same cost as of the residuals sin r and 1 - cos r, but with the
    exact Hessian w cos r in place of Gauss-Newton's w. It is negative beyond 90 degrees.

    Args:
        weights: Weights w, >= 0, shape (nr,) [cost, or cost / unit²]. Run-time parameter `weights`.
        angles: Which elements of the residual are angles from upright [rad].
    """

    def __init__(self, weights: npt.ArrayLike, angles: tuple[int, ...]) -> None:
        self.size = int(np.size(weights))
        self.angles = tuple(angles)
        self.weights = self.parameter("weights", weights, convert=self._checked)

    def _checked(self, argument: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = check_array(argument, value, (self.size,))
        if np.any(array < 0):
            raise InvalidArgumentError(f"{argument}: expected weights >= 0, got {array}")
        return array

    def check_size(self, nr: int) -> None:
        if nr != self.size:
            raise InvalidArgumentError(f"weights: the residual has size {nr}, the activation {self.size} weights")

    def value(self, r: SX) -> SX:
        parts = [1.0 - ca.cos(r[i]) if i in self.angles else 0.5 * r[i] ** 2 for i in range(self.size)]
        return ca.dot(self.weights, ca.vertcat(*parts))
