"""Small problems with constraints, solved by SolverSQP: a weak pendulum, one too weak, and an arm with limits."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from casadi import SX

import trajopt
from trajopt.robots.skeleton import Skeleton
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.types import Reals

MOTOR = 1.5
"""Largest torque of the pendulum [N m]; 4.9 would lift it at once."""
DT, KNOTS = 0.03, 100


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """1 kg at 0.5 m."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return 4.0 * u - 19.62 * ca.sin(x[0])

    def skeleton(self, xs: Reals, parameters: dict[str, Reals]) -> Skeleton:
        bob = 0.5 * np.stack([np.sin(xs[:, 0]), 0.0 * xs[:, 0], -np.cos(xs[:, 0])], axis=1)
        return Skeleton(points=np.stack([0.0 * bob, bob], axis=1), bones=[(0, 1)], fixed=[(0, 0)], tracks=[1])


@functools.cache
def pendulum_problem() -> ShootingProblem:
    """A swing-up with a weak motor to rest upright."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    effort, motion = trajopt.ResidualModelControl(state), trajopt.ResidualModelState(state, [np.pi, 0.0])
    costs = trajopt.CostStack(state).add("effort", effort, weight=1.0)
    motor = trajopt.ConstraintStack(state).add("motor", effort, lower=-MOTOR, upper=MOTOR)
    upright = trajopt.ConstraintStack(state).add("upright", motion, equals=0.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=upright)
    named = {"control_names": ["torque"], "control_units": ["N m"]}
    node = trajopt.IntegratedActionModelEuler(Pendulum(state, 1, costs, constraints=motor, **named), dt=DT)
    return ShootingProblem([0.0, 0.0], [node] * KNOTS, end)


@functools.cache
def pendulum() -> Solution:
    """It swings up."""
    return SolverSQP(pendulum_problem()).solve()


@functools.cache
def weak_pendulum() -> Solution:
    """Its motor is too weak: there is no solution."""
    problem = pendulum_problem()
    try:
        problem.set_parameter("motor.lower", -0.8)
        problem.set_parameter("motor.upper", 0.8)
        return SolverSQP(problem, SQPOptions(max_iterations=200)).solve()
    finally:
        problem.set_parameter("motor.lower", -MOTOR)
        problem.set_parameter("motor.upper", MOTOR)


@functools.cache
def arm() -> Solution:
    """The planar arm of two joints reaches a point: limits of torques and speeds, and a wall for its tool."""
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    start, goal = np.array([-1.2, 0.4, 0.0, 0.0]), np.array([0.9, 0.3, 0.0, 0.0])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    limits = trajopt.ConstraintStack(state)
    limits.add("torque", trajopt.ResidualModelControl(state), lower=[-9.0, -4.0], upper=[9.0, 4.0])
    far = [np.inf, np.inf]
    limits.add("speed", trajopt.ResidualModelState(state), lower=[-np.inf, -np.inf, -4.0, -6.0], upper=[*far, 4.0, 6.0])
    tool = trajopt.ResidualModelFrameTranslation(state, "tool", np.zeros(3))
    limits.add("wall", tool, upper=[0.8, np.inf, np.inf])
    rest = trajopt.ConstraintStack(state).add("rest", trajopt.ResidualModelState(state, goal), equals=0.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), costs, constraints=limits
    )
    node = trajopt.IntegratedActionModelEuler(dynamics, dt=0.025)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=rest)
    problem = ShootingProblem(start, [node] * 40, end)
    return SolverSQP(problem).solve(np.linspace(start, goal, 41))


class Mass(trajopt.ActionModelDiscrete):
    """A point mass on a line."""

    def next_state(self, x: SX, u: SX) -> SX:
        return ca.vertcat(x[0] + 0.1 * x[1], x[1] + 0.1 * u)

    def running_cost(self, x: SX, u: SX) -> SX:
        return 0.5 * ca.sumsqr(u)

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


@functools.cache
def torn_mass() -> Solution:
    """Two walls that exclude one another at the end."""
    state = trajopt.StateVector(2, names=["p", "v"], units=["m", "m/s"])
    motor = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=-1.0, upper=1.0)
    walls, p = trajopt.ConstraintStack(state), trajopt.ResidualModelSymbolic(state, lambda x: x[0], unit="m")
    walls.add("right_of", p, lower=0.2).add("left_of", p, upper=0.1)
    problem = ShootingProblem(np.zeros(2), [Mass(state, 1, constraints=motor)] * 12, Mass(state, 1, constraints=walls))
    return SolverSQP(problem, SQPOptions(max_iterations=200)).solve()
