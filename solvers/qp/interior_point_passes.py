"""Machine code of the interior-point method: iterations of passes of the recursion and functions of the rows."""

from __future__ import annotations

from trajopt.kernels.builder import Builder
from trajopt.solvers.qp.interior_point_kernel import (
    ADVANCE,
    CENTER,
    ENTER,
    EQUATIONS,
    FREE,
    ITERATE,
    MEASURE,
    NUMBERS,
    PASSES,
    PREPARE,
    RELEASE,
    rows_text,
)
from trajopt.solvers.riccati.recursion.flat import DECLARATIONS
from trajopt.solvers.riccati.recursion.frame import SHORT, WITH_GAPS


def interior_point_text(soft: bool) -> str:
    """LLVM text of five functions of (block, size, numbers), which return 0.

    `begin` writes what the program says of the rows, and the first multipliers of equations. `enter` writes the first
    slacks and multipliers of inequalities at an iterate, and the largest violations of inequalities, `beyond`, and of
    equations, `missed`, relative to the sizes of their rows. `measure(..., passes)` finds all residuals of an iterate,
    and what the next step needs. `iterate(..., passes)` is Mehrotra's predictor and corrector, then `measure`.
    `release(..., passes)` goes to the solution without inequalities, then `enter`. Where the recursion fails, both of
    these do nothing more, and return what that says.
    """
    return "\n".join([rows_text(soft), _measure(), _iterate(), _release(), DECLARATIONS])


def _passes(name: str) -> tuple[Builder, dict[str, str]]:
    """A function (block, size, numbers, passes), begun, with the addresses of the passes."""
    b = Builder(f"define i64 @{name}(ptr %block, i64 %size, ptr %numbers, ptr %passes)")
    kinds = {"size": "i64"}
    return b, {each: b.load(b.at("%passes", i), kinds.get(each, "ptr")) for i, each in enumerate(PASSES)}


def _measure() -> str:
    b, of = _passes(MEASURE)
    _call_measure(b, of)
    return b.text("ret i64 0")


def _call_measure(b: Builder, of: dict[str, str]) -> None:
    b.op(f"call i64 {of['measure']}(ptr {of['residuals']}, i64 0)")
    _call(b, PREPARE)


def _call(b: Builder, name: str) -> None:
    b.op(f"call i64 @{name}(ptr %block, i64 %size, ptr %numbers)")


def _iterate() -> str:
    b, of = _passes(ITERATE)
    table = f"ptr {of['table']}"
    code = b.op(f"call i64 {of['factor']}({table}, double 0.0, double 0.0, i64 {WITH_GAPS})")
    with b.when(b.op(f"icmp eq i64 {code}, 0")):
        count = b.load(b.at("%numbers", NUMBERS.index("count")))
        with b.when(b.op(f"fcmp ogt double {count}, 0.0")):
            b.op(f"call i64 {of['forward']}({table}, i64 {WITH_GAPS | SHORT})")
            _call(b, CENTER)
            b.op(f"call i64 {of['solve']}({table}, i64 {WITH_GAPS | SHORT})")
        b.op(f"call i64 {of['forward']}({table}, i64 {WITH_GAPS})")
        _call(b, ADVANCE)
        _move(b, of, b.load(b.at("%numbers", NUMBERS.index("length"))))
        _call_measure(b, of)
    return b.text(f"ret i64 {code}")


def _move(b: Builder, of: dict[str, str], length: str) -> None:
    """Adds the step, times its length, to the iterate."""
    with b.loop(0, of["size"]) as i:
        at, step = (b.at(of[name], (i.index, 1)) for name in ("at", "step"))
        part = b.op(f"fmul double {length}, {b.load(step)}")
        b.store(b.op(f"fadd double {b.load(at)}, {part}"), at)


def _release() -> str:
    b, of = _passes(RELEASE)
    table = f"ptr {of['table']}"
    _call(b, FREE)
    b.op(f"call i64 {of['measure']}(ptr {of['residuals']}, i64 0)")
    code = b.op(f"call i64 {of['factor']}({table}, double 0.0, double 0.0, i64 {WITH_GAPS})")
    with b.when(b.op(f"icmp eq i64 {code}, 0")):
        b.op(f"call i64 {of['forward']}({table}, i64 {WITH_GAPS})")
        _call(b, EQUATIONS)
        _move(b, of, "1.0")
        b.op(f"call i64 {of['measure']}(ptr {of['residuals']}, i64 0)")
        _call(b, ENTER)
    return b.text(f"ret i64 {code}")
