"""The interface of action models: one knot of a shooting problem, dynamics and cost.

To write a black-box model, subclass `ActionModelAbstract` and write `calc` and `calc_diff` with numpy. You can also
write `calc` alone and wrap the model in `ActionModelNumDiff`. Models that are expressions derive from
`ActionModelExpression` and are compiled.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.black_box_errors import errors_of_black_box
from trajopt.actions.data import ActionData
from trajopt.actions.parts import ModelParts
from trajopt.actions.row_structure import free_of_control, on_one_control
from trajopt.checks import check_array, check_count, check_limits, check_texts
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.constraints.row_block import RowBlock
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.instant import Instant
from trajopt.model.base import Model
from trajopt.model.parameters import Parameter
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class ActionModelAbstract(Model):
    """Dynamics x⁺ = f(x, u) with cost l(x, u) of one knot; at the end of a horizon only the cost l(x) is used.

    Your own black box has `calc(data, x, u)`, which sets `data.xnext` and `data.cost` with NumPy, and `calc_diff`,
    or `ActionModelNumDiff` around it. All other methods have defaults. Expressions are `ActionModelDiscrete`.

    Args:
        state: The state's manifold.
        nu: Number of controls [-].
        lower: Lower limits of the controls (nu,), in their units; none by default. Plots and reports show them, and
            SolverBoxDDP and SolverBoxFDDP enforce them. SolverSQP enforces `constraints` only;
            `ConstraintStack.of_robot` builds them from the limits of a robot.
        upper: Upper limits of the controls (nu,), in their units; none by default.
        constraints: Constraints of the knot; none by default. The constraints of a black box depend on x and u only,
            because a black box does not report forces.
        control_names: Name of each control, for plots; u0, u1, ... by default.
        control_units: Unit of each control, for plots; "-" by default.

    Attributes:
        instantaneous: True if the knot takes no time, like an impulse. `time_step` is then 0.
        cost_time: Mean time of its costs, from 0 for the knot to 1 for the next one [-].

    Raises:
        InvalidArgumentError: An argument has the wrong type or size.
    """

    set_by_base = ("state", "nu")
    instantaneous = False
    cost_time = 0.0
    keeps_state = True  # a black box may change the attributes that its __init__ has set

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        constraints: ConstraintStack | None = None,
        control_names: list[str] | None = None,
        control_units: list[str] | None = None,
    ) -> None:
        if not isinstance(state, StateAbstract):
            raise InvalidArgumentError(f"state: expected StateVector(nx) or StateMultibody(robot), got {state!r}")
        self.state = state
        self.nu = check_count("nu", nu, most=10_000)
        self.lower, self.upper = check_limits(lower, upper, self.nu)
        self.control_names = check_names("control_names", control_names, self.nu)
        self.control_units = check_units("control_units", control_units, self.nu)
        self.constraints = ConstraintStack.of(constraints, type(self).__name__, state, self.stage_nu)
        if self.keeps_state:
            self.constraints.check_solution(self.instant())

    def may_be_set(self, name: str) -> bool:
        if self.keeps_state and name not in ("state", "nu", "constraints"):
            member = getattr(type(self), name, self)
            return name in self.__dict__ or (member is not self and not hasattr(member, "__get__"))
        return super().may_be_set(name)

    @property
    def model_parts(self) -> ModelParts:
        """Costs, contacts and motors of the model; empty for a black box."""
        return ModelParts()

    @property
    def stage_nu(self) -> int:
        """Number of controls at an instant [-]; it differs from `nu` if the control is parametrized."""
        return self.nu

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.state.parameters(), **self.constraints.parameters(self.stage_nu)}

    @property
    def dynamics_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that are not those of a cost term or a constraint: next states follow from them."""
        others = set(self.constraints.parameters(self.stage_nu))
        others |= {name for term in self.model_parts.terms for name in term.parameters(self.stage_nu)}
        return tuple(name for name in self.parameters() if name not in others)

    def instant(self) -> Instant:
        """Symbols of a running knot, of which expressions are built."""
        return Instant(self.state, self.nu)

    @property
    def row_blocks(self) -> tuple[RowBlock, ...]:
        """Constraint rows of a running knot: those at the knot, then those at stages of an integrator."""
        return self.end_blocks

    @property
    def end_blocks(self) -> tuple[RowBlock, ...]:
        """Constraint rows at the end of a horizon."""
        return self.constraints.blocks(self.stage_nu)

    @property
    def nc(self) -> int:
        """Number of constraint rows of a running knot [-]."""
        return sum(block.size for block in self.row_blocks)

    @property
    def row_names(self) -> list[str]:
        """Name of each constraint row, such as "tool[2]"."""
        return [name for block in self.row_blocks for name in block.row_names]

    @property
    def rows_free_of_control(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the constraint rows that do not depend on the control of their knot. Nothing is compiled."""
        free: npt.NDArray[np.bool_] = kept(self, "rows free of control", lambda: free_of_control(self))
        return free.copy()

    @property
    def rows_of_states(self) -> npt.NDArray[np.bool_]:
        """Mask (nc,) of the rows of constraints that read no control; the state at a stage may depend on it."""
        return self.rows_free_of_control

    @property
    def rows_on_one_control(self) -> npt.NDArray[np.int64]:
        """Index of the control (nc,) if a row is that control plus a constant, else -1. Nothing is compiled."""
        controls: npt.NDArray[np.int64] = kept(self, "rows on one control", lambda: on_one_control(self))
        return controls.copy()

    def row_derivative(self) -> SX:
        """Derivative of the rows by (x, u) and the other symbols of the instant; only its sparsity is used."""
        instant = self.instant()
        self.constraints.rows(instant)
        return self.constraints.derivative(instant)

    def create_data(self) -> ActionData:
        """Arrays for the results of one evaluation."""
        return ActionData(self.state.nx, self.state.ndx, self.nu)

    @abstractmethod
    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Writes the next state to `data.xnext` and the cost to `data.cost`.

        Write NaN or inf where the model has no value: a solver that tries such a point takes a shorter step. Values
        must be finite at the initial guess. An exception ends the solve, and so does a field that was not set.

        Args:
            data: Receives the results.
            x: State (nx,).
            u: Control (nu,); None at the end of the horizon, where only the cost is needed.
        """

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        """Writes the derivatives to `data`. Where u is None, Fx, Fu, Lu, Lxu and Luu are not needed.

        Args:
            data: Receives the results. `calc` was called on it with the same x and u.
            x: State (nx,).
            u: Control (nu,); None at the end of the horizon.
        """
        name = type(self).__name__
        raise UnsupportedOperationError(
            f"{name} has no derivatives: write calc_diff, or wrap the model in ActionModelNumDiff({name}(...))"
        )

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control (nu,) that best holds the system at rest in x; the velocities in x count as zero.

        The default is Gauss-Newton on f(x, u) ⊖ x over u, from zero. Models with a closed form use that instead. Costs
        play no role, so they may be undefined at u = 0.

        Args:
            x: State (nx,).
            parameters: Values of run-time parameters by name, for closed forms; by default their initial values.

        Raises:
            ModelEvaluationError: `calc` or `calc_diff` of a black box raised an exception.
        """
        u, data, still = np.zeros(self.nu), self.create_data(), self.state.at_rest(x)
        for _ in range(20):
            with self._told("calc"), np.errstate(all="ignore"):
                self.calc(data, still, u)
            if not np.all(np.isfinite(data.xnext)):
                break  # the solve that needs this control reports knot and model
            with self._told("calc_diff"), np.errstate(all="ignore"):
                self.calc_diff(data, still, u)
            if not np.all(np.isfinite(data.Fu)):
                break
            step = np.linalg.lstsq(data.Fu, self.state.difference(data.xnext, still), rcond=None)[0]
            u = u + step
            if not np.abs(step).max(initial=0.0) > 1e-9 * max(1.0, np.abs(u).max(initial=0.0)):
                break
        return u if np.all(np.isfinite(u)) else np.zeros(self.nu)

    def _told(self, method: str) -> AbstractContextManager[None]:
        """Context that names the method of a black box in its exceptions; expressions report their own."""
        return errors_of_black_box(self, method) if self.keeps_state else nullcontext()

    def time_step(self) -> float | None:
        """Initial value of the knot's duration [s], the parameter `dt`; without it 0 of an instant, or else None."""
        dt = self.parameters().get("dt")
        return float(dt.default) if dt is not None else 0.0 if self.instantaneous else None

    def cost_terms(self, x: Reals, u: Reals | None) -> dict[str, float]:
        """Value of each named cost term [cost]. A black box has one term, "cost", unless it overrides this method."""
        data = self.create_data()
        self.calc(data, x, u)
        return {"cost": float(data.cost)}

    def _checked(self, x: Any, u: Any) -> tuple[Reals, Reals | None]:
        x = self.state.check(x, "x")
        return x, None if u is None else check_array(
            "u", u, (self.nu,), cure=f"{type(self).__name__} has nu = {self.nu}"
        )


def check_methods(model: ActionModelAbstract) -> None:
    """Raises InvalidArgumentError unless `calc` and `calc_diff` can be called with (data, x, u)."""
    for name in ("calc", "calc_diff"):
        signature = inspect.signature(getattr(model, name))
        try:
            signature.bind(None, None, None)
        except TypeError as error:
            raise InvalidArgumentError(
                f"{type(model).__name__}.{name}: expected {name}(self, data, x, u=None), got parameters "
                f"({', '.join(signature.parameters)}); the method sets fields of data and returns nothing"
            ) from error


def check_names(argument: str, names: list[str] | None, size: int) -> list[str]:
    """Checks the names of `size` controls; None gives u0, u1, ...

    Raises:
        InvalidArgumentError: There are not `size` names.
    """
    return [f"u{i}" for i in range(size)] if names is None else _check_texts(argument, names, size, "names")


def check_units(argument: str, units: list[str] | None, size: int) -> list[str]:
    """Checks the units of `size` controls; None gives "-" for each.

    Raises:
        InvalidArgumentError: There are not `size` units.
    """
    return ["-"] * size if units is None else _check_texts(argument, units, size, "units")


def _check_texts(argument: str, values: list[str], size: int, what: str) -> list[str]:
    texts = list(check_texts(argument, values))
    if len(texts) != size:
        raise InvalidArgumentError(f"{argument}: expected {size} {what}, one for each control, got {texts}")
    return texts
