"""Solutions as files, and what records keep of trajectories."""

from __future__ import annotations

import dataclasses
import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajopt import problems
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.plotting import plot_cost_terms
from trajopt.solution import IterationRecord, Solution
from trajopt.solvers import FDDPOptions, SolverFDDP

OLD = Path(__file__).parents[1] / "data" / "solution_format_1.npz"
"""The unicycle, solved and saved by version 0.1.0."""


def solved(**options: Any) -> Solution:
    case = problems.load("unicycle")
    return SolverFDDP(case.problem, FDDPOptions(**options)).solve(case.xs, case.us)


def assert_same(one: Solution, other: Solution) -> None:
    for field in dataclasses.fields(Solution):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name in ("problem", "described"):
            continue
        if field.name == "history":
            np.testing.assert_equal([vars(r) | {"kept": None} for r in a], [vars(r) | {"kept": None} for r in b])
        elif field.name in ("parameters", "multipliers"):
            np.testing.assert_equal(dict(a), dict(b))
        else:
            np.testing.assert_equal(a, b)


def test_a_file_holds_everything_but_the_problem(tmp_path: Path) -> None:
    solution = dataclasses.replace(solved(), multipliers={"dynamics": np.arange(63.0).reshape(21, 3)})
    assert_same(Solution.load(solution.save(tmp_path / "one")), solution)


def test_a_solution_without_gains_and_value_function(tmp_path: Path) -> None:
    solution = dataclasses.replace(solved(), K=None, k=None, Vx=None, Vxx=None)
    loaded = Solution.load(solution.save(tmp_path / "one.npz"), solution.problem)
    assert_same(loaded, solution)
    assert loaded.K is None
    assert np.abs(loaded.stationarity()).max() < 1e-4  # the costate without feedback


def test_format_1_is_read() -> None:
    problem = problems.load("unicycle").problem
    loaded = Solution.load(OLD, problem)
    assert loaded.converged
    assert loaded.cost == pytest.approx(249.5608979, rel=1e-9)
    assert loaded.cost == pytest.approx(problem.calc(loaded.xs, loaded.us).cost, rel=1e-12)
    assert [r.iteration for r in loaded.history] == list(range(1, loaded.iterations + 1))
    assert loaded.history[-1].stop < 1e-9
    assert np.isnan(loaded.history[-1].constraint_violation)
    assert loaded.K is not None
    assert loaded.K.shape == (20, 2, 3)
    assert not loaded.multipliers


def test_compile_time_is_separate_and_saved(tmp_path: Path) -> None:
    """With `seconds` it is all that the call took, and files of earlier versions know none."""
    solver, begun = SolverFDDP(problems.load("unicycle").problem), time.perf_counter()
    solution = solver.solve()
    assert 0.0 < solution.compile_seconds < solution.compile_seconds + solution.seconds < time.perf_counter() - begun
    assert Solution.load(solution.save(tmp_path / "one.npz")).compile_seconds == solution.compile_seconds
    assert solution.to_dict()["compile_seconds"] == solution.compile_seconds
    assert Solution.load(OLD).compile_seconds == 0.0
    long = dataclasses.replace(solution, seconds=0.1234, compile_seconds=2.345)
    assert repr(long).endswith(", 0.123 s and 2.3 s for code and guess)")
    assert " in 0.123 s and 2.3 s for code and guess" in long.explain()
    assert repr(dataclasses.replace(long, compile_seconds=0.01)).endswith(", 0.123 s)")


def test_format_2_is_read() -> None:
    loaded = Solution.load(OLD.with_name("solution_format_2.npz"))
    assert loaded.cost == pytest.approx(249.560897930826, rel=1e-12)
    assert loaded.described == {}
    assert not loaded.description.known
    assert loaded.times is None
    assert loaded.coordinate_names == ("x0", "x1", "x2")
    with pytest.raises(InvalidArgumentError, match="from an early version, so pass the problem: Solution.load"):
        plot_cost_terms(loaded)


def test_a_format_of_the_future_is_refused(tmp_path: Path) -> None:
    with np.load(OLD) as file:
        arrays = dict(file)
    arrays["facts"] = np.array(json.dumps(json.loads(str(arrays["facts"])) | {"format": 4}))
    np.savez(tmp_path / "new.npz", **arrays)
    with pytest.raises(InvalidArgumentError, match="it has format 4, this version reads up to 3; upgrade trajopt"):
        Solution.load(tmp_path / "new.npz")


def test_a_record_gives_its_trajectory_while_it_is_the_latest() -> None:
    case = problems.load("unicycle")
    seen: list[tuple[IterationRecord, Any, Any]] = []
    solver = SolverFDDP(case.problem, callbacks=[lambda record: seen.append((record, *record.trajectory))])
    solution = solver.solve(case.xs, case.us)
    for record, xs, us in seen:
        assert case.problem.calc(xs, us).cost == pytest.approx(record.cost, rel=1e-13)
    np.testing.assert_array_equal(solution.history[-1].trajectory[0], solution.xs)
    with pytest.raises(UnsupportedOperationError, match="iteration 1 is not kept; read record.trajectory within"):
        _ = solution.history[0].trajectory
    copied: IterationRecord = pickle.loads(pickle.dumps(solution.history[-1]))
    np.testing.assert_equal(vars(copied), vars(solution.history[-1]) | {"kept": None})
    with pytest.raises(UnsupportedOperationError):
        _ = copied.trajectory


def test_a_callback_gets_copies_of_the_trajectory() -> None:
    case = problems.load("unicycle")

    def spoil(record: IterationRecord) -> None:
        xs, us = record.trajectory
        xs[:], us[:] = np.nan, np.nan

    solution = SolverFDDP(case.problem, callbacks=[spoil]).solve(case.xs, case.us)
    assert solution.converged
    assert np.all(np.isfinite(solution.xs))
