"""States whose parts move independently of each other."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from trajopt.states.base import StateAbstract, check_columns


class StateOfPartsAbstract(StateAbstract):
    """State of parts, each with coordinates and a tangent vector of its own; derivatives are block-diagonal."""

    proven = True
    prefix: ClassVar[str] = ""  # what the names of the parts' methods on expressions begin with

    @property
    @abstractmethod
    def parts(self) -> list[tuple[Any, slice, slice]]:
        """Space or state of each part, with the indices of its coordinates in x and of its tangent vector in dx."""

    def sx_integrate(self, x: SX, dx: SX) -> SX:
        """Expression of x ⊕ dx, shape (nx, 1)."""
        return SX(ca.vertcat(*self._expressions("integrate", x=x, dx=dx)))

    def sx_difference(self, x0: SX, x1: SX) -> SX:
        """Expression of x1 ⊖ x0, shape (ndx, 1)."""
        return SX(ca.vertcat(*self._expressions("difference", x0=x0, x1=x1)))

    def sx_jintegrate(self, x: SX, dx: SX) -> tuple[SX, SX]:
        """Derivatives of x ⊕ dx with respect to x and dx, block-diagonal, shape (ndx, ndx) each."""
        first, second = zip(*self._expressions("jintegrate", x=x, dx=dx))
        return SX(ca.diagcat(*first)), SX(ca.diagcat(*second))

    def sx_jdifference(self, x0: SX, x1: SX) -> tuple[SX, SX]:
        """Derivatives of x1 ⊖ x0 with respect to x0 and x1, block-diagonal, shape (ndx, ndx) each."""
        first, second = zip(*self._expressions("jdifference", x0=x0, x1=x1))
        return SX(ca.diagcat(*first)), SX(ca.diagcat(*second))

    def sx_jintegrate_inverse(self, x: SX, dx: SX) -> SX:
        """Inverse of the derivative of x ⊕ dx with respect to dx, block-diagonal, shape (ndx, ndx)."""
        return SX(ca.diagcat(*self._expressions("jintegrate_inverse", x=x, dx=dx)))

    def sx_tangent_basis(self, x: SX) -> SX:
        """Expression of d(x ⊕ dx)/d dx at dx = 0, block-diagonal, shape (nx, ndx)."""
        return SX(ca.diagcat(*self._expressions("tangent_basis", x=x)))

    def sx_tangent_projection(self, x: SX) -> SX:
        """Expression of d(x' ⊖ x)/dx' at x' = x, block-diagonal, shape (ndx, nx)."""
        return SX(ca.diagcat(*self._expressions("tangent_projection", x=x)))

    def _expressions(self, operation: str, **values: SX) -> list[Any]:
        check_columns({name: (value, self.ndx if name == "dx" else self.nx) for name, value in values.items()})
        return self._each(self.prefix + operation, **values)

    def _each(self, method: str, **values: Any) -> list[Any]:
        """Calls a method of each part with its elements of each value, which is named dx if it is a tangent vector."""
        return [
            getattr(part, method)(*(value[dx if name == "dx" else x] for name, value in values.items()))
            for part, x, dx in self.parts
        ]
