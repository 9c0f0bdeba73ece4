"""Linear rows of one knot that exclude each other, against contradictions that were written by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt.analysis.contradictions import EXCLUDE
from trajopt.constraints import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.solution import Solution, SolverStatus
from trajopt.solvers import SolverIpopt, SolverSQP, SQPOptions

STATE = trajopt.StateVector(3, names=["x", "y", "heading"], units=["m", "m", "rad"])
CONTROL = trajopt.ResidualModelControl(STATE)
EAST = trajopt.ResidualModelState(STATE, elements=["x"])
NORTH = trajopt.ResidualModelState(STATE, elements=["y"])


class Car(trajopt.DifferentialActionModelSymbolic):
    """x = (x, y, heading), u = (speed, curvature)."""

    def xdot(self, x: SX, u: SX) -> SX:
        return ca.vertcat(u[0] * ca.cos(x[2]), u[0] * ca.sin(x[2]), u[0] * u[1])


def total(weights: tuple[float, float] = (1.0, 1.0)) -> trajopt.ResidualModelSymbolic:
    """A weighted sum of the controls."""
    return trajopt.ResidualModelSymbolic(STATE, lambda x, u: weights[0] * u[0] + weights[1] * u[1])


def distance() -> trajopt.ResidualModelSymbolic:
    """Squared distance from the origin: a curved row."""
    return trajopt.ResidualModelSymbolic(STATE, lambda x: ca.sumsqr(x[:2]), unit="m²")


def drive(rows: ConstraintStack, *, T: int = 6) -> trajopt.ShootingProblem:
    costs = trajopt.CostStack(STATE).add("effort", CONTROL, weight=1.0)
    names: Any = {"control_names": ["speed", "curvature"], "control_units": ["m/s", "1/m"]}
    knot = trajopt.IntegratedActionModelEuler(Car(STATE, 2, costs, constraints=rows, **names), dt=0.1)
    return trajopt.ShootingProblem(np.zeros(3), [knot] * T, trajopt.CostStack(STATE))


def stack(*rows: tuple[str, Any, dict[str, Any]]) -> ConstraintStack:
    result = ConstraintStack(STATE)
    for name, residual, bounds in rows:
        result.add(name, residual, **bounds)
    return result


def advice(solution: Solution) -> list[str]:
    return [line.removeprefix("-> ") for line in solution.explain().splitlines() if line.startswith("->")]


FAST = ("fast", CONTROL, {"lower": [1.0, -1.0], "upper": [2.0, 1.0]})
SLOW = ("slow", CONTROL, {"lower": [-0.5, -1.0], "upper": [0.5, 1.0]})


def test_limits_of_a_control_end_a_solve_before_its_first_iteration() -> None:
    solution = SolverSQP(drive(stack(FAST, SLOW))).solve()
    assert (solution.status, solution.iterations, solution.history) == (SolverStatus.INFEASIBLE, 0, ())
    assert np.all(np.isfinite(solution.us))
    assert np.isfinite(solution.cost)
    assert advice(solution) == [
        "constraints fast[speed] and slow[speed] at knots 0-5: they exclude each other, control 'speed' should be >= 1 "
        "m/s and <= 0.5 m/s; widen one of them with problem.set_parameter"
    ]


def test_one_row_of_a_batch_fails_alone() -> None:
    problem = drive(stack(FAST, SLOW))
    batch = SolverSQP(problem).solve_batch(parameters={"slow.upper": [[0.5, 1.0], [1.5, 1.0]]})
    assert list(batch.status) == ["INFEASIBLE", "CONVERGED"]
    assert not any(batch.error)


def test_bounds_that_meet_are_no_contradiction() -> None:
    problem = drive(stack(FAST, ("slow", CONTROL, {"upper": [1.0, 1.0]})))
    solution = SolverSQP(problem).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.us[:, 0], 1.0, atol=1e-9)


def test_crossed_bounds_of_one_constraint_are_an_error_at_construction() -> None:
    with pytest.raises(InvalidArgumentError, match="lower"):
        stack(("limits", CONTROL, {"lower": 1.0, "upper": 0.5}))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("sum", total(), {"lower": 1.0}), ("less", total(), {"upper": 0.5})],
            "constraints sum and less at knots 0-5: they exclude each other, sum should be >= 1 and less should be "
            "<= 0.5",
        ),
        (
            [("west", EAST, {"upper": 1.0}), ("east", EAST, {"lower": 2.0})],
            "constraints west and east at knots 1-5: they exclude each other, east should be >= 2 m and west should "
            "be <= 1 m",
        ),
        (
            [("sum", total(), {"lower": 1.0}), ("twice", total((-2.0, -2.0)), {"lower": -1.0})],
            "constraints sum and twice at knots 0-5: they exclude each other, sum should be >= 1 and twice should be "
            ">= -1",
        ),
        (
            [("limits", CONTROL, {"upper": 0.25}), ("sum", total(), {"equals": 1.0})],
            "constraints limits[speed] and limits[curvature] and sum at knots 0-5: they exclude each other, sum should "
            "be = 1 and limits[speed] should be <= 0.25 m/s and limits[curvature] should be <= 0.25 1/m",
        ),
    ],
    ids=["sums", "coordinates", "factors", "three rows"],
)
@pytest.mark.parametrize("solver", [SolverSQP, SolverIpopt])
def test_rows_that_exclude_each_other_are_named_and_time_does_not_help(
    rows: list[Any], sentence: str, solver: Callable[[trajopt.ShootingProblem], Any]
) -> None:
    solution = solver(drive(stack(*rows))).solve()
    assert solution.status is SolverStatus.INFEASIBLE
    assert advice(solution) == [f"{sentence}; widen one of them with problem.set_parameter"]


def test_only_the_knots_of_a_contradiction_are_named() -> None:
    problem = drive(stack(("west", EAST, {"upper": 1.0}), ("east", EAST, {"lower": -5.0})))
    for knots in ([2, 3], [5]):
        problem.set_parameter("east.lower", 2.0, knots=knots)
    (sentence,) = advice(SolverSQP(problem).solve())
    assert sentence.startswith("constraints west and east at knots 2-3, 5: they exclude each other")


def test_other_rows_are_not_said_to_exclude_each_other() -> None:
    """Two disks apart: curved rows, and controls without limits."""
    away = trajopt.ResidualModelSymbolic(STATE, lambda x: (x[0] - 3.0) ** 2 + x[1] ** 2, unit="m²")
    problem = drive(stack(("near", distance(), {"upper": 1.0}), ("away", away, {"upper": 1.0})))
    solution = SolverSQP(problem, SQPOptions(max_iterations=60)).solve()
    assert not solution.converged
    assert solution.description.contradictions == ()
    assert advice(solution)
    assert not any(EXCLUDE in line for line in advice(solution))  # they may


def test_no_more_time_is_advised_where_the_solver_chooses_it() -> None:
    problem = drive(stack(("limits", CONTROL, {"lower": -0.1, "upper": 0.1}), ("east", EAST, {"lower": [5.0]})))
    step = float(np.ravel(problem.get_parameter("dt"))[0])
    problem.free("dt", 0.5 * step, 1.5 * step)
    solution = SolverSQP(problem, SQPOptions(max_iterations=60)).solve()
    assert not solution.converged
    assert advice(solution)
    assert not any("more time" in line for line in advice(solution))


def test_soft_rows_may_contradict() -> None:
    problem = drive(stack(("west", EAST, {"upper": 1.0, "soft": (1.0, 1.0)}), ("east", NORTH, {"lower": -1.0})))
    problem.set_parameter("west.upper", -1.0)
    assert SolverSQP(problem).solve().description.contradictions == ()


def test_a_file_keeps_the_sentence(tmp_path: Path) -> None:
    solution = SolverSQP(drive(stack(FAST, SLOW))).solve()
    read = Solution.load(solution.save(tmp_path / "none.npz"))
    assert read.description.contradictions == solution.description.contradictions != ()
    assert advice(read) == advice(solution)
