"""Calls as in Crocoddyl are refused with what to write here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownAttributeError, WrongCallError
from trajopt.solvers import FDDPOptions, SolverAbstract, SolverOptions


@pytest.fixture
def problem() -> trajopt.ShootingProblem:
    node = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[1.0]], [[1.0]])
    return trajopt.ShootingProblem([1.0], [node] * 2, node)


@pytest.mark.parametrize("arguments", [((None, None, 100, False), {}), ((), {"maxiter": 100}), ((), {"isFeasible": 1})])
def test_arguments_of_solve_name_the_options(
    problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]], arguments: tuple[Any, Any]
) -> None:
    args, kwargs = arguments
    with pytest.raises(WrongCallError, match=r"solve takes \(xs, us, \*, is_feasible\).*max_iterations=100") as caught:
        solver(problem).solve(*args, **kwargs)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, TrajoptError)


def test_a_type_error_inside_a_solve_stays_as_it_is(
    problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]]
) -> None:
    def callback(record: Any) -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        solver(problem, callbacks=[callback]).solve()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("setCallbacks", "callbacks=[CallbackVerbose()]"), ("th_stop", "tolerance"), ("xs", "solution.xs")],
)
def test_names_of_crocoddyl_are_explained(
    problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]], name: str, hint: str
) -> None:
    with pytest.raises(UnknownAttributeError) as caught:
        getattr(solver(problem), name)
    assert hint in str(caught.value)
    assert not hasattr(solver(problem), "no_such_thing")


def test_a_callback_belongs_into_a_list(problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]]) -> None:
    wrong: list[Any] = [trajopt.CallbackVerbose(), lambda record: None]
    for one in wrong:
        with pytest.raises(InvalidArgumentError, match=r"callbacks: expected a list of callbacks.*write callbacks=\["):
            solver(problem, callbacks=one)


@pytest.mark.parametrize("wrong", ["1e-3", np.timedelta64(1), np.datetime64("NaT"), 1j, True, None, [1.0]])
def test_options_are_numbers(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="tolerance: expected a number"):
        FDDPOptions(tolerance=wrong)
    with pytest.raises(InvalidArgumentError, match="max_iterations: expected an integer"):
        SolverOptions(max_iterations=wrong)
    assert type(FDDPOptions(tolerance=np.longdouble("0.5")).tolerance) is float
