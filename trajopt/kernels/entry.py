"""LLVM text of a program's entry, which assigns addresses to arrays and lets every step write its own code."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.expression import Code
from trajopt.kernels.functions import Routine, symbol_of
from trajopt.kernels.layout import layout
from trajopt.kernels.operations import LaneType, intrinsic
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups, Step
from trajopt.kernels.steps.groups import nonzero_name, nonzero_text

OURS = __name__.rpartition(".")[0]


def entry_text(program: Program, width: int) -> str:
    """LLVM text of `void trajopt_entry(double **arrays, double *scratch)`.

    The scratch begins with the program's `Layout`, followed by the scratch of the function that runs.
    """
    return EntryWriter(program, width).text()


def routines(program: Program, width: int) -> list[Routine]:
    """Routines (algebra of fixed sizes) that a program's entry calls, each once."""
    writer = EntryWriter(program, width)
    writer.text()
    return list(writer.routines.values())


def content(program: Program, width: int) -> tuple[str, ...]:
    """Content that determines the machine code of a program's entry.

    The source of this room is part of every key on disk. Steps defined elsewhere may change unnoticed, so the key of
    their programs contains their current text.
    """
    about = (program.digest(), str(width))
    if all(type(step).__module__.startswith(f"{OURS}.") for step in _steps(program)):
        return about
    return (*about, hashlib.sha256(entry_text(program, width).encode()).hexdigest())


def _steps(program: Program) -> Iterator[Step]:
    """The steps of a program and of the programs that they run."""
    for step in program.steps:
        yield step
        for inner in step.programs:
            yield from _steps(inner)


