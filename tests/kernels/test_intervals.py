"""Interval arithmetic contains the values of CasADi's evaluator, and is exact for numbers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.support.kernel_operations import function, scalar_operations
from trajopt.kernels import expression as module
from trajopt.kernels.expression import Expression
from trajopt.kernels.intervals import INF, OPERATIONS, Interval, Intervals
from trajopt.kernels.program import Program

CASES = [name for name in scalar_operations() if name not in ("OP_CALL", "OP_PARAMETER", "OP_PRINTME")]


def evaluated(f: ca.Function, *boxes: Interval) -> Interval:
    """The result of a function of scalars."""
    numbers = Intervals()
    (result,) = numbers.call(Expression(f), [numbers.array([box], (1, 1)) for box in boxes])
    return result.ravel().tolist()[0]


def boxes(seed: int) -> tuple[Interval, Interval]:
    rng = np.random.default_rng(seed)
    sides = np.sort(rng.normal(size=(2, 2)) * 10.0 ** rng.uniform(-1.5, 1.0, size=(2, 1)), axis=1)
    return Interval(*sides[0].tolist()), Interval(*sides[1].tolist())


@pytest.mark.parametrize("name", CASES)
def test_results_contain_the_values_at_all_points(name: str) -> None:
    f, rng = function(name), np.random.default_rng(0)
    inside = 0
    for seed in range(30):
        x, y = boxes(seed)
        result = evaluated(f, x, y)
        for _ in range(20):
            value = float(f(rng.uniform(x.low, x.high), rng.uniform(y.low, y.high)))
            if np.isfinite(value):
                slack = 1e-12 * max(1.0, abs(value))
                assert result.low - slack <= value <= result.high + slack
                inside += 1
    assert inside > 0


@pytest.mark.parametrize("name", [name for name in CASES if getattr(ca, name) in OPERATIONS])
def test_a_box_without_width_gives_the_value_itself(name: str) -> None:
    f, finite = function(name), 0
    for a, b in [(0.3, 0.7), (-0.6, 2.0), (0.9, -0.4)]:
        value, result = float(f(a, b)), evaluated(f, Interval(a, a), Interval(b, b))
        if np.isfinite(value) and result.high < INF:
            finite += 1
            assert result.low == pytest.approx(value, rel=1e-12, abs=1e-12)
            assert result.high == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert finite > 0


@pytest.mark.parametrize(
    ("expression", "box", "low", "high"),
    [
        pytest.param(lambda x: x * x, (-2.0, 1.0), 0.0, 4.0, id="square"),
        pytest.param(ca.cos, (3.0, 3.5), -1.0, np.cos(3.5), id="cosine over its least"),
        pytest.param(ca.sin, (-100.0, 100.0), -1.0, 1.0, id="sine of many turns"),
        pytest.param(ca.fabs, (-3.0, -1.0), 1.0, 3.0, id="absolute value"),
        pytest.param(lambda x: 1.0 / x, (-1.0, 1.0), -INF, INF, id="inverse across 0"),
        pytest.param(lambda x: ca.if_else(x > 0.0, 2.0, -x), (-1.0, 1.0), -1.0, 3.0, id="selection"),
        pytest.param(lambda x: 0.0 * x, (-INF, INF), 0.0, 0.0, id="nothing times all"),
        pytest.param(ca.sqrt, (0.0, 4.0), 0.0, 2.0, id="root"),
        pytest.param(lambda x: ca.fmin(ca.sqrt(x), 3.0), (-1.0, 4.0), -INF, 3.0, id="no number, beyond the domain"),
    ],
)
def test_known_intervals(expression: object, box: tuple[float, float], low: float, high: float) -> None:
    x = ca.SX.sym("x")
    result = evaluated(ca.Function("f", [x], [ca.SX(expression(x))]), Interval(*box))  # type: ignore[operator]
    assert result.low == pytest.approx(low)
    assert result.high == pytest.approx(high)


def test_programs_multiply_and_add_boxes() -> None:
    program = Program("product")
    A, b = program.input(2, 2), program.input(2)
    program.output(program.matmul(A, b))
    box = [Interval(0.0, 1.0), Interval(-1.0, 2.0)]
    (result,) = program.evaluate([[1.0, -1.0], [2.0, 0.0]], box, numbers=Intervals())
    assert [each.ends for each in result.ravel().tolist()] == [(-2.0, 2.0), (0.0, 2.0)]


def test_what_compares_numbers_is_refused() -> None:
    program = Program("factors")
    program.output(program.factor(program.input(2, 2)))
    with pytest.raises(TypeError, match="'>' not supported"):
        program.evaluate(np.eye(2), numbers=Intervals())


def test_expressions_are_unpacked_once_for_all_knots(monkeypatch: pytest.MonkeyPatch) -> None:
    x, unpacked = ca.SX.sym("x"), []
    expression, numbers, unpack = Expression(ca.Function("f", [x], [ca.sin(x)])), Intervals(), module._unpacked
    monkeypatch.setattr(module, "_unpacked", lambda data: [unpacked.append(data), unpack(data)][1])
    for t in range(5):
        numbers.call(expression, [numbers.array([float(t)], (1, 1))])
    assert len(unpacked) <= 1
