"""The backward pass: factors, value functions and gains of all knots, from the last to the first."""

from __future__ import annotations

from trajopt.solvers.recursion.cells import ZERO, each
from trajopt.solvers.recursion.dense import Matrix, add_rows
from trajopt.solvers.recursion.elimination import Elimination
from trajopt.solvers.recursion.frame import Frame
from trajopt.solvers.recursion.quadratic import FirstOrder, Knot
from trajopt.solvers.recursion.second_order import SecondOrder
from trajopt.solvers.recursion.sizes import Sizes
from trajopt.solvers.recursion.value import NOT_FINITE, VALUE, gradient, gradient_text, value_text

FACTOR, FACTOR_AFTER = "trajopt_factor", "trajopt_factor_after"
INDEFINITE, RANK_DEFICIENT = 1, 2
DEPENDENT = 1e-13
"""A constraint of which the others leave no larger part, measured by c Quu⁻¹ cᵀ + δ, depends on them [-]."""


def backward_text(sizes: Sizes) -> str:
    """`i64 trajopt_factor(i64 *table, double reg, double reg_value, i64 with_gaps)`.

    It returns 0, or 4 (knot + 1) + what failed there. So does `i64 trajopt_factor_after(void *arguments)`, which finds
    the same four one after the other in memory.
    """
    return _Backward(sizes).text() + _AFTER


_AFTER = f"""
define i64 @{FACTOR_AFTER}(ptr %arguments) nounwind {{
  %table = load ptr, ptr %arguments
  %reg.at = getelementptr i64, ptr %arguments, i64 1
  %reg = load double, ptr %reg.at
  %value.at = getelementptr i64, ptr %arguments, i64 2
  %value = load double, ptr %value.at
  %gaps.at = getelementptr i64, ptr %arguments, i64 3
  %gaps = load i64, ptr %gaps.at
  %code = call i64 @{FACTOR}(ptr %table, double %reg, double %value, i64 %gaps)
  ret i64 %code
}}
"""


