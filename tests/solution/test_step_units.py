"""Problems whose steps are parts of a path's length instead of times."""

from __future__ import annotations

import pickle
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.unsolved import solution_of
from trajopt import analysis
from trajopt.analysis.basics import time_axis, time_words
from trajopt.errors import InvalidArgumentError
from trajopt.solution import SolverStatus


class Rising(trajopt.DifferentialActionModelSymbolic):
    """dx/ds = u."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def solution(unit: str = "m") -> trajopt.Solution:
    state = trajopt.StateVector(1)
    low = trajopt.ConstraintStack(state).add("low", trajopt.ResidualModelState(state), lower=-9.0, upper=1.5)
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), weight=1.0)
    model = trajopt.IntegratedActionModelEuler(Rising(state, 1, costs=costs, constraints=low), dt=2.0)
    problem = trajopt.ShootingProblem([0.0], [model] * 3, costs_at_end(state), step_unit=unit)
    us = np.full((3, 1), 0.5)
    return solution_of(problem, problem.rollout(us), us, SolverStatus.MAX_ITERATIONS)


def costs_at_end(state: trajopt.StateVector) -> trajopt.CostStack:
    return trajopt.CostStack(state).add("x", trajopt.ResidualModelState(state), weight=1.0)


def test_texts_pictures_and_tables_name_the_unit(tmp_path: Path) -> None:
    path = solution()
    assert time_words(path, 2) == " (4 m)"
    assert "knot 2 (4 m)" in path.explain()
    assert " s)" not in path.explain()
    assert time_axis(path)[1] == "path [m]"
    assert "path [m]" in {axes.get_xlabel() for axes in path.plot().axes}
    assert path.to_csv(tmp_path / "path.csv").read_text().startswith("knot [-],path [m],")
    assert time_words(solution("s"), 2) == " (4 s)"


def test_files_copies_and_finer_grids_keep_the_unit(tmp_path: Path) -> None:
    path = solution()
    loaded = trajopt.Solution.load(path.save(tmp_path / "path.npz"))
    assert time_words(loaded, 2) == " (4 m)"
    assert pickle.loads(pickle.dumps(path.problem)).step_unit == "m"
    assert time_axis(analysis.resample(path, 0.5))[1] == "path [m]"


def test_a_unit_is_a_text() -> None:
    with pytest.raises(InvalidArgumentError, match="step_unit: expected a string such as 'm', got 1"):
        solution(1)  # type: ignore[arg-type]


def test_a_problem_like_another_has_its_unit_unless_it_has_one_of_its_own() -> None:
    problem = solution().problem
    assert problem is not None
    for unit, expected in ((None, "m"), ("s", "s"), ("rad", "rad")):
        longer = trajopt.ShootingProblem(
            [0.0], [*problem.running, problem.running[0]], problem.terminal, like=problem, step_unit=unit
        )
        assert longer.step_unit == expected
        assert float(longer.get_parameter("dt", 3)) == 2.0
    assert trajopt.ShootingProblem([0.0], problem.running, problem.terminal).step_unit == "s"
