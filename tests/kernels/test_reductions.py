"""Sums and maxima of rows: NumPy's, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Reduction
from trajopt.types import Reals

COUNTS = [*range(40), *(p + q for p in (64, 128, 256, 1024) for q in (-9, -8, -1, 0, 1, 7, 8, 9)), 5000]


@pytest.mark.parametrize("height", [1, 8])
def test_sums_are_those_of_numpy_to_the_bit(height: int) -> None:
    rng = np.random.default_rng(0)
    for count in COUNTS:
        rows = rng.normal(size=(height, count)) * 10.0 ** rng.integers(-8, 9, size=(height, count))
        sums = Reduction(rows)
        for _ in range(3):
            sums()
            assert sums.latest() == np.add.reduce(rows, axis=1).tolist() == [float(row.sum()) for row in rows], count
            rows[:] = rng.normal(size=rows.shape)  # the array is read at each call


def test_infinities_and_nan_pass_through_sums() -> None:
    rows = np.ones((3, 30))
    rows[0, 20], rows[1, 3], rows[1, 4], rows[2, :] = np.inf, np.inf, -np.inf, -0.0
    sums = Reduction(rows)
    sums()
    first, second, third = sums.latest()
    assert (first, third) == (np.inf, 0.0)
    assert np.isnan(second)
    assert not np.signbit(third)


def test_arrays_that_are_not_in_order_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"rows: expected a float64 array in C order, got float64 \(3, 2\)"):
        Reduction(np.zeros((2, 3)).T)
    with pytest.raises(InvalidArgumentError, match=r"rows: expected .*, got int64 \(2, 2\)"):
        Reduction(np.zeros((2, 2), dtype=np.int64))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "join", "term"),
    [
        ("sum of squares", np.add, np.square),
        ("sum of sizes", np.add, np.abs),
        ("largest size", np.maximum, np.abs),
    ],
)
def test_other_reductions(of: str, join: np.ufunc, term: Callable[[Reals], Reals]) -> None:
    for count in COUNTS:
        rows = np.random.default_rng(count).normal(size=(3, count))
        found = Reduction(rows, of)
        found()
        assert found.latest() == join.reduce(term(rows), axis=1, initial=0.0).tolist(), count
        if count > 1 and of == "largest size":
            rows[1, count // 2] = np.nan
            found()
            assert np.isnan(found.latest()[1])
