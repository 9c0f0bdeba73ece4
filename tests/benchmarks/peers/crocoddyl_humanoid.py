"""Talos stands and reaches, or lifts a foot while it reaches: Crocoddyl's humanoid_manipulation and humanoid_taichi.

State x = (q, v), x0 = half_sitting at rest, u the 32 joint torques. A hand, `gripper_left_joint`, is drawn to the pose
T* = (identity, (0.4, 0, 1.2) m). Each foot that stands is a 6D contact in the foot's own axes. With
S(w) = ½ |w ∘ (x ⊖ x0)|²:

    running:  h (1e2 ½ |w_p ∘ log6(T*⁻¹ T_world_hand)|² + 1e-3 S(w_x) + 1e-4 ½ |u|² + 1e3 barrier + foot)
    terminal:    1e2 ½ |w_p ∘ log6(T*⁻¹ T_world_hand)|² + 1e-3 S(w_T)               + 1e3 barrier

with w_p = (1, 1, 1, 1e-4, 1e-4, 1e-4), w_x = (0 x3, 10 x3, 0.01 x32, 10 x38), w_T the same with 100 for velocities, and
the barrier ½ |max(q - upper, 0)|² + ½ |min(q - lower, 0)|² over the joints and their limits. Crocoddyl's examples take
the distance to x0 for q in the barrier; `NAME-example` are these, the others take the joints' positions.
"""

from functools import partial

import crocoddyl
import example_robot_data
import numpy as np
import pinocchio as pin
from crocoddyl_reference import Reference, references

HAND, RIGHT, LEFT = "gripper_left_joint", "right_sole_link", "left_sole_link"
TARGET = (0.4, 0.0, 1.2)  # of the hand [m]
STEP = 5e-2  # [s]
INFINITY = np.finfo(float).max


class Humanoid:
    """Talos, and the nodes that its problems are made of.

    Args:
        limits_from: What the barrier measures joint positions from, "zero" or "x0".
    """

    def __init__(self, limits_from: str) -> None:
        self.model = example_robot_data.load("talos").model
        self.state = crocoddyl.StateMultibody(self.model)
        self.actuation = crocoddyl.ActuationModelFloatingBase(self.state)
        self.x0 = np.concatenate([self.model.referenceConfigurations["half_sitting"], np.zeros(self.model.nv)])
        self.limits_from = self.x0 if limits_from == "x0" else self.state.zero()

    def node(
        self,
        feet: tuple[str, ...],
        *,
        damping_gain: float,
        foot_target: tuple[float, float, float] | None = None,
        terminal: bool = False,
    ) -> crocoddyl.IntegratedActionModelEuler:
        """A node that stands on some feet, with the left foot drawn to a target [m] if there is one."""
        costs = crocoddyl.CostModelSum(self.state, self.actuation.nu)
        costs.addCost("hand", self._placement(HAND, TARGET, [1.0] * 3 + [1e-4] * 3), 1e2)
        costs.addCost("state", self._state(100.0 if terminal else 10.0), 1e-3)
        costs.addCost("limits", self._limits(), 1e3)
        if not terminal:
            control = crocoddyl.ResidualModelControl(self.state, self.actuation.nu)
            costs.addCost("control", crocoddyl.CostModelResidual(self.state, control), 1e-4)
        if foot_target is not None:
            costs.addCost("foot", self._placement(LEFT, foot_target, [1.0, 1.0, 0.1, 1.0, 1.0, 1.0]), 1e1)
        contacts = crocoddyl.ContactModelMultiple(self.state, self.actuation.nu)
        gains = np.array([0.0, damping_gain])
        for foot in feet:
            frame, identity = self.model.getFrameId(foot), pin.SE3.Identity()
            contact = crocoddyl.ContactModel6D(self.state, frame, identity, pin.LOCAL, self.actuation.nu, gains)
            contacts.addContact(foot, contact)
        differential = crocoddyl.DifferentialActionModelContactFwdDynamics(self.state, self.actuation, contacts, costs)
        return crocoddyl.IntegratedActionModelEuler(differential, 0.0 if terminal else STEP)

    def _placement(
        self, frame: str, target: tuple[float, float, float], weights: list[float]
    ) -> crocoddyl.CostModelAbstract:
        goal = pin.SE3(np.eye(3), np.array(target))
        residual = crocoddyl.ResidualModelFramePlacement(
            self.state, self.model.getFrameId(frame), goal, self.actuation.nu
        )
        return crocoddyl.CostModelResidual(
            self.state, crocoddyl.ActivationModelWeightedQuad(np.square(weights)), residual
        )

    def _state(self, velocity: float) -> crocoddyl.CostModelAbstract:
        nv = self.model.nv
        weights = np.array([0.0] * 3 + [10.0] * 3 + [0.01] * (nv - 6) + [velocity] * nv)
        residual = crocoddyl.ResidualModelState(self.state, self.x0, self.actuation.nu)
        return crocoddyl.CostModelResidual(self.state, crocoddyl.ActivationModelWeightedQuad(weights**2), residual)

    def _limits(self) -> crocoddyl.CostModelAbstract:
        free, nv = np.full(6, INFINITY), self.model.nv
        lower = np.concatenate([-free, self.model.lowerPositionLimit[7:], np.full(nv, -INFINITY)])
        upper = np.concatenate([free, self.model.upperPositionLimit[7:], np.full(nv, INFINITY)])
        barrier = crocoddyl.ActivationModelQuadraticBarrier(crocoddyl.ActivationBounds(lower, upper, 1.0))
        residual = crocoddyl.ResidualModelState(self.state, self.limits_from, self.actuation.nu)
        return crocoddyl.CostModelResidual(self.state, barrier, residual)


def reach(limits_from: str) -> crocoddyl.ShootingProblem:
    """The reach on two feet, T = 60."""
    robot, both = Humanoid(limits_from), (LEFT, RIGHT)
    running = robot.node(both, damping_gain=0.0)
    return crocoddyl.ShootingProblem(robot.x0, [running] * 60, robot.node(both, damping_gain=0.0, terminal=True))


def taichi(limits_from: str) -> crocoddyl.ShootingProblem:
    """40 knots on two feet, then 40 and 40 on the right one, with the left drawn aside and then forward and up."""
    robot = Humanoid(limits_from)
    node = partial(robot.node, damping_gain=40.0)
    standing = node((LEFT, RIGHT))
    aside, up = (node((RIGHT,), foot_target=target) for target in ((0.0, 0.4, 0.0), (0.3, 0.15, 0.35)))
    running = [standing] * 40 + [aside] * 40 + [up] * 40
    return crocoddyl.ShootingProblem(robot.x0, running, node((RIGHT,), terminal=True))


REACH = {"guess": "quasi-static", "max_iterations": 500, "initial_regularization": 0.1}
TAICHI = {"guess": "quasi-static", "max_iterations": 500, "stop": 1e-7}

HUMANOID_REFERENCES: dict[str, Reference] = {
    **references("humanoid-reach", partial(reach, "zero"), {"fddp": None}, **REACH),
    **references("humanoid-reach-example", partial(reach, "x0"), {"fddp": None}, **REACH),
    **references("humanoid-taichi", partial(taichi, "zero"), {"fddp": None}, **TAICHI),
    **references("humanoid-taichi-example", partial(taichi, "x0"), {"fddp": None, "box-fddp": None}, **TAICHI),
}
