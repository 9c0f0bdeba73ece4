"""The frame of a generated function: the arrays that it is handed, its scratch, and the addresses of a knot's rows."""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.kernels.operations import LaneType, intrinsic
from trajopt.solvers.riccati.recursion.cells import Cells
from trajopt.solvers.riccati.recursion.sizes import Sizes

ARRAYS = (
    *("F", "f", "g", "H", "terminal_g", "terminal_H", "C", "d", "delta", "dt", "J0", "J1dt"),
    *("V", "v", "Vf", "K", "k", "Ky", "ky", "U", "inverse", "decrease", "dx", "du", "lam", "y", "scratch"),
    *("curvature", "du_lower", "du_upper", "box_options"),
    *("row_C", "row_end", "weights", "h", "values", "lower", "upper", "counts", "dense", "single", "column"),
    *("at_dx", "at_du", "at_lam", "at_y", "at_values", "running", "end", "dynamics", "sizes", "E"),
)
"""Arrays whose addresses follow T in the table that each function gets."""

WAIT = ("ready", "job")
"""Addresses behind them: of `void ready(void *job, long t)`, which comes back when the arrays of knot t are filled, and
of what it is called with. Both are 0 when all are."""

WITH_GAPS, SHORT = 1, 2
"""Flags of a pass: gaps count; what another pass of the same gaps has left behind is not computed again."""

MEMCPY = "llvm.memcpy.p0.p0.i64"


class Frame:
    """Function of the recursion in LLVM text, with the addresses of its arrays and scratch.

    Args:
        sizes: Sizes of the problem.
        name: Symbol.
        numbers: Further arguments, behind `ptr %table`, which holds T and the addresses of `ARRAYS`, and before
            `i64 %flags`.
    """

    def __init__(self, sizes: Sizes, name: str, *numbers: str) -> None:
        self.sizes = sizes
        arguments = ", ".join(["ptr %table", *(f"double {number}" for number in numbers), "i64 %flags"])
        self.b = Builder(f"define i64 @{name}({arguments})")
        self.x = Cells(self.b, sizes.width, sizes.registers)
        self.T = self.b.op("load i64, ptr %table, align 8")
        self.with_gaps = self.flag(WITH_GAPS)
        self.arrays = {}
        for i, name in enumerate((*ARRAYS, *WAIT)):
            self.arrays[name] = self.b.op(f"load ptr, ptr {self.b.at('%table', i + 1)}, align 8")
        places, _ = sizes.scratch()
        self.scratch = {name: self.b.at(self.arrays["scratch"], place) for name, place in places.items()}
        self._knots, self._copied = sizes.knots(), sizes.copied()

    def flag(self, bit: int) -> str:
        """Returns the name of an i1 that is true if the bit `bit` of `%flags` is set."""
        return self.b.op(f"icmp ne i64 {self.b.op(f'and i64 %flags, {bit}')}, 0")

    def of_knot(self, name: str, t: str, after: int = 0) -> str:
        """Address of the part of an array that belongs to knot t + after."""
        size = self._knots[name]
        return self.b.at(self.arrays[name], (t, size), after * size)

    def readable(self, name: str, t: str, remaining: str) -> str:
        """Address of an array's part for knot t, from which reads may run on by a cell.

        Parts near the end of the array are copied to the scratch.

        Args:
            name: The array.
            t: The knot.
            remaining: Number of knots after it.
        """
        here = self.of_knot(name, t)
        if not self._copied[name]:
            return here
        knots = -(-(self.sizes.width - 1) // self._knots[name])
        near_end = self.b.op(f"icmp slt i64 {remaining}, {knots}")
        with self.b.when(near_end):
            self.copy(self.scratch[name], here, self._copied[name])
        return self.b.op(f"select i1 {near_end}, ptr {self.scratch[name]}, ptr {here}")

    def copy(self, target: str, source: str, count: int) -> None:
        """Writes a copy of `count` doubles from one address to another."""
        if count:
            self.b.do(f"call void @{MEMCPY}(ptr {target}, ptr {source}, i64 {8 * count}, i1 false)")

    def give_up(self, condition: str, code: str) -> None:
        """Writes a return of the failure code unless the condition holds."""
        self.b.leave(self.b.op(f"xor i1 {condition}, true"), code)

    def text(self) -> str:
        """LLVM text of the function, which returns 0 at its end, and of the functions that it calls."""
        real, width = self.x.real, self.sizes.width
        return "\n".join(
            [
                self.b.text("ret i64 0"),
                *(intrinsic(LaneType(lanes), "fma", 3)[1] for lanes in (1, width)),
                f"declare {real} @llvm.fabs.v{width}f64({real})",
                f"declare double @llvm.vector.reduce.fadd.v{width}f64(double, {real})",
                f"declare i1 @llvm.vector.reduce.and.v{width}i1(<{width} x i1>)",
                f"declare double @llvm.vector.reduce.fmaximum.v{width}f64({real})",
                f"declare {real} @llvm.maximum.v{width}f64({real}, {real})",
                f"declare {real} @llvm.masked.load.v{width}f64.p0(ptr, i32, {self.x.truth}, {real})",
                f"declare i{width} @llvm.ctpop.i{width}(i{width})",
                f"declare i{width} @llvm.cttz.i{width}(i{width}, i1)",
                "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
                f"declare void @{MEMCPY}(ptr, ptr, i64, i1)\n",
            ]
        )
