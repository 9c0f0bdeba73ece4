"""One description of a solution: with its problem, from a file, and of a file that describes nothing."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trajopt import Solution, problems
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import inspection
from trajopt.solution.description import Description

OF_THE_PROBLEM = ("state", "models", "items", "terminal_items", "values", "schedule", "spheres", "start")
"""Attributes that a file does not keep."""


def names() -> list[str]:
    return list(Description.__annotations__)


def plain(value: Any) -> Any:
    """A value that `assert_equal` compares by content."""
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value


@pytest.fixture(scope="module", params=["unicycle", "cart-pole-limits"])
def solution(request: pytest.FixtureRequest) -> Solution:
    return problems.load(request.param).solve()


def test_a_file_describes_what_the_problem_does(solution: Solution, tmp_path: Path) -> None:
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    assert loaded.problem is None
    for name in names():
        here, there = (plain(getattr(each.description, name)) for each in (loaded, solution))
        if name in OF_THE_PROBLEM:
            assert here in (None, (), [], {}, "fixed"), name
        else:
            np.testing.assert_equal(here, there, err_msg=name)


def test_a_description_with_the_problem_is_that_of_the_problem_and_not_of_the_file(solution: Solution) -> None:
    other = dataclasses.replace(solution, described={"coordinate_names": ("other",), "known": False})
    assert other.coordinate_names == solution.coordinate_names
    assert other.description.known
    moved = dataclasses.replace(solution, xs=solution.xs + 1.0)
    np.testing.assert_array_equal(moved.description.lines[0].values, moved.xs[:, 0])


def test_without_problem_and_file_coordinates_are_numbered(solution: Solution) -> None:
    bare = dataclasses.replace(solution, problem=None)
    described = {name: getattr(bare.description, name) for name in names()}
    assert not described["known"]
    assert described["coordinate_names"] == tuple(f"x{i}" for i in range(solution.xs.shape[1]))
    assert [line.name for line in described["lines"]] == [*bare.coordinate_names, *bare.control_names]
    for read in (bare.cost_terms, bare.violations, bare.prices, bare.contact_forces, bare.torques, bare.gaps):
        with pytest.raises(InvalidArgumentError, match="this solution was loaded without one"):
            read()


def test_numbers_that_users_change_are_their_own(solution: Solution, tmp_path: Path) -> None:
    for each in (solution, Solution.load(solution.save(tmp_path / "one.npz"))):
        for read in (each.cost_terms, each.violations, lambda each=each: {"times": each.times}):
            before = {name: values.copy() for name, values in read().items()}
            for values in read().values():
                values += 1.0
            np.testing.assert_equal(read(), before)


def test_a_loaded_solution_pickles_with_its_description(solution: Solution, tmp_path: Path) -> None:
    loaded = Solution.load(solution.save(tmp_path / "one.npz"))
    again = pickle.loads(pickle.dumps(loaded))
    assert again.to_dict() == loaded.to_dict()
    np.testing.assert_equal(plain(again.description.lines), plain(loaded.description.lines))


def test_numbers_are_computed_once_for_a_solution(solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    evaluate = inspection.cost_terms

    def counted(*given: Any) -> Any:
        calls.append(1)
        return evaluate(*given)

    monkeypatch.setattr(inspection, "cost_terms", counted)
    solution = dataclasses.replace(solution)
    first = solution.cost_terms()
    for name in solution.cost_terms():
        first[name][:] = np.nan  # a copy
        assert np.isfinite(solution.cost_terms()[name][0])
    assert len(calls) == 1
    other = dataclasses.replace(solution, xs=2.0 * solution.xs)
    assert any(not np.array_equal(other.cost_terms()[name], rows) for name, rows in solution.cost_terms().items())
    assert len(calls) == 2
    assert pickle.loads(pickle.dumps(solution)).cost_terms().keys() == first.keys()
    assert len(calls) == 3
    kept = weakref.ref(solution)
    gc.disable()  # nothing refers to the solution, so no collection is needed to free it
    try:
        del solution
        assert kept() is None
    finally:
        gc.enable()
