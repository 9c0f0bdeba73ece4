"""Inverse dynamics of a robot without contacts."""

from __future__ import annotations

from casadi import SX

from trajopt.actions.differential.inv_dynamics import DifferentialActionModelInvDynamicsAbstract
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state


class DifferentialActionModelFreeInvDynamics(DifferentialActionModelInvDynamicsAbstract):
    """Inverse dynamics without contacts: dv/dt = u with accelerations (nv,) as controls; M(q) u + h(q, v) = B τ.

    Costs and constraints read the motor torques τ as the control, so those of forward dynamics can be used:
    ResidualModelControl is τ, and ResidualModelJointAcceleration is u. Limits of accelerations are constraints on the
    latter. If there are fewer motors than velocities, the constraint "unactuated" sets
    the generalized forces that no motor provides to zero; solve such problems with SolverSQP.

    Args:
        state: State of a robot.
        actuation: Maps motor torques to joint torques; the columns of its matrix B must be independent.
        costs: Running costs [cost/s]. The model freezes them.
        constraints: Further constraints of each knot; none by default. Their residuals get parameters of their own.
        friction: As in DifferentialActionModelFreeFwdDynamics.

    Raises:
        InvalidArgumentError: States differ, B has dependent columns, or a term does not fit.
        DuplicateNameError: A constraint is named "unactuated".

    Source: Mastalli et al., "Inverse-dynamics MPC via nullspace resolution", T-RO 2023, eq. 5.
    """

    exact_hessian = True

    def __init__(
        self,
        state: StateAbstract,
        actuation: ActuationModelAbstract,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        friction: SmoothFriction | str | None = None,
    ) -> None:
        none = ContactStack(check_robot_state(type(self).__name__, state))
        super().__init__(state, actuation, none, costs, constraints=constraints, friction=friction)

    @property
    def _damping(self) -> SX:
        return SX(0)
