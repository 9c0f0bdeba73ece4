"""Continuation: solves from one value to the next, of one parameter or of both bounds of a limit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import trajopt
from tests.support.constrained import MOTOR, pendulum_problem, weak_pendulum
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import SolverSQP, continuation

BOUNDS = ("motor.lower", "motor.upper")


def test_bounds_come_closer_from_solution_to_solution() -> None:
    """As by hand: the last problem has the last bounds, and each solve starts at the solution before."""
    problem = pendulum_problem()
    try:
        solver = SolverSQP(problem)
        found = continuation(solver, BOUNDS, [(-k * MOTOR, k * MOTOR) for k in (1.3, 1.1, 1.0)])
        np.testing.assert_array_equal(problem.get_parameter("motor.lower", knots="running"), [-MOTOR])
        np.testing.assert_array_equal(problem.get_parameter("motor.upper", knots="running"), [MOTOR])
        assert [each.converged for each in found] == [True] * 3
        assert [np.abs(each.us).max() for each in found] == pytest.approx([1.3 * MOTOR, 1.1 * MOTOR, MOTOR], rel=1e-6)
        again = solver.solve(found[1])
        np.testing.assert_array_equal(again.us, found[-1].us)
        with pytest.raises(InvalidArgumentError, match="values: expected one of each of motor.lower, motor.upper"):
            continuation(solver, BOUNDS, [(-1.0,)])
    finally:
        problem.set_parameter("motor.lower", -MOTOR)
        problem.set_parameter("motor.upper", MOTOR)


def test_explain_advises_it_where_a_limit_is_met_often_and_the_code_runs() -> None:
    (line,) = [line for line in weak_pendulum().explain().splitlines() if "begin with wider ones" in line]
    assert re.match(r"-> 'motor' is at its bounds at \d+ of 100 knots: ", line)
    problem = pendulum_problem()
    names = {"continuation": continuation, "solver": SolverSQP(problem), "lower": -MOTOR, "upper": MOTOR}
    found = eval(line.rpartition("guess: ")[2], names)
    assert [type(each) for each in found] == [trajopt.Solution] * 3
    assert found[-1].converged
    assert "begin with wider ones" not in found[-1].explain()
