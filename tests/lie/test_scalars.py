"""Fast sums, products and elements give the nodes that the operators give."""

from __future__ import annotations

import operator
from collections.abc import Callable

import casadi as ca
import pytest
from casadi import SX

from trajopt.lie.scalars import TWO, matrix3, minus, plus, scalars, sum_of_products, times

x, y = SX.sym("x", 3), SX.sym("y", 3)


def serialized(expression: SX) -> str:
    """What tells expressions apart: instructions in their order, and structural zeros."""
    return str(ca.Function("f", [x, y], [expression]).serialize())


@pytest.mark.parametrize(
    ("fast", "slow"), [(plus, operator.add), (minus, operator.sub), (times, operator.mul)], ids=["+", "-", "*"]
)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        *((x, y), (x[0], y), (x, y[2]), (SX(0), y), (x, SX(1)), (TWO, y), (x, x), (SX(3), SX(4))),
        *((SX(3, 1), y), (x, SX(3, 1)), (SX(1, 1), y[0])),
    ],
)
def test_operations(fast: Callable[[SX, SX], SX], slow: Callable[[SX, SX], SX], a: SX, b: SX) -> None:
    assert serialized(fast(a, b)) == serialized(slow(a, b))


def test_elements_keep_structural_zeros() -> None:
    sparse = SX(3, 2)
    sparse[1, 0], sparse[2, 1] = x[0], SX(0)
    for matrix in (sparse, x, SX(0, 1), ca.mtimes(x, y.T)):
        elements = scalars(matrix)
        assert [serialized(e) for e in elements] == [serialized(matrix[i]) for i in range(matrix.numel())]


def test_matrices_and_sums() -> None:
    elements = [x[i] * y[j] for j in range(3) for i in range(3)]
    columns = ca.horzcat(*[ca.vertcat(*elements[3 * j : 3 * j + 3]) for j in range(3)])
    assert serialized(matrix3(elements)) == serialized(columns)
    total = SX(0) + x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
    assert serialized(sum_of_products(scalars(x), scalars(y))) == serialized(total)
