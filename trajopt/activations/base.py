"""Interface of activations: scalar functions that turn a residual into a cost."""

from __future__ import annotations

from abc import abstractmethod

import casadi as ca
import numpy.typing as npt
from casadi import SX

from trajopt.checks import as_numbers
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.derivatives import jacobian
from trajopt.model.base import Model


class ActivationModelAbstract(Model):
    """A scalar function a(r) with a diagonal Hessian: a sum of functions of one element of r each.

    A subclass implements `value`. Gradient and Hessian follow by automatic differentiation, or are implemented as well.
    """

    example = "goal.{}"

    @abstractmethod
    def value(self, r: SX) -> SX:
        """a(r), a scalar, of a residual (nr,)."""

    def gradient(self, r: SX) -> SX:
        """da/dr, shape (nr,)."""
        symbol = SX.sym("r", r.shape[0])
        return ca.substitute(ca.densify(jacobian(self.value(symbol), symbol)).T, symbol, r)

    def hessian(self, r: SX) -> SX:
        """Diagonal of d²a/dr², shape (nr,)."""
        symbol = SX.sym("r", r.shape[0])
        return ca.substitute(ca.diag(jacobian(self.gradient(symbol), symbol)), symbol, r)

    def check_size(self, nr: int) -> None:
        """Raises InvalidArgumentError if the activation is made for residuals of another size than `nr`."""


def vector_size(argument: str, value: npt.ArrayLike) -> int:
    """Number of elements of a vector; raises InvalidArgumentError for any other value."""
    array = as_numbers(argument, value, "a vector of numbers")
    if array.ndim != 1:
        raise InvalidArgumentError(
            f"{argument}: expected a vector, one number per element of the residual, got shape {array.shape}"
        )
    return array.size
