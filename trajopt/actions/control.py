"""Control parametrizations: the control within a time step as a function of the control of its knot."""

from __future__ import annotations

from abc import ABC, abstractmethod

from casadi import SX

from trajopt.actions.expansion import StageExpansion
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.types import Reals


class ControlParametrizationAbstract(ABC):
    """Control u(w, c) at time c, from 0 to 1, of a time step; the parameters w are the control of the knot.

    Args:
        nw: Number of parameters [-].
        nu: Number of controls of the continuous-time model [-].
    """

    def __init__(self, nw: int, nu: int) -> None:
        self.nw, self.nu = nw, nu

    @abstractmethod
    def bounds(self, bounds: Reals) -> Reals:
        """Bounds on w (nw,) that keep u within `bounds` (nu,)."""

    @abstractmethod
    def names(self, names: list[str]) -> list[str]:
        """Name of each parameter, given the names of the controls."""

    @abstractmethod
    def units(self, units: list[str]) -> list[str]:
        """Unit of each parameter, given the units of the controls."""

    @abstractmethod
    def expression(self, w: SX, c: float) -> SX:
        """Control u (nu,) as an expression of w (nw,) at time c [-]."""

    @abstractmethod
    def derivative(self, c: float | SX) -> SX:
        """Derivative du/dw (nu, nw) at time c [-]."""

    @abstractmethod
    def value(self, program: Program, w: Array, c: float) -> Array:
        """Adds the step that computes u (nu,) of w (nw,) to a program."""

    @abstractmethod
    def chain(self, program: Program, e: StageExpansion, c: float) -> StageExpansion:
        """Adds the steps that turn derivatives by (x, u) into derivatives by (x, w)."""


class ControlParametrizationPolyZero(ControlParametrizationAbstract):
    """Control that is constant over a time step: u(w, c) = w.

    Args:
        nu: Number of controls [-].
    """

    def __init__(self, nu: int) -> None:
        super().__init__(nu, nu)

    def bounds(self, bounds: Reals) -> Reals:
        return bounds

    def names(self, names: list[str]) -> list[str]:
        return names

    def units(self, units: list[str]) -> list[str]:
        return units

    def expression(self, w: SX, c: float) -> SX:
        return w

    def derivative(self, c: float | SX) -> SX:
        return SX.eye(self.nu)

    def value(self, program: Program, w: Array, c: float) -> Array:
        return w

    def chain(self, program: Program, e: StageExpansion, c: float) -> StageExpansion:
        return e
