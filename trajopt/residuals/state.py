"""Residual of the state: difference to a reference."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.checks import check_items, check_known, is_integer
from trajopt.errors import InvalidArgumentError, shown
from trajopt.instant import Instant
from trajopt.residuals.base import ResidualModelAbstract
from trajopt.states.base import StateAbstract, check_state
from trajopt.states.degrees import looks_like_degrees
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)


class ResidualModelState(ResidualModelAbstract):
    """State error r = x ⊖ x_ref, shape (ndx,) [units of the tangent space: rad, m, rad/s, m/s].

    Args:
        state: Manifold of the state.
        reference: Reference state x_ref (nx,); `state.zero()` by default. Run-time parameter `reference`. An angle that
            looks like degrees is logged as a warning.
        elements: Elements of r to keep, as indices 0..ndx-1 or names in `state.tangent_names` such as "v:elbow"; all
            by default.
    """

    def __init__(
        self,
        state: StateAbstract,
        reference: npt.ArrayLike | None = None,
        *,
        elements: Iterable[int | str] | None = None,
    ) -> None:
        self.elements = _numbers(check_state(state), elements)
        units = [state.tangent_units[i] for i in self.elements]
        super().__init__(state, len(self.elements), unit=", ".join(dict.fromkeys(units)))
        value: Any = state.zero() if reference is None else reference
        self.reference = self.parameter("reference", value, unit=self.unit, convert=self._checked)

    def _checked(self, argument: str, value: Any) -> npt.NDArray[np.float64]:
        reference = self.state.check(value, argument)
        words = looks_like_degrees(self.state, reference, self.elements) if argument else ""
        if words:  # without a name the value is only tried
            _LOG.warning("%s: %s", argument, words)
        return reference

    def evaluate(self, instant: Instant) -> SX:
        return self.state.sx_difference(self.reference, instant.x)[self.elements]

    def derivative(self, instant: Instant) -> tuple[SX, SX]:
        _, second = self.state.sx_jdifference(self.reference, instant.x)
        return second[self.elements, :], SX(len(self.elements), instant.nu)


def _numbers(state: StateAbstract, elements: Iterable[int | str] | None) -> list[int]:
    """Indices of elements of the tangent space; raises InvalidArgumentError if one is unknown or repeated."""
    if elements is None:
        return list(range(state.ndx))
    numbers = []
    for element in check_items("elements", elements, "indices or names of elements"):
        if isinstance(element, str):
            numbers.append(state.tangent_names.index(check_known("element", element, state.tangent_names)))
        elif is_integer(element) and 0 <= element < state.ndx:
            numbers.append(int(element))
        else:
            raise InvalidArgumentError(
                f"elements: expected indices from 0 to {state.ndx - 1}, or names such as {state.tangent_names[0]!r}, "
                f"got {shown(element)}"
            )
    if not numbers or len(set(numbers)) < len(numbers):
        raise InvalidArgumentError(
            f"elements: expected at least one element and none twice, got {shown(list(elements))}"
        )
    return numbers


def whole_states(references: Reals, xs: Reals) -> Reals:
    """Returns references (..., n) with the coordinates of states xs (..., nx) behind their n-th.

    The state of a model behind motors begins with the state that residuals of the model compare with a reference.
    """
    return np.concatenate([references, xs[..., references.shape[-1] :]], axis=-1)
