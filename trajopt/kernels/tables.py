"""Tables of numbers that expressions read at an index which is known at run time only.

In an expression, `Table.at(index)` is the call of a function that CasADi does not take apart. Compiled code reads the
numbers from one array in the process, which all kernels share. The number of a table is a hash of its values, so that
stored code finds the array of the process that loads it.
"""

from __future__ import annotations

import functools
import hashlib
import re
import weakref
from collections.abc import Callable, Iterable, Mapping

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import MX, SX

from trajopt.kernels.operations import LaneType, part_name

PREFIX = "trajopt_table_"

Reals = npt.NDArray[np.float64]

_tables: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()


class Table:
    """Numbers that expressions read by their index.

    CasADi has them as a piecewise linear function, which does not copy them at each call, as a constant matrix would.

    Args:
        values: The numbers, finite, n >= 2.

    Attributes:
        memory: The number n, then the values (n + 1,), as compiled code reads them.
        number: Number of the table, by which code names it: 48 bits of a hash of the values.
    """

    def __init__(self, values: npt.ArrayLike) -> None:
        own = np.ravel(np.asarray(values, dtype=np.float64))
        self.memory: Reals = np.concatenate([[len(own)], own])
        self.memory.setflags(write=False)
        self.number = int.from_bytes(hashlib.sha256(own.tobytes()).digest()[:6], "big")
        _tables.setdefault(self.number, self)

    def __reduce__(self) -> tuple[type[Table], tuple[Reals]]:
        return Table, (self.values,)

    @property
    def values(self) -> Reals:
        """The numbers (n,)."""
        return self.memory[1:]

    @property
    def symbol(self) -> str:
        """Name of the array in compiled code."""
        return symbol_of(self.number)

    @property
    def address(self) -> int:
        """Address of the array."""
        return int(self.memory.ctypes.data)

    @functools.cached_property
    def _function(self) -> ca.Function:
        number, index = MX.sym("number"), MX.sym("index")  # the number tells tables apart in lists of instructions
        grid, name = np.arange(len(self.values), dtype=np.float64), f"values_{len(self.values)}"
        values = ca.interpolant(name, "linear", [grid], self.values, {"lookup_mode": ["exact"]})
        return ca.Function(self.symbol, [number, index], [values(index)], {"never_inline": True})

    def at(self, index: SX) -> SX:
        """The number (1,) at an index (1,), an integer such as the result of `casadi.floor`, whose derivative is 0.

        Outside of the table compiled code returns NaN; CasADi extrapolates.
        """
        return SX(self._function(SX(self.number), index))

    def __getitem__(self, index: float) -> float:
        """As compiled code, from a number."""
        return float(self.values[int(index)]) if 0.0 <= index < len(self.values) else float("nan")


def symbol_of(number: int) -> str:
    """Name of the array of a table in compiled code, from the number of the table."""
    return f"{PREFIX}{number:012x}"


def calls_tables_only(function: ca.Function) -> bool:
    """Whether all functions that an SX function calls are tables or their derivatives.

    These are 0, since an index is an integer.
    """
    return all(re.match(f"((fwd|adj)[0-9]+_)*{PREFIX}", name) for name in function.get_function())


def tables_of(function: Callable[[], ca.Function], numbers: Iterable[int]) -> dict[int, Table]:
    """Tables by number, from this process or, if it has none with this number, from the function that reads them."""
    return {number: _tables.get(number) or _from_function(function(), number) for number in numbers}


def addresses(tables: Mapping[int, Table]) -> dict[str, int]:
    """Address of each table by its symbol."""
    return {table.symbol: table.address for table in tables.values()}


def _from_function(function: ca.Function, number: int) -> Table:
    own = function.get_function(symbol_of(number))
    (name,) = own.get_function()
    indices = np.arange(int(name.rpartition("_")[2]), dtype=np.float64)
    return Table(own(0.0, indices[None]).full())


def declared(lanes: LaneType, symbols: Iterable[str]) -> str:
    """LLVM text that declares tables by their symbols."""
    lines = [f"@{name} = external global double" for name in sorted(symbols)]
    if lines and lanes.width > 1:
        real, mask = lanes.real, lanes.mask
        lines.append(f"declare {real} @{_gather(lanes)}(<{lanes.width} x ptr>, i32, {mask}, {real})")
    return "".join(f"{line}\n" for line in lines)


def begun(lanes: LaneType, symbol: str) -> list[str]:
    """LLVM text that loads the address of a table's values, %SYMBOL, and their number in all lanes, %SYMBOL.n."""
    name, integers = f"%{symbol}", f"<{lanes.width} x i32>"
    lines = [
        f"{name} = getelementptr double, ptr @{symbol}, i64 1",
        f"{name}.d = load double, ptr @{symbol}",
    ]
    if lanes.width == 1:
        return [*lines, f"{name}.n = fptosi double {name}.d to i32"]
    return [
        *lines,
        f"{name}.s = fptosi double {name}.d to i32",
        f"{name}.i = insertelement {integers} poison, i32 {name}.s, i32 0",
        f"{name}.n = shufflevector {integers} {name}.i, {integers} poison, {integers} zeroinitializer",
    ]


def read(lanes: LaneType, result: str, symbol: str, index: str) -> list[str]:
    """LLVM text that reads a table at an index in each lane; lanes whose index is outside have NaN.

    An index beyond 32 bits becomes an arbitrary one.
    """
    real, part, nothing = lanes.real, part_name(result), lanes.constant(float("nan"))
    integers = "i32" if lanes.width == 1 else f"<{lanes.width} x i32>"
    lines = [
        f"{part}.f = fptosi {real} {index} to {integers}",
        f"{part}.i = freeze {integers} {part}.f",
        f"{part}.k = icmp ult {integers} {part}.i, %{symbol}.n",
    ]
    if lanes.width == 1:
        return [
            *lines,
            f"{part}.s = select i1 {part}.k, i32 {part}.i, i32 0",
            f"{part}.p = getelementptr double, ptr %{symbol}, i32 {part}.s",
            f"{part}.v = load double, ptr {part}.p",
            f"{result} = select i1 {part}.k, double {part}.v, double {nothing}",
        ]
    many = f"<{lanes.width} x ptr> {part}.p, i32 8, {lanes.mask} {part}.k, {real} {nothing}"
    return [
        *lines,
        f"{part}.p = getelementptr double, ptr %{symbol}, {integers} {part}.i",
        f"{result} = call {real} @{_gather(lanes)}({many})",
    ]


def _gather(lanes: LaneType) -> str:
    return f"llvm.masked.gather.{lanes.suffix}.v{lanes.width}p0"
