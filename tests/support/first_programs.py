"""First programs of a solve, and those on which stage-wise solvers were published: of an arm, a quadruped, a humanoid.

Source: Jordana et al., Stagewise implementations of sequential quadratic programming for model-predictive control
(2023), and the benchmark that its authors published. Their draws are of the same distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

import trajopt
from tests.benchmarks.constrained import FEET, Constrained
from tests.support.stagewise_sampling import IIWA
from trajopt import problems
from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelContactFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelFloatingBase, ActuationModelFull
from trajopt.constraints import ConstraintStack
from trajopt.contacts import ContactStack
from trajopt.costs import CostStack
from trajopt.problems.com_circle import POSTURE
from trajopt.problems.humanoid_taichi import ASIDE, LIFTED
from trajopt.residuals import (
    ResidualModelContactForce,
    ResidualModelControlGrav,
    ResidualModelFrameTranslation,
    ResidualModelFrameVelocity,
    ResidualModelJointAcceleration,
    ResidualModelState,
)
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.qp import StageQP
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.states import StateMultibody


def kuka(rng: np.random.Generator) -> Constrained:
    """An arm in motion regulates to where it is; in a tenth of a second its tool is to be within a box."""
    state = StateMultibody(trajopt.load_robot(IIWA))
    posture = np.array([0.0, 1.04, 0.0, -1.13, 0.2, 0.78, 0.0])
    x0 = np.r_[posture + rng.uniform(-1.0, 1.0, 7), rng.uniform(-1.0, 1.0, 7)]
    actuation, lower, upper = ActuationModelFull(state), [0.45, -0.2, 0.15], [0.75, 0.2, 0.5]

    def costs(still: float) -> CostStack:
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1)
        stack.add("tool", ResidualModelFrameTranslation(state, "contact", lower), weight=1.0)
        speed = ResidualModelFrameVelocity(state, "contact", reference_frame="local_world_aligned")
        return stack.add("speed", speed, weight=still)

    running = costs(1e-3).add("gravity", ResidualModelControlGrav(state, actuation), weight=1e-4)
    running.add("acceleration", ResidualModelJointAcceleration(state), weight=1e-4)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, ContactStack(state), running)
    box = ConstraintStack(state).add("box", ResidualModelFrameTranslation(state, "contact"), lower=lower, upper=upper)
    nodes = [IntegratedActionModelEuler(model, 1e-2)] * 10
    return _at_rest(ShootingProblem(x0, nodes, ActionModelTerminal(costs(0.1), constraints=box)))


def solo12(rng: np.random.Generator) -> Constrained:
    """Solo12 leans forward by 65 mm, feet within round friction cones."""
    problem = problems.load("com-circle", T=40, holding=False, mu=0.8 + 0.01 * rng.uniform(-1.0, 1.0)).problem
    robot = trajopt.load_robot("solo12")
    data = robot.model.createData()
    pin.framesForwardKinematics(robot.model, data, np.array(POSTURE))
    goal = np.mean([data.oMf[robot.frame_id(foot)].translation for foot in FEET], axis=0)
    goal[2] = pin.centerOfMass(robot.model, data, np.array(POSTURE))[2]
    problem.set_parameter("com.reference", goal + np.array([0.065, 0.0, 0.0]), knots="all")
    return _at_rest(problem)


def talos(rng: np.random.Generator) -> Constrained:
    """Talos reaches and steps as in taichi, and its right sole pushes, and turns about the vertical one way only."""
    hand = np.array([0.4, 0.0, 1.2 + 0.05 * rng.uniform(-1.0, 1.0)])
    given = problems.load("humanoid-taichi", knots=10, damping=40.0, limits="distance", cone=0.0, target=hand).problem
    before = given.running[0].differential
    state, costs = given.state, CostStack(given.state)
    for term in before.costs.terms:
        costs.add(term.name, term.residual, weight=float(term.weight.default), activation=term.activation)
    sole = ResidualModelContactForce(state, "right", np.zeros(6))
    costs.add("sole", sole, weight=1e-3)
    lower = np.array([-np.inf, -np.inf, 0.0] * 2)
    rows = ConstraintStack(state).add("push", ResidualModelContactForce(state, "right", np.zeros(6)), lower=lower)
    actuation = ActuationModelFloatingBase(state)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, before.contacts, costs, constraints=rows)
    problem = ShootingProblem(given.x0, [IntegratedActionModelEuler(model, 0.05)] * 30, given.terminal)
    problem.set_parameter("foot.weight", 0.0, range(10))
    problem.set_parameter("contacts.left.active", 0.0, range(10, 30))
    for first, place in ((10, ASIDE), (20, LIFTED)):
        problem.set_parameter("foot.reference", pin.SE3(np.eye(3), np.array(place)), range(first, first + 10))
    return _at_rest(problem)


def first_program(case: Constrained) -> StageQP:
    """The quadratic program at the guess, with the first state given and rows that are free of u not enforced there."""
    e = Evaluator(case.problem)
    e.prepare()
    e.xs[:], e.us[:] = case.xs, case.us
    e.expand(case.problem.x0)
    qp = replace(StageQP.zeros(LinearQuadratic.of(e), e.nc), C=e.C, terminal_C=e.terminal_C)
    lower, upper = e.row_bounds()
    qp.lower[:], qp.upper[:] = lower - e.c, upper - e.c
    free = ~np.any(e.C[0, :, e.state.ndx :], axis=1)
    qp.lower[0, free], qp.upper[0, free] = -np.inf, np.inf
    return qp


def _at_rest(problem: ShootingProblem) -> Constrained:
    """x0 at each knot, and the controls that hold it there."""
    xs = np.tile(problem.x0, (problem.T + 1, 1))
    return Constrained(problem, xs, problem.quasi_static(xs[:-1]))


@dataclass(frozen=True, kw_only=True)
class Published:
    """A family of programs.

    Attributes:
        build: Makes a problem with its guess, from a generator of random numbers.
        interior_point: Iterations that an interior point is published to take to 1e-4 [-].
    """

    build: Callable[[np.random.Generator], Constrained]
    interior_point: int


PUBLISHED = {
    "kuka": Published(build=kuka, interior_point=4),
    "solo12": Published(build=solo12, interior_point=6),
    "talos": Published(build=talos, interior_point=37),
}
