"""Impacts: contacts are made within an instant."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.costed import ActionModelCostedAbstract
from trajopt.actions.differential.robot_parts import check_states
from trajopt.actions.expansion import Expansion, Multipliers, Point, Values
from trajopt.actions.implicit_hessian import add_implicit_hessian
from trajopt.actions.parts import ModelParts
from trajopt.actions.second_order_jacobian import still_lift
from trajopt.actions.terms import Terms
from trajopt.checks import check_non_negative
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.implicit_steps import lead_on
from trajopt.contacts.impulse_node import ImpulseNode
from trajopt.contacts.impulse_stack import ImpulseStack
from trajopt.contacts.redundancy import check_independent
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.content import Without
from trajopt.model.parameters import Parameter, non_negative
from trajopt.model.parts import Bindings, ParameterArray, Part, computed, kept_part
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


class ActionModelImpulseFwdDynamics(ActionModelCostedAbstract):
    """Instantaneous impact M (v⁺ - v) = Jᵀ Λ with J (v⁺ + e v) = -μ Λ, x⁺ = (q, v⁺); it has no control.

    The cost depends on x before the impact, on Λ and on v⁺. It is not multiplied by a time. The run-time parameter
    "impulses.NAME.active" of a knot switches an impulse.

    Args:
        state: State of a robot.
        impulses: The impulses. The model freezes them.
        costs: Costs of the knot [cost]. The model freezes them.
        constraints: Constraints of x, Λ and v⁺; none by default. The model freezes them.
        restitution: Coefficient e, from 0 (frames stop) to 1 (frames bounce) [-]. Run-time parameter `restitution`.
        damping: μ [1/kg], >= 0. A positive value makes redundant impulses solvable. Run-time parameter `damping`.

    Raises:
        InvalidArgumentError: States differ, a term needs something that an impulse does not provide, or the initially
            active impulses are redundant and `damping` is 0.

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eq. 8.
    """

    state: StateMultibody
    instantaneous = True

    def __init__(
        self,
        state: StateAbstract,
        impulses: ImpulseStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        restitution: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        check_robot_state(type(self).__name__, state)
        if not isinstance(impulses, ImpulseStack):
            raise InvalidArgumentError(f"impulses: expected an ImpulseStack, got {impulses!r}")
        if not isinstance(costs, CostStack):
            raise InvalidArgumentError(f"costs: expected a CostStack, got {costs!r}")
        check_states(state, impulses=impulses, costs=costs)
        impulses.freeze(type(self).__name__)
        costs.freeze(type(self).__name__, 0)
        constraints = ConstraintStack.of(constraints, type(self).__name__, state, 0, costs)
        super().__init__(state, 0, constraints=constraints)
        self.impulses, self.costs = impulses, costs
        for stack in (costs, self.constraints):
            stack.check_solution(self.instant())
        self.restitution = self.parameter("restitution", restitution, convert=_restitution)
        self.damping = self.parameter("damping", damping, unit="1/kg", convert=non_negative)
        if not damping > 0:
            check_independent(self, impulses, "damping")

    @property
    def model_parts(self) -> ModelParts:
        return ModelParts(costs=self.costs, impulses=self.impulses)

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.costs.parameters(0), **self.impulses.parameters()}

    def instant(self) -> Instant:
        return Instant(self.state, 0, forces=self.impulses.sizes, motion="velocity_after")

    def node(self, instant: Instant) -> ImpulseNode:
        """Change of velocity and impulses at an instant; built once for each instant."""
        options = {"restitution": self.restitution, "damping": self.damping}
        return instant.once("node", lambda: ImpulseNode(instant, self.impulses, **options))

    @functools.cached_property
    def lift_size(self) -> int:
        """Smallest block size of a lift: 0, because an impulse does not change positions."""
        return 0

    def running_values(self, program: Program, point: Point, u: Array) -> Values:
        parameters = ParameterArray(point.parameters, self.layout)
        seen = self._dynamics_part(program, point, u, parameters, derivatives=False)
        costs, rows = self._term_parts.call(program, seen, parameters, derivatives=False)
        return Values.of({"xnext": seen["xnext"], **costs, **rows})

    def running_expansion(self, program: Program, point: Point, u: Array, lift: int | None) -> Expansion:
        parameters = ParameterArray(point.parameters, self.layout)
        seen = self._dynamics_part(program, point, u, parameters, derivatives=True)
        costs, rows = self._term_parts.call(program, seen, parameters, derivatives=True)
        change = lead_on(program, self.impulses, seen, costs, rows)
        results = {"xnext": seen["xnext"], **costs, **rows}
        if lift is not None:
            return Expansion.of(results, lift=still_lift(program, change, lift))
        nv = self.state.nv
        still = ca.horzcat(SX.eye(nv), SX(nv, nv))  # positions do not change
        return Expansion.of(results, F=computed(program, "jacobian", lambda dv: ca.vertcat(still, dv), change))

    def _dynamics_part(
        self, program: Program, point: Point, u: Array, parameters: ParameterArray, *, derivatives: bool
    ) -> dict[str, Array]:
        """Adds the call of the dynamics alone; returns x, u and its results."""

        def build() -> Part:
            i = self.instant()
            node = self.node(i)
            results = {"xnext": node.insert({"x": self._next_state(i)})["x"], **node.value_results()}
            if derivatives:
                results |= node.insert(node.derivative_results())
            sparse = {name: SX(ca.sparsify(value)) for name, value in results.items()}
            label = f"{'derivatives of ' * derivatives}impulses of {self.state.robot.name}"
            return Part.of(label, {"x": i.x}, self.layout, sparse)

        about = (Without(self, ("costs", "constraints")),)
        part = kept_part(self, f"{'derivatives of ' * derivatives}impulses", about, build)
        arrays = {"x": point.x, "u": u}
        return arrays | part.call(program, arrays, parameters)

    @functools.cached_property
    def _term_parts(self) -> Terms:
        """Costs and constraint rows."""
        name = f"impulses of {self.state.robot.name}"
        return Terms(self, self.costs, self.constraints, lambda _: self.instant(), name, weighted=False)

    @property
    def has_lagrangian_hessian(self) -> bool:
        return True

    @property
    def hessian_on_request(self) -> bool:
        return True

    def _lagrangian_hessian(
        self, program: Program, point: Point, multipliers: Multipliers, kept: Sequence[Array]
    ) -> Array:
        if point.u is None:
            return super()._lagrangian_hessian(program, point, multipliers, kept)
        i = self.instant()
        curvature, rest = self.costs.curvature(i)
        values = {"cost": rest, "curvature": curvature, "xnext": self._next_state(i), **self.constraints.named_rows(i)}
        inputs: Bindings = [(i.x, point.x), (self.layout, point.parameters)]
        return add_implicit_hessian(program, self.node(i), values, inputs, multipliers)

    def _running_expressions(self) -> tuple[Instant, dict[str, SX]]:
        i = self.instant()
        values = {"cost": self.costs.value(i), "xnext": self._next_state(i), **self.constraints.named_rows(i)}
        return i, self.node(i).insert(values)

    def _next_state(self, instant: Instant) -> SX:
        """Next state (q, v⁺) as an expression of x and the velocity w of the equations."""
        return SX(ca.vertcat(instant.x[: self.state.nq], self.node(instant).motion))

    def term_expressions(self, instant: Instant, *, terminal: bool) -> dict[str, SX]:
        terms = self.costs.values(instant)
        return terms if terminal else self.node(instant).insert(terms)

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Impulse of each contact as an expression of x, in its reference frame [N s, N m s]."""
        return self.node(instant).forces()

    def quasi_static(self, x: Reals, parameters: Any = None) -> Reals:
        return np.zeros(0)


def _restitution(argument: str, value: Any) -> Reals:
    number = check_non_negative(argument, value)
    if number > 1:
        raise InvalidArgumentError(f"{argument}: expected a number from 0 to 1, got {value!r}")
    return np.array(number)
