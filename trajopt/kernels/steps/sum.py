"""Step that adds an array to another one in place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import patterns, products
from trajopt.kernels.builder import Builder
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.operations import LaneType
from trajopt.kernels.products import Ranges
from trajopt.kernels.steps.base import Array, PatternOf, Step, ValuesByNumber
from trajopt.kernels.steps.groups import Groups, arrays_of, matter, ranges_of

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Sum(Step):
    """Sum target += a, at the elements of `runs`, ranges (first, end); inactive groups of `rows` are skipped."""

    target: Array
    a: Array
    runs: Ranges
    rows: Groups | None

    @classmethod
    def new(cls, program: Program, target: Array, a: Array, rows: Groups | None) -> Sum:
        """Creates the step that adds `a` to `target` in place; see `Program.add`."""
        pattern = program.pattern(a)
        if rows is not None:
            rows.check("rows", target.shape[0])
        if target in program.inputs or target == a or target.shape != a.shape:
            raise InvalidArgumentError(
                f"target: expected an array other than a, not an input, of shape {a.shape}, got {target}"
            )
        return cls(target, a, patterns.runs(pattern.ravel()), rows)

    @property
    def reads(self) -> tuple[Array, ...]:
        return (self.target, self.a, *arrays_of(self.rows))

    @property
    def writes(self) -> tuple[Array, ...]:
        return (self.target,)

    def patterns(self, pattern_of: PatternOf) -> Mapping[Array, patterns.Pattern]:
        return {self.target: pattern_of(self.target) | pattern_of(self.a)}

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        return (self.target, *arrays_of(self.rows))

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        rows, total = matter(self.rows, values, self.target.shape[0]), values[self.target.number].copy()
        total[rows] += values[self.a.number][rows]
        values[self.target.number] = total

    def write(self, writer: EntryWriter) -> None:
        name = self._name(writer.width)
        rows = writer.mask(self.rows)
        writer.routine(name, ["ptr", "ptr", *["i64"] * len(rows)], lambda: self._text(name, writer.lanes))
        writer.call(name, self.target, self.a, *rows)

    def _name(self, width: int) -> str:
        """Symbol of its function; sums over the same elements share it."""
        about = (self.runs, self.rows and (self.rows.ranges, self.target.shape), width)
        return f"trajopt_sum_{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}"

    def _text(self, name: str, lanes: LaneType) -> str:
        """LLVM text of `void name(double *target, double *a, ...)`; a mask of the groups of rows follows."""
        columns, width, groups = self.target.shape[1], lanes.width, ranges_of(self.rows)
        arguments = ["ptr %target", "ptr %a", *(["i64 %rows"] if groups else [])]
        b = Builder(f"define void @{name}({', '.join(arguments)})")
        for number, (low, high) in enumerate(groups or ((0, self.target.shape[0]),)):
            switch = products.bit(b, "%rows", number) if groups else None
            for first, end in [(max(r[0], low * columns), min(r[1], high * columns)) for r in self.runs]:
                if first < end:
                    with b.loop(first, end, only_if=switch) as loop:
                        place, other = b.at("%target", (loop.index, width)), b.at("%a", (loop.index, width))
                        x, y = b.load(place, lanes.real, lanes.align), b.load(other, lanes.real, lanes.align)
                        b.store(b.op(f"fadd {lanes.real} {x}, {y}"), place, lanes.real, lanes.align)
        return b.text()
