"""The step that calls an expression."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns
from trajopt.kernels.expression import Expression
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.steps.base import Array, Known, PatternOf, Step

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Call(Step):
    """Calls an expression. Structural zeros of what it returns are written only where somebody reads them."""

    expression: Expression
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @classmethod
    def new(cls, program: Program, expression: Expression, inputs: tuple[Array, ...]) -> Call:
        """The call on these inputs, with new arrays for what it returns; see `Program.call`."""
        function = expression.function
        if len(inputs) != function.n_in():
            raise InvalidArgumentError(
                f"inputs: function {function.name()!r} takes {function.n_in()} arrays, got {len(inputs)}"
            )
        for i, array in enumerate(inputs):
            if not _same_memory(program.pattern(array).shape, function.size_in(i)):
                raise InvalidArgumentError(
                    f"inputs: input {i} ({function.name_in(i)}) of function {function.name()!r} has shape "
                    f"{function.size_in(i)}, got an array of shape {array.shape}"
                )
        return cls(expression, inputs, tuple(program.array(*function.size_out(i)) for i in range(function.n_out())))

    @property
    def reads(self) -> tuple[Array, ...]:
        return self.inputs

    @property
    def writes(self) -> tuple[Array, ...]:
        return self.outputs

    @property
    def content(self) -> tuple[object, ...]:
        return (self.expression.digest, *(a.number for a in (*self.inputs, *self.outputs)))

    @property
    def work(self) -> int:
        return self.expression.instructions

    @property
    def functions(self) -> tuple[Expression, ...]:
        return (self.expression,)

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, patterns.Pattern]:
        sparsities = [self.expression.function.sparsity_out(i) for i in range(len(self.outputs))]
        return {a: patterns.of_sparsity(s) for a, s in zip(self.outputs, sparsities) if not s.is_dense()}

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        for i, array in enumerate(self.inputs):
            read = patterns.of_sparsity(self.expression.function.sparsity_in(i)).reshape(array.shape)
            if np.any(read & ~pattern_of(array)):
                yield array

    def evaluate(self, known: Known, numbers: Numbers) -> None:
        results = numbers.call(self.expression, [known[a.number] for a in self.inputs])
        known.update((array.number, result) for array, result in zip(self.outputs, results))

    def write(self, writer: EntryWriter) -> None:
        for array in self.outputs:
            writer.clear(array)
        arrays = (*self.inputs, *self.outputs)
        writer.call(writer.function(self.expression, len(arrays)), *arrays, writer.spill)


def _same_memory(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether arrays of these shapes hold the same numbers in the same order, row-major."""
    size = a[0] * a[1]
    return size == b[0] * b[1] and (a == b or size == 0 or (min(a) == 1 and min(b) == 1))
