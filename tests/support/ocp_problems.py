"""Constrained optimal-control problems with known optima, and the guesses that they are solved from.

Definitions 1, 2, 4, 5 follow Altro.jl and RobotZoo, Breakwell's is of Betts, the last Kelly's (2017). One Runge-Kutta
step an interval, controls held; the cost is of the knots; the final state is hard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions import ActionModelDiscrete, ActionModelTerminal
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.states import StateVector
from trajopt.types import Reals

Rate = Callable[[SX, SX], Sequence[Any]]
INF = np.inf


class RungeKutta(ActionModelDiscrete):
    """ẋ = rate(x, u) by one step of order 4; cost dt ½ (Q |x - goal|² + R |u|²)."""

    def __init__(
        self, rate: Rate, nu: int, dt: float, Q: float, R: float, goal: Reals, constraints: ConstraintStack
    ) -> None:
        super().__init__(constraints.state, nu, constraints=constraints)
        self.rate, self.dt, self.Q, self.R, self.goal = rate, dt, Q, R, goal

    def next_state(self, x: SX, u: SX) -> SX:
        def f(y: SX) -> SX:
            return SX(ca.vertcat(*self.rate(y, u)))

        k1 = f(x)
        k2 = f(x + self.dt / 2 * k1)
        k3 = f(x + self.dt / 2 * k2)
        k4 = f(x + self.dt * k3)
        return x + self.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def running_cost(self, x: SX, u: SX) -> SX:
        error = x - ca.DM(self.goal)
        return SX(self.dt / 2 * (self.Q * ca.dot(error, error) + self.R * ca.dot(u, u)))

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


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


def _problem(
    rate: Rate,
    *,
    T: int,
    dt: float,
    Q: float,
    R: float,
    start: Sequence[float],
    goal: Sequence[float],
    u: tuple[Sequence[float], Sequence[float]] | None = None,
    x: tuple[Sequence[float], Sequence[float]] | None = None,
    circles: Sequence[tuple[float, float, float]] = (),
    guess: Sequence[float],
    cost: float,
    iterations: int,
) -> OptimalControlProblem:
    state, end = StateVector(len(start)), np.array(goal, dtype=float)
    rows = ConstraintStack(state)
    if u is not None:
        rows.add("effort", ResidualModelControl(state), lower=u[0], upper=u[1])
    if x is not None:
        rows.add("box", ResidualModelState(state, np.zeros(len(start))), lower=x[0], upper=x[1])
    if circles:

        def distances(x: SX) -> SX:
            return SX(ca.vertcat(*((x[0] - a) ** 2 + (x[1] - b) ** 2 - r**2 for a, b, r in circles)))

        rows.add("circles", ResidualModelSymbolic(state, distances), lower=0.0)
    model = RungeKutta(rate, len(guess), dt, Q, R, end, rows)
    last = ConstraintStack(state).add("goal", ResidualModelState(state, end), equals=0.0)
    terminal = ActionModelTerminal(CostStack(state), constraints=last)
    return OptimalControlProblem(
        problem=ShootingProblem(np.array(start, dtype=float), [model] * T, terminal),
        goal=end,
        guess=(np.zeros((T + 1, len(start))), np.tile(np.array(guess, dtype=float), (T, 1))),
        cost=cost,
        iterations=iterations,
    )


def pendulum() -> OptimalControlProblem:
    """A swing-up with a torque that is too weak to lift the pendulum at once."""
    return _problem(
        lambda x, u: (x[1], u[0] / 0.25 - 19.62 * ca.sin(x[0]) - 0.4 * x[1]),
        T=50,
        dt=0.06,
        Q=1e-3,
        R=1e-3,
        start=(0, 0),
        goal=(np.pi, 0),
        u=([-3], [3]),
        guess=(0.1,),
        cost=0.0184046275,
        iterations=35,
    )


def _cart_pole_rate(cart: float, pole: float, length: float) -> Rate:
    """Position, angle from below, and their rates."""

    def rate(x: SX, u: SX) -> tuple[Any, ...]:
        sine, cosine = ca.sin(x[1]), ca.cos(x[1])
        inertia = cart + pole * sine**2
        pull = pole * length * x[3] ** 2 * sine
        a = (u[0] + pull + pole * 9.81 * sine * cosine) / inertia
        b = -(u[0] * cosine + pull * cosine + (cart + pole) * 9.81 * sine) / (length * inertia)
        return x[2], x[3], a, b

    return rate


def cart_pole() -> OptimalControlProblem:
    """A swing-up with a weak motor."""
    return _problem(
        _cart_pole_rate(1.0, 0.2, 0.5),
        T=100,
        dt=0.05,
        Q=0.01,
        R=0.1,
        start=(0, 0, 0, 0),
        goal=(0, np.pi, 0, 0),
        u=([-3], [3]),
        guess=(0.01,),
        cost=1.48618673,
        iterations=45,
    )


def _car(x: SX, u: SX) -> tuple[Any, ...]:
    return u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[1]


def parking() -> OptimalControlProblem:
    """A car moves sideways in a narrow lane."""
    return _problem(
        _car,
        T=100,
        dt=0.03,
        Q=0.01,
        R=0.01,
        start=(0, 0, 0),
        goal=(0, 1.5, 0),
        u=([-2, -2], [2, 2]),
        x=([-0.25, -0.001, -INF], [0.25, 1.501, INF]),
        guess=(0.1, 0.1),
        cost=0.0540669996,
        iterations=20,
    )


def obstacles() -> OptimalControlProblem:
    """A car between three circles on its way."""
    return _problem(
        _car,
        T=100,
        dt=0.05,
        Q=1.0,
        R=0.5,
        start=(0, 0, 0),
        goal=(3, 3, 0),
        u=([0, -3], [3, 3]),
        circles=[(a, a, 0.425) for a in (0.75, 1.5, 2.25)],
        guess=(0.01, 0.01),
        cost=9.4337504,
        iterations=55,
    )


def breakwell() -> OptimalControlProblem:
    """A double integrator below a ceiling."""
    return _problem(
        lambda x, u: (x[1], u[0]),
        T=100,
        dt=0.01,
        Q=0.0,
        R=1.0,
        start=(0, 1),
        goal=(0, -1),
        x=([-INF, -INF], [0.1, INF]),
        guess=(0.0,),
        cost=4.44567919,
        iterations=14,
    )


def kelly() -> OptimalControlProblem:
    """A cart-pole between walls, from interpolated states; the guess leads to the second-best optimum."""
    found = _problem(
        _cart_pole_rate(1.0, 0.3, 0.5),
        T=100,
        dt=0.02,
        Q=0.0,
        R=2.0,
        start=(0, 0, 0, 0),
        goal=(1, np.pi, 0, 0),
        u=([-20], [20]),
        x=([-2, -INF, -INF, -INF], [2, INF, INF, INF]),
        guess=(0.0,),
        cost=58.888336,
        iterations=16,
    )
    part = np.linspace(0, 1, 101)
    found.guess[0][:, :2] = np.c_[part, np.pi * part]
    return found


PROBLEMS = {f.__name__: f for f in (pendulum, cart_pole, parking, obstacles, breakwell, kelly)}
