"""Step that calls an expression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns
from trajopt.kernels.expression import Code, Expression
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.steps.base import Array, PatternOf, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


class CodeCall(Step):
    """Step that calls one function. Structural zeros of its results are written only if another step reads them."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @property
    @abstractmethod
    def function(self) -> Code:
        """Function that the step calls."""

    @property
    def reads(self) -> tuple[Array, ...]:
        return self.inputs

    @property
    def writes(self) -> tuple[Array, ...]:
        return self.outputs

    @property
    def content(self) -> tuple[object, ...]:
        return (self.function.digest, *(a.number for a in (*self.inputs, *self.outputs)))

    @property
    def functions(self) -> tuple[Code, ...]:
        return (self.function,)

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, patterns.Pattern]:
        return {a: mask for a, mask in zip(self.outputs, self.function.outputs) if not mask.all()}

    def write(self, writer: EntryWriter) -> None:
        for array in self.outputs:
            writer.clear(array)
        arrays = (*self.inputs, *self.outputs)
        writer.call(writer.function(self.function, len(arrays)), *arrays, writer.spill)


@dataclass(frozen=True)
class Call(CodeCall):
    """Step that calls an expression. Structural zeros of its results are written only if another step reads them.

    Attributes:
        joins: Whether optimised code may join it with the previous call, see `trajopt.kernels.joined`.
    """

    expression: Expression
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    joins: bool = False

    @classmethod
    def new(cls, program: Program, expression: Expression, inputs: tuple[Array, ...], *, joins: bool = False) -> Call:
        """Creates the step with these inputs and new arrays for its results; see `Program.call`."""
        if len(inputs) != len(expression.inputs):
            raise InvalidArgumentError(
                f"inputs: expected {len(expression.inputs)} arrays for {expression.label!r}, got {len(inputs)}"
            )
        for i, (array, mask) in enumerate(zip(inputs, expression.inputs)):
            if not _same_memory(program.pattern(array).shape, mask.shape):
                raise InvalidArgumentError(
                    f"inputs: expected shape {mask.shape} for input {i} ({expression.input_names[i]}) of "
                    f"{expression.label!r}, got {array.shape}"
                )
        return cls(expression, inputs, tuple(program.array(*mask.shape) for mask in expression.outputs), joins)

    @property
    def function(self) -> Expression:
        return self.expression

    @property
    def work(self) -> int:
        return self.expression.instructions

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        for array, mask in zip(self.inputs, self.expression.inputs):
            if np.any(mask.reshape(array.shape) & ~pattern_of(array)):
                yield array

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        results = numbers.call(self.expression, [values[a.number] for a in self.inputs])
        values.update((array.number, result) for array, result in zip(self.outputs, results))


def _same_memory(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """True if arrays of these shapes hold the same numbers in the same order, row-major."""
    size = a[0] * a[1]
    return size == b[0] * b[1] and (a == b or size == 0 or (min(a) == 1 and min(b) == 1))
