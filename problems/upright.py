"""Cost of angles from upright, for pendulums and poles."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.activations import ActivationModelAbstract, ActivationModelWeightedQuad
from trajopt.checks import as_numbers, check_array
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.residuals import ResidualModelAbstract, ResidualModelState, ResidualModelSymbolic
from trajopt.states.base import StateAbstract

HESSIANS = ("gauss-newton", "exact")


def upright_cost(
    state: StateAbstract, weights: Sequence[float], angles: Sequence[int], hessian: str
) -> tuple[ResidualModelAbstract, ActivationModelAbstract]:
    """Residual and activation of G(x) = Σ_angles wᵢ (1 - cos xᵢ) + Σ_others ½ wᵢ xᵢ² [cost].

    "gauss-newton" uses ½ Σ w r² of r = (sin xᵢ, 1 - cos xᵢ, others), whose Hessian is w for an angle. "exact" uses the
    Hessian w cos xᵢ, which is negative beyond 90 degrees. From hanging, Gauss-Newton needs fewer iterations (double
    pendulum: 79 instead of 119).

    Args:
        state: A vector space.
        weights: Weights w, one for each coordinate [cost, or cost / unit²].
        angles: Indices of the coordinates that are angles from upright [rad].
        hessian: One of `HESSIANS`.
    """
    if hessian not in HESSIANS:
        raise unknown_name("hessian", hessian, HESSIANS)
    if hessian == "exact":
        return ResidualModelState(state), ActivationModelUpright(weights, angles)
    others = [i for i in range(state.nx) if i not in angles]
    repeated = [weights[i] for i in (*angles, *angles, *others)]
    x = SX.sym("x", state.nx)
    turned = x[list(angles)]
    values = ca.vertcat(ca.sin(turned), 1.0 - ca.cos(turned), x[others])
    residual = ResidualModelSymbolic(state, ca.Function("from_upright", [x], [values]))
    return residual, ActivationModelWeightedQuad(repeated)


class ActivationModelUpright(ActivationModelAbstract):
    """Activation a(r) = Σ_angles wᵢ (1 - cos rᵢ) + Σ_others ½ wᵢ rᵢ² [cost], with its exact Hessian.

    Args:
        weights: Weights w, >= 0, shape (nr,) [cost, or cost / unit²]. Run-time parameter `weights`.
        angles: Indices of the elements that are angles from upright [rad].
    """

    def __init__(self, weights: npt.ArrayLike, angles: Sequence[int]) -> None:
        self.size = as_numbers("weights", weights).size
        self.angles = tuple(angles)
        self.weights = self.parameter("weights", weights, convert=self._checked)

    def _checked(self, argument: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = check_array(argument, value, (self.size,))
        if np.any(array < 0):
            raise InvalidArgumentError(f"{argument}: expected weights >= 0, got {array}")
        return array

    def check_size(self, nr: int) -> None:
        if nr != self.size:
            raise InvalidArgumentError(
                f"weights: expected {nr} weights, one for each element of the residual, got {self.size}"
            )

    def value(self, r: SX) -> SX:
        parts = [1.0 - ca.cos(r[i]) if i in self.angles else 0.5 * r[i] ** 2 for i in range(self.size)]
        return ca.dot(self.weights, ca.vertcat(*parts))
