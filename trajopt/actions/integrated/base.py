"""Base of integrators: continuous-time model, time step and terminal cost."""

from __future__ import annotations

import functools
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.costed import ActionModelCostedAbstract
from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Point, Stage
from trajopt.actions.integrated.control import (
    ControlParametrizationAbstract,
    ControlParametrizationPolyZero,
    parameter_names,
)
from trajopt.actions.integrated.stage_rows import ROWS, StageRows, rows_of_stages
from trajopt.actions.parts import ModelParts
from trajopt.checks import check_instance, check_known, check_number, check_positive, check_shape
from trajopt.constraints.row_block import RowBlock
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter
from trajopt.model.parts import ParameterArray, named_call
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals

LONG = 1.0
"""Time step from which its unit is in doubt for a robot [s]."""
_LOG = logging.getLogger(__name__)


def _time_step(argument: str, value: Any) -> Reals:
    return np.array(check_positive(argument, value, unit="s"))


def _time_step_of_robot(argument: str, value: Any) -> Reals:
    step = _time_step(argument, value)
    if step > LONG and argument:  # without a name the value is only tried
        _LOG.warning("%s: %g s is long for a time step of a robot; the unit is seconds, so try 0.01", argument, step)
    return step


def _of_size(control: Any, d: DifferentialActionModelAbstract) -> ControlParametrizationAbstract:
    such_as = f"such as trajopt.ControlParametrizationPolyOne({d.nu})"
    found = check_instance("control", control, ControlParametrizationAbstract, such_as)
    if found.nu != d.nu:
        raise InvalidArgumentError(f"control: {type(d).__name__} has nu = {d.nu}, got {found!r}; use {such_as[8:]}")
    if d.stage_nu != d.nu and not found.is_constant:
        raise InvalidArgumentError(
            f"control: {type(d).__name__} keeps its equations at the start of a step alone; use a constant control"
        )
    return found


