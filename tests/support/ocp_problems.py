"""Constrained optimal-control problems with known optima, and the guesses that they are solved from.

The first four are ready problems; Breakwell's is of Betts, the last Kelly's (2017). One Runge-Kutta step an interval,
controls held; the cost is of the knots; the final state is hard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from trajopt import problems
from trajopt.constraints import ConstraintStack
from trajopt.problems.cart_pole_limits import ActionModelCartPole, state_of_cart_pole
from trajopt.problems.runge_kutta import ActionModelRungeKutta, ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector
from trajopt.types import Reals

INF = np.inf


@dataclass(frozen=True, kw_only=True)
class OptimalControlProblem:
    """A problem with a known optimum.

    Attributes:
        problem: The problem.
        goal: Its final state.
        guess: States (T + 1, nx) and controls (T, nu).
        cost: Best known cost, or that which the guess leads to.
        iterations: Number of iterations that it must be solved in from the guess.
    """

    problem: ShootingProblem
    goal: Reals
    guess: tuple[Reals, Reals]
    cost: float
    iterations: int

    def random_guess(self, seed: int) -> tuple[Reals, Reals]:
        """States from x0 to the goal plus noise of 0.5, controls of noise."""
        rng, p = np.random.default_rng(seed), self.problem
        part = np.linspace(0, 1, p.T + 1)[:, None]
        xs = (1 - part) * p.x0 + part * self.goal + 0.5 * rng.standard_normal((p.T + 1, p.state.nx))
        return xs, rng.standard_normal((p.T, p.nu))


def _ready(name: str, iterations: int) -> OptimalControlProblem:
    """A ready problem with its defaults."""
    case = problems.load(name)
    goal = case.problem.get_parameter("goal.reference")
    assert case.xs is not None
    assert case.us is not None
    assert case.reference_cost is not None
    return OptimalControlProblem(
        problem=case.problem,
        goal=np.asarray(goal),
        guess=(case.xs, case.us),
        cost=case.reference_cost,
        iterations=iterations,
    )


def pendulum() -> OptimalControlProblem:
    """A swing-up with a torque that is too weak to lift the pendulum at once."""
    return _ready("pendulum-limits", 35)


def cart_pole() -> OptimalControlProblem:
    """A swing-up with a weak motor."""
    return _ready("cart-pole-limits", 45)


def parking() -> OptimalControlProblem:
    """A car moves sideways in a narrow lane."""
    return _ready("parking", 20)


def obstacles() -> OptimalControlProblem:
    """A car between three circles on its way."""
    return _ready("parking-circles", 55)


class DoubleIntegrator(ActionModelRungeKutta):
    """ẍ = u."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(ca.vertcat(x[1], u))


def breakwell() -> OptimalControlProblem:
    """A double integrator below a ceiling."""
    state, goal = StateVector(2), np.array([0.0, -1.0])
    rows = ConstraintStack(state).add("ceiling", ResidualModelState(state), upper=[0.1, INF])
    model = DoubleIntegrator(1, rows, dt=0.01, goal=goal, weight=0.0, effort=1.0)
    return OptimalControlProblem(
        problem=ShootingProblem(np.array([0.0, 1.0]), [model] * 100, ends_at(state, goal)),
        goal=goal,
        guess=(np.zeros((101, 2)), np.zeros((100, 1))),
        cost=4.44567919,
        iterations=14,
    )


def kelly() -> OptimalControlProblem:
    """A cart-pole between walls, from interpolated states; the guess leads to the second-best optimum."""
    state, goal = state_of_cart_pole(), np.array([1.0, np.pi, 0.0, 0.0])
    rows = ConstraintStack(state).add("force", ResidualModelControl(state), lower=-20.0, upper=20.0)
    rows.add("walls", ResidualModelState(state), lower=[-2.0, -INF, -INF, -INF], upper=[2.0, INF, INF, INF])
    model = ActionModelCartPole(rows, pole_mass=0.3, dt=0.02, goal=goal, weight=0.0, effort=2.0)
    xs = np.linspace(0, 1, 101)[:, None] * goal
    return OptimalControlProblem(
        problem=ShootingProblem(np.zeros(4), [model] * 100, ends_at(state, goal)),
        goal=goal,
        guess=(xs, np.zeros((100, 1))),
        cost=58.888336,
        iterations=16,
    )


PROBLEMS: dict[str, Callable[[], OptimalControlProblem]] = {
    f.__name__: f for f in (pendulum, cart_pole, parking, obstacles, breakwell, kelly)
}
