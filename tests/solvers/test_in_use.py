"""A solver does one solve at a time: a second thread and a callback that solves are refused, and copies are apart."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.errors import SolverInUseError
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord
from trajopt.solvers import DDPOptions, SolverAbstract


def unicycle() -> ShootingProblem:
    return problems.load("unicycle").problem


def test_two_threads_that_share_a_solver(solver: type[SolverAbstract[Any]]) -> None:
    """The second one is refused, the first one ends as if it were alone, and the solver is free again."""
    problem, inside, go_on = unicycle(), threading.Event(), threading.Event()

    def wait(record: IterationRecord) -> None:
        inside.set()
        assert go_on.wait(60)

    shared, solutions = solver(problem, callbacks=[wait]), []
    first = threading.Thread(target=lambda: solutions.append(shared.solve()))
    first.start()
    assert inside.wait(60)
    try:
        with pytest.raises(SolverInUseError, match=rf"each thread.* its own solver: {solver.__name__}\(problem"):
            shared.solve()
        own = solver(problem).solve()  # with the same problem
    finally:
        go_on.set()
        first.join()
    assert own.converged
    np.testing.assert_array_equal(solutions[0].xs, own.xs)
    np.testing.assert_array_equal(shared.solve().xs, own.xs)


def test_many_threads_get_right_results_or_are_refused(solver: type[SolverAbstract[Any]]) -> None:
    shared, expected = solver(unicycle()), solver(unicycle()).solve()
    results: list[Any] = []

    def work() -> None:
        for _ in range(20):
            try:
                results.append(shared.solve())
            except SolverInUseError as refused:
                results.append(refused)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    solutions = [result for result in results if not isinstance(result, SolverInUseError)]
    assert len(results) == 80
    assert solutions
    for solution in solutions:
        np.testing.assert_array_equal(solution.xs, expected.xs)


def test_a_callback_that_solves_with_its_own_solver(
    solver: type[SolverAbstract[Any]], options: type[DDPOptions]
) -> None:
    def nested(record: IterationRecord) -> None:
        one.solve()

    one = solver(unicycle(), options(max_iterations=3), callbacks=[nested])
    with pytest.raises(SolverInUseError, match="each callback that solves"):
        one.solve()
    one.callbacks.clear()
    assert one.solve().iterations == 3  # it is free again after the error


def test_a_solver_that_has_solved_is_pickled_and_copied(
    solver: type[SolverAbstract[Any]], options: type[DDPOptions]
) -> None:
    """A copy has its own problem, with the same values, and the same options; it ends as the original does."""
    one = solver(unicycle(), options(max_iterations=3))
    expected, batch = one.solve(), one.solve_batch(x0=[[-1.0, 0.5, 0.2]])
    for again in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert again.problem is not one.problem
        np.testing.assert_array_equal(again.solve().xs, expected.xs)
        np.testing.assert_array_equal(again.solve_batch(x0=[[-1.0, 0.5, 0.2]]).xs, batch.xs)
