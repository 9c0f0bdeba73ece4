"""Sums, products and elements of SX expressions, like `+`, `-`, `*` and `[]` but several times as fast.

For `a * b` CasADi first looks for numbers, arrays and MX in both operands, which takes 23 µs. `SX.binary` has one
signature and takes 3 µs; the result is the same. Code that runs only a few times should use the operators.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import cast

import casadi as ca
from casadi import SX

plus = functools.partial(SX.binary, ca.OP_ADD)
"""Sum a + b of two SX, element by element."""

minus = functools.partial(SX.binary, ca.OP_SUB)
"""Difference a - b of two SX, element by element."""

times = functools.partial(SX.binary, ca.OP_MUL)
"""Product a * b of two SX, element by element; one of them may be a scalar."""

TWO = SX(2)

_ZERO = SX(1, 1)
_SQUARE = ca.Sparsity.dense(3, 3)


def scalars(a: SX) -> list[SX]:
    """Elements of an SX, column by column; structural zeros remain structural zeros."""
    if a.is_dense():
        return cast(list[SX], a.elements())
    elements = dict(zip(a.sparsity().find(), cast(list[SX], a.nonzeros())))
    return [elements.get(i, _ZERO) for i in range(a.numel())]


def matrix3(elements: list[SX]) -> SX:
    """SX (3, 3) from nine scalars, column by column."""
    return SX(_SQUARE, ca.vcat(elements))


def sum_of_products(a: Iterable[SX], b: Iterable[SX]) -> SX:
    """Sum Σ a_k b_k of products of scalars, added from first to last."""
    total = SX(0)
    for x, y in zip(a, b, strict=True):
        total = plus(total, times(x, y))
    return total
