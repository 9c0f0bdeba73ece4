"""What explain() says of gains that grow towards an equation at the end, or between bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import trajopt
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverSQP


class Mass(trajopt.DifferentialActionModelSymbolic):
    """A mass of 1 kg under a force."""

    def acceleration(self, x, u):  # type: ignore[no-untyped-def]
        return u


def moved(*, equation: bool, most: float = np.inf) -> Solution:
    """A mass moved by 1 m to rest in 2 s, by an equation or by a cost at the end, with a force up to `most` [N]."""
    state = trajopt.StateVector(2)
    effort, goal = trajopt.ResidualModelControl(state), trajopt.ResidualModelState(state, [1.0, 0.0])
    limits = trajopt.ConstraintStack(state)
    if np.isfinite(most):
        limits.add("motor", effort, lower=-most, upper=most)
    knot = trajopt.IntegratedActionModelEuler(
        Mass(state, 1, trajopt.CostStack(state).add("f", effort, weight=1.0), constraints=limits), 0.02
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


def test_the_median_is_that_of_knots_with_feedback() -> None:
    """A weak motor is at its bound at most knots, where gains are next to nothing."""
    solution = moved(equation=True, most=1.05)
    assert solution.K is not None
    sizes = np.abs(solution.K).max(axis=(1, 2))
    bound = np.abs(np.abs(solution.us[:, 0]) - 1.05) < 1e-6
    assert 1e3 * np.median(sizes) < np.median(sizes[~bound])
    (line,) = [line for line in solution.explain().splitlines() if line.startswith("  gains: ")]
    assert f", {sizes.max() / np.median(sizes[~bound]):.0f} times their median, as 'goal'" in line


def test_gains_of_a_cost_at_the_end_are_moderate() -> None:
    assert "  gains: " not in moved(equation=False).explain()


def least_time() -> Solution:
    """A mass moved by 1 m past a place where it has to be slow, in the least time, with a force up to 1 N."""
    state = trajopt.StateVector(2, names=["q", "v"])
    rows = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=-1.0, upper=1.0)
    slow = trajopt.ResidualModelSymbolic(state, lambda x, u: x[1] - 0.4 - 4.0 * (x[0] - 0.5) ** 2)
    rows.add("slow", slow, upper=0.0)
    costs = trajopt.CostStack(state).add("time", trajopt.ResidualModelTime(state), weight=1.0)
    knot = trajopt.IntegratedActionModelEuler(Mass(state, 1, costs, constraints=rows), 0.04)
    end = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, elements=["q"]), lower=1.0)
    goal = trajopt.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    problem = ShootingProblem(np.zeros(2), [knot] * 60, goal)
    problem.free("dt", 0.005, 0.2)
    return SolverSQP(problem).solve()


def test_gains_of_a_plan_at_its_bounds_are_named_with_a_cure() -> None:
    solution = least_time()
    assert solution.converged
    assert solution.K is not None
    bound = np.abs(np.abs(solution.us[:, 0]) - 1.0) < 1e-6
    K = np.where(bound[:, None, None], 0.0, np.ones_like(solution.K))
    knot = int(np.flatnonzero(~bound)[0])
    K[knot] = 100.0  # as of a car round a corner, between two knots at bounds
    solution = replace(solution, K=K)
    (line,) = [line for line in solution.explain().splitlines() if line.startswith("  gains: ")]
    assert f"  gains: up to 1e+02 at knot {knot} " in line
    assert "100 times their median: as a feedback they answer small errors" in line
    assert f"at {bound.sum()} of 60 knots a control at its bound has none" in line
    assert line.endswith("mpc.MPCController, or the gains of a problem whose costs keep to it")
