"""An interior point that goes on from its last iterate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.shooting.evaluator import Evaluator
from trajopt.solvers.linear_quadratic import LinearQuadratic
from trajopt.solvers.qp import InteriorPoint, InteriorPointOptions, QPStatus, StageQP
from trajopt.solvers.sqp.program import StepProgram
from trajopt.solvers.sqp.rows import ConstraintRows
from trajopt.types import Reals

OPTIONS = InteriorPointOptions()


def program() -> tuple[StepProgram, Reals]:
    """The program of a mass before two walls, and its first gap."""
    problem = problems.load("lqr-bounds").problem
    e = Evaluator(problem)
    e.xs[:], e.us[:] = problem.x0, problem.quasi_static(np.tile(problem.x0, (problem.T, 1)))
    e.expand(problem.x0)
    found = StepProgram(e, None, chosen=False, bounded=False, shared=True)
    found.take(1.0, ConstraintRows(e, problem))
    return found, e.f[0]


def test_a_small_gap_takes_fewer_iterations_than_from_zero() -> None:
    step, gap = program()
    interior, other = InteriorPoint(step.qp), InteriorPoint(step.qp)
    interior.begin(replace(OPTIONS, tolerance=1e-6))
    gap[:] = [1e-3, -1e-3, 2e-3, 1e-3]
    found, cold = interior.go_on(OPTIONS), other.solve()
    assert found.status is cold.status is QPStatus.SOLVED
    assert found.iterations < cold.iterations
    np.testing.assert_allclose(found.du, cold.du, atol=1e-6)


def test_it_begins_anew_where_that_takes_too_long() -> None:
    step, gap = program()
    interior, other = InteriorPoint(step.qp), InteriorPoint(step.qp)
    interior.begin(OPTIONS)
    gap[:] = [1.0, 2.0, -3.0, 2.0]
    found, cold = interior.go_on(replace(OPTIONS, max_iterations=1)), other.solve()
    assert found.iterations == cold.iterations
    np.testing.assert_array_equal(found.du, cold.du)
    np.testing.assert_array_equal(found.y, cold.y)


def test_it_stops_at_a_time() -> None:
    step, gap = program()
    interior = InteriorPoint(step.qp)
    interior.begin(OPTIONS)
    gap[:] = [1.0, 2.0, -3.0, 2.0]
    found = interior.go_on(OPTIONS, 0.0)
    assert found.status is QPStatus.MAX_ITERATIONS
    assert found.iterations == 1


def test_going_on_needs_a_beginning() -> None:
    program = StageQP.zeros(LinearQuadratic.zeros(1, 1, 1), 1)
    with pytest.raises(InvalidArgumentError, match="begun"):
        InteriorPoint(program).go_on(InteriorPointOptions())
    with pytest.raises(InvalidArgumentError, match="options: expected "):
        InteriorPoint(program).begin({})
