"""Builder of LLVM text with loops, for dense algebra of fixed sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Loop:
    """LLVM loop that `Builder.loop` writes.

    Attributes:
        index: Loop variable.
        values: Values carried from one pass to the next, at the start of a pass.
        results: The same values after the last pass; valid once the loop is closed.
        condition: See `only_while`.
    """

    index: str
    values: list[str]
    results: list[str] = field(default_factory=list)
    condition: str | None = None

    def only_while(self, condition: str) -> None:
        """Sets the i1 that each pass computes; after a pass in which it is false, the loop ends."""
        self.condition = condition

    def carry(self, *values: str) -> None:
        """Sets the carried values for the next pass, in the order of `values`."""
        self.results = list(values)


class Builder:
    """Builder for the lines of one LLVM function.

    Args:
        signature: Such as `define void @name(ptr %A, i64 %n)`.
    """

    def __init__(self, signature: str) -> None:
        self.lines = [f"{signature} nounwind {{", "entry:"]
        self._block = "entry"
        self._number = 0

    def name(self, stem: str = "%t") -> str:
        """Returns a name that the function does not use yet."""
        self._number += 1
        return f"{stem}.{self._number}"

    def op(self, text: str) -> str:
        """Writes `%name = text` with a new name, and returns this name."""
        result = self.name()
        self.lines.append(f"{result} = {text}")
        return result

    def do(self, text: str) -> None:
        """Writes an instruction that has no result."""
        self.lines.append(text)

    def index(self, *terms: tuple[str | int, int] | int) -> str:
        """Returns an i64: a sum of (variable, factor) pairs and constants."""
        constant, parts = 0, []
        for term in terms:
            variable, factor = (term, 1) if isinstance(term, int) else term
            if isinstance(variable, int):
                constant += variable * factor
            elif factor:
                parts.append(variable if factor == 1 else self.op(f"mul i64 {variable}, {factor}"))
        total = parts[0] if parts else str(constant)
        for part in parts[1:]:
            total = self.op(f"add i64 {total}, {part}")
        return self.op(f"add i64 {total}, {constant}") if parts and constant else total

    def at(self, base: str, *terms: tuple[str | int, int] | int) -> str:
        """Returns the address of the double at an index; `terms` as in `index`."""
        index = self.index(*terms)
        return base if index == "0" else self.op(f"getelementptr double, ptr {base}, i64 {index}")

    def load(self, address: str, real: str = "double", align: int = 8) -> str:
        """Writes a load from an address and returns the name of the value."""
        return self.op(f"load {real}, ptr {address}, align {align}")

    def store(self, value: str, address: str, real: str = "double", align: int = 8) -> None:
        """Writes a store of the value `value` of type `real` at the pointer `address`."""
        self.do(f"store {real} {value}, ptr {address}, align {align}")

    def field(self, base: str, number: int | str, kind: str = "i64") -> str:
        """Loads entry `number` of a table of integers or pointers, eight bytes each, and returns its name."""
        return self.load(self.op(f"getelementptr i64, ptr {base}, i64 {number}"), kind)

    def splat(self, value: str, width: int, kind: str = "double") -> str:
        """Vector that has `value` in each of its `width` lanes."""
        first = self.op(f"insertelement <{width} x {kind}> poison, {kind} {value}, i32 0")
        zeros = f"<{width} x i32> zeroinitializer"
        return self.op(f"shufflevector <{width} x {kind}> {first}, <{width} x {kind}> poison, {zeros}")

    def any(self, mask: str, width: int) -> str:
        """Whether a mask of `width` lanes is true in any of them, as an i1."""
        if width == 1:
            return mask
        return self.op(f"icmp ne i{width} {self.op(f'bitcast <{width} x i1> {mask} to i{width}')}, 0")

    def label(self, name: str) -> None:
        """Writes a label, which starts a block. The previous block must have ended with a jump."""
        self.lines.append(f"{name}:")
        self._block = name

    @contextlib.contextmanager
    def loop(
        self,
        first: str | int,
        end: str | int,
        step: int = 1,
        carried: Sequence[tuple[str, str]] = (),
        only_if: str | None = None,
    ) -> Iterator[Loop]:
        """Context that writes a loop over first, first + step, ... below `end`; at least one pass is made.

        Args:
            first: First index.
            end: End of the range, exclusive.
            step: Increment of the index.
            carried: Type and initial value of each carried value.
            only_if: If this i1 is false, no pass is made and carried values keep their initial values.
        """
        stem = self.name("l")
        before = self._block
        self.do(f"br i1 {only_if}, label %{stem}, label %{stem}.done" if only_if else f"br label %{stem}")
        self.label(stem)
        index, following = f"%{stem}.i", f"%{stem}.next"
        place = len(self.lines)
        names = [f"%{stem}.c{i}" for i in range(len(carried))]
        loop = Loop(index, names, list(names))
        yield loop
        last = self._block
        phis = [f"{index} = phi i64 [{first}, %{before}], [{following}, %{last}]"]
        for name, (real, start), result in zip(names, carried, loop.results):
            phis.append(f"{name} = phi {real} [{start}, %{before}], [{result}, %{last}]")
        self.lines[place:place] = phis
        self.do(f"{following} = add i64 {index}, {step}")
        more = self.op(f"icmp slt i64 {following}, {end}")
        if loop.condition:
            more = self.op(f"and i1 {more}, {loop.condition}")
        self.do(f"br i1 {more}, label %{stem}, label %{stem}.done")
        self.label(f"{stem}.done")
        if only_if:
            ends = [(real, start, result) for (real, start), result in zip(carried, loop.results)]
            loop.results = [self.op(f"phi {real} [{a}, %{before}], [{b}, %{last}]") for real, a, b in ends]

    @contextlib.contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Context that writes code to be run only if the i1 `condition` is true."""
        stem = self.name("w")
        self.do(f"br i1 {condition}, label %{stem}, label %{stem}.end")
        self.label(stem)
        yield
        self.do(f"br label %{stem}.end")
        self.label(f"{stem}.end")

    def leave(self, condition: str, code: str | int) -> None:
        """Returns the i64 `code` if the i1 `condition` is true."""
        stem = self.name("leave")
        self.do(f"br i1 {condition}, label %{stem}, label %{stem}.not")
        self.label(stem)
        self.do(f"ret i64 {code}")
        self.label(f"{stem}.not")

    def text(self, ending: str = "ret void") -> str:
        """Returns the whole function as LLVM text; its last instruction is `ending`."""
        return "\n".join([*self.lines, ending, "}"]) + "\n"
