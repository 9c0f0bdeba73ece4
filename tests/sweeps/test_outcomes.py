"""Outcomes of a sweep: columns and order, rows and parts, reasons of failures, files, damaged chunks."""

from __future__ import annotations

import csv
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sweeps import stores
from trajopt.errors import InvalidArgumentError, MissingDependencyError, UnknownNameError, UnsupportedOperationError
from trajopt.solution.components import components
from trajopt.sweeps import Sweep, columns

FAILED = {3: "MAX_ITERATIONS", 7: "MAX_ITERATIONS", 11: "LINE_SEARCH_FAILED"}
ERRORS = {20: "InvalidArgumentError: x0: outside\nsecond line"}


@pytest.fixture
def outcomes(tmp_path: Path) -> Sweep:
    return Sweep.read(stores.write(tmp_path / "store", stores.grid(5), FAILED, ERRORS))


def test_rows_come_in_the_order_of_their_index(outcomes: Sweep) -> None:
    assert len(outcomes) == 25
    np.testing.assert_array_equal(outcomes.index, np.arange(25))
    np.testing.assert_array_equal(outcomes.parameters["goal.reference"], stores.grid(5))
    np.testing.assert_array_equal(np.flatnonzero(~outcomes.converged), [3, 7, 11, 20])
    assert np.isnan(outcomes.cost[20])


def test_a_row_has_its_own_trajectory(outcomes: Sweep) -> None:
    for i in (0, 9, 24, -1):
        row = outcomes[i]
        assert row.index == i % 25
        assert row.xs.shape == (stores.T + 1, stores.NX)
        assert row.xs[2, 3] == pytest.approx(i % 25 + 2.3)
        assert row.us[0, 0] == -(i % 25)
        np.testing.assert_array_equal(row.parameters["goal.reference"], stores.grid(5)[i])
    row.xs[:] = 0.0
    assert row.xs[0, 0] == 24.0
    assert [row.index for row in outcomes] == list(range(25))


def test_one_row_reads_one_chunk(outcomes: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    load = np.load
    monkeypatch.setattr(np, "load", lambda file, **options: (read.append(file), load(file, **options))[1])
    columns._trajectories.cache_clear()
    assert not read
    assert outcomes[9].xs[0, 0] + outcomes[10].xs[0, 0] == 19.0
    assert len(read) == 1


def test_parts_are_sweeps(outcomes: Sweep) -> None:
    part = outcomes[5:15]
    assert [row.index for row in part] == list(range(5, 15))
    assert part[2].xs[0, 0] == 7.0
    np.testing.assert_array_equal(outcomes[~outcomes.converged].index, [3, 7, 11, 20])
    np.testing.assert_array_equal(outcomes[[4, 1]].index, [4, 1])
    assert len(outcomes[[]]) == 0
    near = outcomes.where("goal.reference[1]", -0.1, 0.1).where("cost", most=0.4)
    np.testing.assert_array_equal(near.index, [10, 11])


def test_where_includes_both_bounds(outcomes: Sweep) -> None:
    np.testing.assert_array_equal(outcomes.where("goal.reference[0]", 0.2, 0.2).index, [0, 5, 10, 15, 20])
    assert len(outcomes.where("iterations", least=100)) == 4
    assert len(outcomes.where("goal.weight", 2.0, 2.0)) == 25


def test_best_is_the_cheapest_that_converged(tmp_path: Path) -> None:
    points = stores.grid(5)
    assert int(np.argmin((points**2).sum(axis=1))) == 10
    store = stores.write(tmp_path / "store", points, {10: "MAX_ITERATIONS"}, {})
    best = Sweep.read(store).best()
    assert best.index == 5
    assert best.converged
    why = r"sweep: none of 1 rows converged; row 10: MAX_ITERATIONS, .*; sweep.failures\(\) shows all reasons"
    with pytest.raises(InvalidArgumentError, match=why):
        Sweep.read(store)[[10]].best()


def test_failures_come_by_reason(outcomes: Sweep) -> None:
    failures = outcomes.failures()
    assert list(failures) == ["MAX_ITERATIONS", "InvalidArgumentError: x0: outside", "LINE_SEARCH_FAILED"]
    assert [len(each.rows) for each in failures.values()] == [2, 1, 1]
    np.testing.assert_array_equal(failures["MAX_ITERATIONS"].rows.index, [3, 7])
    assert failures["InvalidArgumentError: x0: outside"].explain() == ERRORS[20]
    lines = repr(failures).splitlines()
    assert lines[0] == "4 of 25 rows did not converge"
    assert lines[1] == "      2  MAX_ITERATIONS: stopped at max_iterations"
    assert lines[2] == "         such as row 3: goal.reference = (0.65, -0.4, 0.5), goal.weight = 2"
    assert repr(outcomes[[0, 1]].failures()) == "0 of 2 rows did not converge"
    with pytest.raises(UnknownNameError, match="reason 'MAX_ITERATION' not found; did you mean 'MAX_ITERATIONS'"):
        failures["MAX_ITERATION"]


def test_a_row_with_an_error_has_no_trajectory(outcomes: Sweep) -> None:
    for ask in (lambda: outcomes[20].xs, lambda: outcomes[20].solution()):
        with pytest.raises(UnsupportedOperationError, match="row 20 has none, its solve failed with: InvalidArg"):
            ask()


def test_it_says_what_came_out(outcomes: Sweep) -> None:
    lines = repr(outcomes).splitlines()
    assert lines[0] == f"Sweep(25 rows, {outcomes.folder})"
    assert lines[1] == "  converged   21 of 25 (84 %)"
    assert lines[2] == "  others      2 MAX_ITERATIONS, 1 InvalidArgumentError: x0: outside, 1 LINE_SEARCH_FAILED"
    costs = outcomes.cost[outcomes.converged]
    assert lines[3].startswith(f"  cost        {costs.min():.6g} least, {np.median(costs):.6g} median, ")
    assert lines[4] == "  iterations  11 median, 74 at 90 %, 100 most"
    assert lines[5] == "  time        1 ms median, 1 ms at 90 %, 0.024 s of solving in all"
    assert "84 %" in outcomes._repr_html_()
    assert repr(outcomes[[]]).endswith("no rows")


def test_a_share_is_100_percent_only_if_it_is_all(tmp_path: Path) -> None:
    points = np.tile([0.1, 0.2, 0.3], (3000, 1))
    found = Sweep.read(stores.write(tmp_path / "store", points, {5: "MAX_ITERATIONS"}, {}, chunk=3000))
    assert found.report()["converged"] == "2999 of 3000 (99.9 %)"
    assert found[:5].report()["converged"] == "5 of 5 (100 %)"


def test_the_table_has_components(outcomes: Sweep) -> None:
    names = ["index", *(f"goal.reference[{i}]" for i in range(3)), "goal.weight", *list(columns.OUTCOMES)[1:]]
    assert list(outcomes.table) == names
    assert list(outcomes.varied) == ["goal.reference[0]", "goal.reference[1]"]
    assert outcomes[:0].varied == {}
    wide = components({"us": np.arange(60.0).reshape(2, 30) * [[1.0], [1.0]]}, varied=False)
    assert len(wide) == 30
    still = components({"us": np.zeros((2, 10, 3))}, varied=False)
    assert not still


def test_files_hold_the_table(outcomes: Sweep, tmp_path: Path) -> None:
    with outcomes.to_csv(tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["cost"]) for row in rows[:20]] == outcomes.cost[:20].tolist()
    assert [row["status"] for row in rows] == outcomes.status.tolist()
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pip install pyarrow")
    read = parquet.read_table(outcomes.to_parquet(tmp_path / "table.parquet"))
    assert read.column_names == list(outcomes.table)
    np.testing.assert_array_equal(read["goal.reference[1]"].to_numpy(), outcomes.table["goal.reference[1]"])
    with pytest.raises(InvalidArgumentError, match="path: expected a file ending in .csv"):
        outcomes.to_csv(tmp_path / "table.txt")


