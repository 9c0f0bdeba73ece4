"""The steps of a program: calls of expressions, matrix products and sums, on arrays."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt

from trajopt.kernels.expression import Expression
from trajopt.kernels.products import Block, Ranges

Known = dict[int, npt.NDArray[np.float64]]
"""Values of arrays, by number, where a program is evaluated step by step."""


@dataclass(frozen=True)
class Array:
    """An array of a program, row-major. `number` identifies it."""

    number: int
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True)
class Call:
    """Calls an expression."""

    expression: Expression
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @property
    def function(self) -> ca.Function:
        """The SX function that is called."""
        return self.expression.function

    @property
    def digest(self) -> str:
        """Hash of the expression's content."""
        return self.expression.digest

    @property
    def content(self) -> tuple[object, ...]:
        """What determines it."""
        return (self.digest, *(a.number for a in (*self.inputs, *self.outputs)))

    def evaluate(self, known: Known) -> None:
        """Runs it with CasADi's evaluator."""
        shaped = [known[a.number].reshape(self.function.size_in(i)) for i, a in enumerate(self.inputs)]
        results = self.function.call([ca.DM(v) for v in shaped])
        for array, result in zip(self.outputs, results):
            known[array.number] = np.array(result.full(), dtype=np.float64).reshape(array.shape)


@dataclass(frozen=True)
class Groups:
    """Groups of neighbouring indices, of which those matter whose row of `array` is not all zero.

    Attributes:
        ranges: First index of each group, and the end; together all indices.
        array: A row for each index.
    """

    ranges: Ranges
    array: Array

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it apart."""
        return (self.ranges, self.array.number)

    def matter(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which indices do, with these values of the array."""
        chosen = np.zeros(len(values), dtype=np.bool_)
        for first, end in self.ranges:
            chosen[first:end] = np.any(values[first:end])
        return chosen


@dataclass(frozen=True)
class MatrixProduct:
    """result = a b or aᵀ b; with `initial`, initial plus or, with `subtract`, minus that product.

    Of a `symmetric` result the upper triangle is computed and copied. Groups of `rows` and of `inner` indices that do
    not matter are left out.
    """

    a: Array
    b: Array
    result: Array
    transpose_a: bool
    initial: Array | None
    subtract: bool
    symmetric: bool
    rows: Groups | None
    inner: Groups | None
    blocks: tuple[Block, ...]

    @property
    def flags(self) -> tuple[object, ...]:
        """What determines its code beside shapes and blocks."""
        ranges = [None if groups is None else groups.ranges for groups in (self.rows, self.inner)]
        return (self.transpose_a, self.initial is not None, self.subtract, self.symmetric, *ranges)

    @property
    def multiplications(self) -> int:
        """Number of multiplications of one run."""
        return sum(b.multiplications for b in self.blocks)

    @property
    def content(self) -> tuple[object, ...]:
        """What determines it."""
        initial = None if self.initial is None else self.initial.number
        groups = (_content(self.rows), _content(self.inner))
        return (self.a.number, self.b.number, self.result.number, initial, self.flags, groups, self.blocks)

    def evaluate(self, known: Known) -> None:
        """Runs it with numpy."""
        result = np.zeros(self.result.shape) if self.initial is None else known[self.initial.number].copy()
        a, b = known[self.a.number].T if self.transpose_a else known[self.a.number], known[self.b.number]
        rows, inner = _matter(self.rows, known, len(a)), _matter(self.inner, known, len(b))
        product = a[np.ix_(rows, inner)] @ b[inner]
        result[rows] += -product if self.subtract else product
        known[self.result.number] = result


@dataclass(frozen=True)
class Sum:
    """target += a, at the elements of `runs`, ranges (first, end), but for groups of `rows` that do not matter."""

    target: Array
    a: Array
    runs: Ranges
    rows: Groups | None

    @property
    def content(self) -> tuple[object, ...]:
        """What determines it."""
        return (self.target.number, self.a.number, self.runs, _content(self.rows))

    def evaluate(self, known: Known) -> None:
        """Runs it with numpy."""
        rows, total = _matter(self.rows, known, self.target.shape[0]), known[self.target.number].copy()
        total[rows] += known[self.a.number][rows]
        known[self.target.number] = total


def _content(groups: Groups | None) -> tuple[object, ...] | None:
    return None if groups is None else groups.identity


def _matter(groups: Groups | None, known: Known, size: int) -> npt.NDArray[np.bool_]:
    """Which of this many indices do."""
    return np.ones(size, dtype=np.bool_) if groups is None else groups.matter(known[groups.array.number])
