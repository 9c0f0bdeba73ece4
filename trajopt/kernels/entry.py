"""LLVM text of a program's entry: it places the arrays, and lets every step write itself."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.expression import Expression
from trajopt.kernels.functions import symbol_of
from trajopt.kernels.operations import LaneType
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Groups
from trajopt.kernels.steps.groups import nonzero_name, nonzero_text

OURS = __name__.rpartition(".")[0]


@dataclass(frozen=True)
class Layout:
    """What lies where in the scratch of a kernel, in bytes from its start.

    Attributes:
        arrays: The arrays that are neither inputs nor outputs, by number.
        steps: Scratch of the step that runs.
        functions: Scratch of the function that runs; the end of what the entry itself needs.
    """

    arrays: dict[int, int]
    steps: int
    functions: int


def layout(program: Program, width: int) -> Layout:
    """Where the entry keeps what it needs."""
    outside = {array.number for array in (*program.inputs, *program.outputs)}
    offsets, end = {}, 0
    for array in program.arrays:
        if array.number not in outside:
            offsets[array.number] = end
            end += _room(array.size, width)
    return Layout(offsets, end, end + _room(max((step.scratch for step in program.steps), default=0), width))


def entry_text(program: Program, width: int) -> str:
    """LLVM text of `void trajopt_entry(double **arrays, double *scratch)`; see `Layout` for the scratch."""
    return EntryWriter(program, width).text()


def content(program: Program, width: int) -> tuple[str, ...]:
    """What tells the machine code of a program's entry apart.

    The source of this room is part of every key on disk. Steps of other people may change without a notice: their
    programs are told apart by the text as it is now.
    """
    about = (program.digest(), str(width))
    if all(type(step).__module__.startswith(f"{OURS}.") for step in program.steps):
        return about
    return (*about, hashlib.sha256(entry_text(program, width).encode()).hexdigest())


class EntryWriter:
    """Writes the steps one after another; offers them what they need to write themselves.

    A step writes instructions into the entry, mostly a call, and defines the functions that it calls. Element e of lane
    l of an array is the double at e W + l.

    Args:
        program: The program.
        width: Lanes W.

    Attributes:
        width: Lanes W.
        lanes: The LLVM type of W lanes.
        scratch: Operand `ptr ...`: where the step may keep `Step.scratch` scalars while it runs.
        spill: Operand `ptr ...`: the last argument of a function of `Step.functions`.
    """

    scratch, spill = "ptr %room", "ptr %spill"

    def __init__(self, program: Program, width: int) -> None:
        self.width, self.lanes = width, LaneType(width)
        self._program = program
        self._lines = ["define void @trajopt_entry(ptr %args, ptr %scratch) nounwind {"]
        self._pieces: dict[str, str] = {}  # what is declared and defined beside the entry, by symbol
        self._masks: dict[tuple[object, ...], str] = {}  # of groups, by their identity
        self._numbers = itertools.count()

    def text(self) -> str:
        """The entry, and what it calls."""
        self._place()
        for step in self._program.steps:
            step.write(self)
            changed = {array.number for array in step.writes}  # groups by these are tested again
            self._masks = {key: mask for key, mask in self._masks.items() if key[1] not in changed}
        return "\n".join([*self._lines, "ret void", "}", *self._pieces.values()])

    def _place(self) -> None:
        """Names the address of each array."""
        for i, array in enumerate((*self._program.inputs, *self._program.outputs)):
            self.do(f"%p{array.number} = getelementptr ptr, ptr %args, i64 {i}")
            self.do(f"%a{array.number} = load ptr, ptr %p{array.number}")
        where = layout(self._program, self.width)
        for number, offset in where.arrays.items():
            self.do(f"%a{number} = getelementptr i8, ptr %scratch, i64 {offset}")
        if where.steps < where.functions:
            self.do(f"%room = getelementptr i8, ptr %scratch, i64 {where.steps}")
        self.do(f"%spill = getelementptr i8, ptr %scratch, i64 {where.functions}")

    def do(self, *lines: str) -> None:
        """Writes instructions into the entry."""
        self._lines += lines

    def name(self, stem: str) -> str:
        """A name that no other step of the entry has, without the leading %."""
        return f"{stem}.{next(self._numbers)}"

    def address(self, array: Array) -> str:
        """Operand `ptr ...`: where an array begins, aligned to 64 bytes if W > 1."""
        return f"ptr %a{array.number}"

    def define(self, symbol: str, text: str) -> None:
        """Puts the definition, or the declaration, of a function beside the entry; steps may share it.

        Args:
            symbol: Its name without the leading @. It tells all apart that its text depends on, such as sizes.
            text: `define internal ...` or `declare ...`.

        Raises:
            InvalidArgumentError: Another text has this symbol.
        """
        if self._pieces.setdefault(symbol, text.strip()) != text.strip():
            raise InvalidArgumentError(f"symbol: {symbol!r} stands for two texts; name all that the text depends on")

    def intrinsic(self, name: str, arguments: int) -> str:
        """Symbol of one of LLVM's functions of W lanes, such as "fabs" with one argument, declared."""
        symbol, real = f"llvm.{name}.{self.lanes.suffix}", self.lanes.real
        self.define(symbol, f"declare {real} @{symbol}({', '.join([real] * arguments)})")
        return symbol

    def call(self, symbol: str, *arguments: Array | str) -> None:
        """Calls a function without a result: with addresses of arrays, and operands such as `i64 3`."""
        operands = [a if isinstance(a, str) else self.address(a) for a in arguments]
        self.do(f"call void @{symbol}({', '.join(operands)})")

    def function(self, expression: Expression, arrays: int) -> str:
        """Symbol of an expression's function, declared; the step names the expression in `Step.functions`.

        It takes the addresses of its inputs and of its outputs, as many `arrays` in all, then `spill`, and does not
        write structural zeros of its outputs.
        """
        symbol = symbol_of(expression, self.width)
        self.define(symbol, f"declare void @{symbol}({', '.join(['ptr'] * (arrays + 1))})")
        return symbol

    def clear(self, array: Array) -> None:
        """Writes zeros into an array whose structural zeros are read: before a step that does not write them."""
        if self._program.needs_zeros(array):
            self.define("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            size = 8 * self.width * array.size
            self.do(f"call void @llvm.memset.p0.i64(ptr align 8 %a{array.number}, i8 0, i64 {size}, i1 false)")

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is written inside happens only if an instruction that gives an i1, such as `icmp ...`, is true."""
        stem, masks = self.name("when"), dict(self._masks)
        self.do(f"%{stem} = {condition}", f"br i1 %{stem}, label %{stem}.do, label %{stem}.done", f"{stem}.do:")
        yield
        self.do(f"br label %{stem}.done", f"{stem}.done:")
        self._masks = masks  # those found inside are not known behind

    def mask(self, groups: Groups | None) -> list[str]:
        """Operand `i64 ...` with the bits of those groups that matter in a lane; none without groups."""
        if groups is None or not groups.ranges:
            return []
        if groups.identity not in self._masks:
            mask = "0"
            for i, (first, end) in enumerate(groups.ranges):
                mask = self._with_bit(mask, i, groups.array, first, end)
            self._masks[groups.identity] = f"i64 {mask}"
        return [self._masks[groups.identity]]

    def _with_bit(self, mask: str, bit: int, array: Array, first: int, end: int) -> str:
        """The mask with a bit more: whether one of these rows of an array is not zero."""
        size, offset = (end - first) * array.shape[1], first * array.shape[1] * self.width
        name, stem = nonzero_name(size, self.width), f"%{self.name('bit')}"
        self.define(name, nonzero_text(size, self.width))
        self.do(
            f"{stem}.at = getelementptr double, {self.address(array)}, i64 {offset}",
            f"{stem}.on = call i1 @{name}(ptr {stem}.at)",
            f"{stem}.wide = zext i1 {stem}.on to i64",
            f"{stem}.here = shl i64 {stem}.wide, {bit}",
            f"{stem} = or i64 {mask}, {stem}.here",
        )
        return stem


def _room(scalars: int, width: int) -> int:
    """Bytes of whole 64 for this many scalars of W lanes."""
    return -(-scalars * width * 8 // 64) * 64
