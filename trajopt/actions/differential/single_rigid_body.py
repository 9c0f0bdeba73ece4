"""Single rigid body under contact forces."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.actions.differential.reduced import DifferentialActionModelReducedAbstract
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.contacts.supports import SupportStack
from trajopt.costs.cost_stack import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.instant import Instant
from trajopt.robots import Robot
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import check_robot_state
from trajopt.types import Reals


class DifferentialActionModelSingleRigidBody(DifferentialActionModelReducedAbstract):
    """Single rigid body: m dv_c/dt = m g + Σ f and d(I_c ω)/dt = Σ ((p - c) × f + τ), contact forces as controls.

    c is the centre of mass and I_c the inertia about it, which turns with the body. A robot with light legs moves like
    its trunk with the inertia of the whole robot in one posture, see `single_rigid_body`.

    Args:
        state: State of a robot with a free joint and nothing else, such as StateMultibody(single_rigid_body(robot)).
        supports: Places p where the forces f and torques τ act.
        costs: Running costs [cost/s].
        constraints: Constraints of each knot; none by default.

    Raises:
        InvalidArgumentError: The robot has more than one joint.

    Source: Di Carlo et al., Dynamic locomotion in the MIT Cheetah 3 through convex model-predictive control (IROS
    2018), eqs. 5 and 6, here without linearisation.
    """

    def __init__(
        self,
        state: StateAbstract,
        supports: SupportStack,
        costs: CostStack,
        *,
        constraints: ConstraintStack | None = None,
    ) -> None:
        robot = check_robot_state(type(self).__name__, state).robot
        if robot.nq != 7 or robot.nv != 6:
            raise InvalidArgumentError(
                f"state: expected a robot with a free joint alone, got {robot!r}; use "
                "StateMultibody(single_rigid_body(robot))"
            )
        super().__init__(state, supports, costs, constraints=constraints)
        inertia = robot.model.inertias[1]
        self._mass = float(inertia.mass)
        self._gravity = np.array(robot.model.gravity.linear)

    @property
    def weight(self) -> Reals:
        return np.asarray(self._mass * self._gravity)

    def centre_of_mass(self, x: Reals) -> Reals:
        return self._robot.com(x[:7])

    def momentum(self, x: Reals) -> Reals:
        model = self._robot.model
        return np.array(pin.computeCentroidalMomentum(model, model.createData(), x[:7], x[7:]).vector)

    @property
    def _robot(self) -> Robot:
        return check_robot_state(type(self).__name__, self.state).robot

    def dynamics(self, instant: Instant) -> SX:
        rotation, position = self._pose(instant)
        force, torque = self.supports.wrench(instant.u, position)
        return instant.robot.forward_dynamics(ca.vertcat(rotation.T @ force, rotation.T @ torque))

    def _pose(self, instant: Instant) -> tuple[SX, SX]:
        """Rotation (3, 3) and position (3,) of the body's frame."""
        rotation, position = instant.robot.frame_placement(self._robot.model.frames[-1].name)
        return rotation, position
