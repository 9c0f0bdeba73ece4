"""Step that multiplies a constant matrix by an array, as the layers of a neural network do."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.builder import Builder
from trajopt.kernels.numbers import Numbers, Values
from trajopt.kernels.operations import SIDE_BY_SIDE, LaneType, hexadecimal, intrinsic
from trajopt.kernels.products import multiply_add, strips
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program

# Sums in registers at once: rows by columns, as with 8 lanes on AVX-512 64 x 64 by 1, 2, 3 columns reach 23, 23, 24
# multiplications per ns. One lane holds 8 rows in each of 4 registers: 20 instead of 6.
_ROWS = {1: 8, 2: 4, 3: 4}
_VECTORS = 4


@dataclass(frozen=True, eq=False)
class Dense(Step):
    """Step that computes W x + b for a constant dense matrix W (m, n), a constant b (m,), and an array x (n, p).

    The machine code holds each number of W once, whatever the number of lanes. As an expression, W takes 3 m n
    instructions. Sums begin with b and run over the columns of W in their order, fused like those of `MatrixProduct`.
    """

    matrix: Values
    offset: Values
    x: Array
    result: Array

    @classmethod
    def new(cls, program: Program, matrix: Values, offset: Values, x: Array) -> Dense:
        """Creates the step with a new array (m, p) for the result."""
        if matrix.shape != (len(offset), x.shape[0]):
            raise InvalidArgumentError(f"matrix: expected shape ({len(offset)}, {x.shape[0]}), got {matrix.shape}")
        return cls(np.ascontiguousarray(matrix), offset, x, program.array(len(matrix), x.shape[1]))

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.x,)

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.result,)

    @property
    def content(self) -> tuple[object, ...]:
        return (self._digest, self.x.number, self.result.number)

    @property
    def work(self) -> int:
        return self.matrix.size * self.x.shape[1]

    @functools.cached_property
    def _digest(self) -> str:
        about = f"{self.matrix.shape} {self.x.shape}".encode()
        return hashlib.sha256(about + self.matrix.tobytes() + self.offset.tobytes()).hexdigest()

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        matrix, offset = (numbers.array(a, a.shape) for a in (self.matrix, self.offset))
        values[self.result.number] = matrix @ values[self.x.number] + offset[:, None]

    def write(self, writer: EntryWriter) -> None:
        about = f"{self._digest} {writer.width}".encode()
        name = f"trajopt_dense_{hashlib.sha256(about).hexdigest()[:16]}"
        writer.routine(name, ["ptr", "ptr"], lambda: self._text(name, writer.lanes))
        writer.call(name, self.x, self.result)

    def _text(self, name: str, lanes: LaneType) -> str:
        """LLVM text of `void name(double *x, double *result)`; W is stored in the order in which it is read."""
        (m, n), p = self.matrix.shape, self.x.shape[1]
        columns = min(p, max(_ROWS))
        vectors = lanes.width == p == 1
        ordered = list[float]()
        b = Builder(f"define void @{name}(ptr %x, ptr %result)")
        for first, end, height in strips(0, m, SIDE_BY_SIDE * _VECTORS if vectors else _ROWS[columns]):
            ordered += self.matrix[first:end].reshape(-1, height, n).transpose(0, 2, 1).ravel().tolist()
            for j0, j1, wide in strips(0, p, columns):
                with b.loop(first, end, height) as i, b.loop(j0, j1, wide) as j:
                    block = _Block(lanes, (i.index, j.index), _rows(height, vectors), height, wide, n, p)
                    block.write(b)
        arrays = [_constants("matrix", ordered), _constants("offset", self.offset.tolist())]
        fused = {intrinsic(each, "fma", 3)[1] for each in (lanes, LaneType(SIDE_BY_SIDE))}
        return "\n".join([*arrays, b.text(), *sorted(fused)])


@dataclass(frozen=True)
class _Block:
    """Rows and columns of the result that are summed in registers at once.

    Attributes:
        lanes: Type of an element.
        place: Variables with the first row and the first column.
        rows: First row of each register within the block, and the number of rows in it.
        height: Number of rows [-].
        wide: Number of columns [-].
        n: Rows of x [-].
        p: Columns of x [-].
    """

    lanes: LaneType
    place: tuple[str, str]
    rows: list[tuple[int, int]]
    height: int
    wide: int
    n: int
    p: int

    def write(self, b: Builder) -> None:
        """Writes the sums."""
        (i, j), width, p = self.place, self.lanes.width, self.p
        registers = [(r, count, c) for r, count in self.rows for c in range(self.wide)]
        kinds = [(self.lanes if count == 1 else LaneType(count)).real for _, count, _ in registers]
        start = {r: self._constant(b, b.at("@offset", (i, 1), r), count) for r, count in self.rows}
        with b.loop(0, self.n, carried=[(kind, start[r]) for kind, (r, _, _) in zip(kinds, registers)]) as k:
            at = [b.at("@matrix", (i, self.n), (k.index, self.height), r) for r, _ in self.rows]
            factors = {r: self._constant(b, place, count) for place, (r, count) in zip(at, self.rows)}
            columns = [b.at("%x", (k.index, p * width), (j, width), c * width) for c in range(self.wide)]
            x = [b.load(place, self.lanes.real, self.lanes.align) for place in columns]
            spread = b.splat(x[0], SIDE_BY_SIDE) if any(count > 1 for _, count in self.rows) else ""
            terms = [(factors[r], x[c] if count == 1 else spread) for r, count, c in registers]
            k.carry(*[multiply_add(b, kind, *each, sum) for kind, each, sum in zip(kinds, terms, k.values)])
        for total, kind, (r, count, c) in zip(k.results, kinds, registers):
            align = self.lanes.align if count == 1 else 8
            b.store(total, b.at("%result", (i, p * width), (j, width), (r * p + c) * width), kind, align)

    def _constant(self, b: Builder, address: str, count: int) -> str:
        """Loads `count` constants side by side, or one into all lanes."""
        if count > 1:
            return b.load(address, LaneType(count).real)
        value = b.load(address)
        return value if self.lanes.width == 1 else b.splat(value, self.lanes.width)


def _rows(height: int, vectors: bool) -> list[tuple[int, int]]:
    """Registers that hold the rows of a block, as (first row, number of rows); with `vectors` 8 rows in one."""
    whole = height - height % SIDE_BY_SIDE if vectors else 0
    return [*((r, SIDE_BY_SIDE) for r in range(0, whole, SIDE_BY_SIDE)), *((r, 1) for r in range(whole, height))]


def _constants(name: str, values: list[float]) -> str:
    """Definition of an array. Code may lie further than 2 GB from address 0, hence the code model."""
    numbers = ", ".join(f"double {hexadecimal(value)}" for value in values)
    return f'@{name} = internal constant [{len(values)} x double] [{numbers}], code_model "large", align 64'
