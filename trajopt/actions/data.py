"""Results of one evaluation of an action model."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_count, check_shape
from trajopt.errors import ImmutableError, InvalidArgumentError

UNKNOWN = float("nan")
"""Marks a cost that `calc` has not set; it is recognised by identity, because another NaN may be a result."""

_UNSET = np.array(0x7FF8_0000_7472_616A, dtype=np.uint64).view(np.float64)  # a NaN that arithmetic does not produce

_SHAPES = {
    "xnext": ("nx",),
    "Fx": ("ndx", "ndx"),
    "Fu": ("ndx", "nu"),
    "Lx": ("ndx",),
    "Lu": ("nu",),
    "Lxx": ("ndx", "ndx"),
    "Lxu": ("ndx", "nu"),
    "Luu": ("nu", "nu"),
}


class ActionData:
    """Next state, cost and derivatives of an action model at one point.

    Assigning to a field copies into its array: `data.Fx = A` does the same as `data.Fx[:] = A`.

    Attributes:
        xnext: Next state (nx,).
        cost: Cost [cost].
        Fx: Derivative of the next state by x, in the tangent spaces (ndx, ndx).
        Fu: Derivative of the next state by u (ndx, nu).
        Lx: Gradient of the cost by x, in the tangent space (ndx,).
        Lu: Gradient of the cost by u (nu,).
        Lxx: Hessian of the cost by x (ndx, ndx).
        Lxu: Mixed second derivative of the cost (ndx, nu).
        Luu: Hessian of the cost by u (nu, nu).
    """

    __slots__ = ("Fu", "Fx", "Lu", "Luu", "Lx", "Lxu", "Lxx", "cost", "xnext")
    xnext: Any
    cost: Any
    Fx: Any
    Fu: Any
    Lx: Any
    Lu: Any
    Lxx: Any
    Lxu: Any
    Luu: Any

    def __init__(self, nx: int, ndx: int, nu: int) -> None:
        sizes = {name: check_count(name, size) for name, size in (("nx", nx), ("ndx", ndx), ("nu", nu))}
        for name, shape in _SHAPES.items():
            object.__setattr__(self, name, np.zeros([sizes[axis] for axis in shape]))
        self.forget()

    def forget(self) -> None:
        """Marks next state and cost as unset, before `calc` has to set them."""
        object.__setattr__(self, "cost", UNKNOWN)
        self.xnext.fill(_UNSET)

    def forgotten(self, *, end: bool = False) -> str:
        """Says which fields `calc` has not set, and what to set them to; empty if all are set.

        Args:
            end: Whether this is the end of the horizon, where only the cost is needed.
        """
        if self.cost is UNKNOWN:
            return "data.cost; set it, to 0.0 if the knot costs nothing"
        unset = np.flatnonzero(self.xnext.view(np.uint64) == _UNSET.view(np.uint64))
        if end or len(unset) == 0:
            return ""
        if len(unset) == self.xnext.size:
            return "data.xnext; set it to the next state (nx,), or to NaN if the model has no value there"
        elements = ", ".join(f"data.xnext[{i}]" for i in unset)
        return f"{elements}; set all {self.xnext.size} elements of the next state"

    def forget_derivatives(self) -> None:
        """Marks derivatives that are zero as unset, to detect whether `calc_diff` sets them."""
        for name in _SHAPES:
            if name != "xnext" and not getattr(self, name).any():
                getattr(self, name).fill(_UNSET)

    def forgotten_derivatives(self, *, end: bool = False) -> list[str]:
        """Derivatives that `calc_diff` has not set although they are needed, sorted by name.

        Derivatives of the dynamics are always needed. A gradient needs its Hessian, and a Hessian its gradient. A cost
        that depends on the control only needs no derivatives by the state. A cost that is not 0 needs some
        derivatives.

        Args:
            end: Whether this is the end of the horizon, where only Lx and Lxx are needed.
        """
        arrays = {name: getattr(self, name) for name in _SHAPES}
        unset = {n for n, a in arrays.items() if a.size and (a.view(np.uint64) == _UNSET.view(np.uint64)).all()}
        costs = [("Lx", "Lxx")] if end else [("Lx", "Lxx"), ("Lu", "Luu")]
        none = self.cost != 0.0 and all({*pair} <= unset for pair in costs)
        needed = {n for pair in costs if none or len({*pair} & unset) == 1 for n in pair}
        return sorted(unset & (needed if end else needed | {"Fx", "Fu"}))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "cost":
            cost = as_numbers("data.cost", value, "a number")
            if cost.size != 1:
                raise InvalidArgumentError(f"data.cost: expected one number, got an array of shape {cost.shape}")
            object.__setattr__(self, name, float(cost.reshape(())))
            return
        if name not in self.__slots__:
            raise ImmutableError(f"data: it has no field {name!r}; its fields are {', '.join(sorted(self.__slots__))}")
        target = getattr(self, name)
        target[...] = check_shape(f"data.{name}", value, target.shape, cure=_description(name))


def _description(name: str) -> str:
    """Such as "a matrix (ndx, nu)"."""
    shape = _SHAPES[name]
    kind = "a state" if name == "xnext" else "a vector" if len(shape) == 1 else "a matrix"
    return f"{kind} ({', '.join(shape)}{',' * (len(shape) == 1)})"
