"""The Hessian of a program, a blend of two: written as a whole, or knot by knot as a recursion comes to them."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

from trajopt import source
from trajopt.kernels import compiler
from trajopt.kernels.builder import Builder
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.types import Reals

HEAD = ("first", "knots")
NUMBERS = ("a", "b", "ridge")
SECTION = (
    "x",
    "y",
    "knot",
    "row",
    "target",
    "target_knot",
    "target_row",
    "rows",
    "width",
    "ridged",
    "size",
    "diagonal",
)
"""Addresses of two sources, and what lies between their knots and rows [doubles]; the same of the target; number of
rows of a knot, and their length; first and last entry that δ is added to, and what lies between those."""
READY, WRITE = "trajopt_hessian_ready", "trajopt_hessian_write"
WIDTH = 8
VECTOR = f"<{WIDTH} x double>"


def hessian_text() -> str:
    """LLVM text of `void ready(job, t)`, which writes knot t, and of `write(job)`, for all knots.

    A job is `HEAD`, `NUMBERS`, and a `SECTION` each for running knots and the end. It makes a x + b y, and a x where
    b is 0, without reading y.
    """
    return "".join([*(_knot_text(both=both) for both in (False, True)), _ready_text(), _write_text()])


class _Knot:
    """A function on knot t of a section, begun."""

    def __init__(self, name: str, *, both: bool) -> None:
        b = self.b = Builder(f"define internal void @{name}(ptr %numbers, ptr %section, i64 %t)")
        self._factors = [b.load(b.at("%numbers", i)) for i in range(1 + both)]
        after = b.op(f"mul i64 %t, {self.field('knot')}")
        self.sources = [b.at(self.field(name, "ptr"), (after, 1)) for name in ("x", "y")[: 1 + both]]
        self.target = b.at(self.field("target", "ptr"), (b.op(f"mul i64 %t, {self.field('target_knot')}"), 1))

    def field(self, name: str, kind: str = "i64") -> str:
        """A field of the section."""
        return self.b.load(self.b.at("%section", SECTION.index(name)), kind)

    def blend(self, at: str, real: str = "double") -> str:
        """a x, or a x + b y, where the index says."""
        b, terms = self.b, []
        for factor, start in zip(self._factors, self.sources):
            all_places = factor
            if real != "double":
                first = b.op(f"insertelement {real} poison, double {factor}, i32 0")
                all_places = b.op(f"shufflevector {real} {first}, {real} poison, <{WIDTH} x i32> zeroinitializer")
            terms.append(b.op(f"fmul {real} {all_places}, {b.load(b.at(start, (at, 1)), real)}"))
        return terms[0] if len(terms) == 1 else b.op(f"fadd {real} {terms[0]}, {terms[1]}")


def _knot_text(*, both: bool) -> str:
    f = _Knot(_name(both=both), both=both)
    b, rows, width, pitch, target_pitch = f.b, *(f.field(name) for name in ("rows", "width", "row", "target_row"))
    cells = b.op(f"and i64 {width}, {-WIDTH}")
    some, any_left = b.op(f"icmp sgt i64 {cells}, 0"), b.op(f"icmp slt i64 {cells}, {width}")
    with b.loop(0, rows, only_if=b.op(f"icmp sgt i64 {rows}, 0")) as row:
        begin, to = (b.op(f"mul i64 {row.index}, {stride}") for stride in (pitch, target_pitch))
        for first, end, step, real, condition in (
            ("0", cells, WIDTH, VECTOR, some),
            (cells, width, 1, "double", any_left),
        ):
            with b.loop(first, end, step, only_if=condition) as column:
                value = f.blend(b.op(f"add i64 {begin}, {column.index}"), real)
                b.store(value, b.at(f.target, (to, 1), (column.index, 1)), real)
    _add_ridge(f)
    return b.text()


def _add_ridge(f: _Knot) -> None:
    b, ridge, size, first = f.b, f.b.load(f.b.at("%numbers", 2)), f.field("size"), f.field("ridged")
    wanted = b.op(f"fcmp ogt double {ridge}, 0.0")
    some = b.op(f"and i1 {wanted}, {b.op(f'icmp slt i64 {first}, {size}')}")
    stride = f.field("diagonal")
    with b.loop(first, size, only_if=some) as entry:
        at = b.at(f.target, (b.op(f"mul i64 {entry.index}, {stride}"), 1))
        b.store(b.op(f"fadd double {b.load(at)}, {ridge}"), at)


def _name(*, both: bool) -> str:
    return f"trajopt_hessian_of_{'both' if both else 'one'}"


def _call(b: Builder, section: str, knot: str) -> None:
    """Writes a knot of a section."""
    numbers = b.at("%job", len(HEAD))
    one = b.op(f"fcmp oeq double {b.load(b.at(numbers, NUMBERS.index('b')))}, 0.0")
    for condition, both in ((one, False), (b.op(f"xor i1 {one}, true"), True)):
        with b.when(condition):
            b.do(f"call void @{_name(both=both)}(ptr {numbers}, ptr {section}, i64 {knot})")


def _section(b: Builder, number: int) -> str:
    return b.at("%job", len(HEAD) + len(NUMBERS) + number * len(SECTION))


def _ready_text() -> str:
    b = Builder(f"define void @{READY}(ptr %job, i64 %t)")
    first, knots = (b.load(b.at("%job", HEAD.index(name)), "i64") for name in HEAD)
    knot = b.op(f"sub i64 %t, {first}")
    at_end = b.op(f"icmp eq i64 {knot}, {knots}")
    section = b.op(f"select i1 {at_end}, ptr {_section(b, 1)}, ptr {_section(b, 0)}")
    number = b.op(f"select i1 {at_end}, i64 0, i64 {knot}")
    with b.when(b.op(f"icmp sge i64 {knot}, 0")):
        _call(b, section, number)
    return b.text()


def _write_text() -> str:
    b = Builder(f"define void @{WRITE}(ptr %job)")
    first, knots = (b.load(b.at("%job", HEAD.index(name)), "i64") for name in HEAD)
    end = b.op(f"add i64 {first}, {knots}")
    with b.loop(first, b.op(f"add i64 {end}, 1")) as t:
        b.do(f"call void @{READY}(ptr %job, i64 {t.index})")
    return b.text()


@functools.cache
def _functions() -> tuple[int, Any]:
    """Address of `ready`, and `write`."""
    names = (READY, WRITE)
    image = compiler.object_code(hessian_text, "Hessian", source.digest(Path(__file__).parent).hex())
    addresses = compiler.load([image], names, {})
    return addresses[READY], ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses[WRITE])


class BlendedHessian:
    """Hessian θ H + (1 - θ) H_GN + δ I, times a scale, of all knots; δ I applies to the controls only.

    Args:
        evaluator: Which has H_GN.
        exact: H; None without it, then θ is 0.
        lq: The program that it is written to; what it has beyond the evaluator's sizes stays.
        first: Knots of the program before those of the evaluator.

    Attributes:
        ready: Addresses of `void ready(void *job, long t)`, which writes knot t of the program, and of its job.
    """

    def __init__(self, evaluator: Evaluator, exact: LagrangianHessian | None, lq: LinearQuadratic, first: int) -> None:
        e, n, s = evaluator, evaluator.state.ndx, evaluator.state.ndx + evaluator.nu
        self._job = np.zeros(len(HEAD) + len(NUMBERS) + 2 * len(SECTION), dtype=np.int64)
        self._job[: len(HEAD)] = first, e.T
        self._numbers = self._job[len(HEAD) :][: len(NUMBERS)].view(np.float64)
        sections = self._job[len(HEAD) + len(NUMBERS) :].reshape(2, len(SECTION))
        sections[0] = _whole(lq.H[first:, :s, :s], n)
        sections[1] = _whole(lq.terminal_H[None], n)
        self._x, self._y = sections[:, SECTION.index("x")], sections[:, SECTION.index("y")]
        arrays = [e.H, e.terminal_H, *([] if exact is None else [exact.H, exact.terminal_H])]
        self._held, sources = (lq, arrays), [int(array.ctypes.data) for array in arrays]
        self._gauss_newton, self._exact = sources[:2], sources[2:]
        self._address = int(self._job.ctypes.data)
        ready, self._write = _functions()
        self.ready = ready, self._address
        self._ridge, self._controls = np.zeros(e.nu), np.einsum("tii->ti", lq.H)[first:, n:s]

    def blend(self, part: float, scale: float, ridge: Reals | float) -> None:
        """Sets θ, the scale and δ. The Hessian is computed later, by `ready` or `write`."""
        self._ridge[:] = ridge
        if part == 1.0:
            self._x[:] = self._exact
            self._numbers[:] = scale, 0.0, 0.0
            return
        self._x[:] = self._gauss_newton
        if part > 0.0:
            self._y[:] = self._exact
        self._numbers[:] = (1.0 - part) * scale, part * scale, 0.0

    def write(self) -> None:
        """Computes the Hessian of all knots and writes it to the program's arrays."""
        self._write(self._address)
        if np.count_nonzero(self._ridge):
            self._controls += self._ridge


def _whole(target: Reals, ridged: int) -> list[int]:
    """Section of Hessians (T, s, s) that are filled from dense ones; δ is added from an entry of the diagonal on."""
    s = target.shape[-1]
    knot, row, _ = (stride // 8 for stride in target.strides)
    rows, width = (1, s * s) if row == s else (s, s)
    return [0, 0, s * s, s, int(target.ctypes.data), knot, row, rows, width, ridged, s, row + 1]
