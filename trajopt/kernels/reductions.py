"""Sums and maxima of rows with NumPy's bits; for few numbers much faster than NumPy's calls."""

from __future__ import annotations

import ctypes
import functools

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.rows import Reals

LEAST, PIECE = 8, 128  # from LEAST numbers on, eight are added side by side; beyond PIECE, halves are added separately

_SIZE = "  %term = call {type} @llvm.fabs.{suffix}({type} %x)\n  ret {type} %term"
_TERMS = {
    "sum": "  ret {type} %x",
    "sum of squares": "  %term = fmul {type} %x, %x\n  ret {type} %term",
    "sum of sizes": _SIZE,
    "largest size": _SIZE,
}
_ADD = "  %both = fadd {type} %x, %y\n  ret {type} %both"
_MAX = "  %both = call {type} @llvm.maximum.{suffix}({type} %x, {type} %y)\n  ret {type} %both"
_TYPES = {"one": {"type": "double", "suffix": "f64"}, "eight": {"type": "<8 x double>", "suffix": "v8f64"}}

_HELPERS = """
define internal {type} @{symbol}_{width}({type} %x) alwaysinline nounwind {{
{term}
}}

define internal {type} @{symbol}_join_{width}({type} %x, {type} %y) alwaysinline nounwind {{
{join}
}}
"""

_ROW = """
define internal double @{symbol}_of_row(ptr %numbers, i64 %count) nounwind {{
entry:
  %few = icmp slt i64 %count, {least}
  br i1 %few, label %in.order, label %many
in.order:
  %ordered = call double @{symbol}_in_order(double -0.0, ptr %numbers, i64 0, i64 %count)
  ret double %ordered
many:
  %small = icmp sle i64 %count, {piece}
  br i1 %small, label %side.by.side, label %halves
side.by.side:
  %sided = call double @{symbol}_side_by_side(ptr %numbers, i64 %count)
  ret double %sided
halves:
  %half = lshr i64 %count, 1
  %first = and i64 %half, -8
  %second = sub i64 %count, %first
  %rest = getelementptr double, ptr %numbers, i64 %first
  %left = call double @{symbol}_of_row(ptr %numbers, i64 %first)
  %right = call double @{symbol}_of_row(ptr %rest, i64 %second)
  %sum = call double @{symbol}_join_one(double %left, double %right)
  ret double %sum
}}
"""


def reductions_text() -> str:
    """LLVM text of the functions of `Reduction`.

    Each is a unit of `call_sequence_text`. Its argument is the address of four numbers: address of the rows, number and
    length of rows, address of the results. Fewer than `LEAST` terms are added one by one. Up to `PIECE` terms are added
    eight side by side, the eight results in pairs, and the remaining terms one by one. More terms are split into two
    halves, the first one a multiple of eight.
    """
    text = "\n".join(
        f"declare {t['type']} @llvm.{name}.{t['suffix']}({', '.join([t['type']] * count)})"
        for t in _TYPES.values()
        for name, count in (("fabs", 1), ("maximum", 2))
    )
    for of, term in _TERMS.items():
        symbol, join = _symbol(of), _MAX if of.startswith("largest") else _ADD
        for width, kind in _TYPES.items():
            both = {"term": term.format(**kind), "join": join.format(**kind)}
            text += _HELPERS.format(symbol=symbol, width=width, **kind, **both)
        row = _ROW.format(symbol=symbol, least=LEAST, piece=PIECE)
        text += "\n".join([_in_order(symbol), _side_by_side(symbol), row, _of_rows(symbol)])
    return text


def _symbol(of: str) -> str:
    return f"trajopt_{of.replace(' ', '_')}"


def _in_order(symbol: str) -> str:
    """Terms first..end-1, joined one by one to a number."""
    b = Builder(f"define internal double @{symbol}_in_order(double %start, ptr %numbers, i64 %first, i64 %end)")
    some = b.op("icmp slt i64 %first, %end")
    with b.loop("%first", "%end", carried=[("double", "%start")], only_if=some) as i:
        term = b.op(f"call double @{symbol}_one(double {b.load(b.at('%numbers', (i.index, 1)))})")
        i.carry(b.op(f"call double @{symbol}_join_one(double {i.values[0]}, double {term})"))
    return b.text(f"ret double {i.results[0]}")


