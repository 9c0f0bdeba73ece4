"""What explain() names to relax is enough: the relaxed problem has a solution."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.analysis import constraint_rows
from trajopt.analysis.basics import rounded_up
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverSQP

AMOUNTS = re.compile(r"'(\w+)(?:\[(\w+)\])?' by (\d\S*)")


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """A point mass on a rod of 0.5 m: q = 0 hangs."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return 4.0 * u - 19.62 * ca.sin(x[0])


class CartPole(trajopt.DifferentialActionModelSymbolic):
    """A cart of 1 kg with a point mass of 0.3 kg on a rod of 0.5 m: angle = 0 hangs."""

    def acceleration(self, x: SX, u: SX) -> SX:
        sin, cos = ca.sin(x[1]), ca.cos(x[1])
        cart = (u[0] + 0.3 * sin * (0.5 * x[3] ** 2 + 9.81 * cos)) / (1.0 + 0.3 * sin**2)
        return ca.vertcat(cart, -(cos * cart + 9.81 * sin) / 0.5)


def swing_up(model: type, names: dict[str, str], *, motor: float, path: list[float], T: int, dt: float) -> Solution:
    """Swing-up of the last position under limits of the force and of the states, solved."""
    state = trajopt.StateVector(len(names), names=list(names), units=list(names.values()))
    effort, goal = trajopt.ResidualModelControl(state), np.zeros(len(names))
    goal[len(names) // 2 - 1] = np.pi
    costs = trajopt.CostStack(state).add("effort", effort, weight=1.0)
    limits = trajopt.ConstraintStack(state).add("motor", effort, lower=-motor, upper=motor)
    limits.add("path", trajopt.ResidualModelState(state), lower=-np.array(path), upper=np.array(path))
    upright = trajopt.ConstraintStack(state).add("up", trajopt.ResidualModelState(state, goal), equals=0.0)
    knot = trajopt.IntegratedActionModelEuler(model(state, 1, costs, constraints=limits), dt=dt)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=upright)
    return SolverSQP(ShootingProblem(np.zeros(len(names)), [knot] * T, end)).solve()


def pendulum(*, motor: float, speed: float, T: int) -> Solution:
    names = {"q": "rad", "v": "rad/s"}
    return swing_up(Pendulum, names, motor=motor, path=[np.inf, speed], T=T, dt=0.03)


def cart_pole(*, motor: float, rail: float, T: int, dt: float = 0.04) -> Solution:
    names = {"cart": "m", "angle": "rad", "v": "m/s", "w": "rad/s"}
    return swing_up(CartPole, names, motor=motor, path=[rail, np.inf, np.inf, np.inf], T=T, dt=dt)


def relaxed(solution: Solution) -> Solution:
    """Solves the problem with the bounds that the text about a solution advises."""
    (advice,) = [line for line in solution.explain().splitlines() if "relax '" in line]
    problem = solution.problem
    assert problem is not None
    amounts: dict[str, dict[str, float]] = {}
    for name, row, amount in AMOUNTS.findall(advice):
        amounts.setdefault(name, {})[row] = float(amount)
    assert amounts
    for rows in constraint_rows(solution):
        wider = np.array([amounts.get(rows.name, {}).get(row if len(rows.rows) > 1 else "", 0.0) for row in rows.rows])
        for side, sign in (("lower", -1.0), ("upper", 1.0)):
            bounds = getattr(rows, side)[rows.knots[0]] + sign * wider
            problem.set_parameter(
                f"{rows.name}.{side}", bounds if problem.parameters[f"{rows.name}.{side}"].shape else bounds[0]
            )
    return SolverSQP(problem).solve(solution)


def test_all_violated_rows_are_named_with_enough() -> None:
    """The goal is missed by less where the speed is too high, so the goal alone would have to give more."""
    solution = pendulum(motor=20.0, speed=1.0, T=60)
    assert solution.status is SolverStatus.INFEASIBLE
    text = solution.explain()
    assert "and, with it, " in text
    assert re.search(r"'path\[v\]' by \S+ rad/s at knots 1-", text)
    assert "this motion then satisfies all constraints; one alone may have to give more" in text
    assert relaxed(solution).status is SolverStatus.CONVERGED


@pytest.mark.parametrize("seed", range(10))
def test_what_is_named_is_enough(seed: int) -> None:
    rng = np.random.default_rng(seed)
    solutions = [
        pendulum(motor=rng.uniform(0.5, 4.0), speed=rng.uniform(0.5, 4.0), T=int(rng.integers(20, 60))),
        cart_pole(motor=rng.uniform(3.0, 12.0), rail=rng.uniform(0.1, 0.8), T=int(rng.integers(15, 40))),
    ]
    for solution in solutions:
        if solution.status is SolverStatus.INFEASIBLE:
            assert relaxed(solution).status is SolverStatus.CONVERGED
    assert any(solution.status is SolverStatus.INFEASIBLE for solution in solutions)


@pytest.mark.parametrize(("size", "words"), [(0.4332, "0.434"), (0.05, "0.05"), (12.34, "12.4"), (9.999, "10")])
def test_amounts_are_rounded_up(size: float, words: str) -> None:
    assert rounded_up(size) == words
