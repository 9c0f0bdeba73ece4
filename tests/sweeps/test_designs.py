"""Designs: order of a grid, random rows that do not depend on their number, generators, errors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.sweeps import grid, random
from trajopt.sweeps.designs import blocks


def rows(parameters: Any, size: int) -> list[dict[str, Any]]:
    found, n = blocks(parameters, size)
    flat = [{k: v[i] for k, v in block.items()} for block in found for i in range(len(next(iter(block.values()))))]
    assert n in (None, len(flat))
    return flat


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_grid_is_the_product_of_its_axes(size: int) -> None:
    states = np.arange(6.0).reshape(3, 2)
    found = rows(grid({"goal.weight": [1.0, 2.0]}, x0=states), size)
    expected = [{"goal.weight": w, "x0": x} for w, x in itertools.product([1.0, 2.0], states)]
    for one, other in zip(found, expected, strict=True):
        assert one["goal.weight"] == other["goal.weight"]
        np.testing.assert_array_equal(one["x0"], other["x0"])


def test_a_row_of_a_random_design_depends_on_its_number_alone() -> None:
    ranges = {"x0": (np.zeros(2), np.array([1.0, 10.0])), "w": (1e-3, 1e3)}
    short, long = rows(random(ranges, 5, seed=3, log=["w"]), 2), rows(random(ranges, 400, seed=3, log=["w"]), 64)
    for one, other in zip(short, long):
        assert one["w"] == other["w"]
        np.testing.assert_array_equal(one["x0"], other["x0"])
    x0, w = np.array([row["x0"] for row in long]), np.array([row["w"] for row in long])
    assert np.all((x0 >= 0) & (x0 <= [1, 10]))
    assert np.all((w >= 1e-3) & (w <= 1e3))
    np.testing.assert_allclose(x0.mean(axis=0), [0.5, 5.0], rtol=0.1)
    np.testing.assert_allclose(np.log10(w).mean(), 0.0, atol=0.25)
    assert abs(np.corrcoef(x0.T)[0, 1]) < 0.15
    assert rows(random(ranges, 1, seed=4), 1)[0]["w"] != short[0]["w"]


def test_generators_give_one_row_at_a_time() -> None:
    def endless() -> Iterator[dict[str, Any]]:
        for i in itertools.count():
            yield {"x0": [i, 0]}

    found, n = blocks(endless(), 3)
    assert n is None
    np.testing.assert_array_equal(next(found)["x0"], [[0, 0], [1, 0], [2, 0]])
    assert next(found)["x0"][0, 0] == 3
    np.testing.assert_array_equal([row["w"] for row in rows([{"w": i} for i in range(5)], 2)], range(5))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "parameters: expected at least one name"),
        ({"a": [1, 2], "b": [1]}, r"expected 2 rows for b, as for a, got 1; for all combinations use .*grid"),
        ({"a": 3.0}, "expected rows of values for a, got 3.0"),
        ({"a": [1.0, np.nan]}, "expected finite numbers"),
        ({"a": ["x"]}, "parameters: a: expected rows of numbers"),
        ({1: [2]}, "expected names, got 1"),
        ("x0", "expected a dictionary of arrays"),
        ([3], "row 0: expected a dictionary, got 3"),
        ([{"a": 1}, {"b": 1}], "got {'b': .*} in row 1; set the same names in every row"),
        ([{"a": 1}, {"a": [1, 2]}], "in row 1"),
    ],
)
def test_wrong_parameters(parameters: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        rows(parameters, 2)


def test_wrong_ranges() -> None:
    with pytest.raises(InvalidArgumentError, match=r"expected \(lower, upper\) for w, got \[2, 1\]"):
        random({"w": [2, 1]}, 3)
    with pytest.raises(InvalidArgumentError, match="log: expected bounds > 0 for w"):
        random({"w": [0, 1]}, 3, log=["w"])
    with pytest.raises(UnknownNameError, match="log: range 'v' not found"):
        random({"w": [0, 1]}, 3, log=["v"])
    with pytest.raises(InvalidArgumentError, match="axes: expected at least one name"):
        grid()