def _side_by_side(symbol: str) -> str:
    """All terms: eight side by side, the eight results in pairs, and what is left one by one."""
    b, eight = Builder(f"define internal double @{symbol}_side_by_side(ptr %numbers, i64 %count)"), "<8 x double>"
    whole = b.op("and i64 %count, -8")
    first = b.op(f"call {eight} @{symbol}_eight({eight} {b.load('%numbers', eight)})")
    with b.loop(8, whole, 8, [(eight, first)], b.op(f"icmp slt i64 8, {whole}")) as i:
        term = b.op(f"call {eight} @{symbol}_eight({eight} {b.load(b.at('%numbers', (i.index, 1)), eight)})")
        i.carry(b.op(f"call {eight} @{symbol}_join_eight({eight} {i.values[0]}, {eight} {term})"))
    terms = [b.op(f"extractelement {eight} {i.results[0]}, i64 {lane}") for lane in range(8)]
    for k in range(7):
        terms.append(b.op(f"call double @{symbol}_join_one(double {terms[2 * k]}, double {terms[2 * k + 1]})"))
    arguments = f"double {terms[-1]}, ptr %numbers, i64 {whole}, i64 %count"
    return b.text(f"ret double {b.op(f'call double @{symbol}_in_order({arguments})')}")


def _of_rows(symbol: str) -> str:
    b = Builder(f"define void @{symbol}(ptr %call, i64 %first, i64 %end, ptr %scratch)")
    rows, height, width, totals = (b.field("%call", i, kind) for i, kind in enumerate(("ptr", "i64", "i64", "ptr")))
    with b.loop(0, height, only_if=b.op(f"icmp sgt i64 {height}, 0")) as i:
        numbers = b.at(rows, (b.op(f"mul i64 {i.index}, {width}"), 1))
        total = b.op(f"call double @{symbol}_of_row(ptr {numbers}, i64 {width})")
        b.store(b.op(f"fadd double 0.0, {total}"), b.at(totals, (i.index, 1)))
    return b.text()


@functools.cache
def _functions() -> dict[str, int]:
    """Address of each function."""
    symbols = {of: _symbol(of) for of in _TERMS}
    addresses = compiler.load([compiler.object_code(reductions_text, "reductions")], [*symbols.values()], {})
    return {of: addresses[symbol] for of, symbol in symbols.items()}


class Reduction:
    """Reduces each row of an array to one number, such as its sum, with the current content of the array.

    Args:
        rows: The array (n, count); it must not move.
        of: "sum", "sum of squares", "sum of sizes" (Σ|x|), or "largest size" (max |x|; 0 for an empty row).

    Attributes:
        settled: Always true, as for a `KernelCall` whose code is final.
        unit: Unit of `call_sequence_text` that runs it.

    Raises:
        InvalidArgumentError: `rows` is not an array of doubles in C order.
    """

    settled = True

    def __init__(self, rows: Reals, of: str = "sum") -> None:
        if rows.ndim != 2 or rows.dtype != np.float64 or not rows.flags.c_contiguous:
            raise InvalidArgumentError(f"rows: expected a float64 array in C order, got {rows.dtype} {rows.shape}")
        self._rows, self._results, function = rows, np.zeros(len(rows)), _functions()[of]
        numbers = (int(rows.ctypes.data), *rows.shape, int(self._results.ctypes.data))
        self._call = np.array(numbers, dtype=np.int64)
        self._address = int(self._call.ctypes.data)
        self.unit = (function, self._address, 0, 0, 0)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)

    def prepare(self) -> None:
        """Does nothing, since no code is compiled."""

    def __call__(self) -> None:
        """Reduces the current content of the array."""
        self._run(self._address)

    def latest(self) -> list[float]:
        """Results (n,) of the last call, one number for each row."""
        results: list[float] = self._results.tolist()
        return results
