"""The backward pass: factors, value functions and gains of all knots, from the last to the first."""

from __future__ import annotations

from dataclasses import replace

from trajopt.solvers.riccati.recursion.box import BOX, BOXED, NOT_CONVEX, box_text
from trajopt.solvers.riccati.recursion.box import OPTIONS as BOX_OPTIONS
from trajopt.solvers.riccati.recursion.cells import ZERO, each
from trajopt.solvers.riccati.recursion.constant import add_start
from trajopt.solvers.riccati.recursion.dense import Matrix, add_rows
from trajopt.solvers.riccati.recursion.elimination import Elimination
from trajopt.solvers.riccati.recursion.frame import Frame
from trajopt.solvers.riccati.recursion.knot import Knot
from trajopt.solvers.riccati.recursion.quadratic import FirstOrder
from trajopt.solvers.riccati.recursion.rows import KnotRows
from trajopt.solvers.riccati.recursion.second_order import SecondOrder
from trajopt.solvers.riccati.recursion.sizes import Sizes
from trajopt.solvers.riccati.recursion.value import NOT_FINITE, VALUE, gradient, gradient_text, value_text

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
        for total in self._totals():
            b.store("0.0", self.frame.arrays[total])
        self._await(T)
        self._await(b.op(f"sub i64 {T}, 1"))
        self._end()
        with b.loop(0, T, only_if=b.op(f"icmp sgt i64 {T}, 0")) as back:
            t = b.op(f"sub i64 {b.op(f'sub i64 {T}, {back.index}')}, 1")
            self._await(b.op(f"sub i64 {t}, 1"))  # the gap of knot t comes with it
            self._knot(t, back.index)
        box = box_text(self.sizes) if self.sizes.boxed else ""
        return value_text(self.sizes) + gradient_text(self.sizes) + box + self.frame.text()

    def _totals(self) -> tuple[str, ...]:
        """Sums over all knots."""
        return ("decrease", "curvature") if self.sizes.boxed else ("decrease",)

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
        if self.sizes.weighted is not None:
            rows, P, q = KnotRows(frame, frame.T, end=True), self.scratch["P"], self.scratch["q"]
            rows.add_to_hessian(P, self.sizes.right, P, self.sizes.right)
            rows.add_to_gradient("h", self.x.load_row(q, n), q)
        self._value(frame.T)

    def _value(self, t: str) -> None:
        """V, v and Vf of a knot."""
        b, P, V = self.b, self.scratch["P"], self.frame.of_knot("V", t)
        below = b.op(f"call i1 @{VALUE}(ptr {P}, ptr {V}, double %reg_value)")
        self.frame.give_up(b.op(f"and i1 {below}, {gradient(self.frame, t)}"), b.index((t, 4), 4 + NOT_FINITE))

    def _knot(self, t: str, remaining: str) -> None:
        b, s, frame = self.b, self.sizes, self.frame
        read = [frame.readable(name, t, remaining) for name in ("F", "g", "H")]
        if s.weighted is not None:
            read[1:] = self._with_rows(t, *read[1:])
        read += [frame.of_knot(name, t, 1) for name in ("V", "v")]
        if s.nb is not None:
            read += [b.load(frame.of_knot("dt", t)), *(frame.readable(name, t, remaining) for name in ("J0", "J1dt"))]
        knot = Knot(*read)
        if s.constant:
            knot = replace(knot, E=frame.readable("E", t, remaining))
        model: FirstOrder | SecondOrder = (FirstOrder if s.nb is None else SecondOrder)(self.x, s, knot, self.scratch)
        work = Elimination(self.x, s, self.scratch, frame.of_knot("U", t), frame.of_knot("inverse", t))
        model.controls()
        if s.starts:
            with self.b.when(self.b.op(f"icmp eq i64 {t}, 0")):
                add_start(self.x, s, knot, self.scratch)
        self._complete(t, remaining)
        boxed = self._box(t) if s.boxed else None
        work.eliminate()
        self._check_pivots(t)
        model.states()
        self._gradient(boxed)
        work.substitute_back(*(frame.of_knot(name, t) for name in ("K", "k", "Ky", "ky")))
        if boxed:
            self._take_solution(t, boxed)
        self._value(t)

    def _with_rows(self, t: str, g: str, H: str) -> tuple[str, str]:
        """Addresses of g + Cᵀh and H + CᵀDC."""
        x, b, s, rows = self.x, self.b, self.sizes, KnotRows(self.frame, t)
        gradient, hessian = self.scratch["g weighted"], self.scratch["H weighted"]
        rows.add_to_hessian(H, s.s, hessian, s.row_H)
        rows.add_to_gradient("h", [x.load(b.at(g, c)) for c in range(0, s.s, s.width)], gradient)
        return gradient, hessian

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

    def _box(self, t: str) -> str:
        """Rewrites the rows where controls have limits, with gaps only if the options say `exact`; whether it did."""
        b, stem = self.b, self.b.name("box")
        exact = b.load(b.at(self.frame.arrays["box_options"], BOX_OPTIONS.index("exact")))
        plain = b.op(f"and i1 {self.frame.with_gaps}, {b.op(f'fcmp oeq double {exact}, 0.0')}")
        b.do(f"br i1 {plain}, label %{stem}.plain, label %{stem}")
        b.label(stem)
        given = [self.scratch["R"], self.scratch["q"], *(self.frame.of_knot(n, t) for n in ("du_lower", "du_upper"))]
        given += [self.frame.of_knot("k", t), self.frame.arrays["box_options"], self.scratch["box"]]
        code = b.op(f"call i64 @{BOX}({', '.join(f'ptr {address}' for address in given)})")
        self.frame.give_up(b.op(f"icmp ne i64 {code}, {NOT_CONVEX}"), b.index((t, 4), 4 + INDEFINITE))
        here = b.op(f"icmp eq i64 {code}, {BOXED}")
        b.store(b.op(f"select i1 {here}, double 1.0, double 0.0"), self._of_box("boxed"))
        b.do(f"br label %{stem}.done")
        b.label(f"{stem}.plain")
        b.store("0.0", self._of_box("boxed"))
        b.do(f"br label %{stem}.done")
        b.label(f"{stem}.done")
        return b.op(f"fcmp one double {b.load(self._of_box('boxed'))}, 0.0")

    def _of_box(self, name: str) -> str:
        """Address in the scratch of the box."""
        return self.b.at(self.scratch["box"], self.sizes.box()[0][name])

    def _take_solution(self, t: str, boxed: str) -> None:
        """k = -u of the box, which may be inexact."""
        b, k = self.b, self.frame.of_knot("k", t)
        with b.when(boxed), each(b, 0, self.sizes.m) as i:
            u = b.load(b.at(self._of_box("u"), (i, 1)))
            b.store(b.op(f"fneg double {u}"), b.at(k, (i, 1)))

    def _gradient(self, boxed: str | None) -> None:
        """v = Qx - Zᵀ r, in q, and the decrease Σ z · r; r and z are the columns of R and Z that belong to (Qu, d)."""
        x, b, s, q = self.x, self.b, self.sizes, self.scratch["q"]
        Z, R = b.at(self.scratch["Z"], s.n), b.at(self.scratch["R"], s.left)
        start = [x.load(b.at(q, c)) for c in range(0, s.n, s.width)]
        row = add_rows(x, start, Matrix(Z, s.right), Matrix(R, s.pitch), s.rows, subtract=True)
        x.store_row(row, q, s.n)
        products = []
        for j in range(s.rows):
            z, r = b.load(b.at(Z, j * s.right)), b.load(b.at(R, j * s.pitch + s.n))
            products.append(b.op(f"fmul double {z}, {r}"))
        for name in self._totals():
            total = before = b.load(self.frame.arrays[name])
            for product in products:
                total = b.op(f"fadd double {total}, {product}")
            if boxed:
                own = b.load(self._of_box("slope" if name == "decrease" else name))
                total = b.op(f"select i1 {boxed}, double {b.op(f'fadd double {before}, {own}')}, double {total}")
            b.store(total, self.frame.arrays[name])
