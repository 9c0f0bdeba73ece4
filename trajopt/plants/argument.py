"""The argument `plant` of closed loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trajopt.actions.base import ActionModelAbstract
from trajopt.checks import check_mapping
from trajopt.errors import InvalidArgumentError, shown
from trajopt.plants.base import PlantAbstract
from trajopt.plants.function import FunctionPlant
from trajopt.plants.model import ModelPlant
from trajopt.plants.mujoco import MuJoCoPlant
from trajopt.plants.simulator import SimulatorPlant
from trajopt.shooting import ShootingProblem
from trajopt.simulator import Simulator


def fixed_step(model: ActionModelAbstract, period: float) -> float | None:
    """Time step of a model without parameter dt, or the period if it has no time step [s]; None if dt can be set."""
    return None if "dt" in model.parameters() else model.time_step() or period


def plant_of(
    plant: Any, problem: ShootingProblem, model_error: Any, period: float, estimated: Iterable[str] = ()
) -> PlantAbstract:
    """Builds the plant from the argument of `simulate`, for a control period [s].

    The controller's own model keeps the present values of the parameters that the controller estimates.

    Raises:
        InvalidArgumentError: The argument is not a plant, or does not fit the controller's problem.
        UnknownNameError: The model has no parameter with a name in `model_error`.
    """
    error = {} if model_error is None else check_mapping("model_error", model_error, "write {'mass': 1.2}")
    model = plant.running[0] if isinstance(plant, ShootingProblem) and plant.T else plant
    _check_error(error, [model] if isinstance(model, ActionModelAbstract) else problem.running)
    if plant is None:
        parameters = {name: p for kind in problem.kinds[:-1] for name, p in kind.parameters.items()}
        kept = {name: problem.table.at(0)[name] for name in estimated}
        return ModelPlant(None, kept, error, parameters, fixed_step(problem.running[0], period))
    if isinstance(model, (ActionModelAbstract, Simulator, MuJoCoPlant)):
        _check_sizes(model, problem)
    if isinstance(model, ActionModelAbstract):
        values = dict(plant.table.at(0)) if isinstance(plant, ShootingProblem) else None
        return ModelPlant(model, values, error, model.parameters(), fixed_step(model, period))
    if not (isinstance(plant, (PlantAbstract, Simulator)) or callable(plant)):
        raise InvalidArgumentError(
            f"plant: expected None for the controller's model, an action model, a ShootingProblem, a Simulator, a "
            f"MuJoCoPlant or a function (x, u, dt) -> x_next, got {shown(plant)}"
        )
    if error:
        raise InvalidArgumentError(
            f"model_error: expected an action model as plant, got {type(plant).__name__}; change its own parameters"
        )
    if isinstance(plant, PlantAbstract):
        plant.begin()
        return plant
    if isinstance(plant, Simulator):
        return SimulatorPlant(plant, problem.running[0].model_parts.actuation, problem.nu)
    return FunctionPlant(plant, problem.state)


def _check_error(error: Iterable[str], models: Iterable[ActionModelAbstract]) -> None:
    """Refuses parameters of costs and constraints, which a plant does not have."""
    known = {name: None for each in dict.fromkeys(models) for name in each.parameters()}
    own = {name: None for each in dict.fromkeys(models) for name in each.dynamics_parameters}
    for name in error:
        if name in known and name not in own:
            raise InvalidArgumentError(
                f"model_error: expected parameters of the dynamics, got {name!r}, of a cost or a constraint, which a "
                f"plant does not have; known: {', '.join(n for n in own if n != 'dt') or 'none'}. For a plant with "
                "other limits of its controls, pass a function (x, u, dt) -> x_next that clips u"
            )


def _check_sizes(model: Any, problem: ShootingProblem) -> None:
    state, own = problem.state, model.state
    if (own.nx, own.ndx) != (state.nx, state.ndx):
        raise InvalidArgumentError(
            f"plant: expected a state with nx = {state.nx} and ndx = {state.ndx} like the controller's, got {own.nx} "
            f"and {own.ndx}; pass a function (x, u, dt) -> x_next that converts states"
        )
    if isinstance(model, (ActionModelAbstract, MuJoCoPlant)) and model.nu != problem.nu:
        raise InvalidArgumentError(
            f"plant: expected {problem.nu} controls like the controller's, got {model.nu}; pass a function "
            "(x, u, dt) -> x_next that converts controls"
        )
