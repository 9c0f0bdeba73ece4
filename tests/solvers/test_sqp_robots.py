"""SolverSQP on robots, against mim-solvers 0.3.0, whose examples these problems are."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import (
    DifferentialActionModelContactFwdDynamics,
    DifferentialActionModelFreeFwdDynamics,
)
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase, ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.contacts import ContactModel3D, ContactStack
from trajopt.costs import CostStack
from trajopt.instant import Instant
from trajopt.residuals import (
    ResidualModelAbstract,
    ResidualModelCoMPosition,
    ResidualModelControl,
    ResidualModelControlGrav,
    ResidualModelFrameTranslation,
    ResidualModelState,
    ResidualModelSymbolic,
)
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateAbstract, StateMultibody


def arm_reach(*, limited: bool) -> ShootingProblem:
    """A UR5 reaches for (0.4, 0.4, 0.4), with y and z of the tool at most 0.4 if limited."""
    state = StateMultibody(trajopt.load_robot("ur5"))
    x0, actuation = np.zeros(state.nx), ActuationModelFull(state)

    def costs(goal: float) -> CostStack:
        tool = ResidualModelFrameTranslation(state, "tool0", [0.4, 0.4, 0.4])
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1)
        return stack.add("tool", tool, weight=goal)

    def rows() -> ConstraintStack:
        position = ResidualModelFrameTranslation(state, "tool0", np.zeros(3))
        stack = ConstraintStack(state)
        return stack.add("room", position, lower=-1.0, upper=[1.0, 0.4, 0.4]) if limited else stack

    running = costs(4.0).add("gravity", ResidualModelControlGrav(state, actuation), weight=1e-4)
    end = costs(40.0).add("gravity", ResidualModelSymbolic(state, lambda x, robot: robot.gravity()), weight=1e-4)
    model = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=rows())
    node = IntegratedActionModelEuler(model, 0.05)
    return ShootingProblem(x0, [node] * 40, ActionModelTerminal(end, constraints=rows()))


def test_arm_reach() -> None:
    problem = arm_reach(limited=False)
    solution = SolverSQP(problem).solve(np.zeros((41, 12)), np.zeros((40, 6)))
    assert solution.converged
    assert solution.iterations <= 28
    assert solution.cost == pytest.approx(0.6653235299, rel=1e-9)


def test_arm_reach_with_a_limited_tool() -> None:
    problem = arm_reach(limited=True)
    solution = SolverSQP(problem, SQPOptions(max_iterations=11)).solve(np.zeros((41, 12)), np.zeros((40, 6)))
    assert solution.cost == pytest.approx(0.689878879, rel=1e-8)
    assert solution.violations()["room"][1:].max() < 1e-6
    on = SolverSQP(problem).solve(solution.xs, solution.us)
    assert on.converged
    assert on.cost == pytest.approx(0.689878879, rel=1e-9)


class ResidualModelCone(ResidualModelAbstract):
    """mu f_z - |f_xy| of a contact force, (1,) [N]."""

    uses_solution = True

    def __init__(self, state: StateAbstract, contact: str, mu: float) -> None:
        super().__init__(state, 1, unit="N")
        self.contact, self.mu = contact, mu

    def evaluate(self, instant: Instant) -> SX:
        force = instant.force(self.contact)
        return SX(self.mu * force[2] - ca.sqrt(force[0] ** 2 + force[1] ** 2 + 1e-20))


FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
T, DT = 250, 0.02


def circle() -> ShootingProblem:
    """Solo12 stands, and moves its centre of mass along a circle."""
    robot = trajopt.load_robot("solo12")
    state = StateMultibody(robot)
    actuation = ActuationModelFloatingBase(state)
    q0 = np.array([0, 0, 0.25, 0, 0, 0, 1, *[0, 0.8, -1.6] * 2, *[0, -0.8, 1.6] * 2])
    x0, data = np.r_[q0, np.zeros(18)], robot.model.createData()
    pin.forwardKinematics(robot.model, data, q0)
    pin.updateFramePlacements(robot.model, data)
    centre = np.mean([data.oMf[robot.model.getFrameId(foot)].translation for foot in FEET], axis=0)
    centre[2] = pin.centerOfMass(robot.model, data, q0)[2]
    angles = 2 * np.pi * 0.2 * DT * np.arange(T + 1)
    path = centre + 0.065 * np.c_[np.sin(angles), np.cos(angles) - 1, 0 * angles]
    weights = np.r_[[0.0] * 3, [500.0] * 3, [0.01] * 12, [10.0] * 6, [1.0] * 12] ** 2

    def costs(factor: float) -> CostStack:
        posture = ActivationModelWeightedQuad(weights)
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1 * factor, activation=posture)
        return stack.add("com", ResidualModelCoMPosition(state, path[-1]), weight=1e5)

    contacts, rows = ContactStack(state), ConstraintStack(state)
    for foot in FEET:
        contacts.add(foot, ContactModel3D(state, foot, gains=(0.0, 0.0)))
        rows.add(f"cone_{foot}", ResidualModelCone(state, foot, 0.8), lower=0.0)
    running = costs(1.0).add("effort", ResidualModelControl(state), weight=1e-3)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, contacts, running, constraints=rows)
    problem = ShootingProblem(x0, [IntegratedActionModelEuler(model, DT)] * T, ActionModelTerminal(costs(DT)))
    for t in range(T):
        problem.set_parameter("com.reference", path[t], knots=t)
    return problem


def test_standing_on_friction_cones() -> None:
    problem = circle()
    options = SQPOptions(tolerance=1e-5, feasibility=1e-6, max_iterations=26)
    solution = SolverSQP(problem, options).solve()
    assert solution.converged
    assert solution.cost == pytest.approx(0.4463326572, rel=1e-8)
    assert max(v.max() for v in solution.violations().values()) < 1e-5
    for foot, forces in solution.contact_forces().items():
        assert np.all(np.hypot(forces[:, 0], forces[:, 1]) <= 0.8 * forces[:, 2] + 1e-5), foot


@pytest.mark.parametrize("effort", [(0.5, 0.2), (1.5, 1.0)])
def test_torque_too_weak_to_get_there_is_infeasible(effort: tuple[float, float]) -> None:
    """With Gauss-Newton Hessians, too; 20 and 10 N m are enough."""
    state = StateMultibody(trajopt.load_robot("planar-2r"))
    costs = CostStack(state).add("effort", ResidualModelControl(state), weight=1e-3)
    costs.add("posture", ResidualModelState(state), weight=1e-3)
    motor = ConstraintStack(state)
    motor.add("motor", ResidualModelControl(state), lower=-np.array(effort), upper=effort)
    pose = ConstraintStack(state).add("pose", ResidualModelState(state, [1.0, 0.5, 0.0, 0.0]), equals=0.0)
    model = DifferentialActionModelFreeFwdDynamics(state, ActuationModelFull(state), costs, constraints=motor)
    end = ActionModelTerminal(CostStack(state), constraints=pose)
    problem = ShootingProblem(np.zeros(4), [IntegratedActionModelEuler(model, 0.02)] * 60, end)
    solution = SolverSQP(problem).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert "constraint 'pose'" in solution.explain()
    problem.set_parameter("motor.lower", [-20.0, -10.0])
    problem.set_parameter("motor.upper", [20.0, 10.0])
    assert SolverSQP(problem).solve().converged
