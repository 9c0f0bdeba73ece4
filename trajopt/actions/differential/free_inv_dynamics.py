"""Inverse dynamics of a robot that touches nothing."""

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
    """dv/dt = u: the controls are accelerations (nv,), and torques M(q) u + h(q, v) = B τ follow.

    Costs and constraints see the torques τ of the motors where they would see the control of forward dynamics, so that
    both take the same ones; ResidualModelJointAcceleration sees u. Where there are fewer motors than velocities,
    the constraint "unactuated" holds the torques that no motor gives at zero: solve such problems with SolverSQP.

    Args:
        state: A robot's state.
        actuation: How motors make torques; B has independent columns.
        costs: What each instant costs; frozen from here on.
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
