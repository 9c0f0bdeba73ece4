"""Step that calls one expression for many pairs of groups of numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.builder import Builder
from trajopt.kernels.expression import Expression
from trajopt.kernels.instructions import expand
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class PairCalls(Step):
    """Step result[k] = f(a[i], b[j]) for each pair k = (i, j), where a and b are arrays of groups of numbers.

    The code is a loop over a table of the pairs, so that its size does not depend on their number.

    Attributes:
        expression: Function (numbers of a group of `first`, numbers of a group of `second`) -> (1, 1).
        first: Array of groups, one after the other.
        second: Likewise.
        pairs: Indices of the two groups of each pair.
        result: Array with a number for each pair.
    """

    expression: Expression
    first: Array
    second: Array
    pairs: tuple[tuple[int, int], ...]
    result: Array

    @classmethod
    def new(
        cls, program: Program, function: ca.Function, first: Array, second: Array, pairs: Sequence[tuple[int, int]]
    ) -> PairCalls:
        """Creates the step with a new array for its result, for `Program.add_step`."""
        expression = Expression(expand(function))
        if [mask.size for mask in expression.outputs] != [1] or len(expression.inputs) != 2 or not len(pairs):
            raise InvalidArgumentError("function: expected one with two inputs and one number, and at least one pair")
        for side, (array, mask) in enumerate(zip((first, second), expression.inputs)):
            most = max(pair[side] for pair in pairs)
            if min(pair[side] for pair in pairs) < 0 or (most + 1) * mask.size > array.size:
                raise InvalidArgumentError(
                    f"pairs: expected indices of groups of {mask.size} numbers in {array}, got up to {most}"
                )
        indices = tuple((int(i), int(j)) for i, j in pairs)
        return cls(expression, first, second, indices, program.array(len(pairs)))

    @property
    def reads(self) -> tuple[Array, ...]:
        return self.first, self.second

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.result,)

    @property
    def functions(self) -> tuple[Expression, ...]:
        return (self.expression,)

    @property
    def content(self) -> tuple[object, ...]:
        return self.expression.digest, self.pairs, *(a.number for a in (self.first, self.second, self.result))

    @property
    def work(self) -> int:
        return len(self.pairs) * self.expression.instructions

    @property
    def _sizes(self) -> tuple[int, int]:
        """Number of numbers of a group in either array."""
        first, second = (int(mask.size) for mask in self.expression.inputs)
        return first, second

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        arrays, sizes = (values[self.first.number].ravel(), values[self.second.number].ravel()), self._sizes
        results = [
            numbers.call(self.expression, [a[i * n : (i + 1) * n] for a, i, n in zip(arrays, pair, sizes)])[0].ravel()
            for pair in self.pairs
        ]
        values[self.result.number] = np.concatenate(results).reshape(self.result.shape)

    def write(self, writer: EntryWriter) -> None:
        function = writer.function(self.expression, 3)
        about = repr((function, self._sizes, self.pairs))
        name = f"trajopt_pairs_{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        writer.define(name, self._text(name, function, writer.width))
        writer.call(name, self.first, self.second, self.result, writer.spill)

    def _text(self, name: str, function: str, width: int) -> str:
        """LLVM text of `void name(double *first, double *second, double *result, double *spill)`."""
        offsets = np.array(self.pairs, dtype=np.int64) * (np.array(self._sizes) * width)
        numbers = ", ".join(f"i64 {offset}" for offset in offsets.ravel())
        table = f"@{name}_table = private constant [{offsets.size} x i64] [{numbers}]"
        where = f"@{name}_where = private global ptr @{name}_table"
        b = Builder(f"define internal void @{name}(ptr %first, ptr %second, ptr %result, ptr %spill)")
        start = b.op(f"load volatile ptr, ptr @{name}_where")  # with an index, @table's own address has 32 bits only
        with b.loop(0, len(self.pairs)) as loop:
            row = b.op(f"getelementptr [2 x i64], ptr {start}, i64 {loop.index}")
            places = [b.at(base, (b.field(row, side), 1)) for side, base in enumerate(("%first", "%second"))]
            places.append(b.at("%result", (loop.index, width)))
            b.do(f"call void @{function}({', '.join(f'ptr {place}' for place in (*places, '%spill'))})")
        return f"{table}\n{where}\n{b.text()}"
