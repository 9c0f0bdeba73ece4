"""A chain of masses on springs between a wall and a hand: a nonlinear system of 21 states.

Parameters and cost are those of acados' example chain_mass, after Kouzoupis et al., Recent advances in quadratic
programming algorithms for nonlinear model predictive control (2018); Runge-Kutta with two substeps.
"""

from __future__ import annotations

import itertools

import casadi as ca
import numpy as np
from casadi import SX

from tests.support.ocp_problems import OptimalControlProblem
from trajopt.actions import ActionModelDiscrete
from trajopt.constraints import ConstraintStack
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector
from trajopt.types import Reals

INNER = 3  # masses between the wall and the hand [-]
MASS, SPRING, REST = 0.033, 1.0, 0.033  # [kg], [N/m], [m]
GRAVITY = 9.81  # [m/s²]
STEP, SUBSTEPS = 0.2, 2  # [s], [-]
NX = 3 * (2 * INNER + 1)
WEIGHTS = np.concatenate([np.ones(3 * INNER), np.full(3, INNER + 1.0), np.ones(3 * INNER)])


def rate(x: SX, u: SX) -> SX:
    """Rates of the positions of the inner masses and the hand, and of the inner velocities."""
    places = [SX(3, 1), *(x[3 * i : 3 * i + 3] for i in range(INNER + 1))]
    pulls = []
    for one, other in itertools.pairwise(places):
        way = other - one
        pulls.append(SPRING / MASS * (1 - REST / ca.sqrt(ca.dot(way, way))) * way)
    forces = [pulls[i + 1] - pulls[i] - ca.DM([0, 0, GRAVITY]) for i in range(INNER)]
    return SX(ca.vertcat(x[3 * (INNER + 1) :], u, *forces))


def after_a_step(x: SX, u: SX) -> SX:
    """The state a time step later."""
    dt = STEP / SUBSTEPS
    for _ in range(SUBSTEPS):
        k1 = rate(x, u)
        k2 = rate(x + dt / 2 * k1, u)
        k3 = rate(x + dt / 2 * k2, u)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + dt * k3, u))
    return x


def steady() -> Reals:
    """The state at rest with the hand held at (6 (INNER + 1) REST, 0, 0)."""
    hand = ca.DM([6 * REST * (INNER + 1), 0, 0])
    inner = SX.sym("inner", 3 * INNER)
    x = ca.vertcat(inner, hand, SX(3 * INNER, 1))
    solve = ca.rootfinder("rest", "newton", {"x": inner, "g": rate(x, SX(3, 1))[3 * (INNER + 1) :]})
    guess = np.zeros(3 * INNER)
    guess[::3] = np.linspace(0, float(hand[0]), INNER + 2)[1:-1]
    return np.array(ca.vertcat(solve(guess, 0), hand, ca.DM.zeros(3 * INNER))).ravel()


class ActionModelChain(ActionModelDiscrete):
    """Costs Σ q (x - rest)² + 0.01 |u|², without ½ and time step."""

    def __init__(self, rest: Reals, constraints: ConstraintStack) -> None:
        super().__init__(constraints.state, 3, constraints=constraints)
        self.rest = rest

    def next_state(self, x: SX, u: SX) -> SX:
        return after_a_step(x, u)

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(self.terminal_cost(x) + 0.01 * ca.sumsqr(u))

    def terminal_cost(self, x: SX) -> SX:
        return SX(ca.dot(ca.DM(WEIGHTS), (x - ca.DM(self.rest)) ** 2))


def chain(*, wall: bool, cost: float, iterations: int) -> OptimalControlProblem:
    """The hand brings the chain back to rest after a pull, |u| at most 1, with y >= -0.05 if there is a wall."""
    rest, state = steady(), StateVector(NX)
    x, u = SX.sym("x", NX), SX.sym("u", 3)
    step, start = ca.Function("step", [x, u], [after_a_step(x, u)]), rest
    for _ in range(5):
        start = np.array(step(start, [-1, 1, 1])).ravel()

    def rows(*, end: bool) -> ConstraintStack:
        stack = ConstraintStack(state)
        if not end:
            stack.add("hand", ResidualModelControl(state), lower=-1.0, upper=1.0)
        if wall:
            lowest = np.full(NX, -np.inf)
            lowest[1 : 3 * (INNER + 1) : 3] = -0.05
            stack.add("wall", ResidualModelState(state), lower=lowest)
        return stack

    model, last = (ActionModelChain(rest, rows(end=end)) for end in (False, True))
    return OptimalControlProblem(
        problem=ShootingProblem(start, [model] * 40, last),
        goal=rest,
        guess=(np.tile(start, (41, 1)), np.zeros((40, 3))),
        cost=cost,
        iterations=iterations,
    )
