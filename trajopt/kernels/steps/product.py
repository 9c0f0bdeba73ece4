"""Step that multiplies two matrices; every element is a vector of W lanes.

It serves products that are too long to unroll into an expression, such as the chain rule over the stages of a
Runge-Kutta method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns, products
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.operations import LaneType, intrinsic
from trajopt.kernels.products import ProductBlock
from trajopt.kernels.steps.base import Array, PatternOf, Step, ValuesByNumber
from trajopt.kernels.steps.groups import Groups, arrays_of, matter, ranges_of

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program

# Measured with 18 x 30 x 48 in GFlop/s, 8 lanes on AVX-512 and 4 on AVX2: 2 x 3, 3 x 3, 4 x 3, 4 x 4 reach 30, 34, 34,
# 34 and 31, 35, 36, 18. Text of 4 x 3 takes 0.1 to 0.4 s more to compile, and gains 1 % of an iteration at most.
BLOCK = (2, 3)


@dataclass(frozen=True)
class MatrixProduct(Step):
    """Step that computes a b or aᵀ b, added to `initial` if that is not None; `subtract` subtracts it instead.

    For a `symmetric` result the upper triangle is computed and copied. Inactive groups of `rows` and of `inner` indices
    are skipped.
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
    blocks: tuple[ProductBlock, ...]

    @classmethod
    def new(
        cls,
        program: Program,
        a: Array,
        b: Array,
        target: Array | None = None,
        initial: Array | None = None,
        *,
        transpose_a: bool = False,
        subtract: bool = False,
        symmetric: bool = False,
        rows: Groups | None = None,
        inner: Groups | None = None,
    ) -> MatrixProduct:
        """Creates the step that adds the product to `target` in place; see `Program.matmul`, `Program.accumulate`.

        Without a target the product gets a new array.
        """
        left, right = _factors(program.pattern, a, b, transpose_a)
        for argument, groups, size in (("rows", rows, len(left)), ("inner", inner, len(right))):
            if groups is not None:
                groups.check(argument, size)
        shape = (len(left), right.shape[1])
        if target is not None:
            _check_target(program, target, shape, (a, b))
        elif initial is not None and initial.shape != shape:
            raise InvalidArgumentError(f"initial: expected shape {shape}, got {initial.shape}")
        if symmetric and shape[0] != shape[1]:
            raise InvalidArgumentError(f"symmetric: expected a square target, got shape {shape}")
        if symmetric and rows is not None:
            raise InvalidArgumentError("rows: expected None for a symmetric target, got groups; use inner instead")
        blocks = patterns.upper_blocks(left, right) if symmetric else patterns.blocks(left, right, ranges_of(rows))
        result, start = (program.array(*shape), initial) if target is None else (target, target)
        return cls(a, b, result, transpose_a, start, subtract, symmetric, rows, inner, blocks)

    @property
    def reads(self) -> tuple[Array, ...]:
        initial = () if self.initial is None else (self.initial,)
        return (self.a, self.b, *initial, *arrays_of(self.rows, self.inner))

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.result,)

    @property
    def flags(self) -> tuple[object, ...]:
        """Flags, besides shapes and blocks, that determine the code of the product."""
        ranges = [None if groups is None else groups.ranges for groups in (self.rows, self.inner)]
        return (self.transpose_a, self.initial is not None, self.subtract, self.symmetric, *ranges)

    @property
    def work(self) -> int:
        return sum(b.multiplications for b in self.blocks)

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, patterns.Pattern]:
        reached = patterns.product(*_factors(pattern_of, self.a, self.b, self.transpose_a))
        return {self.result: reached if self.initial is None else reached | pattern_of(self.initial)}

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        initial = () if self.initial is None else (self.initial,)
        return (*initial, *((self.a, self.b) if self.symmetric else ()), *arrays_of(self.rows, self.inner))

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        result = numbers.zeros(self.result.shape) if self.initial is None else values[self.initial.number].copy()
        a, b = values[self.a.number].T if self.transpose_a else values[self.a.number], values[self.b.number]
        rows, inner = matter(self.rows, values, len(a)), matter(self.inner, values, len(b))
        product = a[np.ix_(rows, inner)] @ b[inner]
        result[rows] += -product if self.subtract else product
        values[self.result.number] = result

    def write(self, writer: EntryWriter) -> None:
        """Writes a call of the product; if no inner index is active, nothing is added to a target."""
        name = self._name(writer.width)
        arrays = (self.a, self.b, self.initial or self.result, self.result)
        rows, inner = writer.mask(self.rows), writer.mask(self.inner)
        operands = ["ptr"] * len(arrays) + ["i64"] * len([*rows, *inner])
        writer.routine(name, operands, lambda: self._text(name, writer.lanes))
        if self.initial == self.result and inner:
            with writer.when(f"icmp ne {inner[0]}, 0"):
                writer.call(name, *arrays, *rows, *inner)
        else:
            writer.call(name, *arrays, *rows, *inner)

    def _name(self, width: int) -> str:
        """Symbol of its function; products of the same kind share it."""
        shapes = (self.a.shape, self.b.shape, self.blocks, width)
        return f"trajopt_matmul_{hashlib.sha256(repr((shapes, self.flags)).encode()).hexdigest()[:16]}"

    def _text(self, name: str, lanes: LaneType) -> str:
        """LLVM text of `void name(double *A, double *B, double *initial, double *C, ...)`: C = initial ± AB.

        Matrices are row-major, W lanes an element. Masks of the groups of rows and of inner indices follow.
        """
        row, along = (self.b.shape[1] * lanes.width, lanes.width), self.a.shape[1] * lanes.width
        a = (lanes.width, along) if self.transpose_a else (along, lanes.width)
        text = products.product_text(
            name,
            self.blocks,
            products.MatrixLayout(lanes.real, lanes.align, a, row, row, row),
            initial=self.initial is not None,
            subtract=self.subtract,
            size=BLOCK,
            mirrored=self.result.shape[0] if self.symmetric else 0,
            rows=ranges_of(self.rows),
            inner=ranges_of(self.inner),
        )
        return "\n".join([text, intrinsic(lanes, "fma", 3)[1]])


def _factors(pattern_of: PatternOf, a: Array, b: Array, transpose_a: bool) -> tuple[patterns.Pattern, patterns.Pattern]:
    """Patterns of both factors; the first one is transposed if the product transposes it."""
    left, right = pattern_of(a).T if transpose_a else pattern_of(a), pattern_of(b)
    if left.shape[1] != right.shape[0]:
        what = "aᵀ b" if transpose_a else "a b"
        raise InvalidArgumentError(f"matmul: {what} of shapes {a.shape} and {b.shape} does not exist")
    return left, right


def _check_target(program: Program, target: Array, shape: tuple[int, int], factors: tuple[Array, Array]) -> None:
    if target in program.inputs or target.shape != shape:
        raise InvalidArgumentError(f"target: expected an array that is not an input, of shape {shape}, got {target}")
    if target in factors:
        raise InvalidArgumentError(f"target: expected an array that is not a factor, got {target}; use matmul")
