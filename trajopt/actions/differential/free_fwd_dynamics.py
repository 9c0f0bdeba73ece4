"""Forward dynamics of a robot without contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.expansion import Implicit
from trajopt.actuation.base import ActuationModelAbstract, check_actuation
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.costs.cost_stack import CostStack
from trajopt.dynamics.friction import SmoothFriction
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.kernels.program import Program
from trajopt.model.functions import call_user, function_of
from trajopt.model.programs import kept
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody, check_robot_state
from trajopt.types import Reals


class DifferentialActionModelFreeFwdDynamics(DifferentialActionModelAbstract):
    """Forward dynamics without contacts: M(q) dv/dt + h(q, v) = B u + τ(x); M includes the armature of the joints.

    Friction and damping of the joints are left out, as in Pinocchio and Crocoddyl, unless `friction` is set.

    Args:
        state: State of a robot.
        actuation: Maps controls to joint torques.
        costs: Running costs [cost/s].
        constraints: Constraints of each knot; none by default.
        friction: "smooth" for the damping and dry friction in the robot's file, which is `SmoothFriction()`: damping
            · v + friction · tanh(v / 0.01), or a `SmoothFriction(width)` with another width than 0.01 rad/s, m/s.
            None, the default, for no friction.
        torque: Function τ of the CasADi symbol x = (q, v), (nx,), that returns further torques on all joints (nv,)
            [N m, N], such as a `Network` that has learned them. 0 by default. A replay in MuJoCo is without them.

    Raises:
        InvalidArgumentError: The torque has another shape, or uses other symbols than x.

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
        torque: Callable[[SX], Any] | None = None,
    ) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        check_actuation(actuation, state)
        super().__init__(state, actuation.nu, costs, constraints=constraints, **actuation.controls)
        self.actuation = actuation
        self.friction = SmoothFriction.for_robot(friction, robot)
        self._added = None if torque is None else self._checked_torque(torque)

    def _checked_torque(self, torque: Callable[[SX], Any]) -> ca.Function:
        x, n = self.instant().x, self.state.nv
        value = call_user("torque", torque, x)
        if value.shape != (n, 1):
            raise InvalidArgumentError(
                f"torque: expected shape ({n}, 1), one for each velocity of {self.state!r}, got {value.shape}"
            )
        return function_of("torque", [x], [value], "a function of x may use numbers besides")

    def torques(self, instant: Instant) -> dict[str, SX]:
        return self.actuation.by_motor(instant.u)

    def _added_torque(self, x: SX) -> SX:
        """τ(x) (nv,) [N m, N]."""
        return SX(self.state.nv, 1) if self._added is None else SX(self._added(x))

    def _joint_torque(self, instant: Instant) -> SX:
        """B u + τ(x) (nv,) [N m, N]."""
        return instant.once("joint torque", lambda: self.actuation.torque(instant.u) + self._added_torque(instant.x))

    def dynamics(self, instant: Instant) -> SX:
        return instant.robot_with(self.friction).forward_dynamics(self._joint_torque(instant))

    def dynamics_derivative(self, instant: Instant) -> tuple[SX, SX]:
        robot = instant.robot_with(self.friction)
        by_q, by_v, by_torque = robot.forward_dynamics_derivatives(self._joint_torque(instant))
        by_x = ca.horzcat(by_q, by_v) + by_torque @ instant.derivative(self._added_torque(instant.x))[0]
        return by_x, by_torque @ self.actuation.torque_derivative(instant.u)

    def implicit(self, instant: Instant) -> Implicit:
        """Equation RNEA(q, v, a) - B u - τ(x) = 0, which defines the acceleration a."""
        robot = instant.robot_with(self.friction)
        a = SX.sym("a", self.size)
        return Implicit(
            symbol=a,
            residual=robot.rnea(a) - self._joint_torque(instant),
            adjoint=robot.solve_mass_matrix,
        )

    def _build_gravity(self) -> Program:
        """Program of `gravity_program`."""
        instant = Instant(self.state, self.nu)
        at_rest = ca.vertcat(instant.x[: self.state.nq], SX.zeros(self.state.nv))
        holding = instant.robot.gravity() - self._added_torque(at_rest)
        function = ca.Function("gravity", [instant.x, self.state.layout.symbols], [holding])
        return Program.of(f"{type(self).__name__}: gravity", function)

    def quasi_static(self, x: Reals, parameters: Mapping[str, Reals] | None = None) -> Reals:
        """Control u = B⁺ (g(q) - τ(q, 0)), shape (nu,) [N m, N], which balances gravity at rest."""
        numbers = self.state.layout.column_of(parameters or {})
        gravity = self.gravity_program.evaluate(x, numbers)[0].ravel()
        torques: Reals = np.linalg.pinv(self.actuation.matrix).astype(np.float64) @ gravity
        return np.asarray(self.actuation.controls_for(torques), dtype=np.float64)

    @property
    def gravity_program(self) -> Program:
        """Program (x, parameters of the robot) -> g(q) - τ(q, 0), torques that hold the robot (nv,) [N m, N]."""
        return kept(self, "gravity", self._build_gravity)
