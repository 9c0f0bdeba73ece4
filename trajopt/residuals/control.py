"""Residual of the control: difference to a reference."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_array, check_vector, shape_of
from trajopt.errors import InvalidArgumentError, shown
from trajopt.instant import Instant
from trajopt.model.parameters import Parameter
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class ResidualModelControl(ResidualModelAbstract):
    """Control error r = u - u_ref, shape (nu,) [unit of the control: N m, N for a robot's joints].

    In inverse dynamics u is the motor torques as well, although the solver's controls are accelerations; those are
    ResidualModelJointAcceleration.

    Args:
        state: Manifold of the state.
        reference: Reference control u_ref (nu,); zero by default, for any nu. Run-time parameter `reference`.
    """

    uses_control = True

    def __init__(self, state: StateAbstract, reference: npt.ArrayLike | None = None) -> None:
        super().__init__(state, None, unit="N m, N")
        self._reference = None if reference is None else _vector(reference)

    @functools.cached_property
    def _by_size(self) -> dict[int, Parameter]:
        """Parameter for each number of controls."""
        return {}

    def parameters_for(self, nu: int) -> dict[str, Parameter]:
        if nu not in self._by_size:
            default = np.zeros(nu) if self._reference is None else _checked(self._reference, nu)
            self._by_size[nu] = Parameter("reference", SX.sym("reference", nu), default, self.unit)
        return {"reference": self._by_size[nu]}

    def evaluate(self, instant: Instant) -> SX:
        if instant.nu == 0:
            raise InvalidArgumentError(
                "ResidualModelControl: expected a knot with controls, got one without; use residuals of x in a "
                "terminal cost"
            )
        return instant.u - self.parameters_for(instant.nu)["reference"].symbol

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        return SX(instant.nu, self.state.ndx), SX.eye(instant.nu)


def _vector(value: npt.ArrayLike) -> Reals:
    if shape_of(value) == ():
        raise InvalidArgumentError(
            f"reference: expected a vector (nu,) with one number for each control, got {shown(value)}; omit it for zero"
        )
    return check_vector("reference", value)


def _checked(reference: Reals, nu: int) -> Reals:
    return check_array("reference", reference, (nu,), cure=f"pass one number for each of the model's {nu} controls")
