"""Plants of closed loops: action models with parameters of their own, simulators, functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.checks import check_finite, check_mapping
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, shown, unknown_name
from trajopt.model.parameters import Parameter
from trajopt.mpc.one_knot import OneKnot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import Simulator
from trajopt.simulator.action import default_actuation
from trajopt.states import StateAbstract
from trajopt.types import Reals

STEP = 1e-3
"""Time step of simulators, unless another one is given [s]."""


@dataclass(frozen=True)
class Factor:
    """A factor by which the value of a parameter is multiplied, for `model_error` of `simulate`.

    Args:
        value: The factor [-].
    """

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_finite("value", self.value))


class PlantAbstract(ABC):
    """A system that is controlled: x⁺ after a control has been held for a time.

    Attributes:
        fixed_step: Its time step, where it has one that can't be changed [s]; else None.
        usual_step: Its time step, unless another one is given [s]; None for that of the control.
        takes_torques: Whether `step` takes generalized forces.
    """

    fixed_step: float | None = None
    usual_step: float | None = None
    takes_torques = False

    def follow(self, model: ActionModelAbstract, row: Reals) -> None:  # noqa: B027  # most plants need nothing
        """Takes the controller's model of the knot that begins, and values of its parameters."""

    @abstractmethod
    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        """The state (nx,) after a time dt [s] with control u (nu,), and generalized forces (nv,) or none."""


class ModelPlant(PlantAbstract):
    """Action models: the controller's own, whose parameters move along with its references, or another one.

    Args:
        model: Another one; None for the controller's own.
        values: Values of the parameters of the other one by name; its first values by default.
        error: Parameters with other values, or a Factor, by name.
        known: Parameters that there are by name.
        fixed_step: Time step, where it can't be changed [s]; None where it can.
    """

    def __init__(
        self,
        model: ActionModelAbstract | None,
        values: Mapping[str, Any] | None,
        error: Mapping[str, Any],
        known: Mapping[str, Parameter],
        fixed_step: float | None,
    ) -> None:
        self._error, self._knots = _checked_error(error, known), dict[int, OneKnot]()
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
    """A simulator, which finds its contacts itself.

    Args:
        simulator: The simulator.
        actuation: Motors that the controls drive; None for one at every joint that is no base.
        nu: Number of controls of the controller.
    """

    usual_step = STEP
    takes_torques = True

    def __init__(self, simulator: Simulator, actuation: Any, nu: int) -> None:
        self._simulator = simulator
        motors = default_actuation(simulator.state) if actuation is None else actuation
        if motors.nu != nu:
            raise InvalidArgumentError(
                f"plant: the simulator has {motors.nu} motors, and the controller {nu} controls, which are no torques "
                "of these; pass a function (x, u, dt) -> x_next that computes the torques"
            )
        self._matrix = np.asarray(motors.matrix, dtype=np.float64)

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        tau = self._matrix @ u
        return self._simulator.step(dt, x, tau if torque is None else tau + torque)[0]


class FunctionPlant(PlantAbstract):
    """A function (x, u, dt) -> x_next.

    Args:
        function: The function.
        state: The controller's state.
    """

    def __init__(self, function: Callable[[Reals, Reals, float], Any], state: StateAbstract) -> None:
        self._function, self._state = function, state

    def step(self, x: Reals, u: Reals, dt: float, torque: Reals | None) -> Reals:
        try:
            given = self._function(x.copy(), u.copy(), dt)
        except Exception as error:
            raise ModelEvaluationError(f"plant: the function raised {type(error).__name__}: {error}") from error
        return self._state.check(given, "plant: next state")


def fixed_step(model: ActionModelAbstract, period: float) -> float | None:
    """Time step of a model that can't be changed [s], the period where it does not tell; None where it can."""
    return None if "dt" in model.parameters() else model.time_step() or period


def plant_of(given: Any, problem: ShootingProblem, model_error: Any, period: float) -> PlantAbstract:
    """The plant that a user means, for control periods of this length [s].

    Raises:
        InvalidArgumentError: It is none, or does not fit the controller's problem.
        UnknownNameError: The model has no parameter of a name in `model_error`.
    """
    error = {} if model_error is None else check_mapping("model_error", model_error, "write {'mass': 1.2}")
    model = given.running[0] if isinstance(given, ShootingProblem) and given.T else given
    if given is None:
        known = {name: p for kind in problem.kinds[:-1] for name, p in kind.parameters.items()}
        return ModelPlant(None, None, error, known, fixed_step(problem.running[0], period))
    if isinstance(model, (ActionModelAbstract, Simulator)):
        _check_sizes(model, problem)
    if isinstance(model, ActionModelAbstract):
        values = dict(given.table.at(0)) if isinstance(given, ShootingProblem) else None
        return ModelPlant(model, values, error, model.parameters(), fixed_step(model, period))
    if error:
        raise InvalidArgumentError(
            f"model_error: expected a plant that is a model, got {type(given).__name__}; set its parameters there"
        )
    if isinstance(given, Simulator):
        return SimulatorPlant(given, problem.running[0].model_parts.actuation, problem.nu)
    if callable(given):
        return FunctionPlant(given, problem.state)
    raise InvalidArgumentError(
        f"plant: expected None for the controller's model, an action model, a ShootingProblem, a Simulator, or a "
        f"function (x, u, dt) -> x_next, got {shown(given)}"
    )


def _check_sizes(model: Any, problem: ShootingProblem) -> None:
    state, own = problem.state, model.state
    if (own.nx, own.ndx) != (state.nx, state.ndx):
        raise InvalidArgumentError(
            f"plant: expected a state with nx = {state.nx} and ndx = {state.ndx} as the controller has, got {own.nx} "
            f"and {own.ndx}; pass a function that converts"
        )
    if isinstance(model, ActionModelAbstract) and model.nu != problem.nu:
        raise InvalidArgumentError(
            f"plant: expected {problem.nu} controls as the controller has, got {model.nu}; pass a function that "
            "converts"
        )


def _checked_error(error: Mapping[str, Any], known: Mapping[str, Parameter]) -> dict[str, Any]:
    """Factors, and values as the columns have them."""
    found: dict[str, Any] = {}
    for name, value in error.items():
        if name not in known or name == "dt":
            raise unknown_name("model_error: parameter", name, [n for n in known if n != "dt"])
        found[name] = value if isinstance(value, Factor) else known[name].flat(known[name].check(name, value))
    return found


def check_next(x: Any, state: StateAbstract) -> Reals:
    """The next state of a plant; raises ModelEvaluationError unless it is finite."""
    checked = np.asarray(x, dtype=np.float64)
    if not np.all(np.isfinite(checked)):
        bad = state.coordinate_names[int(np.flatnonzero(~np.isfinite(checked))[0])]
        raise ModelEvaluationError(
            f"plant: expected a finite next state, got {checked[~np.isfinite(checked)][0]} for {bad}"
        )
    return checked
