"""Calls as in Crocoddyl are refused with what to write here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import problems
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownAttributeError, WrongCallError
from trajopt.solvers import (
    FDDPOptions,
    NLPOptions,
    SolverAbstract,
    SolverBoxFDDP,
    SolverFDDP,
    SolverIpopt,
    SolverOptions,
    SolverSQP,
)


@pytest.fixture
def problem() -> trajopt.ShootingProblem:
    node = trajopt.ActionModelLQR([[1.0]], [[1.0]], [[1.0]], [[1.0]])
    return trajopt.ShootingProblem([1.0], [node] * 2, node)


@pytest.mark.parametrize("arguments", [((None, None, 100, False), {}), ((), {"maxiter": 100}), ((), {"isFeasible": 1})])
def test_arguments_of_solve_name_the_options(
    problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]], arguments: tuple[Any, Any]
) -> None:
    args, kwargs = arguments
    with pytest.raises(
        WrongCallError, match=r"solve takes \(xs, us, \*, is_feasible, multipliers\).*max_iterations=100"
    ) as caught:
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


def test_arguments_in_the_wrong_place_are_refused_with_the_right_place(
    problem: trajopt.ShootingProblem, solver: type[SolverAbstract[Any]]
) -> None:
    name = solver.__name__
    wrong: list[tuple[Any, str]] = [
        (
            lambda: solver(problems.load("lqr")),
            r"got ProblemCase; pass its attribute problem",
        ),
        (lambda: solver(problem, [trajopt.CallbackVerbose()]), rf"write {name}\(problem, callbacks=\[...\]\)"),
        (lambda: solver(problem, 100), rf"got 100; write {name}\(problem, {name[6:]}Options\(max_iterations=100\)\)"),
        (lambda: solver(problem, 250), r"Options\(max_iterations=250\)\)"),
        (
            lambda: solver(problem, SolverOptions()),
            rf"got SolverOptions; write {name}\(problem, {name[6:]}Options\(\)\)",
        ),
    ]
    for call, says in wrong:
        with pytest.raises(InvalidArgumentError, match=says):
            call()


def test_options_of_another_solver_keep_their_values(problem: trajopt.ShootingProblem) -> None:
    other = FDDPOptions(max_iterations=500, tolerance=1e-5)
    says = r"takes BoxFDDPOptions, got FDDPOptions; write SolverBoxFDDP\(problem, BoxFDDPOptions\(max_iterations=500, "
    with pytest.raises(InvalidArgumentError, match=says + r"tolerance=1e-05\)\)"):
        SolverBoxFDDP(problem, other)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"write SolverSQP\(problem, SQPOptions\(time_limit=3.0\)\)"):
        SolverSQP(problem, FDDPOptions(time_limit=3.0, tolerance=0.2))  # type: ignore[arg-type]


@pytest.mark.parametrize("callback", [lambda record, solver: None, lambda: None])
def test_a_callback_takes_the_record_alone(problem: trajopt.ShootingProblem, callback: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"callbacks: expected functions of one argument, the record; <"):
        SolverFDDP(problem, callbacks=[callback])
    seen: list[Any] = []
    SolverFDDP(problem, callbacks=[seen.append, print]).solve()
    assert seen


def test_settings_of_other_solvers_are_theirs(problem: trajopt.ShootingProblem) -> None:
    with pytest.raises(InvalidArgumentError, match="settings: expected settings that ipopt has, got: .*max_itr"):
        SolverIpopt(problem, NLPOptions(settings={"max_itr": 3}))
    with pytest.raises(InvalidArgumentError, match="settings: expected a dictionary"):
        NLPOptions(settings=[1])  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "near"), [("state", "status"), ("controls", "control_"), ("iteration", "iterations")])
def test_an_attribute_of_a_solution_names_the_near_one(problem: trajopt.ShootingProblem, name: str, near: str) -> None:
    solution = SolverFDDP(problem).solve()
    with pytest.raises(UnknownAttributeError, match=rf"did you mean .*{near}"):
        getattr(solution, name)
    with pytest.raises(UnknownAttributeError, match=r"IterationRecord has no attribute 'gap'"):
        solution.history[0].gap  # type: ignore[attr-defined]  # noqa: B018
