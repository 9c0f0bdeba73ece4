"""Inverse dynamics of a robot in contact."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.inv_dynamics import DifferentialActionModelInvDynamicsAbstract
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.redundancy import check_independent, rest_forces
from trajopt.contacts.stack import ContactStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.falling import frame_motions
from trajopt.dynamics.friction import SmoothFriction
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.parameters import non_negative
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract
from trajopt.types import Reals


class DifferentialActionModelContactInvDynamics(DifferentialActionModelInvDynamicsAbstract):
    """Inverse dynamics with contacts: dv/dt = a; u = (a, f) holds accelerations (nv,) and contact forces (nc,).

    The torques τ of the motors follow from M a + h - Jᵀ λ = B τ. The model adds constraints. "unactuated" sets the
    generalized forces that no motor provides to zero. "NAME_contact" is the contact equation of
    DifferentialActionModelContactFwdDynamics for an active contact, and f = 0 for an inactive one.

    Costs and constraints read τ as the control, a as the acceleration and f as the forces; so those of forward
    dynamics can be used: ResidualModelControl is τ, and ResidualModelJointAcceleration is a. Solve such problems with
    SolverSQP.

    Args:
        state: State of a robot.
        actuation: Maps motor torques to joint torques; the columns of its matrix B must be independent.
        contacts: The contacts. The model freezes them. Forces are in the contacts' reference frames.
        costs: Running costs [cost/s]. The model freezes them.
        constraints: Further constraints of each knot; none by default. Their residuals get parameters of their own.
        damping: μ [1/kg], >= 0, as in DifferentialActionModelContactFwdDynamics. Run-time parameter `damping`.
        friction: As in DifferentialActionModelFreeFwdDynamics.

    Raises:
        InvalidArgumentError: States differ, B has dependent columns, a term needs a force of another size, or the
            initially active contacts are redundant and `damping` is 0.
        DuplicateNameError: A constraint has the name of one of the added constraints.
        UnknownNameError: A term needs the force of a contact that is not in the stack.

    Source: Mastalli et al., "Inverse-dynamics MPC via nullspace resolution", T-RO 2023, eqs. 5 and 6.
    """

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
        self.damping = self.parameter("damping", damping, unit="1/kg", convert=non_negative)
        super().__init__(state, actuation, contacts, costs, constraints=constraints, friction=friction)
        if not damping > 0:
            check_independent(self, contacts, "damping")

    @property
    def _damping(self) -> SX:
        return self.damping

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control (0, f), shape (nu,), with f of the smallest (τ, λ) that satisfies B τ + Jᵀ λ = g(q) [N, N m]."""
        multipliers = rest_forces(self, self.contacts, self.actuation.matrix, x, parameters)[self.actuation.nu :]
        numbers = self.state.layout.column_of(parameters or {})
        forces = kept(self, "forces", self._build_forces).evaluate(x, multipliers, numbers)[0].ravel()
        return np.concatenate([np.zeros(self.state.nv), forces])

    def _build_forces(self) -> Program:
        """Program (x, λ, parameters of the robot) -> T λ, the forces in the contacts' reference frames."""
        instant, multipliers = Instant(self.state, 0), SX.sym("multipliers", self.contacts.nc)
        turn = self.contacts.force_map(frame_motions(instant.robot, SX(np.zeros(self.state.nv)), self.contacts.frames))
        forces = multipliers if turn is None else ca.mtimes(turn, multipliers)
        function = ca.Function("forces", [instant.x, multipliers, self.state.layout.symbols], [forces])
        return Program.of(f"{type(self).__name__}: forces", function)
