"""Plant from an action model, with parameters of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trajopt.actions.base import ActionModelAbstract
from trajopt.checks import check_finite
from trajopt.errors import unknown_name
from trajopt.model.parameters import Parameter
from trajopt.plants.base import PlantAbstract
from trajopt.plants.one_knot import OneKnot
from trajopt.types import Reals


@dataclass(frozen=True)
class Factor:
    """A factor on the value of a parameter, for `model_error` of `simulate`.

    Args:
        value: The factor [-].
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_finite("value", self.value))


class ModelPlant(PlantAbstract):
    """Plant from an action model: the controller's own, whose parameters follow its references, or another one.

    Args:
        model: Another model; None for the controller's own.
        values: Parameter values of the other model by name, None for its initial values; of the controller's own model
            those that stay, as what the controller estimates does not change the plant.
        error: Changed parameter values by name, each a value or a Factor.
        parameters: Existing parameters by name.
        fixed_step: Time step if it cannot be changed [s]; otherwise None.
    """

    def __init__(
        self,
        model: ActionModelAbstract | None,
        values: Mapping[str, Any] | None,
        error: Mapping[str, Any],
        parameters: Mapping[str, Parameter],
        fixed_step: float | None,
    ) -> None:
        self._error, self._knots = _checked_error(error, parameters), dict[int, OneKnot]()
        self._own, self.fixed_step = model is None, fixed_step
        kept = values if self._own and values else {}
        self._kept = {name: parameters[name].flat(value) for name, value in kept.items()}
        if model is not None:
            self._knot = self._knot_of(model)
            layout = self._knot.layout
            row = layout.column(values) if values is not None else self._knot.parameters.copy()
            self._knot.parameters[:] = row
            self._change(self._knot)

    same_contacts = True

    def follow(self, model: ActionModelAbstract, row: Reals) -> None:
        if self._own:
            self._knot = self._knot_of(model)
            self._knot.parameters[:] = row[: len(self._knot.parameters)]
            for name, value in self._kept.items():
                self._knot.parameters[self._knot.layout.slices[name]] = value
            self._change(self._knot)

    def _knot_of(self, model: ActionModelAbstract) -> OneKnot:
        if id(model) not in self._knots:
            self._knots[id(model)] = OneKnot(model)
        return self._knots[id(model)]

    def _change(self, knot: OneKnot) -> None:
        layout = knot.layout
        for name, error in self._error.items():
            if name in layout.slices:
                place = layout.slices[name]
                scaled = isinstance(error, Factor)
                knot.parameters[place] = error.value * knot.parameters[place] if scaled else error

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None = None) -> Reals:
        self._knot.set_time_step(dt)
        return self._knot.next_state(x, u[: self._knot.model.nu])

    def mobility(self, x: Reals) -> Reals | None:
        return self._knot.mobility(x)


def _checked_error(error: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Checked changes of parameters by name: a Factor, or a value in column order."""
    checked: dict[str, Any] = {}
    for name, value in error.items():
        if name not in parameters or name == "dt":
            raise unknown_name("model_error: parameter", name, [n for n in parameters if n != "dt"])
        checked[name] = (
            value if isinstance(value, Factor) else parameters[name].flat(parameters[name].check(name, value))
        )
    return checked
