"""Step that names a part of an input; it computes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Slice(Step):
    """Elements first, first + 1, ... of an input, as a read-only array in the same memory."""

    source: Array
    first: int
    result: Array

    @classmethod
    def new(cls, program: Program, source: Array, first: int, size: int) -> Slice:
        """Creates the step with a new array for the slice; see `Program.slice`."""
        if source not in program.inputs or not 0 <= first <= first + size <= source.size:
            raise InvalidArgumentError(f"source: expected an input with elements {first}..{first + size}, got {source}")
        return cls(source, first, program.array(size))

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.source,)

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.result,)

    @property
    def names_only(self) -> bool:
        return True

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        part = values[self.source.number].ravel()[self.first : self.first + self.result.size]
        values[self.result.number] = part.reshape(self.result.shape)

    def write(self, writer: EntryWriter) -> None:
        writer.place(self.result, self.source, self.first)
