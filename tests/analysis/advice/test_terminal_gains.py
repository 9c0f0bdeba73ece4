"""What explain() says of gains that grow towards an equation at the end."""

from __future__ import annotations

import numpy as np

import trajopt
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP


class Mass(trajopt.DifferentialActionModelSymbolic):
    """A mass of 1 kg under a force."""

    def acceleration(self, x, u):  # type: ignore[no-untyped-def]
        return u


def moved(*, equation: bool) -> Solution:
    """A mass moved by 1 m to rest in 2 s, by an equation or by a cost at the end."""
    state = trajopt.StateVector(2)
    effort, goal = trajopt.ResidualModelControl(state), trajopt.ResidualModelState(state, [1.0, 0.0])
    knot = trajopt.IntegratedActionModelEuler(
        Mass(state, 1, trajopt.CostStack(state).add("f", effort, weight=1.0)), 0.02
    )
    rows = trajopt.ConstraintStack(state).add("goal", goal, equals=0.0)
    costs = trajopt.CostStack(state)
    end = trajopt.ActionModelTerminal(
        costs if equation else costs.add("goal", goal, weight=100.0), constraints=rows if equation else None
    )
    return SolverSQP(ShootingProblem(np.zeros(2), [knot] * 100, end)).solve()


def test_gains_before_an_equation_at_the_end_are_named() -> None:
    solution = moved(equation=True)
    assert solution.converged
    assert solution.K is not None
    sizes = np.abs(solution.K).max(axis=(1, 2))
    knot = int(sizes.argmax())
    (line,) = [line for line in solution.explain().splitlines() if line.startswith("  gains: ")]
    assert line.startswith(f"  gains: up to {sizes[knot]:.2g} at knot {knot} ({0.02 * knot:.3g} s), ")
    assert f"{sizes[knot] / np.median(sizes):.0f} times their median, as 'goal' is an equation at the end" in line
    bent = solution.xs[80] + np.array([0.01, 0.0])
    answer = solution.K[80:] @ (bent - solution.xs[80])
    assert np.abs(answer).max() > np.abs(solution.us).max()  # 1 cm asks for more than the whole motion


def test_gains_of_a_cost_at_the_end_are_moderate() -> None:
    assert "  gains: " not in moved(equation=False).explain()