class _Backward:
    """Writes the pass."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.frame = sizes, Frame(sizes, FACTOR, "%reg", "%reg_value")
        self.x, self.b, self.scratch = self.frame.x, self.frame.b, self.frame.scratch

    def text(self) -> str:
        """The module."""
        b, T = self.b, self.frame.T
        b.store("0.0", self.frame.arrays["decrease"])
        self._await(T)
        self._await(b.op(f"sub i64 {T}, 1"))
        self._end()
        with b.loop(0, T, only_if=b.op(f"icmp sgt i64 {T}, 0")) as back:
            t = b.op(f"sub i64 {b.op(f'sub i64 {T}, {back.index}')}, 1")
            self._await(b.op(f"sub i64 {t}, 1"))  # the gap of knot t comes with it
            self._knot(t, back.index)
        return value_text(self.sizes) + gradient_text(self.sizes) + self.frame.text()

    def _await(self, t: str) -> None:
        """Waits until the arrays of knot t are filled, if somebody is at it."""
        b, ready = self.b, self.frame.arrays["ready"]
        with b.when(b.op(f"icmp ne ptr {ready}, null")):
            b.do(f"call void {ready}(ptr {self.frame.arrays['job']}, i64 {t})")

    def _end(self) -> None:
        """The value function of the end."""
        b, n, frame = self.b, self.sizes.n, self.frame
        with each(b, 0, n) as i:
            row = b.at(frame.arrays["terminal_H"], (i, n))
            frame.copy(b.at(self.scratch["P"], (i, self.sizes.right)), row, n)
        frame.copy(self.scratch["q"], frame.arrays["terminal_g"], n)
        self._value(frame.T)

    def _value(self, t: str) -> None:
        """V, v and Vf of a knot."""
        b, P, V = self.b, self.scratch["P"], self.frame.of_knot("V", t)
        below = b.op(f"call i1 @{VALUE}(ptr {P}, ptr {V}, double %reg_value)")
        self.frame.give_up(b.op(f"and i1 {below}, {gradient(self.frame, t)}"), b.index((t, 4), 4 + NOT_FINITE))

    def _knot(self, t: str, remaining: str) -> None:
        b, s, frame = self.b, self.sizes, self.frame
        read = [frame.readable(name, t, remaining) for name in ("F", "g", "H")]
        read += [frame.of_knot(name, t, 1) for name in ("V", "v")]
        model: FirstOrder | SecondOrder
        if s.nb is None:
            model = FirstOrder(self.x, s, Knot(*read), self.scratch)
        else:
            read += [b.load(frame.of_knot("dt", t)), *(frame.readable(name, t, remaining) for name in ("J0", "J1dt"))]
            model = SecondOrder(self.x, s, Knot(*read), self.scratch)
        work = Elimination(self.x, s, self.scratch, frame.of_knot("U", t), frame.of_knot("inverse", t))
        model.controls()
        self._complete(t, remaining)
        work.eliminate()
        self._check_pivots(t)
        model.states()
        self._gradient()
        work.substitute_back(*(frame.of_knot(name, t) for name in ("K", "k", "Ky", "ky")))
        self._value(t)

    def _complete(self, t: str, remaining: str) -> None:
        """Qu, ρ on the diagonal of Quu, and the rows of constraints."""
        b, s, R, q = self.b, self.sizes, self.scratch["R"], self.scratch["q"]
        if s.m:
            with each(b, 0, s.m) as i:
                b.store(b.load(b.at(q, (i, 1), s.n)), b.at(R, (i, s.pitch), s.left + s.n))
                diagonal = b.at(R, (i, s.pitch + 1))
                b.store(b.op(f"fadd double {b.load(diagonal)}, %reg"), diagonal)
        if s.nc:
            C, d, delta = self.frame.readable("C", t, remaining), *(self.frame.of_knot(a, t) for a in ("d", "delta"))
            with each(b, 0, s.nc) as i:
                row, own = b.at(R, (i, s.pitch), s.m * s.pitch), b.at(C, (i, s.s))
                self._constraint(row, own, b.at(d, (i, 1)), b.at(delta, (i, 1)), b.at(row, (i, 1), s.m))

    def _constraint(self, row: str, C: str, d: str, delta: str, diagonal: str) -> None:
        """A row (Cu, -Δ | Cx | d)."""
        x, b, s = self.x, self.b, self.sizes
        for c in range(0, s.left, s.width):
            x.store(x.first(s.m - c, x.load(b.at(C, s.n + c))) if c < s.m else ZERO, b.at(row, c))
        for c in range(0, s.n, s.width):
            x.store(x.load(b.at(C, c)), b.at(row, s.left + c))
        b.store(b.op(f"fneg double {b.load(delta)}"), diagonal)
        b.store(b.load(d), b.at(row, s.left + s.n))

    def _check_pivots(self, t: str) -> None:
        """Gives up unless pivots of controls are positive, those of constraints negative; the first bad one tells."""
        b, s = self.b, self.sizes
        if not s.rows:
            return
        pivots = [b.load(b.at(self.scratch["pivots"], i)) for i in range(s.rows)]
        bounds = ["0.0"] * s.m + (self._least_pivots(t) if s.nc else [])
        tests = ["ogt"] * s.m + ["olt"] * s.nc
        good = [b.op(f"fcmp {test} double {p}, {bound}") for test, p, bound in zip(tests, pivots, bounds)]
        fine, code = "true", str(NOT_FINITE)
        for i in reversed(range(s.rows)):
            fine = b.op(f"and i1 {fine}, {good[i]}")
            number = b.op(f"fcmp ord double {pivots[i]}, {pivots[i]}")
            kind = b.op(f"select i1 {number}, i64 {INDEFINITE if i < s.m else RANK_DEFICIENT}, i64 {NOT_FINITE}")
            code = b.op(f"select i1 {good[i]}, i64 {code}, i64 {kind}")
        self.frame.give_up(fine, b.index((t, 4), 4, (code, 1)))

    def _least_pivots(self, t: str) -> list[str]:
        """- DEPENDENT times the diagonal of Cu Quu⁻¹ Cuᵀ + Δ, what is there before other constraints are eliminated."""
        b, s, U = self.b, self.sizes, self.frame.of_knot("U", t)
        bounds = []
        for i in range(s.nc):
            total = b.load(b.at(self.frame.of_knot("delta", t), i))
            for j in range(s.m):
                u, pivot = b.load(b.at(U, j * s.left + s.m + i)), b.load(b.at(self.scratch["pivots"], j))
                square = b.op(f"fmul double {u}, {u}")
                total = b.op(f"fadd double {total}, {b.op(f'fmul double {square}, {pivot}')}")
            bounds.append(b.op(f"fmul double {total}, {-DEPENDENT:.1e}"))
        return bounds

    def _gradient(self) -> None:
        """v = Qx - Zᵀ r, in q, and the decrease Σ z · r; r and z are the columns of R and Z that belong to (Qu, d)."""
        x, b, s, q = self.x, self.b, self.sizes, self.scratch["q"]
        Z, R = b.at(self.scratch["Z"], s.n), b.at(self.scratch["R"], s.left)
        start = [x.load(b.at(q, c)) for c in range(0, s.n, s.width)]
        row = add_rows(x, start, Matrix(Z, s.right), Matrix(R, s.pitch), s.rows, subtract=True)
        x.store_row(row, q, s.n)
        total = b.load(self.frame.arrays["decrease"])
        for j in range(s.rows):
            z, r = b.load(b.at(Z, j * s.right)), b.load(b.at(R, j * s.pitch + s.n))
            total = b.op(f"fadd double {total}, {b.op(f'fmul double {z}, {r}')}")
        b.store(total, self.frame.arrays["decrease"])
