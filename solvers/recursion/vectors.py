"""Passes over vectors alone, with the factors of a backward pass: another right-hand side, and the solution itself."""

from __future__ import annotations

from trajopt.solvers.recursion.cells import ZERO
from trajopt.solvers.recursion.dense import Matrix, add_rows, times
from trajopt.solvers.recursion.frame import Frame
from trajopt.solvers.recursion.sizes import Sizes
from trajopt.solvers.recursion.value import NOT_FINITE, gradient, gradient_text

SOLVE, FORWARD = "trajopt_solve", "trajopt_forward"


def solve_text(sizes: Sizes) -> str:
    """`i64 trajopt_solve(i64 *table, i64 with_gaps)`: v, Vf, k and ky of all knots; 0, or 4 (knot + 1) + NOT_FINITE."""
    return gradient_text(sizes) + _Solve(sizes).text()


def forward_text(sizes: Sizes) -> str:
    """`i64 trajopt_forward(i64 *table, i64 with_gaps)`: dx, du, λ and y; returns 0."""
    return _Forward(sizes).text()


class _Solve:
    """Backward: q = g + Fᵀ v', b = (Qu, d), (k, ky) = M⁻¹ b with M = Uᵀ D U, v = Qx - (K, Ky)ᵀ b, with gaps + V f."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.frame = sizes, Frame(sizes, SOLVE)
        self.x, self.b, self.scratch = self.frame.x, self.frame.b, self.frame.scratch

    def text(self) -> str:
        """The function."""
        b, frame, T = self.b, self.frame, self.frame.T
        frame.copy(self.scratch["q"], frame.arrays["terminal_g"], self.sizes.n)
        self._gradient(T)
        some = b.op(f"icmp sgt i64 {T}, 0")
        with b.loop(0, T, carried=[(self.x.real, ZERO)], only_if=some) as back:
            t = b.op(f"sub i64 {b.op(f'sub i64 {T}, {back.index}')}, 1")
            back.carry(self._knot(t, back.index, back.values[0]))
        decrease = self.x.sum(back.results[0])
        b.store(decrease, frame.arrays["decrease"])
        return frame.text()

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
            row = add_rows(x, row, Matrix(b.at(right, first), 1), gains, count, subtract=True)
        for c, cell in zip(range(0, s.n, s.width), row):
            x.store(cell, b.at(q, c))
        decrease = self._substitute(t, decrease)
        self.frame.copy(self.frame.of_knot("k", t), right, s.m)
        self.frame.copy(self.frame.of_knot("ky", t), b.at(right, s.m), s.nc)
        self._gradient(t)
        return decrease

    def _expand(self, t: str, remaining: str) -> list[str]:
        """q = g + Fᵀ v', in cells."""
        x, b, s, frame = self.x, self.b, self.sizes, self.frame
        F, v = Matrix(frame.readable("F", t, remaining), s.row_F), frame.of_knot("v", t, 1)
        g = frame.readable("g", t, remaining)
        q = [x.load(b.at(g, c)) for c in range(0, s.s, s.width)]
        if s.nb is None:
            return add_rows(x, q, Matrix(v, 1), F, s.n)
        dt, half = x.splat(b.load(frame.of_knot("dt", t))), range(0, s.h, s.width)
        vq, vv = ([x.load(b.at(v, c + shift)) for c in half] for shift in (0, s.h))
        vE = [x.first(s.h - c, cell) for c, cell in zip(half, vq)]
        vS = [x.add_product(x.first(s.nb - c, ZERO, dt), p, r) for c, p, r in zip(half, vq, vv)]
        base = range(0, s.nb, s.width)
        for name, sums, start in (("J0", vE, [ZERO] * len(base)), ("J1dt", vS, vS[: len(base)])):
            block = Matrix(frame.readable(name, t, remaining), s.nb)
            found = add_rows(x, start, Matrix(v, 1), block, s.nb)
            sums[: len(base)] = [x.first(s.nb - c, p, r) for c, p, r in zip(base, found, sums)]
        for c, cell in zip(half, vS):
            x.store(cell, b.at(self.scratch["w"], c))
        q = add_rows(x, q, Matrix(self.scratch["w"], 1), F, s.h)
        return [x.op("fadd", p, r) for p, r in zip(q, vE)] + q[len(vE) :]

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
        return self.frame.text()

    def _arrive(self, t: str) -> None:
        """dx and λ of a knot, from w."""
        x, b, s, frame, w = self.x, self.b, self.sizes, self.frame, self.scratch["w"]
        f, dx = frame.of_knot("f", t), frame.of_knot("dx", t)
        for c in range(0, s.n, s.width):
            count = min(s.width, s.n - c)
            gap = b.op(f"select i1 {frame.with_gaps}, {x.real} {x.load_first(b.at(f, c), count)}, {x.real} {ZERO}")
            x.store_first(x.op("fadd", x.load(b.at(w, c)), gap), b.at(dx, c), count)
        v = frame.of_knot("v", t)
        v_row = [x.load(b.at(v, c)) for c in range(0, s.n, s.width)]
        lam = add_rows(x, v_row, Matrix(w, 1), Matrix(frame.of_knot("V", t), s.n), s.n)
        x.store_row(lam, frame.of_knot("lam", t), s.n)

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
        F, w = Matrix(frame.readable("F", t, remaining), s.row_F), self.scratch["w"]
        for first, cell in times(x, s.h, s.s, F, z):
            place = s.n - s.h + first
            x.store_first(cell, b.at(w, place), min(s.width, s.h - first))
        if s.nb is not None:
            self._positions(t, remaining, s.nb)

    def _positions(self, t: str, remaining: str, nb: int) -> None:
        """Rows of q of w, from those of v."""
        x, b, s, frame, z, w = self.x, self.b, self.sizes, self.frame, self.scratch["z"], self.scratch["w"]
        dt, wv = x.splat(b.load(frame.of_knot("dt", t))), b.at(self.scratch["w"], s.h)
        for c in range(0, s.h, s.width):
            value = x.add_product(dt, x.load(b.at(wv, c)), x.load(b.at(z, c)))
            x.store_first(value, b.at(w, c), min(s.width, s.h - c))
        J0, J1dt = (Matrix(frame.readable(name, t, remaining), nb) for name in ("J0", "J1dt"))
        for (first, p), (_, q) in zip(times(x, nb, nb, J0, z), times(x, nb, nb, J1dt, wv)):
            x.store_first(x.op("fadd", p, q), b.at(w, first), min(s.width, nb - first))
