"""LLVM text of each operation of an SX function, for W lanes at once.

The value of every operation equals CasADi's own evaluation bit for bit: no fast-math flags, no contraction, and the
same C library for operations that are not instructions of the processor. The library is called lane by lane, since the
vector forms of some LLVM intrinsics terminate the process.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable

import casadi as ca

from trajopt.errors import UnsupportedOperationError

ERFINV = "trajopt_erfinv"  # see `trajopt.kernels.erfinv`
_UNARY = (
    *("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "log1p", "expm1"),
)
_BINARY = ("pow", "fmod", "remainder", "atan2", "hypot", "copysign")
LIBM_UNARY: dict[int, str] = {getattr(ca, f"OP_{name.upper()}"): name for name in _UNARY} | {ca.OP_ERFINV: ERFINV}
LIBM_BINARY: dict[int, str] = {getattr(ca, f"OP_{name.upper()}"): name for name in _BINARY} | {ca.OP_CONSTPOW: "pow"}
INSTRUCTIONS = {ca.OP_ADD: "fadd", ca.OP_SUB: "fsub", ca.OP_MUL: "fmul", ca.OP_DIV: "fdiv"}
COMPARISONS = {ca.OP_LT: "olt", ca.OP_LE: "ole", ca.OP_EQ: "oeq", ca.OP_NE: "une"}
INTRINSICS = {ca.OP_SQRT: "sqrt", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceil", ca.OP_FABS: "fabs"}

SIDE_BY_SIDE = 8
"""Elements of an array that code of one lane computes at once, where elements do not depend on each other [-]."""


def hexadecimal(number: float) -> str:
    """Text of a double that LLVM reads exactly."""
    return "0x" + struct.pack(">d", number).hex().upper()


class LaneType:
    """LLVM type of one scalar for W lanes: `double` or `<W x double>`, aligned to 8 W bytes unless `align` differs."""

    def __init__(self, width: int, align: int | None = None) -> None:
        self.width = width
        self.real = "double" if width == 1 else f"<{width} x double>"
        self.mask = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self.align = 8 * width if align is None else align

    def constant(self, number: float) -> str:
        """Constant in all lanes."""
        text = hexadecimal(number)
        return text if self.width == 1 else f"splat (double {text})"

    @property
    def mask_true(self) -> str:
        """Mask that is true in all lanes."""
        return "true" if self.width == 1 else "splat (i1 true)"

    def call(self, result: str, name: str, arguments: list[str]) -> list[str]:
        """Calls the scalar function `name` lane by lane."""
        if self.width == 1:
            return [f"{result} = call double @{name}({', '.join('double ' + a for a in arguments)})"]
        lines, previous = [], "poison"
        stem = part_name(result)[1:]
        for lane in range(self.width):
            names = []
            for i, a in enumerate(arguments):
                lines.append(f"%{stem}.{i}.{lane} = extractelement {self.real} {a}, i32 {lane}")
                names.append(f"double %{stem}.{i}.{lane}")
            lines.append(f"%{stem}.c{lane} = call double @{name}({', '.join(names)})")
            target = result if lane == self.width - 1 else f"%{stem}.r{lane}"
            lines.append(f"{target} = insertelement {self.real} {previous}, double %{stem}.c{lane}, i32 {lane}")
            previous = target
        return lines


def intrinsic(lanes: LaneType, name: str, arguments: int) -> tuple[str, str]:
    """Symbol and declaration of one of LLVM's functions of W lanes, such as "fma" with three arguments."""
    symbol = f"llvm.{name}.{lanes.suffix}"
    return symbol, f"declare {lanes.real} @{symbol}({', '.join([lanes.real] * arguments)})"


def part_name(result: str) -> str:
    """Prefix for names of intermediate values; a number such as %12 cannot be extended."""
    return f"%v{result[1:]}"


