"""Rows of a store are solved again when more is asked of them: same bits, whole solutions, explanations."""

from __future__ import annotations

import numpy as np
import pytest

import trajopt
from tests.sweeps.executors import Here
from trajopt.errors import InvalidArgumentError
from trajopt.sweeps import Outcome, Recipe, Sweep

pytest.importorskip("pyarrow", reason="needs pip install pyarrow")
RECIPE = Recipe(
    problem="arm-reach", robot="planar-2r", options={"T": 20, "target": (0.5, 0.0, 0.1)},
    solver_options={"max_iterations": 12},
)  # fmt: skip
SPREADS = np.array([0.0, 0.5, 1.0, 30.0, 0.2])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Rows with random guesses, the fourth of them hopeless, and a last one that raises."""
    spreads = np.append(SPREADS, -1.0)
    rows = {"seed": np.arange(6), "spread": spreads, "stop.weight": np.linspace(5.0, 10.0, 6)}
    return trajopt.sweep(RECIPE, rows, chunk=4, executor=Here(), store=tmp_path_factory.mktemp("sweep"))


def test_a_row_is_solved_again_to_the_bit(outcomes: Sweep) -> None:
    for i in (2, 0, 4):
        row = outcomes[i]
        solution = row.solution()
        np.testing.assert_array_equal(solution.xs, row.xs)
        np.testing.assert_array_equal(solution.us, row.us)
        assert (solution.cost, solution.iterations, solution.status.name) == (row.cost, row.iterations, row.status)
        assert solution.parameters["stop.weight"][0] == 5.0 + i
        assert len(solution.history) == row.iterations
    assert not np.array_equal(outcomes[0].xs, outcomes[2].xs)


def test_earlier_solutions_stay_as_they_were(outcomes: Sweep) -> None:
    """One problem is solved for all rows; each solution knows its own values."""
    first = outcomes[0].solution()
    terms = first.cost_terms()["stop"][-1]
    outcomes[4].solution()
    assert first.cost_terms()["stop"][-1] == terms
    assert "SolverFDDP: converged." in first.explain()


def test_failures_are_explained(outcomes: Sweep) -> None:
    failures = outcomes.failures()
    (raised,) = [reason for reason in failures if reason.startswith("InvalidArgumentError: spread: expected")]
    assert failures[raised].explain() == outcomes.error[5]
    others = [reason for reason in failures if reason != raised]
    assert others
    assert failures[others[0]].explain().startswith("SolverFDDP: ")


def test_best_of_part_is_that_row(outcomes: Sweep) -> None:
    best = outcomes[outcomes.converged][::-1].best()
    assert isinstance(best, Outcome)
    np.testing.assert_array_equal(best.solution().xs, outcomes[best.index].xs)
    assert best.cost == outcomes.cost[outcomes.converged].min()


def test_the_table_on_disk_is_that_of_the_sweep(outcomes: Sweep) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pip install pyarrow")
    read = parquet.read_table(outcomes.folder / "table.parquet")
    assert read.column_names == list(outcomes.table)
    assert read["cost"].to_pylist()[:5] == outcomes.cost[:5].tolist()


def test_converged_rows_are_warm_starts(outcomes: Sweep) -> None:
    """Found by run-time parameters; guesses of the rows do not count. The nearest row itself has nothing to improve."""
    library, good = outcomes.library(), np.flatnonzero(outcomes.converged)
    assert len(library) == len(good) > 1
    assert list(library.solutions.parameters) == ["stop.weight"]
    for i in good[[0, -1]].tolist():
        near = library.nearest(outcomes[i].xs[0], {"stop.weight": 5.1 + i})
        np.testing.assert_array_equal(near.xs[0], outcomes[i].xs)
        np.testing.assert_array_equal(near.us[0], outcomes[i].us)
    setup = RECIPE.build()
    setup.solver.problem.set_parameter("stop.weight", 5.0 + good[-1])
    warm = setup.solver.solve(library)
    assert warm.iterations < outcomes[int(good[-1])].iterations
    assert warm.cost == pytest.approx(outcomes[int(good[-1])].cost)
    with pytest.raises(InvalidArgumentError, match="sweep: none of 1 rows converged"):
        outcomes[np.flatnonzero(~outcomes.converged)[:1]].library()
