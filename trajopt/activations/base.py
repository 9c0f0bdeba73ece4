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
from trajopt.model.functions import call_user, is_of_user


class ActivationModelAbstract(Model):
    """Activation a(r). The Hessian of a sum of functions of one element of r each is diagonal.

    A subclass implements `value`. Gradient and Hessian come from automatic differentiation unless they are overridden.
    """

    example = "goal.{}"

    @abstractmethod
    def value(self, r: SX) -> SX:
        """Value a(r), a scalar, of a residual r (nr,)."""

    def expression(self, r: SX) -> SX:
        """Returns what `value` returns; of a class of the user's it is checked.

        Raises:
            InvalidArgumentError: `value` raised, or its result is no scalar expression; the message says where.
        """
        if not is_of_user(self):
            return self.value(r)
        name = f"{type(self).__name__}.value"
        value = call_user(name, self.value, r)
        if value.shape != (1, 1):
            raise InvalidArgumentError(
                f"{name}: expected a scalar, got shape {value.shape}; sum over elements, as casadi.sumsqr(r) does"
            )
        return value

    def gradient(self, r: SX) -> SX:
        """Gradient da/dr (nr,) of a residual r (nr,)."""
        symbol = SX.sym("r", r.shape[0])
        return ca.substitute(ca.densify(jacobian(self.expression(symbol), symbol)).T, symbol, r)

    def hessian(self, r: SX) -> SX:
        """Hessian d²a/dr² of a residual r (nr,): its diagonal (nr,) if it is diagonal, else (nr, nr)."""
        symbol = SX.sym("r", r.shape[0])
        matrix = jacobian(self.gradient(symbol), symbol)
        return ca.substitute(ca.diag(matrix) if matrix.sparsity().is_diag() else matrix, symbol, r)

    def check_size(self, nr: int) -> None:
        """Raises InvalidArgumentError if the activation is for residuals of a size other than `nr`."""


def as_matrix(hessian: SX) -> SX:
    """Hessian of an activation as a matrix (nr, nr)."""
    return ca.diag(hessian) if hessian.shape[1] == 1 else hessian


def vector_size(argument: str, value: npt.ArrayLike) -> int:
    """Number of elements of a vector; raises InvalidArgumentError if `value` is not a vector."""
    array = as_numbers(argument, value, "a vector of numbers")
    if array.ndim != 1:
        raise InvalidArgumentError(
            f"{argument}: expected a vector with one number for each element of the residual, got shape {array.shape}"
        )
    return array.size
