"""Swing-ups from random starts, the same for every solver: which of them converge.

Both problems have the exact Hessian of 1 - cos, indefinite beyond 90 degrees, as Crocoddyl's models of them. Every
solve starts from x0 at each knot and controls of zero, which has gaps wherever x0 is no equilibrium.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trajopt import problems
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.costs import CostStack
from trajopt.problems.cart_pole import STEP, WEIGHTS, DifferentialActionModelCartPole
from trajopt.problems.upright import upright_cost
from trajopt.residuals import ResidualModelControl
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverAbstract
from trajopt.states import StateVector

Reals = npt.NDArray[np.float64]
SEED = 0


@dataclass(frozen=True)
class Family:
    """A problem, and the box in which its starts lie.

    Attributes:
        build: Makes it.
        spread: Half the width of the box (nx,), about zero.
    """

    build: Callable[[], ShootingProblem]
    spread: tuple[float, ...]

    def starts(self, count: int) -> Reals:
        """Initial states (count, nx), the first ones of a longer list if there are fewer."""
        return np.random.default_rng(SEED).uniform(-1.0, 1.0, (count, len(self.spread))) * self.spread


def double_pendulum() -> ShootingProblem:
    """Crocoddyl's double_pendulum_fwddyn."""
    return problems.load("double-pendulum", hessian="exact").problem


def balance() -> ShootingProblem:
    """The cart-pole of notebook 02 as our other benchmarks have it: the end costs what every knot costs."""
    return problems.load("cart-pole", T=100, hessian="exact").problem


def swing_up() -> ShootingProblem:
    """... and as the notebook swings it up: costs times the time step, and an end that is 10,000 times heavier."""
    state = StateVector(4, names=["y", "theta", "dy", "dtheta"])
    running, terminal = CostStack(state), CostStack(state)
    for stack, weights in ((running, WEIGHTS), (terminal, (1.0, 1e4, 1e-2, 1e-4))):
        residual, upright = upright_cost(state, weights, (1,), "exact")
        stack.add("upright", residual, weight=1.0, activation=upright)
    running.add("force", ResidualModelControl(state), weight=1.0)
    node = IntegratedActionModelEuler(DifferentialActionModelCartPole(running), dt=STEP)
    return ShootingProblem(np.zeros(4), [node] * 100, terminal)


CART_POLE = (1.0, np.pi, 1.0, 2.0)  # [m, rad, m/s, rad/s]
FAMILIES = {
    "double-pendulum": Family(double_pendulum, (np.pi, np.pi, 0.0, 0.0)),
    "cart-pole-balance": Family(balance, CART_POLE),
    "cart-pole-swing-up": Family(swing_up, CART_POLE),
}


def solve_from(solver: SolverAbstract, x0: Reals) -> Solution:
    """A solve from x0 at every knot, and no control."""
    problem = solver.problem
    problem.x0 = x0
    return solver.solve(np.tile(x0, (problem.T + 1, 1)), np.zeros((problem.T, problem.nu)))
