"""Loops over flat arrays of one length, written as formulas: what a step does to each row of a program.

The arrays lie one behind the other in a block, each of `size` doubles in whole cells of 8.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trajopt.kernels.builder import Builder

WIDTH = 8
REAL, TRUTH = f"<{WIDTH} x double>", f"<{WIDTH} x i1>"
REDUCE = {"sum": "fadd", "max": "fmaximum", "min": "fminimum"}
NEUTRAL = {"sum": "0.0", "max": "0xFFF0000000000000", "min": "0x7FF0000000000000"}


class Flat:
    """Writes a function `i64 name(ptr block, i64 size, ptr numbers)` on named flat arrays and named numbers.

    Args:
        name: Symbol.
        arrays: Names of the arrays of the block, in order.
        numbers: Names of the numbers.
    """

    def __init__(self, name: str, arrays: Sequence[str], numbers: Sequence[str]) -> None:
        self.b = Builder(f"define i64 @{name}(ptr noalias %block, i64 %size, ptr noalias %numbers)")
        self._places = {name: self._start(i) for i, name in enumerate(arrays)}
        self._numbers = {name: i for i, name in enumerate(numbers)}

    def _start(self, number: int) -> str:
        return self.b.at("%block", ("%size", number))

    def number(self, name: str) -> Value:
        """Returns a value with one of the named numbers in all places."""
        return self.splat(self.scalar(name))

    def scalar(self, name: str) -> str:
        """Returns the LLVM name of a double that holds the number `name`."""
        return self.b.load(self.b.at("%numbers", self._numbers[name]))

    def set(self, name: str, value: str) -> None:
        """Writes a store of the double `value` into the number `name`."""
        self.b.store(value, self.b.at("%numbers", self._numbers[name]))

    def splat(self, value: str) -> Value:
        """Returns a `Value` that has the double `value` in all eight places."""
        return Value(self.b, self.b.splat(value, WIDTH))

    @contextlib.contextmanager
    def cells(self, **reductions: str) -> Iterator[Cell]:
        """A loop over all cells; reductions of a name by "sum", "max" or "min" start neutral.

        They are the cell's `results` after the loop, as doubles.
        """
        starts = [(REAL, f"splat (double {NEUTRAL[kind]})") for kind in reductions.values()]
        some = self.b.op("icmp sgt i64 %size, 0")
        with self.b.loop(0, "%size", WIDTH, carried=starts, only_if=some) as loop:
            cell = Cell(self.b, self._places, loop.index)
            cell.totals = {name: Value(self.b, value) for name, value in zip(reductions, loop.values)}
            yield cell
            loop.carry(*[cell.totals[name].name for name in reductions])
        for (name, kind), value in zip(reductions.items(), loop.results):
            start = "double 0.0, " if kind == "sum" else ""
            call = f"call double @llvm.vector.reduce.{REDUCE[kind]}.v{WIDTH}f64({start}{REAL} {value})"
            cell.results[name] = self.b.op(call)

    def text(self) -> str:
        """Returns the function as LLVM text; the function returns 0."""
        return self.b.text("ret i64 0")


@dataclass
class Cell:
    """Eight neighbouring elements of all arrays, in one pass of the loop.

    Attributes:
        totals: Reductions so far; set them.
        results: Reductions over all cells, after the loop.
    """

    b: Builder
    places: dict[str, str]
    index: str
    totals: dict[str, Value] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        return Value(self.b, self.b.load(self.b.at(self.places[name], (self.index, 1)), REAL, 64))

    def __setitem__(self, name: str, value: Value) -> None:
        self.b.store(value.name, self.b.at(self.places[name], (self.index, 1)), REAL, 64)

    def add(self, name: str, value: Value) -> None:
        """Adds `value`, place by place, to the sum `name` of `totals`."""
        self.totals[name] = self.totals[name] + value

    def most(self, name: str, value: Value) -> None:
        """Replaces the maximum `name` of `totals` by `value` in places where that is larger."""
        self.totals[name] = maximum(self.totals[name], value)

    def least(self, name: str, value: Value) -> None:
        """Replaces the minimum `name` of `totals` by `value` in places where that is smaller."""
        self.totals[name] = minimum(self.totals[name], value)


@dataclass(frozen=True)
class Value:
    """Eight doubles, as a value in the function that is written."""

    b: Builder
    name: str

    def _op(self, op: str, other: Value | float, *, swapped: bool = False) -> Value:
        names = self.name, _name(other)
        return Value(self.b, self.b.op(f"{op} {REAL} {', '.join(reversed(names) if swapped else names)}"))

    def __add__(self, other: Value | float) -> Value:
        return self._op("fadd", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._op("fsub", other)

    def __rsub__(self, other: float) -> Value:
        return self._op("fsub", other, swapped=True)

    def __mul__(self, other: Value | float) -> Value:
        return self._op("fmul", other)

    def __rmul__(self, other: float) -> Value:
        return self._op("fmul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._op("fdiv", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._op("fdiv", other, swapped=True)

    def __neg__(self) -> Value:
        return Value(self.b, self.b.op(f"fneg {REAL} {self.name}"))

    def __abs__(self) -> Value:
        return Value(self.b, self.b.op(f"call {REAL} @llvm.fabs.v{WIDTH}f64({REAL} {self.name})"))


def _name(value: Value | float) -> str:
    if isinstance(value, Value):
        return value.name
    return f"splat (double 0x{struct.pack('>d', value).hex()})"


def maximum(x: Value, y: Value | float) -> Value:
    """Returns the larger of two values in each place; NaN if one of them is NaN."""
    return _call("maximum", x, y)


def minimum(x: Value, y: Value | float) -> Value:
    """Returns the smaller of two values in each place; NaN if one of them is NaN."""
    return _call("minimum", x, y)


def _call(name: str, x: Value, y: Value | float) -> Value:
    return Value(x.b, x.b.op(f"call {REAL} @llvm.{name}.v{WIDTH}f64({REAL} {x.name}, {REAL} {_name(y)})"))


def where_negative(x: Value, yes: Value, no: Value | float) -> Value:
    """Returns `yes` in places where x < 0, and `no` elsewhere."""
    truth = x.b.op(f"fcmp olt {REAL} {x.name}, zeroinitializer")
    return Value(x.b, x.b.op(f"select {TRUTH} {truth}, {REAL} {yes.name}, {REAL} {_name(no)}"))


def where_equal(x: Value, y: Value | float, yes: Value | float, no: Value | float) -> Value:
    """Returns a value that has `yes` in places where x = y, and `no` elsewhere."""
    truth = x.b.op(f"fcmp oeq {REAL} {x.name}, {_name(y)}")
    return Value(x.b, x.b.op(f"select {TRUTH} {truth}, {REAL} {_name(yes)}, {REAL} {_name(no)}"))


DECLARATIONS = "\n".join(
    [
        *(f"declare {REAL} @llvm.{f}.v{WIDTH}f64({REAL}, {REAL})" for f in ("maximum", "minimum")),
        *(f"declare double @llvm.{f}.f64(double, double)" for f in ("maximum", "minimum")),
        f"declare {REAL} @llvm.fabs.v{WIDTH}f64({REAL})",
        f"declare double @llvm.vector.reduce.fadd.v{WIDTH}f64(double, {REAL})",
        *(f"declare double @llvm.vector.reduce.{f}.v{WIDTH}f64({REAL})" for f in ("fmaximum", "fminimum")),
        "",
    ]
)
"""What functions of flat arrays call."""
