"""Results of one evaluation of an action model."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError


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
        object.__setattr__(self, "cost", 0.0)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "cost":
            if np.size(value) != 1:
                raise InvalidArgumentError(f"data.cost: expected a number, got shape {np.shape(value)}")
            object.__setattr__(self, name, float(np.reshape(value, ())))
            return
        if name not in self.__slots__:
            raise AttributeError(f"data has no field {name!r}; its fields are {', '.join(sorted(self.__slots__))}")
        target = getattr(self, name)
        if np.shape(value) != target.shape:
            raise InvalidArgumentError(f"data.{name}: expected shape {target.shape}, got {np.shape(value)}")
        target[...] = value