@functools.cache
def plain_templates(width: int) -> dict[int, str]:
    """Text by operation, for operations that are one instruction; to be filled with the result's number and operands.

    For a unary operation both operands are the same.
    """
    lanes = LaneType(width)
    real, one = lanes.real, lanes.constant(1.0)
    binary = {**INSTRUCTIONS, ca.OP_SQ: "fmul", ca.OP_TWICE: "fadd"}
    templates = {op: f"%%%d = {word} {real} %s, %s" for op, word in binary.items()}
    return {**templates, ca.OP_NEG: f"%%%d = fneg {real} %s%.0s", ca.OP_INV: f"%%%d = fdiv {real} {one}, %s%.0s"}


def mask_text(lanes: LaneType, result: str, op: int, a: str, b: str) -> str:
    """LLVM text of a comparison of reals as a mask (one bit per lane)."""
    return f"{result} = fcmp {COMPARISONS[op]} {lanes.real} {a}, {b}"


def real_text(lanes: LaneType, result: str, op: int, a: str, b: str) -> list[str]:
    """LLVM text of an operation on reals that has no plain template.

    Raises:
        UnsupportedOperationError: SX functions do not contain this operation.
    """
    if op in INTRINSICS:
        return [f"{result} = call {lanes.real} @llvm.{INTRINSICS[op]}.{lanes.suffix}({lanes.real} {a})"]
    if op in LIBM_UNARY:
        return lanes.call(result, LIBM_UNARY[op], [a])
    if op in LIBM_BINARY:
        return lanes.call(result, LIBM_BINARY[op], [a, b])
    if op in _SPECIAL:
        return _SPECIAL[op](lanes, result, a, b)
    raise UnsupportedOperationError(f"{operation_name(op)} is not supported; please report it")


def operation_name(op: int) -> str:
    """Name of an operation and CasADi's version, for messages."""
    from importlib.metadata import version

    name = next((n for n in dir(ca) if n.startswith("OP_") and getattr(ca, n) == op), f"operation {op}")
    return f"{name} of CasADi {version('casadi')}"


def _select_minimum(lanes: LaneType, result: str, a: str, b: str, comparison: str) -> list[str]:
    """CasADi's fmin or fmax: the other operand if one is NaN; the first of two zeros.

    The processor's own instruction for (b, a) returns a if both are zeros or one is NaN. So b must be chosen only where
    a is NaN, which a constant never is.
    """
    part = part_name(result)

    def chosen(name: str, comparison: str, a: str, b: str, first: str, second: str) -> list[str]:
        return [
            f"{part}.{comparison} = fcmp {comparison} {lanes.real} {a}, {b}",
            f"{name} = select {lanes.mask} {part}.{comparison}, {lanes.real} {first}, {lanes.real} {second}",
        ]

    if not b.startswith("%"):
        return chosen(result, comparison.replace("t", "e"), a, b, a, b)
    if not a.startswith("%"):
        return chosen(result, comparison, b, a, b, a)
    least = f"{part}.least"
    return [*chosen(least, comparison, b, a, b, a), *chosen(result, "uno", a, lanes.constant(0.0), b, least)]


def _sign(lanes: LaneType, result: str, a: str, _b: str) -> list[str]:
    zero, part = lanes.constant(0.0), part_name(result)
    return [
        f"{part}.p = fcmp ogt {lanes.real} {a}, {zero}",
        f"{part}.q = fcmp olt {lanes.real} {a}, {zero}",
        f"{part}.s = select {lanes.mask} {part}.p, {lanes.real} {lanes.constant(1.0)}, {lanes.real} {a}",
        f"{result} = select {lanes.mask} {part}.q, {lanes.real} {lanes.constant(-1.0)}, {lanes.real} {part}.s",
    ]


_SPECIAL: dict[int, Callable[[LaneType, str, str, str], list[str]]] = {
    ca.OP_FMIN: lambda t, r, a, b: _select_minimum(t, r, a, b, "olt"),
    ca.OP_FMAX: lambda t, r, a, b: _select_minimum(t, r, a, b, "ogt"),
    ca.OP_SIGN: _sign,
}
