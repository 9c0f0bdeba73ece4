"""Interface of a program's steps, and the arrays on which they work."""

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
    """Array of numbers in a program, stored row by row. `number` identifies it within the program."""

    number: int
    shape: tuple[int, int]

    @property
    def size(self) -> int:
        """Number of elements [-]."""
        return self.shape[0] * self.shape[1]


ValuesByNumber = dict[int, Values]
"""Values of arrays by number, during a step-by-step evaluation of a program."""

PatternOf = Callable[[Array], Pattern]
"""Function that returns the mask of an array's elements that may differ from zero."""


class Step(ABC):
    """A step of a program: it reads and writes arrays for W knots at once, one per lane.

    A new kind of step is one subclass, preferably a frozen dataclass. Pass its instances to `Program.add_step`;
    programs, kernels and the disk cache handle them. Instances must support pickle.

    Steps are pure: the result in a lane depends only on the same lane of the arrays that the step reads. A step keeps
    no state between runs and no warm start; an iteration starts from an array that it reads. Knots may therefore run in
    any order, on any thread and with any number of lanes, with the same bits.

    A step that can fail, such as an iteration, fails in single lanes: it writes a `status` and does not affect other
    lanes. It must terminate for any input, including NaN.
    """

    @property
    @abstractmethod
    def reads(self) -> tuple[Array, ...]:
        """Arrays that the step reads: inputs of the program, or arrays written by earlier steps."""

    @property
    @abstractmethod
    def writes(self) -> tuple[Array, ...]:
        """Arrays that the step writes completely. An array that is also in `reads` is changed in place."""

    @property
    def names_only(self) -> bool:
        """True if the step's result is part of an array that the step reads, so that no memory is needed."""
        return False

    @property
    def content(self) -> tuple[object, ...]:
        """Content, besides the step's class, that determines its text; by default its attributes. The repr is hashed.

        Override it in a step with an attribute whose repr differs between equal steps, or that is computed later.
        """
        return tuple(vars(self).items())

    @property
    def work(self) -> int:
        """Number of instructions and multiplications of one run of the step; W lanes count as one [-].

        0 for a step that costs nothing compared with a product.
        """
        return 0

    @property
    def functions(self) -> tuple[Code, ...]:
        """Functions that must be compiled for the step, see `EntryWriter.function`."""
        return ()

    @property
    def programs(self) -> tuple[Program, ...]:
        """Programs that the step runs, see `EntryWriter.program`. Their functions are compiled too."""
        return ()

    @property
    def scratch(self) -> int:
        """Number of scalars, of W lanes each, that the step needs at `EntryWriter.scratch` while it runs [-]."""
        return 0

    @property
    def status(self) -> Array | None:
        """Array (1, 1) among `writes` that reports failure; None if the step cannot fail.

        In each lane it is 0 for success, else the residual, which is > 0 or infinite. NaN also means failure.
        """
        return None

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, Pattern]:
        """Masks of elements that may differ from zero after the step, by array; all elements of arrays not listed.

        Args:
            pattern_of: Function that returns the mask of an array before the step.
        """
        return {}

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        """Arrays whose structural zeros the step reads from memory; by default all arrays that it reads.

        Zeros that no step reads need not be written, see `EntryWriter.clear`.

        Args:
            pattern_of: Function that returns the mask of an array's elements that may differ from zero.
        """
        return self.reads

    @abstractmethod
    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        """Runs the step on one knot without machine code: reads `values` and adds results to them.

        Args:
            values: Values of arrays by number, which may belong to a caller; replace them, do not change them.
            numbers: Arithmetic of these values.
        """

    @abstractmethod
    def write(self, writer: EntryWriter) -> None:
        """Writes the step's LLVM text into the entry, and into functions that the entry calls."""
