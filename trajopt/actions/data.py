"""Results of one evaluation of an action model."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_shape
from trajopt.errors import ImmutableError, InvalidArgumentError

UNKNOWN = float("nan")
"""The cost of data on which no `calc` has set one: this object itself, not another NaN."""

_UNSET = np.array(0x7FF8_0000_7472_616A, dtype=np.uint64).view(np.float64)  # a NaN that arithmetic does not make

_SHAPES = {
    "xnext": "a state (nx,)",
    "Fx": "a matrix (ndx, ndx)",
    "Fu": "a matrix (ndx, nu)",
    "Lx": "a vector (ndx,)",
    "Lu": "a vector (nu,)",
    "Lxx": "a matrix (ndx, ndx)",
    "Lxu": "a matrix (ndx, nu)",
    "Luu": "a matrix (nu, nu)",
}


class ActionData:
    """Next state, cost and derivatives of an action model at one point.

    Assigning to a field copies into its array, so that `data.Fx = A` and `data.Fx[:] = A` do the same.

    Attributes:
        xnext: Next state (nx,).
        cost: Cost [cost].
        Fx: Derivative of the next state along the tangent space (ndx, ndx).
        Fu: ... and the control (ndx, nu).
        Lx: Gradient of the cost along the tangent space (ndx,).
        Lu: ... and the control (nu,).
        Lxx: Hessian of the cost (ndx, ndx).
        Lxu: Its mixed part (ndx, nu).
        Luu: Its control part (nu, nu).
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
        shapes = {
            "xnext": (nx,),
            "Fx": (ndx, ndx),
            "Fu": (ndx, nu),
            "Lx": (ndx,),
            "Lu": (nu,),
            "Lxx": (ndx, ndx),
            "Lxu": (ndx, nu),
            "Luu": (nu, nu),
        }
        for name, shape in shapes.items():
            object.__setattr__(self, name, np.zeros(shape))
        self.forget()

    def forget(self) -> None:
        """Makes next state and cost unknown, before a call of `calc` that has to set them."""
        object.__setattr__(self, "cost", UNKNOWN)
        self.xnext.fill(_UNSET)

    def forgotten(self, *, end: bool = False) -> str:
        """Fields that `calc` has not set, with the cure; empty where it has set all.

        Args:
            end: Whether this is the end of the horizon, where only the cost is asked.
        """
        if self.cost is UNKNOWN:
            return "data.cost; set it, to 0.0 for a knot that costs nothing"
        unset = np.flatnonzero(self.xnext.view(np.uint64) == _UNSET.view(np.uint64))
        if end or len(unset) == 0:
            return ""
        if len(unset) == self.xnext.size:
            return "data.xnext; set it to the next state (nx,), or to NaN where there is none"
        elements = ", ".join(f"data.xnext[{i}]" for i in unset)
        return f"{elements}; set all {self.xnext.size} elements of the next state"

    def forget_derivatives(self) -> None:
        """Makes derivatives unknown that are zero, to see whether `calc_diff` sets them."""
        for name in _SHAPES:
            if name != "xnext" and not getattr(self, name).any():
                getattr(self, name).fill(_UNSET)

    def forgotten_derivatives(self, *, end: bool = False) -> list[str]:
        """Derivatives that `calc_diff` has left out: of the dynamics, a gradient without its Hessian, or the reverse.

        A cost of a control alone needs none in the state. One that is not 0 needs some.

        Args:
            end: Whether this is the end of the horizon, where only Lx and Lxx are asked.
        """
        arrays = {name: getattr(self, name) for name in _SHAPES}
        unset = {n for n, a in arrays.items() if a.size and (a.view(np.uint64) == _UNSET.view(np.uint64)).all()}
        costs = [("Lx", "Lxx")] if end else [("Lx", "Lxx"), ("Lu", "Luu")]
        none = self.cost != 0.0 and all({*pair} <= unset for pair in costs)
        asked = {n for pair in costs if none or len({*pair} & unset) == 1 for n in pair}
        return sorted(unset & (asked if end else asked | {"Fx", "Fu"}))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "cost":
            cost = as_numbers("data.cost", value, "a number")
            if cost.size != 1:
                raise InvalidArgumentError(f"data.cost: expected a number, got shape {cost.shape}")
            object.__setattr__(self, name, float(cost.reshape(())))
            return
        if name not in self.__slots__:
            raise ImmutableError(f"data has no field {name!r}; its fields are {', '.join(sorted(self.__slots__))}")
        target = getattr(self, name)
        target[...] = check_shape(f"data.{name}", value, target.shape, cure=_SHAPES[name])
