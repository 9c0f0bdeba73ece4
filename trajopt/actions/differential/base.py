"""The interface of continuous-time action models: dynamics and costs, before an integrator discretises them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.base import check_names, check_units
from trajopt.actions.data import ActionData
from trajopt.actions.expansion import Implicit, Stage, StageExpansion, StageValues
from trajopt.actions.terms import Terms, name_of
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.checks import check_array, check_count, check_limits
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.implicit_node import ImplicitNode
from trajopt.contacts.stack import ContactStack
from trajopt.contacts.supports import SupportStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.base import Model
from trajopt.model.content import Without
from trajopt.model.parameters import Parameter
from trajopt.model.parts import ParameterArray, Part, kept_part
from trajopt.model.programs import kept, outputs_at
from trajopt.states.base import StateAbstract, check_state
from trajopt.types import Reals


class DifferentialActionModelAbstract(Model):
    """Continuous-time dynamics with a cost per second; an integrator turns it into an action model.

    A second-order system has a state (q, v); its dynamics are the acceleration dv/dt, shape (ndx / 2,). The dynamics
    of a first-order system are the rate dx/dt in the tangent space, shape (ndx,).

    Args:
        state: The state's manifold.
        nu: Number of controls [-].
        costs: Running costs [cost/s]. The model freezes them.
        constraints: Constraints of each knot; none by default. The model freezes them.
        lower: Lower limits of the controls (nu,), in their units; none by default. Plots show them, and SolverBoxDDP
            and SolverBoxFDDP enforce them. For other solvers, such as SolverSQP, add a constraint on
            ResidualModelControl.
        upper: Upper limits of the controls (nu,), in their units; none by default.
        control_names: Name of each control, for plots.
        control_units: Unit of each control, for plots; "-" by default.
    """

    set_by_base = ("state", "nu", "costs", "constraints")
    second_order = True
    actuation: ActuationModelAbstract | None = None
    contacts: ContactStack | None = None
    supports: SupportStack | None = None
    exact_hessian = False
    """Whether second derivatives of the dynamics are short enough to be one expression."""
    node_hessian = False
    """Whether `implicit_node` provides the second derivatives of an Euler step."""
    implicit_hessian = False
    """Whether `implicit` provides the dynamics, and with them the second derivatives of an Euler step."""

    def has_long_hessian(self, stages: int) -> bool:
        """Whether the second derivatives of a step with this many stages take long to compile."""
        return self.node_hessian

    def __init__(
        self,
        state: StateAbstract,
        nu: int,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        control_names: list[str] | None = None,
        control_units: list[str] | None = None,
    ) -> None:
        check_state(state)
        if not isinstance(costs, CostStack):
            raise InvalidArgumentError(f"costs: expected a CostStack, got {costs!r}")
        if costs.state != state:
            raise InvalidArgumentError(
                f"costs: expected costs of {state!r}, got costs of {costs.state!r}; use one state for costs and model"
            )
        self.state = state
        self.nu = check_count("nu", nu, most=10_000)
        costs.freeze(type(self).__name__, self.stage_nu)
        costs.check_solution(self.seen(self.instant()))
        self.costs = costs
        self.constraints = ConstraintStack.of(constraints, type(self).__name__, state, self.stage_nu, costs)
        self.constraints.check_solution(self.seen(self.instant()))
        self.lower, self.upper = check_limits(lower, upper, self.nu)
        self.control_names = check_names("control_names", control_names, self.nu)
        self.control_units = check_units("control_units", control_units, self.nu)

    @property
    def size(self) -> int:
        """Size of `dynamics` [-]."""
        return self.state.ndx // 2 if self.second_order else self.state.ndx

    def implicit_node(self, instant: Instant) -> ImplicitNode | None:
        """Contact equations that provide the mobility and the second derivatives of an Euler step, or None."""
        return None

    def implicit(self, instant: Instant) -> Implicit | None:
        """Dynamics as the solution a of r(x, u, a) = 0, if its second derivatives are shorter; else None."""
        return None

    @property
    def stage_nu(self) -> int:
        """Number of controls that costs and constraints read [-]: `nu`, or that of torques with inverse dynamics."""
        return self.nu

    def seen(self, instant: Instant) -> Instant:
        """Instant at which costs and constraints are evaluated; with inverse dynamics its control is the torques."""
        return instant

    @abstractmethod
    def dynamics(self, instant: Instant) -> SX:
        """Acceleration (ndx / 2,) of a second-order system, rate of the state (ndx,) of a first-order one."""

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        """Derivatives of `dynamics` by the tangent of x (n, ndx) and by u (n, nu)."""
        return instant.derivative(self.dynamics(instant))

    def check_expression(self) -> None:
        """Raises InvalidArgumentError if the expression of the dynamics can't be built; called by integrators."""

    def instant(self, *, derivatives: bool = False) -> Instant:
        """Symbols of an instant, at which this model is evaluated."""
        return Instant(self.state, self.nu, derivatives=derivatives)

    def term_values(self, instant: Instant) -> dict[str, SX]:
        """Value of each cost term as an expression of (x, u) [cost/s]."""
        return self.costs.values(instant)

    def row_values(self, instant: Instant) -> SX:
        """Constraint rows as an expression of (x, u), (nc,)."""
        return self.constraints.rows(instant)

    def row_derivative(self) -> SX:
        """Derivative of the rows by (x, u) and the other symbols of the instant; only its sparsity is used."""
        instant = self.instant()
        self.constraints.rows(instant)
        return self.constraints.derivative(instant)

    def torques(self, instant: Instant) -> dict[str, SX]:
        """Torque or force of each motor as an expression of (x, u) [N m, N]; empty without motors of a robot."""
        return {}

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force of each contact by name, as an expression of (x, u) in its reference frame [N, N m]."""
        return {}

    def values(self, program: Program, stage: Stage) -> StageValues:
        """Adds the steps that compute the values at a stage."""
        seen = stage.arrays | self._dynamics_arrays(program, stage, derivatives=False)
        costs, rows = self._term_parts.call(program, seen, stage.parameters, derivatives=False, rows=stage.has_rows)
        return StageValues(f=seen["f"], cost=costs["cost"], rows=rows.get("rows"))

    def expansion(self, program: Program, stage: Stage) -> StageExpansion:
        """Adds the steps that compute values and derivatives at a stage."""
        dynamics = self._dynamics_arrays(program, stage, derivatives=True)
        seen = stage.arrays | dynamics
        costs, rows = self._term_parts.call(program, seen, stage.parameters, derivatives=True, rows=stage.has_rows)
        return self._led_on(program, stage, dynamics, costs, rows)

    def rate_expansion(self, program: Program, stage: Stage) -> tuple[Array, Array]:
        """Adds the steps that compute f and Df of `expansion` alone."""
        dynamics = self._dynamics_arrays(program, stage, derivatives=True)
        return dynamics["f"], dynamics["Df"]

    def _led_on(
        self,
        program: Program,
        stage: Stage,
        dynamics: Mapping[str, Array],
        costs: Mapping[str, Array],
        rows: Mapping[str, Array],
    ) -> StageExpansion:
        """Applies the chain rule: derivatives by x and u from derivatives by the quantities the dynamics solve for.

        Args:
            program: Program that gets the steps.
            stage: Stage of the integrator.
            dynamics: Results of the dynamics.
            costs: Results of the costs, see `Terms.call`.
            rows: Results of the constraint rows; empty without rows.
        """
        return StageExpansion.of({**dynamics, **costs, **rows})

    def _dynamics_arrays(self, program: Program, stage: Stage, *, derivatives: bool) -> dict[str, Array]:
        """Adds the steps of the dynamics; results as in `_dynamics_part`."""
        return self._dynamics_part(derivatives=derivatives).call(program, stage.arrays, stage.parameters)

    def _dynamics_part(self, *, derivatives: bool) -> Part:
        """Program part of the dynamics: "f", "Df" with derivatives, and the quantities that costs and rows read."""

        def build() -> Part:
            i = self.instant(derivatives=derivatives)
            results = self._dynamics_derivatives(i) if derivatives else self._dynamics_values(i)
            label = f"{'derivatives of ' * derivatives}dynamics of {self._dynamics_name()}"
            return Part.of(label, {"x": i.x, "u": i.u}, self.layout, results)

        name = f"{'derivatives of ' * derivatives}dynamics"
        return kept_part(self, name, (Without(self, ("costs", "constraints")),), build)

    def _dynamics_values(self, i: Instant) -> dict[str, SX]:
        """Expressions of `_dynamics_part` without derivatives."""
        return {"f": self.dynamics(i)}

    def _dynamics_derivatives(self, i: Instant) -> dict[str, SX]:
        """Expressions of `_dynamics_part` with derivatives."""
        return {"f": self.dynamics(i), "Df": SX(ca.horzcat(*self.dynamics_derivative(i)))}

    @functools.cached_property
    def _term_parts(self) -> Terms:
        """Costs and constraint rows."""
        name = name_of(self.state, type(self))
        return Terms(self, self.costs, self.constraints, self._seen_instant, name, weighted=True)

    def _seen_instant(self, derivatives: bool) -> Instant:
        """Symbols of an instant at which costs and constraints are evaluated."""
        return self.instant(derivatives=derivatives)

    def _dynamics_name(self) -> str:
        """Name of the robot or class, for messages."""
        return name_of(self.state, type(self))

    def parameters(self) -> dict[str, Parameter]:
        n, own = self.stage_nu, {**super().parameters(), **self.state.parameters()}
        return {**own, **self.costs.parameters(n), **self.constraints.parameters(n)}

    def create_data(self) -> ActionData:
        """Arrays for the results of one evaluation; `xnext` holds the rate of the state (ndx,)."""
        return ActionData(self.state.ndx, self.state.ndx, self.nu)

    def calc(self, data: ActionData, x: Reals, u: Reals) -> None:
        """Writes the rate of the state (ndx,) to `data.xnext` and the cost [cost/s] to `data.cost`, for inspection."""
        f, cost = self._evaluate("calc", x, u)
        data.xnext, data.cost = self._rate(x, f.ravel()), cost

    def calc_diff(self, data: ActionData, x: Reals, u: Reals) -> None:
        """Writes the derivatives of rate and cost to `data`; for inspection."""
        _, D, _, gradient, hessian = self._evaluate("calc_diff", x, u)
        n, half = self.state.ndx, self.state.ndx - self.size
        whole = np.vstack([np.eye(half, n + self.nu, k=n - half), D])
        data.Fx, data.Fu = whole[:, :n], whole[:, n:]
        data.Lx, data.Lu = gradient.ravel()[:n], gradient.ravel()[n:]
        data.Lxx, data.Lxu, data.Luu = hessian[:n, :n], hessian[:n, n:], hessian[n:, n:]

    def _rate(self, x: Reals, f: Reals) -> Reals:
        """Rate of the state in the tangent space (ndx,); for a second-order system it is (v, f)."""
        return np.concatenate([np.asarray(x)[self.state.nx - self.size :], f]) if self.second_order else f

    def _build_program(self, name: str) -> Program:
        """Program "calc" or "calc_diff" of (x, u, parameters) for this model alone, with the cost per second."""
        program = Program(f"{type(self).__name__}: {name}")
        x, u, p = program.input(self.state.nx), program.input(self.nu), program.input(self.layout.size)
        (one,) = program.call(ca.Function("one", [], [SX(1)]))
        stage = Stage(x=x, u=u, parameters=ParameterArray(p, self.layout), weight=one)
        if name == "calc":
            v = self.values(program, stage)
            program.output(v.f, v.cost)
        else:
            e = self.expansion(program, stage)
            program.output(e.f, e.Df, e.cost, e.g, e.H)
        if program.status is not None:
            program.output(program.status)
        return program

    def _evaluate(self, name: str, x: Reals, u: Reals) -> tuple[Reals, ...]:
        program = kept(self, name, lambda: self._build_program(name))
        control = check_array("u", u, (self.nu,), cure=f"{type(self).__name__} has nu = {self.nu}")
        return outputs_at(self, program, self.state.check(x, "x"), control)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals | None:
        """Control (nu,) that balances the system at rest in x, by a closed form; None if the model has none.

        Args:
            x: State (nx,).
            parameters: Values of run-time parameters that differ from their initial values, by name.
        """
        return None
