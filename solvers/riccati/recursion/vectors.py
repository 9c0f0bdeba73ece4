"""Passes over vectors alone, with the factors of a backward pass: another right-hand side, and the solution itself."""

from __future__ import annotations

from trajopt.solvers.riccati.recursion.cells import ZERO
from trajopt.solvers.riccati.recursion.dense import Matrix, add_rows, times
from trajopt.solvers.riccati.recursion.dynamics import add_transposed, apply
from trajopt.solvers.riccati.recursion.frame import SHORT, Frame
from trajopt.solvers.riccati.recursion.rows import KnotRows
from trajopt.solvers.riccati.recursion.sizes import Sizes
from trajopt.solvers.riccati.recursion.value import NOT_FINITE, gradient, gradient_text

SOLVE, FORWARD, ADJOINT = "trajopt_solve", "trajopt_forward", "trajopt_adjoint"


def solve_text(sizes: Sizes) -> str:
    """`i64 trajopt_solve(i64 *table, i64 flags)`: v, Vf, k and ky of all knots; 0, or 4 (knot + 1) + NOT_FINITE.

    With weighted rows, and the flag SHORT, Vf stays.
    """
    return gradient_text(sizes) + _Solve(sizes).text()


def adjoint_text(sizes: Sizes) -> str:
    """`i64 trajopt_adjoint(...)`: as `trajopt_solve`, with Qu in place of k; only K is needed."""
    return gradient_text(sizes) + _Solve(sizes, adjoint=True).text()


def forward_text(sizes: Sizes) -> str:
    """`i64 trajopt_forward(i64 *table, i64 flags)`: dx, du, λ and y; returns 0.

    With weighted rows also their values; with the flag SHORT without λ.
    """
    return _Forward(sizes).text()


class _Solve:
    """Backward: q = g + Fᵀ v', b = (Qu, d), (k, ky) = M⁻¹ b with M = Uᵀ D U, v = Qx - (K, Ky)ᵀ b, with gaps + V f."""

    def __init__(self, sizes: Sizes, *, adjoint: bool = False) -> None:
        self.adjoint = adjoint
        self.sizes, self.frame = sizes, Frame(sizes, ADJOINT if adjoint else SOLVE)
        self.x, self.b, self.scratch = self.frame.x, self.frame.b, self.frame.scratch

    def text(self) -> str:
        """The function."""
        b, frame, T = self.b, self.frame, self.frame.T
        frame.copy(self.scratch["q"], frame.arrays["terminal_g"], self.sizes.n)
        if self.sizes.weighted is not None:
            self._end_with_rows()
        self._gradient(T)
        some = b.op(f"icmp sgt i64 {T}, 0")
        with b.loop(0, T, carried=[(self.x.real, ZERO)], only_if=some) as back:
            t = b.op(f"sub i64 {b.op(f'sub i64 {T}, {back.index}')}, 1")
            back.carry(self._knot(t, back.index, back.values[0]))
        decrease = self.x.sum(back.results[0])
        b.store(decrease, frame.arrays["decrease"])
        return frame.text()

    def _end_with_rows(self) -> None:
        """The same as `_with_rows` at the end, in q."""
        x, s, frame, q = self.x, self.sizes, self.frame, self.scratch["q"]
        KnotRows(frame, frame.T, end=True).add_to_gradient("h", x.load_row(q, s.n), q)

    def _gradient(self, t: str) -> None:
        """v and Vf of a knot, from q."""
        self.frame.give_up(gradient(self.frame, t), self.b.index((t, 4), 4 + NOT_FINITE))

    def _knot(self, t: str, remaining: str, decrease: str) -> str:
        """One knot; returns the decrease with its own."""
        x, b, s, q = self.x, self.b, self.sizes, self.scratch["q"]
        for c, cell in zip(range(0, s.s, s.width), self._expand(t, remaining)):
            x.store(cell, b.at(q, c))
        right = self.scratch["b"]
        self.frame.copy(right, b.at(q, s.n), s.m)
        self.frame.copy(b.at(right, s.m), self.frame.of_knot("d", t), s.nc)
        row = [x.load(b.at(q, c)) for c in range(0, s.n, s.width)]
        for name, first, count in (("K", 0, s.m), ("Ky", s.m, s.nc)):
            gains = Matrix(self.frame.readable(name, t, remaining), s.n)
            # single numbers come from q: a copy of part of what was just stored has to wait for it
            factors = Matrix(b.at(q, s.n) if name == "K" else b.at(right, first), 1)
            row = add_rows(x, row, factors, gains, count, subtract=True)
        for c, cell in zip(range(0, s.n, s.width), row):
            x.store(cell, b.at(q, c))
        if not self.adjoint:
            decrease = self._substitute(t, decrease)
        self.frame.copy(self.frame.of_knot("k", t), right, s.m)
        self.frame.copy(self.frame.of_knot("ky", t), b.at(right, s.m), s.nc)
        self._gradient(t)
        return decrease

    def _expand(self, t: str, remaining: str) -> list[str]:
        """q = g + Fᵀ v', in cells."""
        x, b, s, frame = self.x, self.b, self.sizes, self.frame
        g = frame.readable("g", t, remaining)
        q = [x.load(b.at(g, c)) for c in range(0, s.s, s.width)]
        if s.weighted is not None:
            q = self._with_rows(t, q)
        return add_transposed(frame, t, remaining, frame.of_knot("v", t, 1), q)

    def _with_rows(self, t: str, q: list[str]) -> list[str]:
        """q + Cᵀh."""
        target = self.scratch["g weighted"]
        KnotRows(self.frame, t).add_to_gradient("h", q, target)
        return [self.x.load(self.b.at(target, c)) for c in range(0, self.sizes.s, self.sizes.width)]

    def _substitute(self, t: str, decrease: str) -> str:
        """M⁻¹ b in place of b; returns the decrease with b · M⁻¹ b added."""
        x, b, s, right = self.x, self.b, self.sizes, self.scratch["b"]
        U, inverse = self.frame.of_knot("U", t), self.frame.of_knot("inverse", t)
        z = [x.load(b.at(right, c)) for c in range(0, s.rows, s.width)]
        for j in range(s.rows):
            own = j // s.width
            factor = x.op("fneg", x.lane(z[own], j % s.width))
            for c in range(own, len(z)):
                z[c] = x.add_product(factor, x.load(b.at(U, j * s.left + c * s.width)), z[c])
        for c, cell in enumerate(z):
            z[c] = x.op("fmul", cell, x.load(b.at(inverse, c * s.width)))
            decrease = x.add_product(cell, z[c], decrease)
        for own in reversed(range(len(z))):
            first, height = own * s.width, min(s.width, s.rows - own * s.width)
            for c in reversed(range(own, len(z))):
                block = [x.load(b.at(U, (first + r) * s.left + c * s.width)) for r in range(height)]
                columns = x.transpose(block)
                for j in reversed(range(min(s.width, s.rows - c * s.width))):
                    z[own] = x.add_product(x.op("fneg", x.lane(z[c], j)), columns[j], z[own])
            x.store(z[own], b.at(right, first))
        return decrease


