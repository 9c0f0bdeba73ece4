"""SolverSQP where the state turns: a step rotates it by little, so that no solve ends in a full turn."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord
from trajopt.solvers import SolverIpopt, SolverSQP
from trajopt.states import StateProduct, StateSE3, StateVector
from trajopt.types import Reals

POSE = StateSE3()
STATE = StateProduct(POSE, StateVector(6))  # pose, velocity and rates in the body [m, m/s, rad/s]
MASS, INERTIA, ARM, DRAG, GRAVITY = 0.8, np.array([6e-3, 6e-3, 1.1e-2]), 0.18, 0.016, 9.81
T, DT = 40, 0.05
BALLS = np.array([[1.0, 0.35, 1.0, 0.4], [2.2, -0.3, 1.1, 0.5]])  # centre and radius [m]


class Drone(DifferentialActionModelSymbolic):
    """Four thrusts [N], in the order front, left, rear, right."""

    def acceleration(self, x: SX, u: SX) -> SX:
        pose, twist = self.state.split(x)  # type: ignore[attr-defined]
        v, w = twist[:3], twist[3:]
        force = ca.vertcat(0, 0, ca.sum1(u)) / MASS - GRAVITY * POSE.sx_rotation(pose).T[:, 2]
        torque = ca.vertcat(ARM * (u[1] - u[3]), ARM * (u[2] - u[0]), DRAG * (u[0] - u[1] + u[2] - u[3]))
        return ca.vertcat(force - ca.cross(w, v), (torque - ca.cross(w, INERTIA * w)) / INERTIA)


def clearance(x: SX, ball: SX) -> SX:
    """Distance to a ball [m]."""
    return ca.sqrt(ca.sumsqr(x[:3] - ball[:3]) + 1e-9) - ball[3]


def at(place: list[float]) -> Reals:
    """The state at rest and upright at a place."""
    return np.r_[place, STATE.zero()[3:]]


@functools.cache
def flight() -> ShootingProblem:
    """3.2 m in 2 s, past two balls, by way of a place halfway."""
    costs = CostStack(STATE).add("thrust", ResidualModelControl(STATE, [MASS * GRAVITY / 4] * 4), weight=0.1)
    rates = ActivationModelWeightedQuad([0.0] * 6 + [0.1] * 3 + [1.0] * 3)
    costs.add("rates", ResidualModelState(STATE), weight=0.1, activation=rates)
    costs.add("way", ResidualModelState(STATE, at([1.6, 0.2, 1.4]), elements=range(3)), weight=0.0)
    limits = ConstraintStack(STATE).add("motors", ResidualModelControl(STATE), lower=0.0, upper=6.0)
    for name, ball in zip("ab", BALLS):
        limits.add(name, ResidualModelSymbolic(STATE, clearance, parameters={"ball": ball}), lower=0.15)
    goal = ConstraintStack(STATE).add("goal", ResidualModelState(STATE, at([3.2, 0.0, 1.0])), equals=0.0)
    node = IntegratedActionModelEuler(Drone(STATE, 4, costs, constraints=limits), dt=DT)
    end = ActionModelTerminal(CostStack(STATE), constraints=goal)
    problem = ShootingProblem(at([0.0, 0.0, 1.0]), [node] * T, end)
    problem.set_parameter("way.weight", 1e4, T // 2)
    return problem


HOVER = np.full((T, 4), MASS * GRAVITY / 4)
WAYS = [[1.76, 0.15, 1.42], [1.36, 0.33, 1.42], [1.58, 0.02, 1.35], [1.61, 0.01, 1.46], [1.74, 0.26, 1.61]]


def yaw(xs: Reals) -> float:
    """Sum of the yaw rate, which counts full turns [rad]."""
    return float(xs[:, 12].sum() * DT)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_flight_without_a_full_turn(way: list[float]) -> None:
    """Without a limit on rotations, the first rollouts tumble, and each of these ends with one full turn or more."""
    problem, largest = flight(), [0.0]
    problem.set_parameter("way.reference", at(way), T // 2)
    before = [np.tile(problem.x0, (T + 1, 1))]

    def watch(record: IterationRecord) -> None:
        xs = record.trajectory[0]
        largest.append(max(np.abs(STATE.difference(old, new)[3:6]).max() for old, new in zip(before[0], xs)))
        before[0] = xs.copy()

    solution = SolverSQP(problem, callbacks=[watch]).solve(us=HOVER)
    assert solution.converged
    assert abs(yaw(solution.xs)) < 0.5
    assert max(largest) < np.pi / 2


def test_cost_of_the_flight_is_that_of_ipopt() -> None:
    problem = flight()
    problem.set_parameter("way.reference", at(WAYS[0]), T // 2)
    line = np.linspace(problem.x0, at([3.2, 0.0, 1.0]), T + 1)  # of positions: upright and at rest
    reference = SolverIpopt(problem).solve(line, HOVER)
    assert reference.converged
    assert SolverSQP(problem).solve(us=HOVER).cost == pytest.approx(reference.cost, rel=1e-6)