def test_parquet_says_what_it_needs(outcomes: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install pyarrow \(extra 'sweep'\); to_csv needs nothing"):
        outcomes.to_parquet(tmp_path / "table.parquet")


def test_trajectories_come_by_chunk(outcomes: Sweep) -> None:
    seen = []
    for rows, xs, us in outcomes[2:].trajectories():
        np.testing.assert_array_equal(xs[:, 0, 0], outcomes[2:].index[rows])
        np.testing.assert_array_equal(us[:, 0, 0], -xs[:, 0, 0])
        seen += rows.tolist()
    assert sorted(seen) == list(range(23))


def test_a_damaged_chunk_is_left_out_and_named(outcomes: Sweep, caplog: pytest.LogCaptureFixture) -> None:
    file = outcomes._columns.files[outcomes._columns.chunk[9]]
    file.write_bytes(file.read_bytes()[:300])
    with caplog.at_level(logging.WARNING):
        left = Sweep.read(outcomes.folder)
    assert left.damaged == (file,)
    np.testing.assert_array_equal(left.index, [*range(8), *range(16, 25)])
    assert f"{file} is damaged and left out" in caplog.text
    assert left.report()["damaged"] == "1 chunk, left out: run the sweep again with this store"
    columns._trajectories.cache_clear()
    with pytest.raises(InvalidArgumentError, match=r"is damaged .*; run the sweep again with this store"):
        _ = outcomes[9].xs


def test_a_sweep_without_trajectories_says_so(outcomes: Sweep) -> None:
    for file in outcomes._columns.files:
        with np.load(file) as arrays:
            kept = {name: arrays[name] for name in arrays.files if name not in ("xs", "us")}
        np.savez(file, **kept)
    columns._trajectories.cache_clear()
    with pytest.raises(
        UnsupportedOperationError,
        match=r"xs: this sweep did not store trajectories; .* or solution\(\) to solve the row again",
    ):
        _ = Sweep.read(outcomes.folder)[0].xs


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s[25], "row: expected one of 25 rows, 0 to 24, got 25"),
        (lambda s: s[[25]], "rows: expected integers from 0 to 24, got"),
        (lambda s: s[np.ones(3, dtype=bool)], "rows: expected an integer, a slice, a mask of 25 rows or a list"),
        (lambda s: s["cost"], r"rows: expected an integer, .*; where\(name, least, most\) selects rows by a parameter"),
        (lambda s: s.where("cost", least="low"), "least: expected a"),
        (lambda s: s.where("status"), "column 'status' not found"),
        (lambda s: s.where("goal.reference"), r"column 'goal.reference' not found; did you mean 'goal.reference\["),
    ],
)
def test_wrong_questions_are_refused(outcomes: Sweep, ask: Any, message: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=message):
        ask(outcomes)


def test_a_folder_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"folder: expected the store of a sweep, got .* without chunks/"):
        Sweep.read(tmp_path)
