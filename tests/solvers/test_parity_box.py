"""Parity with Crocoddyl 3.2.1's solvers with control limits, against the traces in tests/data/crocoddyl.

With Crocoddyl's options and guess a solve takes the same iterations, steps and regularisations and meets the same
costs and promises. What a change of 1e-12 of the first control does to Crocoddyl's own costs is in the traces: nothing
for the unicycle, 6e-11 for the arm, 5e-9 for the walk, whose barriers at limits of joints have kinks.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.support.legged_problems import guess_of, trace
from tests.support.limited_problems import arm, unicycle, walk
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import BoxDDPOptions, BoxFDDPOptions, SolverAbstract, SolverBoxDDP, SolverBoxFDDP

SOLVERS: dict[str, tuple[type[SolverAbstract], Any]] = {
    "box-ddp": (SolverBoxDDP, BoxDDPOptions),
    "box-fddp": (SolverBoxFDDP, BoxFDDPOptions),
}
PROBLEMS = {"unicycle-limits": unicycle, "arm-limits": arm, "anymal-walk-limits": walk}
every = pytest.mark.parametrize("name", [f"{name}-{solver}" for name in PROBLEMS for solver in SOLVERS])


@functools.cache
def problem_of(name: str) -> ShootingProblem:
    return PROBLEMS[name]()


@functools.cache
def solved(name: str) -> Solution:
    """The problem of a trace, solved with Crocoddyl's options from its guess."""
    expected, problem = trace(name), problem_of(name.partition("-box")[0])
    solver, kind = SOLVERS[expected["solver"]]
    options = kind.crocoddyl(
        max_iterations=expected["max_iterations"], initial_regularization=expected["initial_regularization"]
    )
    assert options.tolerance == expected["th_stop"]
    if expected["guess"]["kind"] == "quasi-static":
        return solver(problem, options).solve(*guess_of(problem))
    xs = np.zeros((problem.T + 1, problem.state.nx))
    return solver(problem, options).solve(xs, np.zeros((problem.T, problem.nu)))


@every
def test_same_iterations_and_costs(name: str) -> None:
    solution, expected = solved(name), trace(name)
    assert solution.converged
    assert solution.iterations == expected["iterations"]
    assert solution.cost == pytest.approx(expected["cost"], rel=1e-9)
    loose = 1e-5 if name.startswith("anymal") else 1e-8
    np.testing.assert_allclose([r.cost for r in solution.history], expected["trace"]["cost"], rtol=loose)


@every
def test_same_steps_regularizations_and_promises(name: str) -> None:
    history, expected = solved(name).history, trace(name)["trace"]
    assert [r.step_length for r in history] == expected["step_length"]
    used = [r.regularization for r in history[1:]]  # Crocoddyl shows it after its update
    np.testing.assert_allclose(used, expected["preg"][:-1], rtol=1e-9)
    scale = np.abs(expected["stop"]) + 1e-6 * np.abs(expected["cost"])
    difference = np.abs(np.subtract([r.stop for r in history], expected["stop"]))
    assert np.max(difference / scale) < 1e-4
    np.testing.assert_allclose([r.gap_norm for r in history], expected["ffeas"], rtol=1e-6, atol=1e-9)


@every
def test_same_controls(name: str) -> None:
    solution, expected = solved(name), trace(name)["solution"]
    bound = 1e-5 if name.startswith("anymal") else 1e-9
    for t, u in zip(expected["knots_us"], expected["us"], strict=True):
        np.testing.assert_allclose(solution.us[t, : len(u)], u, rtol=0, atol=bound * np.abs(solution.us).max())
    np.testing.assert_allclose(solution.xs[expected["knots_xs"]], expected["xs"], rtol=0, atol=bound)


@pytest.mark.parametrize("solver", SOLVERS)
def test_walk_as_the_example(solver: str) -> None:
    """13 iterations and 1035.892152046 are what Crocoddyl's own example ends with."""
    solution = solved(f"anymal-walk-limits-{solver}")
    assert solution.iterations == 13
    assert solution.cost == pytest.approx(1035.892152046, rel=1e-9)
    upper = problem_of("anymal-walk-limits").running[0].upper
    assert np.abs(solution.us).max() == upper.max() == 40.0
