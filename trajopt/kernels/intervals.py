"""Interval arithmetic: evaluation of programs on boxes, whose results contain those of all points of the box."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import casadi as ca
import numpy as np

from trajopt.kernels.expression import Expression
from trajopt.kernels.instruction_list import InstructionList
from trajopt.kernels.numbers import Numbers, Values

INF = math.inf
ROUNDING = 1e-9  # by which the argument of a function may be beyond where it is defined

Ends = tuple[float, float]
"""Least and largest number of an interval, which may be infinite."""


class Interval:
    """Real numbers from `low` to `high`, which may be infinite. Operators do not add rounding errors.

    Source: Moore, Kearfott, Cloud, Introduction to Interval Analysis, 2009.
    """

    __slots__ = ("ends",)

    def __init__(self, low: float, high: float) -> None:
        self.ends = low, high

    @property
    def low(self) -> float:
        """Least number."""
        return self.ends[0]

    @property
    def high(self) -> float:
        """Largest number."""
        return self.ends[1]

    def __repr__(self) -> str:
        return f"[{self.low:g}, {self.high:g}]"

    def __add__(self, other: Interval) -> Interval:
        return Interval(*_sum(self.ends, other.ends)) if isinstance(other, Interval) else NotImplemented

    def __sub__(self, other: Interval) -> Interval:
        return Interval(*_difference(self.ends, other.ends)) if isinstance(other, Interval) else NotImplemented

    def __neg__(self) -> Interval:
        return Interval(*_negative(self.ends, self.ends))

    def __mul__(self, other: Interval) -> Interval:
        return Interval(*_product(self.ends, other.ends)) if isinstance(other, Interval) else NotImplemented

    def __eq__(self, other: object) -> bool:
        raise TypeError("intervals are neither equal nor different")

    __hash__ = None  # type: ignore[assignment]


class Intervals(Numbers):
    """Arithmetic on boxes. Arrays have dtype object and hold `Interval`; numbers become intervals of no width.

    An operation that is not in `OPERATIONS` gives all real numbers. Steps that compare or divide raise TypeError. Each
    object keeps the instructions of the expressions that it has called, as unpacking them takes as long as a call.
    """

    def __init__(self) -> None:
        self._codes: dict[Expression, InstructionList] = {}

    def context(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def array(self, values: Any, shape: tuple[int, ...]) -> Values:
        flat = np.asarray(values, dtype=object).ravel().tolist()
        return _packed([v if isinstance(v, Interval) else Interval(float(v), float(v)) for v in flat], shape)

    def call(self, expression: Expression, arrays: Sequence[Values]) -> list[Values]:
        if expression not in self._codes:
            self._codes[expression] = expression.code
        code, inputs = self._codes[expression], [[each.ends for each in array.ravel().tolist()] for array in arrays]
        values = list[Ends]()
        for op, a, b in code.operations:
            if op == ca.OP_CONST:
                values.append((a, a))
            elif op == ca.OP_INPUT:
                values.append(inputs[int(a)][b])
            else:
                operation = OPERATIONS.get(op)
                values.append(WHOLE if operation is None else operation(values[int(a)], values[b]))
        results = [[ZERO if i is None else values[i] for i in output] for output in code.outputs]
        return [_packed([Interval(*ends) for ends in each], shape) for each, shape in zip(results, code.output_shapes)]


WHOLE, ZERO, TRUE, MAYBE = (-INF, INF), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)


def _packed(values: list[Interval], shape: tuple[int, ...]) -> Values:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _sum(a: Ends, b: Ends) -> Ends:
    low, high = a[0] + b[0], a[1] + b[1]
    return low if low == low else -INF, high if high == high else INF  # infinity less infinity is anything


def _difference(a: Ends, b: Ends) -> Ends:
    return _sum(a, (-b[1], -b[0]))


def _negative(a: Ends, _: Ends) -> Ends:
    return -a[1], -a[0]


def _product(a: Ends, b: Ends) -> Ends:
    products = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    if (total := products[0] + products[1] + products[2] + products[3]) != total:  # 0 times infinity is 0
        numbers = [0.0 if each != each else each for each in products]
        return min(numbers), max(numbers)
    return min(products), max(products)


def _inverse(a: Ends, _: Ends) -> Ends:
    return WHOLE if a[0] <= 0.0 <= a[1] else (1.0 / a[1], 1.0 / a[0])


def _even(value: Callable[[float], float]) -> Callable[[Ends, Ends], Ends]:
    """A function that grows with the distance from 0, where it is 0."""

    def of(a: Ends, _: Ends) -> Ends:
        ends = value(a[0]), value(a[1])
        return 0.0 if a[0] <= 0.0 <= a[1] else min(ends), max(ends)

    return of


def _increasing(
    value: Callable[[float], float], least: float = -INF, most: float = INF
) -> Callable[[Ends, Ends], Ends]:
    """A function that grows between `least` and `most`; where it overflows it is infinite, elsewhere it may be NaN."""

    def at(x: float) -> float:
        try:
            return value(min(max(x, least), most))
        except OverflowError:
            return math.copysign(INF, x)
        except ValueError:  # the logarithm of 0
            return -INF

    def of(a: Ends, _: Ends) -> Ends:
        within = a[0] >= least - ROUNDING and a[1] <= most + ROUNDING  # what is done with NaN is not known
        return (at(a[0]), at(a[1])) if within else WHOLE

    return of


def _cosine(a: Ends, _: Ends) -> Ends:
    if not a[1] - a[0] < 2.0 * math.pi:
        return -1.0, 1.0
    turns = range(math.ceil(a[0] / math.pi), math.floor(a[1] / math.pi) + 1)
    values = math.cos(a[0]), math.cos(a[1]), *(1.0 - 2.0 * (turn % 2) for turn in turns)
    return min(values), max(values)


def _sine(a: Ends, _: Ends) -> Ends:
    return _cosine((a[0] - 0.5 * math.pi, a[1] - 0.5 * math.pi), a)


def _tangent(a: Ends, _: Ends) -> Ends:
    if not a[1] - a[0] < math.pi or math.floor(a[0] / math.pi + 0.5) < math.floor(a[1] / math.pi + 0.5):
        return WHOLE
    ends = math.tan(a[0]), math.tan(a[1])
    return ends if ends[0] <= ends[1] else WHOLE


def _angle(y: Ends, x: Ends) -> Ends:
    if not (x[0] > 0.0 or y[0] > 0.0 or y[1] < 0.0):  # where the angle jumps
        return -math.pi, math.pi
    corners = [math.atan2(b, a) for b in y for a in x]
    return min(corners), max(corners)


def _power(a: Ends, b: Ends) -> Ends:
    n = b[0]
    if b[1] != n or not 0.0 <= n < INF or not (n == round(n) or a[0] >= 0.0):
        return WHOLE
    try:
        ends = a[0] ** n, a[1] ** n
    except OverflowError:
        return WHOLE
    return 0.0 if n % 2.0 == 0.0 < n and a[0] <= 0.0 <= a[1] else min(ends), max(ends)


def _less(a: Ends, b: Ends) -> Ends:
    return TRUE if a[1] < b[0] else ZERO if a[0] >= b[1] else MAYBE


def _at_most(a: Ends, b: Ends) -> Ends:
    return TRUE if a[1] <= b[0] else ZERO if a[0] > b[1] else MAYBE


def _equal(a: Ends, b: Ends) -> Ends:
    if a[1] < b[0] or b[1] < a[0]:
        return ZERO
    return TRUE if a[0] == a[1] == b[0] == b[1] else MAYBE


def _not(a: Ends, _: Ends) -> Ends:
    return TRUE if a == ZERO else MAYBE if a[0] <= 0.0 <= a[1] else ZERO


def _where(condition: Ends, value: Ends) -> Ends:
    """The value where the condition holds, else 0."""
    if condition == ZERO:
        return ZERO
    return (min(value[0], 0.0), max(value[1], 0.0)) if condition[0] <= 0.0 <= condition[1] else value


OPERATIONS: Mapping[int, Callable[[Ends, Ends], Ends]] = {
    ca.OP_ADD: _sum,
    ca.OP_SUB: _difference,
    ca.OP_MUL: _product,
    ca.OP_DIV: lambda a, b: _product(a, _inverse(b, b)),
    ca.OP_NEG: _negative,
    ca.OP_SQ: _even(lambda x: x * x),
    ca.OP_TWICE: lambda a, _: (2.0 * a[0], 2.0 * a[1]),
    ca.OP_INV: _inverse,
    ca.OP_FABS: _even(abs),
    ca.OP_FMIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ca.OP_FMAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    ca.OP_SIGN: _increasing(lambda x: float(x > 0.0) - float(x < 0.0)),
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: _increasing(math.sqrt, least=0.0),
    ca.OP_EXP: _increasing(math.exp),
    ca.OP_LOG: _increasing(math.log, least=0.0),
    ca.OP_SIN: _sine,
    ca.OP_COS: _cosine,
    ca.OP_TAN: _tangent,
    ca.OP_ASIN: _increasing(math.asin, -1.0, 1.0),
    ca.OP_ATAN: _increasing(math.atan),
    ca.OP_SINH: _increasing(math.sinh),
    ca.OP_TANH: _increasing(math.tanh),
    ca.OP_ATAN2: _angle,
    ca.OP_LT: _less,
    ca.OP_LE: _at_most,
    ca.OP_EQ: _equal,
    ca.OP_NE: lambda a, b: _not(_equal(a, b), a),
    ca.OP_NOT: _not,
    ca.OP_IF_ELSE_ZERO: _where,
}
