"""Bounds that resolve a contradiction along linear dynamics if they move alone, and how far they have to."""

from __future__ import annotations

import re

import numpy as np
import pytest
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.analysis.contradictions import along_dynamics
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.runge_kutta import ActionModelRungeKutta
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelSymbolic
from trajopt.shooting import ShootingProblem
from trajopt.solution.solution import motion_solution
from trajopt.solvers import SolverSQP
from trajopt.states import StateVector


class Cart(ActionModelRungeKutta):
    """A mass of 1 kg on a rail, x = (p, v)."""

    def rate(self, x: SX, u: SX) -> SX:
        return SX(np.array([[0.0, 1.0], [0.0, 0.0]]) @ x + np.array([[0.0], [1.0]]) @ u)


def cart(p: float, v: float, *, curved: bool = False) -> ShootingProblem:
    """From rest with at most 1 N, within 2 s, to a position and a velocity; with a row that is not linear."""
    state = StateVector(2, names=["p", "v"], units=["m", "m/s"])
    rows = ConstraintStack(state).add("force", ResidualModelControl(state), lower=-1.0, upper=1.0)
    if curved:
        rows.add("energy", ResidualModelSymbolic(state, lambda x: 0.5 * x[1] ** 2), upper=1e3)
    last = ConstraintStack(state).add("there", ResidualModelState(state, [p, v]), equals=0.0)
    model = Cart(1, rows, dt=0.1, goal=np.zeros(2), weight=0.0, effort=1.0)
    return ShootingProblem([0.0, 0.0], [model] * 20, ActionModelTerminal(CostStack(state), constraints=last))


def cure(problem: ShootingProblem) -> str:
    """What the only proof advises."""
    solution = motion_solution(problem, np.zeros((problem.T + 1, 2)), np.zeros((problem.T, 1)), solver="")
    (sentence,) = solution.description.contradictions
    return sentence.partition("along the linear dynamics; ")[2]


def test_only_bounds_that_help_alone_are_named_with_what_is_enough() -> None:
    """1 m is possible: more force to one side cannot stop the cart again, and one that need not stop gets to 2 m."""
    assert cure(cart(10.0, 0.0)) == (
        "move one of them with problem.set_parameter; enough alone: the value of there[p] by 9 m"
    )
    assert SolverSQP(cart(1.0, 0.0)).solve().converged


def test_all_amounts_are_enough() -> None:
    problem = cart(2.5, 1.5)  # with 1.5 m/s, 1.94 m at most
    words = re.findall(r"the (value|upper bound|lower bound) of ([a-z]+)(?:\[(\w)\])? by ([0-9.e+-]+)", cure(problem))
    assert len(words) > 1
    for what, name, row, amount in words:
        converged = []
        for step in (float(amount), -float(amount)) if what == "value" else (float(amount),):
            moved = cart(2.5, 1.5)
            side = {"value": "reference", "upper bound": "upper", "lower bound": "lower"}[what]
            value = np.array(moved.get_parameter(f"{name}.{side}", [20 if name == "there" else 0]), dtype=float)
            value[("p", "v").index(row) if row else 0] += -step if side == "lower" else step
            moved.set_parameter(f"{name}.{side}", value)
            converged.append(SolverSQP(moved).solve().converged)
        assert any(converged), (what, name, row)


def test_several_bounds_have_to_move() -> None:
    """Neither more force to one side nor another end in one coordinate is enough."""
    assert cure(cart(10.0, -10.0)) == "no single one of them is enough: relax several with problem.set_parameter"


def test_amounts_are_least_ones_with_a_row_that_is_not_linear_or_a_large_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = cure(cart(10.0, 0.0, curved=True))
    assert "alone by at least, or further for what is not linear: the value of there[p] by 9 m" in words
    monkeypatch.setattr(along_dynamics, "MOST_CURED", 1)
    assert "alone by at least, which may not be enough: the value of there[p] by 8." in cure(cart(10.0, 0.0))
    monkeypatch.undo()
    monkeypatch.setattr(along_dynamics, "MOST_TRIED", 1)
    assert cure(cart(10.0, -10.0)).startswith("none of these is enough alone: the value of there[v]; relax several")
