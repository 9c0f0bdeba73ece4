"""Control parametrizations: the control within a time step, a polynomial through its values at nodes of the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.expansion import StageExpansion
from trajopt.actions.integrated.tableau import Tableau
from trajopt.checks import check_array, check_count, check_finite, check_instance, check_shape
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import computed, named_call, symbol_of
from trajopt.objects.immutable import Immutable
from trajopt.types import Reals

_PLACES = {0.0: "0", 0.5: "dt/2", 1.0: "dt"}


class ControlParametrizationAbstract(Immutable):
    """Control u(w, c) = Σ L_k(c) w_k at time c, from 0 to 1, of a time step; the w_k are its values at nodes c_k.

    L_k are the Lagrange polynomials of the nodes. The control of a knot is w = (w_0, w_1, ...), so that limits of u are
    limits of each w_k, and hold at the nodes. The first node is the start of the step, where constraint rows of the
    model hold; with `rows="stages"` they hold at the stages of the integrator as well.

    Args:
        nu: Number of controls of the continuous-time model [-].
        nodes: Times c_k, ascending from 0 [-].

    Attributes:
        nu: Number of controls of the continuous-time model [-].
        nw: Number of parameters w [-].
        nodes: Times c_k [-].
    """

    def __init__(self, nu: int, nodes: Sequence[float]) -> None:
        self.nu = check_count("nu", nu, least=0)
        self.nodes = tuple(nodes)
        self.nw = self.nu * len(self.nodes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nu}: values at {', '.join(map(place_words, self.nodes))})"

    def at(self, w: npt.ArrayLike, c: float) -> Reals:
        """Control u (nu,) at time c of the step, from its parameters w (nw,).

        Args:
            w: Parameters (nw,), such as `solution.us[t]` [unit of the controls].
            c: Time as a fraction of the step, 0 to 1 [-].
        """
        values = check_array("w", w, (self.nw,), cure=f"{self!r} has nw = {self.nw}")
        return np.asarray(self._weights(check_finite("c", c)), dtype=np.float64) @ values.reshape(
            len(self.nodes), self.nu
        )

    def constant(self, u: npt.ArrayLike) -> Reals:
        """Parameters (nw,) of the control that is u (nu,) during the whole step, or of bounds on u."""
        return np.tile(check_shape("u", u, (self.nu,)), len(self.nodes))

    def within(self, w: Reals, begin: float, part: float) -> Reals:
        """Parameters (..., nw) of the same control in a part of the step.

        Args:
            w: Parameters (..., nw) of the whole step [unit of the controls].
            begin: Where the part begins, 0 to 1 of the step [-].
            part: Its length, 0 to 1 of the step [-].
        """
        weights = np.array([self._weights(begin + part * c) for c in self.nodes], dtype=np.float64)
        return np.asarray(weights @ w.reshape(*w.shape[:-1], len(self.nodes), self.nu)).reshape(w.shape)

    @property
    def is_constant(self) -> bool:
        """Whether the control is constant during a step."""
        return len(self.nodes) == 1

    def expression(self, w: SX, c: float) -> SX:
        """Control u (nu,) as an expression of w (nw,) at time c [-]."""
        return w if self.is_constant else self.derivative(c) @ w

    def derivative(self, c: float | SX) -> SX:
        """Derivative du/dw (nu, nw) at time c [-]."""
        return ca.horzcat(*(a * SX.eye(self.nu) for a in self._weights(c)))

    def value(self, program: Program, w: Array, c: float) -> Array:
        """Adds the step that computes u (nu,) of w (nw,) to a program."""
        return w if self.is_constant else computed(program, "control", lambda each: self.expression(each, c), w)

    def chain(self, program: Program, e: StageExpansion) -> StageExpansion:
        """Turns derivatives by (x, u) at the start of a step, where u is w_0, into derivatives by (x, w)."""
        if self.is_constant:
            return e
        more = self.nw - self.nu
        arrays = {"Df": e.Df, "g": e.g, "H": e.H} | ({} if e.C is None else {"C": e.C})
        symbols = {name: symbol_of(program, array) for name, array in arrays.items()}
        wide = {name: ca.horzcat(D, SX(D.shape[0], more)) for name, D in symbols.items() if name in ("Df", "C")}
        wide |= {"g": ca.vertcat(symbols["g"], SX(more, 1)), "H": ca.diagcat(symbols["H"], SX(more, more))}
        inputs = [(symbols[name], arrays[name]) for name in arrays]
        return replace(e, **named_call(program, "derivatives by the control's parameters", inputs, wide))

    def _weights(self, c: float | SX) -> list[float | SX]:
        """L_k(c) of each node."""
        return [math.prod((c - b) / (a - b) for b in self.nodes if b != a) for a in self.nodes]


def parameter_names(control: ControlParametrizationAbstract, names: list[str]) -> list[str]:
    """Name of each parameter, given the names of the controls, such as "torque at dt/2"."""
    if control.is_constant:
        return names
    return [f"{name} at {place_words(c)}" for c in control.nodes for name in names]


def place_words(c: float) -> str:
    """Time c of a step in words, such as "dt/2"."""
    return _PLACES.get(c, f"{c:.3g} dt")


class ControlParametrizationPolyZero(ControlParametrizationAbstract):
    """Control that is constant during a time step: u = w.

    Args:
        nu: Number of controls [-].
    """

    def __init__(self, nu: int) -> None:
        super().__init__(nu, (0.0,))


class ControlParametrizationPolyOne(ControlParametrizationAbstract):
    """Control that changes linearly during a time step: u = (1 - c) w_0 + c w_1.

    Limits of u hold during the whole step. The second parameter is the control at the end of the step; Crocoddyl's is
    that in the middle, (w_0 + w_1) / 2.

    Args:
        nu: Number of controls [-].
    """

    def __init__(self, nu: int) -> None:
        super().__init__(nu, (0.0, 1.0))


class ControlParametrizationPolyTwoRK(ControlParametrizationAbstract):
    """Control that is a parabola during a time step, through its values at the stages of a Runge-Kutta method.

    Limits of u hold at the stages: the method sees no other time. The parameters are those of Crocoddyl's class.

    Args:
        nu: Number of controls [-].
        tableau: Runge-Kutta method with stages at three times, such as `Tableau.CLASSICAL` at 0, dt/2 and dt.

    Raises:
        InvalidArgumentError: The stages of the method are not at three times.
    """

    def __init__(self, nu: int, tableau: Tableau = Tableau.CLASSICAL) -> None:
        nodes = sorted(set(check_instance("tableau", tableau, Tableau, "such as trajopt.Tableau.CLASSICAL").c))
        if len(nodes) != 3:
            raise InvalidArgumentError(
                f"tableau: expected stages at three times, got {', '.join(f'{c:g}' for c in nodes)}; use "
                "Tableau.CLASSICAL or Tableau.KUTTA, or ControlParametrizationPolyOne"
            )
        super().__init__(nu, nodes)
