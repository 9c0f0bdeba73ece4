"""Base of integrators: continuous-time model, time step and terminal cost."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from casadi import SX

from trajopt.actions.control import ControlParametrizationPolyZero
from trajopt.actions.costed import ActionModelCostedAbstract
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Point, Stage
from trajopt.actions.parts import ModelParts
from trajopt.checks import check_non_negative, check_positive
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter
from trajopt.model.parts import ParameterArray, named_call
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

_LONG = 1.0  # a longer time step of a robot is probably a mistake in the unit [s]
_LOG = logging.getLogger(__name__)


def _time_step(argument: str, value: Any) -> Reals:
    return np.array(check_positive(argument, value, unit="s"))


def _time_step_of_robot(argument: str, value: Any) -> Reals:
    step = _time_step(argument, value)
    if step > _LONG:
        _LOG.warning("%s: %g s is long for a time step of a robot; the unit is seconds, so try 0.01", argument, step)
    return step


class IntegratedActionModelAbstract(ActionModelCostedAbstract):
    """Continuous-time model over one time step; its cost per second is multiplied by dt.

    As the terminal model of a problem it gives the cost without control and without the factor dt.

    Args:
        differential: The continuous-time model.
        dt: Time step, > 0 [s]; 0 is allowed if the model is used as a terminal model only. Run-time parameter `dt`.
    """

    def __init__(self, differential: DifferentialActionModelAbstract, dt: float = 1e-3) -> None:
        if not isinstance(differential, DifferentialActionModelAbstract):
            raise InvalidArgumentError(f"differential: expected a differential action model, got {differential!r}")
        d = differential
        d.check_expression()
        self.differential = d
        c = self.control = ControlParametrizationPolyZero(d.nu)
        bounds = {"lower": c.bounds(d.lower), "upper": c.bounds(d.upper)}
        names, units = c.names(d.control_names), c.units(d.control_units)
        super().__init__(d.state, c.nw, constraints=d.constraints, **bounds, control_names=names, control_units=units)
        if "dt" in d.parameters():
            raise DuplicateNameError(
                f"differential: {type(d).__name__} has a parameter 'dt', which is the time step's name; rename the "
                "parameter"
            )
        step = check_non_negative("dt", dt, unit="s")
        convert = _time_step_of_robot if isinstance(d.state, StateMultibody) else _time_step
        self.dt = self.parameter("dt", step, unit="s", convert=convert if step > 0 else None)

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.differential.parameters()}

    @property
    def model_parts(self) -> ModelParts:
        d = self.differential
        return ModelParts(differential=d, costs=d.costs, contacts=d.contacts, actuation=d.actuation)

    @property
    def stage_nu(self) -> int:
        return self.differential.stage_nu

    def row_derivative(self) -> SX:
        return self.differential.row_derivative()

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.differential.exact_hessian

    @property
    def end_costs(self) -> CostStack:
        return self.differential.costs

    def _running_expressions(self) -> tuple[Instant, dict[str, SX]]:
        i = self.instant()
        return i, {**self._values_beside_the_step(i), "xnext": self._step_expression(i)}

    def _values_beside_the_step(self, i: Instant) -> dict[str, SX]:
        """Expressions "cost" and, if there are constraints, "rows" of a running knot."""
        values = {"cost": sum(self.term_expressions(i, terminal=False).values(), SX(0))}
        return values | ({"rows": self.differential.row_values(i)} if self.constraints.constraints else {})

    @abstractmethod
    def _step_expression(self, instant: Instant) -> SX:
        """Next state (nx,) as an expression of (x, u)."""

    def _stage(
        self, program: Program, point: Point, x: Array, u: Array, c: float, factor: float, *, at_knot: bool = True
    ) -> Stage:
        """Stage at state x and time c, from 0 to 1, of the step; its cost is multiplied by factor · dt."""
        inputs = [(self.layout, point.parameters)]
        return Stage(
            x=x,
            u=self.control.value(program, u, c),
            parameters=ParameterArray(point.parameters, self.layout),
            weight=named_call(program, "weight", inputs, {"weight": factor * self.dt})["weight"],
            at_knot=at_knot,
        )

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            return self.differential.costs.values(instant)
        return {name: self.dt * value for name, value in self.differential.term_values(instant).items()}

    def instant(self) -> Instant:
        return self.differential.instant()

    def forces(self, instant: Instant) -> dict[str, SX]:
        return self.differential.forces(instant)

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.differential.torques(instant)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        closed = self.differential.quasi_static(x, parameters)
        if closed is not None:
            return closed
        still = np.array(x, dtype=np.float64)
        if self.differential.second_order:
            still[self.state.nx - self.state.ndx // 2 :] = 0.0
        return super().quasi_static(still)