class _Forward:
    """Forward: du = -k - K dx, y = -ky - Ky dx, w = F (dx, du), dx' = w + f', λ' = v' + V' w, as v' holds V' f'."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.frame = sizes, Frame(sizes, FORWARD)
        self.x, self.b, self.scratch = self.frame.x, self.frame.b, self.frame.scratch
        if sizes.weighted is not None:
            self.with_costates = self.b.op(f"xor i1 {self.frame.flag(SHORT)}, true")

    def text(self) -> str:
        """The function."""
        b, s, T = self.b, self.sizes, self.frame.T
        zeros = [ZERO] * (s.whole(s.n) // s.width)
        self.x.store_row(zeros, self.scratch["w"], s.n)
        self._arrive("0")
        with b.loop(0, T, only_if=b.op(f"icmp sgt i64 {T}, 0")) as t:
            following = b.op(f"add i64 {t.index}, 1")
            self._knot(t.index, b.op(f"sub i64 {T}, {following}"))
            self._arrive(following)
        if s.weighted is not None:
            self.frame.copy(self.scratch["z"], self.frame.of_knot("dx", T), s.n)
            KnotRows(self.frame, T, end=True).evaluate(self.scratch["z"], "values")
        return self.frame.text()

    def _arrive(self, t: str) -> None:
        """dx and λ of a knot, from w."""
        x, b, s, frame, w = self.x, self.b, self.sizes, self.frame, self.scratch["w"]
        f, dx = frame.of_knot("f", t), frame.of_knot("dx", t)
        for c in range(0, s.n, s.width):
            count = min(s.width, s.n - c)
            gap = b.op(f"select i1 {frame.with_gaps}, {x.real} {x.load_first(b.at(f, c), count)}, {x.real} {ZERO}")
            x.store_first(x.op("fadd", x.load(b.at(w, c)), gap), b.at(dx, c), count)
        if s.weighted is None:
            self._costate(t)
            return
        with b.when(self.with_costates):
            self._costate(t)

    def _costate(self, t: str) -> None:
        """λ of a knot, from w."""
        x, b, s, frame, v = self.x, self.b, self.sizes, self.frame, self.frame.of_knot("v", t)
        v_row = [x.load(b.at(v, c)) for c in range(0, s.n, s.width)]
        V = Matrix(frame.of_knot("V", t), s.row_V)
        x.store_row(add_rows(x, v_row, Matrix(self.scratch["w"], 1), V, s.n), frame.of_knot("lam", t), s.n)

    def _knot(self, t: str, remaining: str) -> None:
        """du, y and w of a knot, from its dx."""
        x, b, s, frame, z = self.x, self.b, self.sizes, self.frame, self.scratch["z"]
        dx = frame.of_knot("dx", t)
        frame.copy(z, dx, s.n)
        laws = (("K", "k", "du", s.m), ("Ky", "ky", "y", s.nc))
        for gain, feedforward, name, count in laws:
            K, k, target = (
                Matrix(frame.readable(gain, t, remaining), s.n),
                *(frame.of_knot(a, t) for a in (feedforward, name)),
            )
            for first, cell in times(x, count, s.n, K, dx):
                here = min(s.width, count - first)
                value = x.op("fneg", x.op("fadd", cell, x.load_first(b.at(k, first), here)))
                x.store_first(value, b.at(target, first), here)
                if name == "du":
                    x.store(value, b.at(z, s.n + first))
        if s.weighted is not None:
            KnotRows(frame, t).evaluate(z, "values")
        apply(frame, t, remaining)