class EntryWriter:
    """Writes the steps in order and offers the operations with which they write themselves.

    A step writes instructions, usually a call, into the entry and defines the functions that it calls. Element e of
    lane l of an array is the double at e W + l.

    Args:
        program: The program.
        width: Lanes W.

    Attributes:
        width: Lanes W.
        lanes: The LLVM type of W lanes.
        scratch: Operand `ptr ...` of memory for `Step.scratch` scalars while the step runs.
        spill: Operand `ptr ...`: the last argument of a function of `Step.functions`.
        routines: Routines that the steps have requested, by symbol.
    """

    scratch, spill = "ptr %room", "ptr %spill"

    def __init__(self, program: Program, width: int) -> None:
        self.width, self.lanes = width, LaneType(width)
        self._program = program
        self._lines: list[str] = []
        self._pieces: dict[str, str] = {}  # declarations and definitions besides the entry, by symbol
        self.routines: dict[str, Routine] = {}
        self._masks: dict[tuple[object, ...], str] = {}  # masks of groups, by their identity
        self._numbers = itertools.count()

    def text(self) -> str:
        """LLVM text of the entry and of the functions that it calls."""
        end = layout(self._program).end * 8 * self.width
        spill = f"%spill = getelementptr i8, ptr %scratch, i64 {end}"
        entry = self._function("define void @trajopt_entry(ptr %args, ptr %scratch)", spill)
        return "\n".join([entry, *self._pieces.values()])

    def _function(self, signature: str, *beginning: str) -> str:
        """Text of the program's function."""
        self.do(f"{signature} nounwind {{", *beginning)
        self._place()
        for step in self._program.steps:
            step.write(self)
            changed = {array.number for array in step.writes}  # masks of groups that depend on these are outdated
            self._masks = {key: mask for key, mask in self._masks.items() if key[1] not in changed}
        return "\n".join([*self._lines, "ret void", "}"])

    def _place(self) -> None:
        """Names the address of each array."""
        for i, array in enumerate((*self._program.inputs, *self._program.outputs)):
            self.do(f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}")
            self.do(f"%a{array.number} = load ptr, ptr %p{array.number}")
        where, size = layout(self._program), 8 * self.width
        for number, offset in where.arrays.items():
            self.do(f"%a{number} = getelementptr i8, ptr %scratch, i64 {offset * size}")
        if where.steps < where.end:
            self.do(f"%room = getelementptr i8, ptr %scratch, i64 {where.steps * size}")

    def do(self, *lines: str) -> None:
        """Writes instructions into the entry."""
        self._lines += lines

    def name(self, stem: str) -> str:
        """Returns a name, without the leading %, that no other step of the entry uses."""
        return f"{stem}.{next(self._numbers)}"

    def address(self, array: Array) -> str:
        """Operand `ptr ...`: address of an array, aligned to 8 W bytes."""
        return f"ptr %a{array.number}"

    def define(self, symbol: str, text: str) -> None:
        """Adds the definition or declaration of a function, which steps may share.

        Args:
            symbol: Its name without the leading @. It must reflect everything on which the text depends, such as sizes.
            text: `define internal ...` or `declare ...`.

        Raises:
            InvalidArgumentError: Another text has this symbol.
        """
        if self._pieces.setdefault(symbol, text.strip()) != text.strip():
            raise InvalidArgumentError(f"symbol: {symbol!r} has two texts; name all that the text depends on")

    def routine(self, symbol: str, operands: Sequence[str], write: Callable[[], str], result: str = "void") -> None:
        """Declares a function that is compiled separately and shared by all programs that request it.

        Args:
            symbol: Its name without the leading @. It must reflect everything on which the text depends, such as sizes.
            operands: Type of each argument.
            write: Function that returns its LLVM module; it is called if the code is not in the cache.
            result: Type of its result.
        """
        self.define(symbol, f"declare {result} @{symbol}({', '.join(operands)})")
        self.routines.setdefault(symbol, Routine(symbol, write))

    def intrinsic(self, name: str, arguments: int) -> str:
        """Declares one of LLVM's functions of W lanes, such as "fabs" with one argument; returns its symbol."""
        symbol, text = intrinsic(self.lanes, name, arguments)
        self.define(symbol, text)
        return symbol

    def place(self, array: Array, source: Array, first: int) -> None:
        """Sets the address of an array to element `first` of another array."""
        self.do(f"%a{array.number} = getelementptr i8, {self.address(source)}, i64 {first * 8 * self.width}")

    def call(self, symbol: str, *arguments: Array | str) -> None:
        """Calls a function without a result; arguments are arrays (their addresses) and operands such as `i64 3`."""
        operands = [a if isinstance(a, str) else self.address(a) for a in arguments]
        self.do(f"call void @{symbol}({', '.join(operands)})")

    def function(self, expression: Code, arrays: int) -> str:
        """Declares an expression's function and returns its symbol; `Step.functions` must contain the expression.

        The function takes the addresses of its inputs and outputs, `arrays` in all, then `spill`. It does not write
        structural zeros of its outputs.
        """
        symbol = symbol_of(expression, self.width)
        self.define(symbol, f"declare void @{symbol}({', '.join(['ptr'] * (arrays + 1))})")
        return symbol

    def program(self, body: Program) -> str:
        """Defines an LLVM function that runs a program of `Step.programs` once, and returns its symbol.

        The function is `void (double **arrays, double *scratch, double *spill)`. `arrays` holds the addresses of the
        program's inputs, then of its outputs. `scratch` has room for `layout(body).end` scalars of W lanes. `spill` is
        passed on to the functions that the program calls.
        """
        about = repr((body.digest(), self.width))
        symbol = f"trajopt_program_{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        writer = EntryWriter(body, self.width)
        writer._pieces, writer.routines = self._pieces, self.routines
        self.define(symbol, writer._function(f"define internal void @{symbol}(ptr %args, ptr %scratch, ptr %spill)"))
        return symbol

    def clear(self, array: Array) -> None:
        """Writes zeros into an array before a step that skips structural zeros, if another step reads them."""
        if self._program.needs_zeros(array):
            self.define("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            size = 8 * self.width * array.size
            self.do(f"call void @llvm.memset.p0.i64(ptr align 8 %a{array.number}, i8 0, i64 {size}, i1 false)")

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Context that writes code to be run only if an instruction with an i1 result, such as `icmp ...`, is true."""
        stem, masks = self.name("when"), dict(self._masks)
        self.do(f"%{stem} = {condition}", f"br i1 %{stem}, label %{stem}.do, label %{stem}.done", f"{stem}.do:")
        yield
        self.do(f"br label %{stem}.done", f"{stem}.done:")
        self._masks = masks  # masks computed inside are not available afterwards

    def mask(self, groups: Groups | None) -> list[str]:
        """Returns operands `i64 ...`: one with a bit for each active group of a lane, or none without groups."""
        if groups is None or not groups.ranges:
            return []
        if groups.identity not in self._masks:
            mask = "0"
            for i, (first, end) in enumerate(groups.ranges):
                mask = self._with_bit(mask, i, groups.array, first, end)
            self._masks[groups.identity] = f"i64 {mask}"
        return [self._masks[groups.identity]]

    def _with_bit(self, mask: str, bit: int, array: Array, first: int, end: int) -> str:
        """Mask with one more bit: whether one of these rows of an array is not zero."""
        size, offset = (end - first) * array.shape[1], first * array.shape[1] * self.width
        name, stem = nonzero_name(size, self.width), f"%{self.name('bit')}"
        self.routine(name, ["ptr"], lambda: nonzero_text(size, self.width), "i1")
        self.do(
            f"{stem}.at = getelementptr double, {self.address(array)}, i64 {offset}",
            f"{stem}.on = call i1 @{name}(ptr {stem}.at)",
            f"{stem}.wide = zext i1 {stem}.on to i64",
            f"{stem}.here = shl i64 {stem}.wide, {bit}",
            f"{stem} = or i64 {mask}, {stem}.here",
        )
        return stem
