"""Forward dynamics of a robot in contact."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.differential.robot_parts import check_parts
from trajopt.actions.expansion import Stage, StageExpansion
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.contact_node import ContactNode
from trajopt.contacts.implicit_steps import lead_on
from trajopt.contacts.redundancy import check_independent, rest_forces
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parameters import Parameter, non_negative
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


class DifferentialActionModelContactFwdDynamics(DifferentialActionModelAbstract):
    """Forward dynamics with contacts: M dv/dt + h = B u + Jᵀ λ with J dv/dt + J̇ v + kd J v + kp e = -μ λ.

    One linear solve gives accelerations and contact forces λ. Costs may depend on the forces, as
    ResidualModelContactForce and ResidualModelContactFrictionCone do. The run-time parameter "contacts.NAME.active" of
    a knot switches a contact; with no active contact the dynamics are free.

    Args:
        state: State of a robot.
        actuation: Maps controls to joint torques.
        contacts: The contacts. The model freezes them.
        costs: Running costs [cost/s]. The model freezes them.
        constraints: Constraints of each knot, which may depend on forces; none by default. The model freezes them.
        damping: μ [1/kg], >= 0. A positive value makes redundant contacts solvable and lets contacts yield a little.
            Run-time parameter `damping`.
        friction: As in DifferentialActionModelFreeFwdDynamics.

    Raises:
        InvalidArgumentError: States differ, a term needs a force of another size, or the initially active contacts are
            redundant and `damping` is 0.
        UnknownNameError: A term needs the force of a contact that is not in the stack.

    Source: Mastalli et al., Crocoddyl (ICRA 2020), eqs. 6-9; derivatives by the implicit function theorem.
    """

    state: StateMultibody
    node_hessian = True

    actuation: ActuationModelAbstract
    contacts: ContactStack

    def __init__(
        self,
        state: StateAbstract,
        actuation: ActuationModelAbstract,
        contacts: ContactStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        damping: float = 0.0,
        friction: SmoothFriction | str | None = None,
    ) -> None:
        robot = check_parts(type(self).__name__, state, actuation, contacts).robot
        self.actuation, self.contacts = actuation, contacts
        self.friction = SmoothFriction.for_robot(friction, robot)
        super().__init__(state, actuation.nu, costs, constraints=constraints, **actuation.controls)
        self.damping = self.parameter("damping", damping, unit="1/kg", convert=non_negative)
        if not damping > 0:
            check_independent(self, contacts, "damping")

    def parameters(self) -> dict[str, Parameter]:
        return {**super().parameters(), **self.contacts.parameters()}

    def instant(self, *, derivatives: bool = False) -> Instant:
        return Instant(self.state, self.nu, derivatives=derivatives, forces=self.contacts.sizes, motion="acceleration")

    def node(self, instant: Instant) -> ContactNode:
        """Contact equations at an instant, with accelerations and forces; built once for each instant."""
        return instant.once("node", lambda: self._node(instant))

    def implicit_node(self, instant: Instant) -> ContactNode:
        return self.node(instant)

    def _node(self, instant: Instant) -> ContactNode:
        torque, by_u = self.actuation.torque(instant.u), self.actuation.torque_derivative(instant.u)
        return ContactNode(instant, self.contacts, torque, by_u, friction=self.friction, damping=self.damping)

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(instant.u)

    def dynamics(self, instant: Instant) -> SX:
        node = self.node(instant)
        return node.insert({"f": node.motion})["f"]

    def term_values(self, instant: Instant) -> dict[str, SX]:
        terms = self.costs.values(instant)
        return self.node(instant).insert(terms)

    def row_values(self, instant: Instant) -> SX:
        return self.node(instant).insert({"rows": self.constraints.rows(instant)})["rows"]

    def forces(self, instant: Instant) -> dict[str, SX]:
        """Force of each contact as an expression of (x, u), in its reference frame [N, N m]."""
        return self.node(instant).forces()

    def _dynamics_values(self, i: Instant) -> dict[str, SX]:
        results = self.node(i).value_results()
        return {"f": results["motion"], **results}

    def _dynamics_derivatives(self, i: Instant) -> dict[str, SX]:
        node = self.node(i)
        results = self._dynamics_values(i) | node.insert(node.derivative_results())
        return {name: SX(ca.sparsify(value)) for name, value in results.items()}

    def _dynamics_name(self) -> str:
        count = len(self.contacts.sizes)
        return f"{super()._dynamics_name()} with {count} contact{'s' * (count != 1)}"

    def rate_expansion(self, program: Program, stage: Stage) -> tuple[Array, Array]:
        dynamics = self._dynamics_arrays(program, stage, derivatives=True)
        return dynamics["f"], lead_on(program, self.contacts, dynamics, {}, {})

    def _led_on(
        self,
        program: Program,
        stage: Stage,
        dynamics: Mapping[str, Array],
        costs: Mapping[str, Array],
        rows: Mapping[str, Array],
    ) -> StageExpansion:
        Df = lead_on(program, self.contacts, dynamics, costs, rows)
        return super()._led_on(program, stage, {**dynamics, "Df": Df}, costs, rows)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """u (nu,) [N m, N] of the smallest (u, λ) with B u + Jᵀ λ = g(q), over the active contacts."""
        torques = rest_forces(self, self.contacts, self.actuation.matrix, x, parameters)[: self.nu]
        return self.actuation.controls_for(torques)
