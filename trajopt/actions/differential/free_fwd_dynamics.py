"""Forward dynamics of a robot without contacts."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Implicit
from trajopt.actuation.base import ActuationModelAbstract, check_actuation
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


class DifferentialActionModelFreeFwdDynamics(DifferentialActionModelAbstract):
    """Forward dynamics without contacts: M(q) dv/dt + h(q, v) = B u, where M includes the armature of the joints.

    Friction and damping of the joints are left out, as in Pinocchio and Crocoddyl, unless `friction` is set.

    Args:
        state: State of a robot.
        actuation: Maps controls to joint torques.
        costs: Running costs [cost/s].
        constraints: Constraints of each knot; none by default.
        friction: "smooth" for the damping and dry friction in the robot's file, which is `SmoothFriction()`: damping
            · v + friction · tanh(v / 0.01), or a `SmoothFriction(width)` with another width than 0.01 rad/s, m/s.
            None, the default, for no friction.

    Source: derivatives -M⁻¹ ∂RNEA, Carpentier and Mansard, RSS 2018.
    """

    implicit_hessian = True

    state: StateMultibody
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
        robot = check_robot_state(type(self).__name__, state).robot
        check_actuation(actuation, state)
        super().__init__(state, actuation.nu, costs, constraints=constraints, **actuation.controls)
        self.actuation = actuation
        self.friction = SmoothFriction.for_robot(friction, robot)

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(instant.u)

    def dynamics(self, instant: Instant) -> SX:
        return instant.robot_with(self.friction).forward_dynamics(self.actuation.torque(instant.u))

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        robot, torque = instant.robot_with(self.friction), self.actuation.torque(instant.u)
        by_q, by_v, by_torque = robot.forward_dynamics_derivatives(torque)
        return ca.horzcat(by_q, by_v), by_torque @ self.actuation.torque_derivative(instant.u)

    def implicit(self, instant: Instant) -> Implicit:
        """Equation RNEA(q, v, a) - B u = 0, which defines the acceleration a."""
        robot, torque = instant.robot_with(self.friction), self.actuation.torque(instant.u)
        a = SX.sym("a", self.size)
        return Implicit(
            symbol=a,
            residual=robot.rnea(a) - torque,
            adjoint=robot.solve_mass_matrix,
        )

    def _build_gravity(self) -> Program:
        """Program (x, parameters of the robot) -> g(q), the gravity torques."""
        instant = Instant(self.state, self.nu)
        function = ca.Function("gravity", [instant.x, self.state.layout.symbols], [instant.robot.gravity()])
        return Program.of(f"{type(self).__name__}: gravity", function)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control u = B⁺ g(q), shape (nu,) [N m, N], which balances gravity at rest."""
        numbers = self.state.layout.column_of(parameters or {})
        gravity = self.gravity_program.evaluate(x, numbers)[0].ravel()
        torques: Reals = np.linalg.pinv(self.actuation.matrix).astype(np.float64) @ gravity
        return np.asarray(self.actuation.controls_for(torques), dtype=np.float64)

    @property
    def gravity_program(self) -> Program:
        """Program (x, parameters of the robot) -> g(q), the gravity torques (nv,) [N m, N]."""
        return kept(self, "gravity", self._build_gravity)