class IntegratedActionModelAbstract(ActionModelCostedAbstract):
    """Continuous-time model over one time step; its cost per second is multiplied by dt.

    As the terminal model of a problem it gives the cost without control and without the factor dt.

    Args:
        differential: The continuous-time model.
        dt: Time step, > 0 [s]; 0 is allowed if the model is used as a terminal model only. Run-time parameter `dt`.
        control: The control within the step; constant by default.
        rows: Where constraint rows hold, "knot" or "stages".

    Raises:
        InvalidArgumentError: `control` is for another number of controls, or the model has inverse dynamics, whose
            equations cannot hold at stages.
    """

    def __init__(
        self,
        differential: DifferentialActionModelAbstract,
        dt: float = 1e-3,
        *,
        control: ControlParametrizationAbstract | None = None,
        rows: str = "knot",
    ) -> None:
        if not isinstance(differential, DifferentialActionModelAbstract):
            raise InvalidArgumentError(f"differential: expected a differential action model, got {differential!r}")
        d = differential
        d.check_expression()
        self.differential = d
        c = self.control = ControlParametrizationPolyZero(d.nu) if control is None else _of_size(control, d)
        self.rows = check_known("rows", rows, ROWS)
        if rows == "stages" and d.stage_nu != d.nu:
            raise InvalidArgumentError(
                f"rows: {type(d).__name__} keeps its equations at the start of a step alone; use rows='knot'"
            )
        bounds = {"lower": c.constant(d.lower), "upper": c.constant(d.upper)}
        names, units = parameter_names(c, d.control_names), d.control_units * len(c.nodes)
        super().__init__(d.state, c.nw, constraints=d.constraints, **bounds, control_names=names, control_units=units)
        if "dt" in d.parameters():
            raise DuplicateNameError(
                f"differential: {type(d).__name__} has a parameter 'dt', which is the time step's name; rename the "
                "parameter"
            )
        step = 0.0 if check_number("dt", dt) == 0.0 else check_positive("dt", dt, unit="s")
        convert = _time_step_of_robot if isinstance(d.state, StateMultibody) else _time_step
        self.dt = self.parameter("dt", step, unit="s", convert=convert if step > 0 else None)

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.differential.parameters()}

    @property
    def model_parts(self) -> ModelParts:
        d = self.differential
        return ModelParts(
            differential=d, costs=d.costs, contacts=d.contacts, supports=d.supports, actuation=d.actuation
        )

    @property
    def stage_nu(self) -> int:
        return self.differential.stage_nu

    @property
    def stage_times(self) -> tuple[float, ...]:
        """Time of each stage, from 0 to 1 of the step; the first is the knot."""
        return (0.0,)

    @property
    def stage_count(self) -> int:
        return len(self.stage_times)

    @functools.cached_property
    def rows_of_stages(self) -> dict[int, StageRows]:
        """Constraint rows of each stage by its number; those of the knot come first."""
        times = self.stage_times if self.rows == "stages" else self.stage_times[:1]
        return rows_of_stages(self.differential, self.control, times)

    def _chosen_rows(self, program: Program, stage: int, values: Array | None) -> Array | None:
        """Adds the call that selects the rows of a stage from those of the continuous-time model, if it has rows."""
        return None if values is None else self.rows_of_stages[stage].added(program, values)

    @property
    def row_blocks(self) -> tuple[RowBlock, ...]:
        return tuple(block for stage in self.rows_of_stages.values() for block in stage.blocks)

    @property
    def rows_of_states(self) -> npt.NDArray[np.bool_]:
        own = self.rows_free_of_control[: sum(block.size for block in self.end_blocks)]
        stages = self.rows_of_stages.values()
        return np.concatenate([own[list(stage.rows)] for stage in stages]) if stages else own

    def row_derivative(self) -> SX:
        own, n, m = self.differential.row_derivative(), self.state.ndx, self.differential.nu
        knot, solved = own[:, : n + m], own[:, n + m :]
        parts = [ca.horzcat(knot, SX(own.shape[0], self.nu - m), solved)]
        later = [(number, stage) for number, stage in self.rows_of_stages.items() if number]
        Zs = self._stage_structure() if later else {}
        for number, stage in later:
            both = stage.of(solved)
            through = SX.sym("C", both.shape[1], n + self.nu)  # solved quantities depend on x and u
            parts.append(ca.horzcat(ca.sparsify(stage.of(knot) @ Zs[number] + both @ through), SX(*both.shape)))
        return SX(ca.vertcat(*parts))

    def _stage_structure(self) -> dict[int, SX]:
        """Derivative Z of the (y, u) of each later stage by (x, u); only its sparsity, and ones in it, are used."""
        return {}

    @property
    def has_lagrangian_hessian(self) -> bool:
        return self.differential.exact_hessian

    @property
    def hessian_on_request(self) -> bool:
        return self.differential.has_long_hessian(self.stage_count)

    @property
    def end_costs(self) -> CostStack:
        return self.differential.costs

    def _running_expressions(self) -> tuple[Instant, dict[str, SX]]:
        i = self.instant()
        return i, {**self._values_beside_the_step(i), "xnext": self._step_expression(i)}

    def _values_beside_the_step(self, i: Instant) -> dict[str, SX]:
        """Expressions "cost" and, if there are constraints, "rows" of a running knot."""
        values = {"cost": sum(self.term_expressions(i, terminal=False).values(), SX(0))}
        rows = self.differential.row_values
        return values | (self._at_start(i, lambda own: {"rows": rows(own)}) if self.constraints.constraints else {})

    @abstractmethod
    def _step_expression(self, instant: Instant) -> SX:
        """Next state (nx,) as an expression of (x, u)."""

    def _stage(
        self, program: Program, point: Point, x: Array, u: Array, c: float, factor: float, *, has_rows: bool = True
    ) -> Stage:
        """Stage at state x and time c, from 0 to 1, of the step; its cost is multiplied by factor · dt."""
        inputs = [(self.layout, point.parameters)]
        return Stage(
            x=x,
            u=self.control.value(program, u, c),
            parameters=ParameterArray(point.parameters, self.layout),
            weight=named_call(program, "weight", inputs, {"weight": factor * self.dt})["weight"],
            has_rows=has_rows,
        )

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        if terminal:
            return self.differential.costs.values(instant)
        return {name: self.dt * value for name, value in self.differential.term_values(instant).items()}

    def instant(self) -> Instant:
        return self.differential.instant() if self.control.is_constant else super().instant()

    def forces(self, instant: Instant) -> dict[str, SX]:
        return self._at_start(instant, self.differential.forces)

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self._at_start(instant, self.differential.torques)

    def _at_start(self, instant: Instant, read: Callable[[Instant], dict[str, SX]]) -> dict[str, SX]:
        """Expressions of the continuous-time model at the start of the step."""
        if self.control.is_constant:
            return read(instant)
        own = self.differential.instant()
        named, u = read(own), self.control.expression(instant.u, 0.0)
        return {name: SX(ca.substitute(value, own.u, u)) for name, value in named.items()}  # instants share x

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        closed = self.differential.quasi_static(x, parameters)
        if closed is not None:
            return self.control.constant(closed)
        still = check_shape("x", x, (self.state.nx,))
        if self.differential.second_order:
            still[self.state.nx - self.state.ndx // 2 :] = 0.0
        return super().quasi_static(still)
