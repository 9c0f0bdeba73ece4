"""Control parametrizations: from the control of a knot to that of each instant of its time step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from casadi import SX

from trajopt.actions.expansion import StageExpansion
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.types import Reals


class ControlParametrizationAbstract(ABC):
    """u(w, c): the control at time c of a time step, from 0 to 1, by the parameters w that are the knot's control.

    Args:
        nw: Number of parameters [-].
        nu: Number of controls of the continuous-time model [-].
    """

    def __init__(self, nw: int, nu: int) -> None:
        self.nw, self.nu = nw, nu

    @abstractmethod
    def bounds(self, bounds: Reals) -> Reals:
        """Bounds of w (nw,) that keep u within its bounds (nu,)."""

    @abstractmethod
    def names(self, names: list[str]) -> list[str]:
        """Name of each parameter, from those of the controls."""

    @abstractmethod
    def units(self, units: list[str]) -> list[str]:
        """Unit of each parameter, from those of the controls."""

    @abstractmethod
    def expression(self, w: SX, c: float) -> SX:
        """u (nu,), of w (nw,)."""

    @abstractmethod
    def derivative(self, c: float | SX) -> SX:
        """du/dw (nu, nw)."""

    @abstractmethod
    def value(self, program: Program, w: Array, c: float) -> Array:
        """Adds the step that gives u (nu,)."""

    @abstractmethod
    def chain(self, program: Program, e: StageExpansion, c: float) -> StageExpansion:
        """Adds the steps that make derivatives by (x, w) of those by (x, u)."""


class ControlParametrizationPolyZero(ControlParametrizationAbstract):
    """u(w, c) = w: a control that is constant over a time step.

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
