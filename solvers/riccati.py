"""The backward pass of DDP: one Riccati recursion over the horizon, generated for the sizes of the problem.

With the gap f and the regularisation ρ, from the last knot to the first (Mastalli et al., Crocoddyl, 2020, eqs. 6-10):

    Q  = H + Fᵀ V' F,  q = g + Fᵀ v'                       F = (Fx, Fu), g = (Lx, Lu), H = ((Lxx, Lxu), (Lux, Luu))
    Quu + ρ I = Uᵀ U,  Y = U⁻ᵀ (Qux | Qu)                   Cholesky, in one elimination of the rows (Quu | Qux | Qu)
    (K | k) = U⁻¹ Y
    V = Qxx - Yᵀ Y + ρ I,  v = Qx - Yᵀ y + V f              y is the last column of Y; ρ I on V is optional

Of V only the upper triangle is computed. Matrices are dense and row-major; rows of temporaries are padded to whole
vectors. Reads may run past a row's end (the arrays have room behind them), what comes of it is never used.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trajopt import source
from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.kernels.driver import aligned
from trajopt.kernels.products import Block, Layout, declarations, dense, product_text, splat
from trajopt.shooting.arrays import padded
from trajopt.types import Reals

BLOCK = (4, 3)  # rows and vectors of a block of a product
LARGEST = "0x46293E5939A08CEA"  # 1e30: a value function beyond this has diverged


@dataclass(frozen=True)
class RiccatiOutcome:
    """How a backward pass ended.

    Attributes:
        failed_knot: Knot where it failed; -1 if it did not.
        indefinite: Whether Quu was not positive definite there; else the value function was not finite.
        decrease: Σ Qu · k, the linear part of the decrease that the step promises [cost].
    """

    failed_knot: int
    indefinite: bool
    decrease: float


class RiccatiRecursion:
    """The recursion for a problem's sizes, bound to the arrays that it works on, with room for the value function.

    Args:
        T: Number of running knots [-].
        ndx: Dimension of the tangent space [-].
        nu: Number of controls [-].
        arrays: F (T, ndx, ndx + nu), g (T, ndx + nu), H (T, ndx + nu, ndx + nu) of the running knots, gaps
            (T + 1, ndx), with room behind each (see `padded`); terminal_Lx (ndx,), terminal_Lxx (ndx, ndx). Written:
            K (T, nu, ndx) and k (T, nu), the feedback law. They must not move.

    Attributes:
        Vx: Gradient of the value function (T + 1, ndx).
        Vxx: Its Hessian (T + 1, ndx, ndx).
        Vf: Vxx f (T + 1, ndx).
    """

    def __init__(self, T: int, ndx: int, nu: int, arrays: dict[str, Reals]) -> None:
        self._T, self._n, self._arrays = T, ndx, arrays
        self.Vx, self.Vxx, self.Vf = padded((T + 1, ndx)), padded((T + 1, ndx, ndx)), padded((T + 1, ndx))
        self._sums = np.zeros(2)
        self._function, size = _compiled(ndx, nu)
        self._scratch, scratch = aligned(8 * size)
        inputs = [arrays[name] for name in ("F", "g", "H", "gaps")]
        outputs = [self.Vxx, self.Vx, self.Vf, arrays["K"], arrays["k"], self._sums]
        self._addresses = [int(a.ctypes.data) for a in (*inputs, *outputs)]
        self._scratch_address = scratch

    def backward(self, regularization: float, feasible: bool, regularize_value: bool = True) -> RiccatiOutcome:
        """Runs the recursion on what the arrays hold now.

        Args:
            regularization: ρ, added to the diagonal of Quu [-].
            feasible: Whether all gaps are zero.
            regularize_value: Whether ρ is added to the diagonal of Vxx too.
        """
        on_value = regularization if regularize_value else 0.0
        T, n, gaps = self._T, self._n, self._arrays["gaps"]
        self.Vxx[T] = self._arrays["terminal_Lxx"]
        self.Vxx[T].flat[:: n + 1] += on_value
        self.Vx[T] = self._arrays["terminal_Lx"]
        self.Vf[T] = 0.0
        if not feasible:
            self.Vf[T] = self.Vxx[T] @ gaps[T]
            self.Vx[T] += self.Vf[T]
        switches = (regularization, on_value, int(not feasible))
        code = self._function(T, *self._addresses, *switches, self._scratch_address)
        return RiccatiOutcome(abs(code) - 1 if code else -1, code > 0, float(self._sums[0]))


@functools.cache
def _vector() -> int:
    """Doubles of a vector register."""
    return 8 if "+avx512f" in compiler.host()[1].split(",") else 4


@functools.cache
def _compiled(n: int, m: int) -> tuple[Any, int]:
    """The recursion for n = ndx and m = nu, and the doubles of scratch that it needs."""
    writer = _Writer(n, m, _vector())
    about = ("riccati", source.digest(Path(__file__).parent).hex(), str((n, m, writer.vector)))
    image = compiler.object_code(writer.text, *about)
    address = compiler.load([image], ["trajopt_riccati"], {})["trajopt_riccati"]
    pointers = [ctypes.c_void_p] * 10
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_int64, *pointers, ctypes.c_double, ctypes.c_double, ctypes.c_int64, ctypes.c_void_p
    )
    return prototype(address), writer.scratch


class _Writer:
    """Writes the recursion as LLVM text.

    Scratch: W = V'F (n, ps), P = (Qxx | Qx) (n, pg), R = (Quu | Qux | Qu) (m, pr), q (ps), a row (ps), 1 / diag U (m).
    """

    def __init__(self, n: int, m: int, vector: int) -> None:
        self.n, self.m, self.s, self.vector = n, m, n + m, vector
        self.ps, self.pg, self.pm = self._pad(n + m), self._pad(n + 1), self._pad(m)
        self.pr = self.pm + self.pg
        self.real = f"<{vector} x double>"
        sizes = {"W": n * self.ps, "P": n * self.pg, "R": m * self.pr, "q": self.ps, "row": self.ps, "inverse": m}
        self.offsets, self.scratch = {}, 0
        for name, size in sizes.items():
            self.offsets[name] = self.scratch
            self.scratch += self._pad(size) + 16

    def _pad(self, size: int) -> int:
        return -(-size // self.vector) * self.vector

    def _product(
        self,
        name: str,
        m: int,
        k: int,
        columns: int,
        strides: tuple[tuple[int, int], int, int, int],
        *,
        upper: bool = False,
        initial: bool = False,
        subtract: bool = False,
    ) -> str:
        """A product: strides of A, and lengths of the rows of B, C and the initial value; all of C, or `upper` only."""
        v = self.vector
        cells = -(-columns // v)
        blocks = _upper(m, k, cells, v) if upper else dense(m, k, cells)
        layout = Layout(self.real, 8, v, strides[0], (strides[1], v), (strides[2], v), (strides[3], v))
        return product_text(name, blocks, layout, size=BLOCK, initial=initial, subtract=subtract)

    def text(self) -> str:
        n, m, s = self.n, self.m, self.s
        parts = [
            self._product("VF", n, n, s, ((n, 1), s, self.ps, 0)),
            self._product("gradient", 1, n, s, ((0, 1), s, self.ps, s), initial=True),
            self._product("Qxx", n, n, n, ((1, s), self.ps, self.pg, s), upper=True, initial=True),
            self._product("Qux", m, n, n, ((1, s), self.ps, self.pr, s), initial=True),
            self._product("Quu", m, n, m, ((1, s), self.ps, self.pr, s), initial=True),
            self._product(
                "YY", n, m, n + 1, ((1, self.pr), self.pr, self.pg, self.pg), upper=True, initial=True, subtract=True
            ),
            self._product("Vf", 1, n, n, ((0, 1), n, self.ps, 0)),
            self._recursion(),
            declarations("double", self.real),
            "declare double @llvm.sqrt.f64(double)\ndeclare double @llvm.fabs.f64(double)\n",
        ]
        return "\n".join(parts)

    def _recursion(self) -> str:
        b = Builder(
            "define i64 @trajopt_riccati(i64 %T, ptr %F, ptr %g, ptr %H, ptr %gaps, ptr %V, ptr %v, ptr %Vf, ptr %K, "
            "ptr %k, ptr %sums, double %reg, double %reg_value, i64 %infeasible, ptr %scratch)"
        )
        n, m, s = self.n, self.m, self.s
        at = {name: b.at("%scratch", offset) for name, offset in self.offsets.items()}
        gapped = b.op("icmp ne i64 %infeasible, 0")
        b.store("0.0", "%sums")
        with b.loop(0, "%T") as back:
            t = b.op(f"sub i64 %T, {back.index}")
            t = b.op(f"sub i64 {t}, 1")
            F, g, H = b.at("%F", (t, n * s)), b.at("%g", (t, s)), b.at("%H", (t, s * s))
            V_next, v_next = b.at("%V", (t, n * n), n * n), b.at("%v", (t, n), n)
            V, v, K, k = b.at("%V", (t, n * n)), b.at("%v", (t, n)), b.at("%K", (t, m * n)), b.at("%k", (t, m))
            W, P, R, Y, q = at["W"], at["P"], at["R"], b.at(at["R"], self.pm), at["q"]
            _call(b, "VF", V_next, F, F, W)
            _call(b, "gradient", v_next, F, g, q)
            _call(b, "Qxx", F, W, H, P)
            _call(b, "Qux", b.at(F, n), W, b.at(H, n * s), Y)
            _call(b, "Quu", b.at(F, n), b.at(W, n), b.at(H, n * s + n), R)
            self._place_gradient(b, q, P, R)
            self._eliminate(b, R, at["inverse"], t)
            _call(b, "YY", Y, Y, P, P)
            self._substitute_back(b, R, at["inverse"], K, k)
            self._value(b, P, V, v, t)
            with b.when(gapped):
                self._gap(b, t, V, v, at["row"])
        return b.text("ret i64 0")

    def _place_gradient(self, b: Builder, q: str, P: str, R: str) -> None:
        """Qx and Qu become the last columns of P and R; ρ goes on the diagonal of Quu."""
        with b.loop(0, self.n) as i:
            b.store(b.load(b.at(q, (i.index, 1))), b.at(P, (i.index, self.pg), self.n))
        with b.loop(0, self.m) as i:
            b.store(b.load(b.at(q, (i.index, 1), self.n)), b.at(R, (i.index, self.pr), self.pm + self.n))
            diagonal = b.at(R, (i.index, self.pr + 1))
            b.store(b.op(f"fadd double {b.load(diagonal)}, %reg"), diagonal)

    def _row(self, b: Builder, base: str, i: str, cell: int) -> str:
        return b.at(base, (i, self.pr), cell * self.vector)

    def _eliminate(self, b: Builder, R: str, inverse: str, t: str) -> None:
        """Cholesky of Quu by rows, carried along on (Qux | Qu): R becomes (U | Y)."""
        real, cells = self.real, range(self.pr // self.vector)
        with b.loop(0, self.m) as j:
            pivot = b.load(b.at(R, (j.index, self.pr + 1)))
            self._give_up(b, b.op(f"fcmp ogt double {pivot}, 0.0"), t, sign=1)
            scale = b.op(f"fdiv double 1.0, {b.op(f'call double @llvm.sqrt.f64(double {pivot})')}")
            b.store(scale, b.at(inverse, (j.index, 1)))
            wide = splat(b, scale, self.vector)
            row = [b.op(f"fmul {real} {b.load(self._row(b, R, j.index, c), real)}, {wide}") for c in cells]
            for c in cells:
                b.store(row[c], self._row(b, R, j.index, c), real)
            below = b.op(f"add i64 {j.index}, 1")
            with b.when(b.op(f"icmp slt i64 {below}, {self.m}")), b.loop(below, self.m) as i:
                self._subtract_row(b, R, b.at(R, (j.index, self.pr), (i.index, 1)), j.index, i.index, cells)

    def _subtract_row(self, b: Builder, R: str, factor: str, source: str, target: str, cells: range) -> None:
        """Row `target` of R less `factor` times row `source`."""
        real = self.real
        negative = splat(b, b.op(f"fneg double {b.load(factor)}"), self.vector)
        for c in cells:
            x, address = b.load(self._row(b, R, source, c), real), self._row(b, R, target, c)
            value = b.op(f"fadd {real} {b.op(f'fmul {real} {x}, {negative}')}, {b.load(address, real)}")
            b.store(value, address, real)

    def _substitute_back(self, b: Builder, R: str, inverse: str, K: str, k: str) -> None:
        """(K | k) = U⁻¹ Y in place of Y, and out; Σ Qu · k = Σ y² before that."""
        real, m, n = self.real, self.m, self.n
        cells = range(self.pm // self.vector, self.pr // self.vector)
        with b.loop(0, m) as i:
            y = b.load(b.at(R, (i.index, self.pr), self.pm + n))
            b.store(b.op(f"fadd double {b.load('%sums')}, {b.op(f'fmul double {y}, {y}')}"), "%sums")
        with b.loop(0, m) as back:
            j = b.op(f"sub i64 {m - 1}, {back.index}")
            below = b.op(f"add i64 {j}, 1")
            with b.when(b.op(f"icmp slt i64 {below}, {m}")), b.loop(below, m) as i:
                self._subtract_row(b, R, b.at(R, (j, self.pr), (i.index, 1)), i.index, j, cells)
            wide = splat(b, b.load(b.at(inverse, (j, 1))), self.vector)
            for c in cells:
                address = self._row(b, R, j, c)
                b.store(b.op(f"fmul {real} {b.load(address, real)}, {wide}"), address, real)
            with b.loop(0, n) as i:
                b.store(b.load(b.at(R, (j, self.pr), (i.index, 1), self.pm)), b.at(K, (j, n), (i.index, 1)))
            b.store(b.load(b.at(R, (j, self.pr), self.pm + n)), b.at(k, (j, 1)))

    def _value(self, b: Builder, P: str, V: str, v: str, t: str) -> None:
        """V = P + ρ I, from the upper triangle of P, and v = P's last column; gives up if one is not below 1e30."""
        n, pg = self.n, self.pg
        with b.loop(0, n, carried=[("i1", "true")]) as i:
            fine = i.values[0]
            gradient = b.load(b.at(P, (i.index, pg), n))
            b.store(gradient, b.at(v, (i.index, 1)))
            fine = b.op(f"and i1 {fine}, {_bounded(b, gradient)}")
            with b.loop(i.index, n, carried=[("i1", fine)]) as j:
                value = b.load(b.at(P, (i.index, pg), (j.index, 1)))
                b.store(value, b.at(V, (i.index, n), (j.index, 1)))
                b.store(value, b.at(V, (j.index, n), (i.index, 1)))
                j.carry(b.op(f"and i1 {j.values[0]}, {_bounded(b, value)}"))
            diagonal = b.at(V, (i.index, n + 1))
            b.store(b.op(f"fadd double {b.load(diagonal)}, %reg_value"), diagonal)
            i.carry(j.results[0])
        self._give_up(b, i.results[0], t, sign=-1)

    def _gap(self, b: Builder, t: str, V: str, v: str, row: str) -> None:
        """Vf = V f, and v += Vf."""
        _call(b, "Vf", b.at("%gaps", (t, self.n)), V, V, row)
        with b.loop(0, self.n) as i:
            value, address = b.load(b.at(row, (i.index, 1))), b.at(v, (i.index, 1))
            b.store(value, b.at("%Vf", (t, self.n), (i.index, 1)))
            b.store(b.op(f"fadd double {b.load(address)}, {value}"), address)

    def _give_up(self, b: Builder, condition: str, t: str, *, sign: int) -> None:
        """Returns sign · (t + 1) unless the condition holds."""
        name = b.name("fine")
        b.do(f"br i1 {condition}, label %{name}, label %{name}.not")
        b.label(f"{name}.not")
        code = b.op(f"mul i64 {b.op(f'add i64 {t}, 1')}, {sign}")
        b.do(f"ret i64 {code}")
        b.label(name)


def _upper(m: int, k: int, cells: int, vector: int) -> tuple[Block, ...]:
    """Blocks of rows that cover what lies on and above the diagonal, and the cells behind it."""
    inner = ((0, k),) if k else ()
    return tuple(Block((r, min(r + BLOCK[0], m)), (r // vector, cells), inner) for r in range(0, m, BLOCK[0]))


def _call(b: Builder, name: str, A: str, B: str, initial: str, C: str) -> None:
    b.do(f"call void @{name}(ptr {A}, ptr {B}, ptr {initial}, ptr {C})")


def _bounded(b: Builder, value: str) -> str:
    """Whether |value| < 1e30; false for NaN."""
    return b.op(f"fcmp olt double {b.op(f'call double @llvm.fabs.f64(double {value})')}, {LARGEST}")
