"""Trajectories and values as objects that np.asarray reads: tensors, tables, memoryviews."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import problems
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import SolverDDP, SolverSQP

T = 20


class Tensor:
    """An array that only np.asarray reads."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values, dtype=np.float64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values.astype(dtype or np.float64)


class Table(Tensor):
    """The same with the length and the iteration of a table, over the names of its columns."""

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(["q", "v"])


class Elsewhere(Tensor):
    """A tensor in the memory of another device."""

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return map(Elsewhere, self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("can't convert a tensor of another device")


LIKE: list[Callable[[Any], Any]] = [Tensor, Table, memoryview]


@pytest.fixture
def problem() -> trajopt.ShootingProblem:
    return problems.load("pendulum", T=T).problem


@pytest.mark.parametrize("like", LIKE)
@pytest.mark.parametrize("solver", [SolverDDP, SolverSQP])
def test_a_guess_is_read_like_an_array(solver: Any, like: Any, problem: trajopt.ShootingProblem) -> None:
    us = 0.1 * np.random.default_rng(0).normal(size=(T, 1))
    xs = problem.rollout(us)
    np.testing.assert_array_equal(problem.rollout(like(us)), xs)
    assert problem.calc(like(xs), like(us)).cost == problem.calc(xs, us).cost
    np.testing.assert_array_equal(problem.quasi_static(like(xs[:-1])), problem.quasi_static(xs[:-1]))
    for arguments in ({"us": us}, {"xs": xs}, {"xs": xs, "us": us}):
        wrapped = {name: like(values) for name, values in arguments.items()}
        found, expected = (solver(problem).solve(**each) for each in (wrapped, arguments))
        np.testing.assert_array_equal(found.us, expected.us)


@pytest.mark.parametrize("like", LIKE)
def test_a_parameter_of_each_knot_is_read_like_an_array(like: Any, problem: trajopt.ShootingProblem) -> None:
    masses = np.linspace(1.0, 2.0, T)
    problem.set_parameter("mass", like(masses))
    np.testing.assert_array_equal(np.ravel(problem.parameter_values()["mass"]), masses)


def test_a_tensor_of_another_device_is_refused(problem: trajopt.ShootingProblem) -> None:
    with pytest.raises(InvalidArgumentError, match=r"us\[0\]: expected numbers of shape \(1,\), got"):
        problem.rollout(Elsewhere(np.zeros((T, 1))))
