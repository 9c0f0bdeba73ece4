"""The interface of a program's steps, and the arrays that they work on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.kernels.expression import Code
from trajopt.kernels.numbers import Numbers, Values
from trajopt.kernels.patterns import Pattern

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Array:
    """An array of a program, row-major. `number` identifies it."""

    number: int
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.shape[0] * self.shape[1]


Known = dict[int, Values]
"""Values of arrays, by number, where a program is evaluated step by step."""

PatternOf = Callable[[Array], Pattern]
"""Gives the elements of an array that may differ from zero."""


class Step(ABC):
    """A step of a program: it reads arrays and writes arrays, W knots at once, one a lane.

    A new kind of step is one subclass, best a frozen dataclass: `Program.add_step` takes its instances, and programs,
    kernels and the disk cache work with them. Objects must pickle.

    Steps are pure: what a step writes into a lane follows from what the same lane of its arrays holds before, and from
    nothing else. It keeps no state between runs and no warm start: an iteration starts from an array that it reads. So
    knots may run in any order, on any thread and in either width, with the same bits.

    A step that can fail, such as an iteration, fails in single lanes: it writes a `status`, and leaves the other lanes
    as if they were alone. It must come to an end whatever it reads, NaN included.
    """

    @property
    @abstractmethod
    def reads(self) -> tuple[Array, ...]:
        """The arrays that it reads: inputs of the program, or written by earlier steps."""

    @property
    @abstractmethod
    def writes(self) -> tuple[Array, ...]:
        """The arrays that it writes, every element; those that it reads too are changed in place."""

    @property
    def names_only(self) -> bool:
        """Whether what it writes lies in an array that it reads: it has no memory of its own."""
        return False

    @property
    @abstractmethod
    def content(self) -> tuple[object, ...]:
        """Content that determines its text beside its class, arrays by number; the repr of it is hashed."""

    @property
    @abstractmethod
    def work(self) -> int:
        """Number of instructions and multiplications of one run, W lanes counted as one."""

    @property
    def functions(self) -> tuple[Code, ...]:
        """Functions that must be compiled, for `EntryWriter.function`."""
        return ()

    @property
    def programs(self) -> tuple[Program, ...]:
        """Programs that it runs, for `EntryWriter.program`; their functions are compiled too."""
        return ()

    @property
    def scratch(self) -> int:
        """Scalars, of W lanes each, that it needs at `EntryWriter.scratch` while it runs."""
        return 0

    @property
    def status(self) -> Array | None:
        """The one of `writes`, of shape (1, 1), that tells whether it has failed; None if it cannot fail.

        0 in a lane says that all is well; else it is the residual, a number > 0 or infinite. NaN says that it failed.
        """
        return None

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, Pattern]:
        """Masks of the elements that may differ from zero afterwards, by array; all elements of arrays not named.

        Args:
            pattern_of: The same of every array before the step.
        """
        return {}

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        """The arrays of which it reads structural zeros from memory; by default all that it reads.

        Zeros that nobody reads need not be written, see `EntryWriter.clear`.

        Args:
            pattern_of: Which elements of an array may differ from zero.
        """
        return self.reads

    @abstractmethod
    def evaluate(self, known: Known, numbers: Numbers) -> None:
        """Runs it on one knot, as the reference: reads from `known` and adds to it.

        Args:
            known: Values of arrays, which may be those of a caller: they are replaced, not changed.
            numbers: The arithmetic of these values.
        """

    @abstractmethod
    def write(self, writer: EntryWriter) -> None:
        """Writes its LLVM text: into the entry, and into functions that the entry calls."""
