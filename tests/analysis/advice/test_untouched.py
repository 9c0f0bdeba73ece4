"""Advice where a simulator's contacts never touch what the costs are about."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

import trajopt
from trajopt.articulations import ArticulationBuilder
from trajopt.simulator import ActionModelSimulator, MDPContact, Simulator
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers import SolverFDDP

DT, T = 0.02, 40


@functools.cache
def pushed() -> trajopt.ShootingProblem:
    """A finger on a rail, 10 cm before a block on the same rail; the goal is a place of the block."""
    builder = ArticulationBuilder()
    for name in ("block", "finger"):
        builder.add_link(name, mass=1.0)
        builder.add_sphere(name, 0.05)
        builder.add_prismatic("world", name, axis=(1.0, 0.0, 0.0))
    robot = builder.build("pusher")
    state = trajopt.StateMultibody(robot)
    tip = MDPContact("finger", radius=0.05, surface=trajopt.Box([0.1, 0.1, 0.1], frame="block"), name="tip")
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelSymbolic(state, lambda x, u: u), weight=1e-3)
    goal = trajopt.ResidualModelSymbolic(state, lambda x: x[0] - 0.3, unit="m")
    motor = trajopt.ActuationModelMatrix(state, [[0.0], [1.0]])
    knot = ActionModelSimulator(Simulator(robot, [tip]), costs, dt=DT, actuation=motor)
    end = trajopt.CostStack(state).add("goal", goal, weight=10.0)
    return trajopt.ShootingProblem([0.0, -0.2, 0.0, 0.0], [knot] * T, end)


def test_a_block_that_nothing_touches_has_a_cost_without_a_gradient() -> None:
    solution = SolverFDDP(pushed()).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.xs, pushed().x0[None].repeat(T + 1, 0))  # nothing moves
    text = solution.explain()
    assert "-> no force acts at 'tip' at any knot, so no control moves 'q:block_joint', and costs of " in text
    assert "start from controls whose rollout touches" in text


def test_a_block_that_is_pushed_needs_no_such_word() -> None:
    solution = SolverFDDP(pushed()).solve(us=np.full((T, 1), 2.0))
    assert np.abs(solution.contact_forces()["tip"]).max() > 1.0
    assert "no force acts" not in solution.explain()


@pytest.mark.parametrize("status", [SolverStatus.LINE_SEARCH_FAILED, SolverStatus.MAX_ITERATIONS])
def test_kinks_of_contacts_are_named_where_the_cost_hardly_falls(status: SolverStatus) -> None:
    solution = SolverFDDP(pushed()).solve(us=np.full((T, 1), 2.0))
    for fall, named in ((1e-3, True), (0.5, False)):
        costs = solution.cost * np.linspace(1.0 + 2.0 * fall, 1.0, 41)
        history = tuple(
            IterationRecord(iteration=i + 1, cost=cost, seconds=0.0) for i, cost in enumerate(costs.tolist())
        )
        text = dataclasses.replace(solution, status=status, history=history).explain()
        line = f"-> the last 21 iterations lowered the cost by {100.0 * fall:.1g} %: contacts that begin, end or slide"
        assert (line in text) is named
