"""Forward dynamics of a robot that touches nothing."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Implicit
from trajopt.actuation.base import ActuationModelAbstract
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals


class DifferentialActionModelFreeFwdDynamics(DifferentialActionModelAbstract):
    """M(q) dv/dt + h(q, v) = B u: the robot's equation of motion with the joints' armature, without contacts.

    Friction and damping of the joints are left out, as Pinocchio and Crocoddyl do, unless `friction` is given.

    Args:
        state: A robot's state.
        actuation: How controls become torques.
        costs: What each instant costs.
        constraints: Constraints of each knot; none by default.
        friction: "smooth" for the damping and dry friction that the robot's file gives, or a SmoothFriction with a
            width of its own; None for no friction.

    Source: derivatives -M⁻¹ ∂RNEA, Carpentier and Mansard, RSS 2018.
    """

    implicit_hessian = True

    actuation: ActuationModelAbstract

    def __init__(
        self,
        state: StateAbstract,
        actuation: ActuationModelAbstract,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
        friction: SmoothFriction | str | None = None,
    ) -> None:
        check_robot_state(type(self).__name__, state)
        if not isinstance(actuation, ActuationModelAbstract):
            raise InvalidArgumentError(f"actuation: expected an actuation model, got {actuation!r}")
        if actuation.state != state:
            raise InvalidArgumentError(f"actuation: it is of {actuation.state!r}, the model of {state!r}")
        super().__init__(
            state,
            actuation.nu,
            costs,
            constraints=constraints,
            lower=actuation.lower,
            upper=actuation.upper,
            control_names=actuation.names,
        )
        self.actuation = actuation
        self.friction = SmoothFriction.of(friction)

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(instant.u)

    def dynamics(self, instant: Instant) -> SX:
        return instant.robot_with(self.friction).forward_dynamics(self.actuation.torque(instant.u))

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        robot, torque = instant.robot_with(self.friction), self.actuation.torque(instant.u)
        by_q, by_v, by_torque = robot.forward_dynamics_derivatives(torque)
        return ca.horzcat(by_q, by_v), by_torque @ SX(ca.sparsify(ca.DM(self.actuation.matrix)))

    def implicit(self, instant: Instant) -> Implicit:
        """RNEA(q, v, a) - B u = 0."""
        robot, torque = instant.robot_with(self.friction), self.actuation.torque(instant.u)
        a = SX.sym("a", self.size)
        return Implicit(
            symbol=a,
            residual=robot.rnea(a) - torque,
            adjoint=robot.solve_mass_matrix,
        )

    def _build_gravity(self) -> Program:
        """x -> g(q)."""
        instant = Instant(self.state, self.nu)
        function = ca.Function("gravity", [instant.x], [instant.robot.gravity()])
        return Program.of(f"{type(self).__name__}: gravity", function)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """u = B⁺ g(q), shape (nu,) [N m, N]."""
        gravity = kept(self, "gravity", self._build_gravity).evaluate(x)[0].ravel()
        return np.asarray(np.linalg.pinv(self.actuation.matrix) @ gravity, dtype=np.float64)
