"""Plants of closed loops: action models with their own parameters, simulators, functions."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.checks import check_finite, check_mapping
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, pass_on_signal, shown, unknown_name
from trajopt.model.parameters import Parameter
from trajopt.mpc.one_knot import OneKnot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import Simulator
from trajopt.simulator.action import default_actuation
from trajopt.states import StateAbstract
from trajopt.types import Reals

STEP = 1e-3
"""Default time step of simulators [s]."""


@dataclass(frozen=True)
class Factor:
    """A factor on the value of a parameter, for `model_error` of `simulate`.

    Args:
        value: The factor [-].
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_finite("value", self.value))


class PlantAbstract(ABC):
    """Interface of a controlled system: next state after holding a control for some time.

    Attributes:
        fixed_step: Time step if it cannot be changed [s]; otherwise None.
        usual_step: Default time step [s]; None for the control period.
        takes_torques: Whether `step` accepts generalized forces.
    """

    fixed_step: float | None = None
    usual_step: float | None = None
    takes_torques = False

    def follow(self, model: ActionModelAbstract, row: Reals) -> None:  # noqa: B027  # most plants need nothing
        """Sets the controller's model of the knot that begins, and the values of its parameters."""

    @abstractmethod
    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        """State (nx,) after a time dt [s] with control u (nu,), and generalized forces (nv,) or None."""


class ModelPlant(PlantAbstract):
    """Plant from an action model: the controller's own, whose parameters follow its references, or another one.

    Args:
        model: Another model; None for the controller's own.
        values: Parameter values of the other model by name; None for its initial values.
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
        if model is not None:
            self._knot = self._knot_of(model)
            layout = self._knot.layout
            row = layout.column(values) if values is not None else self._knot.parameters.copy()
            self._knot.parameters[:] = row
            self._change(self._knot)

    def follow(self, model: ActionModelAbstract, row: Reals) -> None:
        if self._own:
            self._knot = self._knot_of(model)
            self._knot.parameters[:] = row[: len(self._knot.parameters)]
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

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        self._knot.set_time_step(dt)
        return self._knot.next_state(x, u[: self._knot.model.nu])


class SimulatorPlant(PlantAbstract):
    """Plant from a simulator, which detects contacts itself.

    Args:
        simulator: The simulator.
        actuation: Motors that the controls drive; None for one motor at each joint except the base.
        nu: Number of controls of the controller.
    """

    usual_step = STEP
    takes_torques = True

    def __init__(self, simulator: Simulator, actuation: Any, nu: int) -> None:
        self._simulator = simulator
        motors = default_actuation(simulator.state) if actuation is None else actuation
        if motors.nu != nu:
            raise InvalidArgumentError(
                f"plant: expected a simulator with one motor for each of the controller's {nu} controls, got "
                f"{motors.nu} motors; pass a function (x, u, dt) -> x_next that computes torques from controls"
            )
        self._matrix = np.asarray(motors.matrix, dtype=np.float64)

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        tau = self._matrix @ u
        return self._simulator.step(dt, x, tau if torque is None else tau + torque)[0]


class FunctionPlant(PlantAbstract):
    """Plant from a function (x, u, dt) -> x_next.

    Args:
        function: The function.
        state: The controller's state.

    Raises:
        InvalidArgumentError: The function does not take three arguments.
    """

    def __init__(self, function: Callable[[Reals, Reals, float], Any], state: StateAbstract) -> None:
        self._function, self._state = function, state
        try:
            inspect.signature(function).bind(None, None, 0.0)
        except TypeError:
            raise InvalidArgumentError(
                f"plant: expected a function (x, u, dt) -> x_next, got one of {inspect.signature(function)}; it takes "
                "the state, the control and the time for which the control holds [s]"
            ) from None
        except ValueError:  # functions in C have no signature
            pass

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        try:
            xnext = self._function(x.copy(), u.copy(), dt)
        except Exception as error:
            pass_on_signal(error)
            raise ModelEvaluationError(f"plant: the function raised {type(error).__name__}: {error}") from error
        return self._state.check(xnext, "plant: next state")


def fixed_step(model: ActionModelAbstract, period: float) -> float | None:
    """Time step of a model without parameter dt, or the period if it has no time step [s]; None if dt can be set."""
    return None if "dt" in model.parameters() else model.time_step() or period


def plant_of(plant: Any, problem: ShootingProblem, model_error: Any, period: float) -> PlantAbstract:
    """Builds the plant from the argument of `simulate`, for a control period [s].

    Raises:
        InvalidArgumentError: The argument is not a plant, or does not fit the controller's problem.
        UnknownNameError: The model has no parameter with a name in `model_error`.
    """
    error = {} if model_error is None else check_mapping("model_error", model_error, "write {'mass': 1.2}")
    model = plant.running[0] if isinstance(plant, ShootingProblem) and plant.T else plant
    if plant is None:
        parameters = {name: p for kind in problem.kinds[:-1] for name, p in kind.parameters.items()}
        return ModelPlant(None, None, error, parameters, fixed_step(problem.running[0], period))
    if isinstance(model, (ActionModelAbstract, Simulator)):
        _check_sizes(model, problem)
    if isinstance(model, ActionModelAbstract):
        values = dict(plant.table.at(0)) if isinstance(plant, ShootingProblem) else None
        return ModelPlant(model, values, error, model.parameters(), fixed_step(model, period))
    if error:
        raise InvalidArgumentError(
            f"model_error: expected an action model as plant, got {type(plant).__name__}; change its own parameters"
        )
    if isinstance(plant, Simulator):
        return SimulatorPlant(plant, problem.running[0].model_parts.actuation, problem.nu)
    if callable(plant):
        return FunctionPlant(plant, problem.state)
    raise InvalidArgumentError(
        f"plant: expected None for the controller's model, an action model, a ShootingProblem, a Simulator or a "
        f"function (x, u, dt) -> x_next, got {shown(plant)}"
    )


def _check_sizes(model: Any, problem: ShootingProblem) -> None:
    state, own = problem.state, model.state
    if (own.nx, own.ndx) != (state.nx, state.ndx):
        raise InvalidArgumentError(
            f"plant: expected a state with nx = {state.nx} and ndx = {state.ndx} like the controller's, got {own.nx} "
            f"and {own.ndx}; pass a function (x, u, dt) -> x_next that converts states"
        )
    if isinstance(model, ActionModelAbstract) and model.nu != problem.nu:
        raise InvalidArgumentError(
            f"plant: expected {problem.nu} controls like the controller's, got {model.nu}; pass a function "
            "(x, u, dt) -> x_next that converts controls"
        )


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


def check_next(x: Any, state: StateAbstract) -> Reals:
    """Returns the next state of a plant; raises ModelEvaluationError if it is not finite."""
    checked = np.asarray(x, dtype=np.float64)
    if not np.all(np.isfinite(checked)):
        bad = state.coordinate_names[int(np.flatnonzero(~np.isfinite(checked))[0])]
        raise ModelEvaluationError(
            f"plant: expected a finite next state, got {checked[~np.isfinite(checked)][0]} for {bad}"
        )
    return checked
