"""Trials of steps that leave the domain of a term or of the dynamics: recorded, and explained."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.shooting import ShootingProblem
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverAbstract, SolverDDP, SolverFDDP, SolverSQP

KNOTS = 10
SOLVERS: list[type[SolverAbstract]] = [SolverDDP, SolverFDDP, SolverSQP]


class Mass(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u


class Mud(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u √(1 - q): not defined beyond q = 1."""

    def acceleration(self, x: SX, u: SX) -> SX:
        return u * ca.sqrt(1.0 - x[0])


def root(x: SX) -> SX:
    return ca.sqrt(1.0 - x[0]) + 0.5


def problem(*, inside: bool, goal: float = 2.0) -> ShootingProblem:
    """A mass moves by `goal` [m], through mud or on the way to a goal of which a root is taken that ends at 1."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["m", "m/s"])
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1e-3)
    way = trajopt.ResidualModelState(state, [goal, 0.0]) if inside else trajopt.ResidualModelSymbolic(state, root)
    end = trajopt.CostStack(state).add("goal", way, weight=10.0)
    node = trajopt.IntegratedActionModelEuler((Mud if inside else Mass)(state, 1, costs), dt=0.1)
    return ShootingProblem([0.0, 0.0], [node] * KNOTS, end)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_goal_outside_of_a_term_s_domain_is_named(solver: type[SolverAbstract]) -> None:
    solution = solver(problem(inside=False)).solve()
    assert not solution.converged
    nonfinite_trial = solution.history[-1].nonfinite_trial
    assert nonfinite_trial is not None
    knot, x, u = nonfinite_trial
    assert knot == KNOTS
    assert x[0] > 1.0, "the root of a negative number"
    assert np.isfinite(u).all()
    text = solution.explain()
    assert "trial steps were not finite" in text
    assert f"the domain of term 'goal' at knot {KNOTS} (1 s)" in text
    assert "does not come" not in text, "that it is not smooth is no news then"


@pytest.mark.parametrize("solver", SOLVERS)
def test_dynamics_that_end_are_named_by_their_knot(solver: type[SolverAbstract]) -> None:
    solution = solver(problem(inside=True), solver.options_type(max_iterations=3)).solve()
    assert solution.status is SolverStatus.MAX_ITERATIONS
    nonfinite_trial = solution.history[-1].nonfinite_trial
    assert nonfinite_trial is not None
    assert nonfinite_trial[0] < KNOTS
    text = solution.explain()
    assert f"the domain of costs or dynamics at knot {nonfinite_trial[0]}" in text
    assert text.count("trial steps were not finite") == 1
    assert "times as curved" not in text, "steps are short for another reason"


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_is_said_where_trials_stay_inside(solver: type[SolverAbstract]) -> None:
    solution = solver(problem(inside=True, goal=0.2), solver.options_type(max_iterations=1)).solve()
    assert [record.nonfinite_trial for record in solution.history] == [None]
    assert "not finite" not in solution.explain()


def test_a_rollout_that_diverges_is_no_edge() -> None:
    """x⁺ = 4 x + x³ + u: rollouts overflow from states that are huge already."""
    state = trajopt.StateVector(1)

    class Growth(trajopt.ActionModelDiscrete):
        def next_state(self, x: SX, u: SX) -> SX:
            return 4.0 * x + x**3 + u

        def running_cost(self, x: SX, u: SX) -> SX:
            return u**2

        def terminal_cost(self, x: SX) -> SX:
            return x**2

    wild = ShootingProblem([0.0], [Growth(state, 1)] * 20, Growth(state, 1))
    solution = SolverFDDP(wild).solve(np.full((21, 1), 3.0), np.ones((20, 1)))
    assert any(not record.accepted or record.step_length < 1.0 for record in solution.history)
    assert all(record.nonfinite_trial is None for record in solution.history)
