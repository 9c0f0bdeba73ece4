"""Selections leak no NaN from the branch not taken: not in values, not in Jacobians of either mode, nor in Hessians."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, assert_same_bits, evaluate, run_function, same_bits
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import derivatives
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.instructions import read_instructions

Mode = dict[str, dict[str, float]]
FORWARD, REVERSE = ({"helper_options": {"ad_weight": w, "ad_weight_sp": w}} for w in (0.0, 1.0))


def two_roots(x: SX, y: SX) -> SX:
    """A root that two selections use: in reverse, a sum of two switched adjoints meets an infinite slope."""
    root = ca.sqrt(x)
    return ca.if_else(x > 0, ca.sin(root), 0) + y * ca.if_else(x > 1, ca.cos(root), 1)


CASES: dict[str, Callable[[SX, SX], SX]] = {
    "root": lambda x, y: ca.if_else(x > 0, ca.sqrt(x), 0),
    "log over x, else x": lambda x, y: ca.if_else(x > 0, ca.log(x) / x, x),
    "selection in a product": lambda x, y: ca.if_else(x > 0, ca.sqrt(x), 0) * y,
    "selection in a quotient": lambda x, y: ca.if_else(x > 0, ca.log(x), 1) / (2 + y * y),
    "nested": lambda x, y: ca.if_else(x > 0, ca.if_else(y > 0, ca.sqrt(x * y), x), y),
    "nested in a product": lambda x, y: y * ca.if_else(x > 0, x * ca.if_else(y > 0, ca.log(x * y), 0), 1),
    "nested over zero": lambda x, y: ca.if_else(x > 0, ca.if_else(y > 0, y, 0), 0) / (y + ca.fabs(y)) + x,
    "function of a selection": lambda x, y: ca.exp(ca.sin(ca.if_else(x > 0, ca.log(x), y))),
    "product with a truth value": lambda x, y: (x > 0) * ca.sqrt(x) + y,
    "multiple of a truth value": lambda x, y: 0.5 * (x > 0) * ca.sqrt(x) * y,
    "truth value over x": lambda x, y: (x > 0) / x,
    "product of two truth values": lambda x, y: (x > 0) * (y > 0) * ca.log(x * y),
    "two selections of one root": two_roots,
    "root of a selection": lambda x, y: ca.sqrt(ca.if_else(x > 0, x, 0)) + y,
    "root of a product of selections": lambda x, y: ca.sqrt(2 * ca.if_else(x > 0, x, 0) * ca.if_else(y > 0, y, 1)),
    "root of a maximum": lambda x, y: ca.sqrt(ca.fmax(x + 0.2, 0)) * y,
    "parameter as condition": lambda x, y: ca.if_else(y, ca.exp(-x / y), x),
    "power": lambda x, y: ca.if_else(x > 0, x**y, 0) + ca.if_else(x > 0, x**1.5, 0),
    "arc cosine": lambda x, y: ca.if_else(ca.fabs(x) < 1, ca.acos(x), 0),
    "norm": lambda x, y: ca.if_else(x * x + y * y > 0, ca.norm_2(ca.vertcat(x, y)), 0),
    "overflow": lambda x, y: (x < 0.5) * ca.exp(1000 * x - 500) + ca.if_else(x < 1, ca.exp(900 * x - 810), 0),
}
# away from kinks, where central differences tell the derivative
POINTS = [np.array(v)[:, None] for v in zip(*[(a, b) for a in (-1.3, -0.7, 0.37, 0.8, 1.9) for b in (-0.6, 0.9)])]
AT_THE_EDGE = [np.array([[0.0], [-0.0], [0.0], [-1.0]]), np.array([[0.0], [1.0], [-1.0], [0.0]])]


def make(name: str, mode: Mode) -> ca.Function:
    """(x, y) -> value, Jacobian, Hessian."""
    x, y = SX.sym("x"), SX.sym("y")
    z = ca.vertcat(x, y)
    value = CASES[name](x, y)
    gradient = ca.jacobian(value, z, mode)
    return ca.Function("f", [x, y], [value, gradient, ca.jacobian(gradient, z, mode)])


@pytest.mark.parametrize("mode", [FORWARD, REVERSE], ids=["forward", "reverse"])
@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives_are_finite_and_right(name: str, mode: Mode) -> None:
    f = make(name, mode)
    got = run_function(f, POINTS)
    for array in got:
        assert np.all(np.isfinite(array))
    step = np.finfo(float).eps ** (1 / 3)
    for k, direction in enumerate(np.eye(2)):
        moved = [[p + s * step * d for p, d in zip(POINTS, direction)] for s in (1, -1)]
        plus, minus = (run_function(f, list(m)) for m in moved)
        for order in (0, 1):
            difference = (plus[order] - minus[order]) / (2 * step)
            derivative = got[order + 1][:, k::2]
            bound = 1e-6 * max(1.0, np.abs(derivative).max())
            np.testing.assert_allclose(derivative, difference, rtol=0, atol=bound)


@pytest.mark.parametrize("mode", [FORWARD, REVERSE], ids=["forward", "reverse"])
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("root of a maximum", "nested over zero")])
def test_finite_at_the_edge_of_the_selection(name: str, mode: Mode) -> None:
    """At x = 0 or y = 0 the branch that holds there is smooth in these cases; 0 / 0 on it stays what it is."""
    for array in run_function(make(name, mode), AT_THE_EDGE)[:2]:
        assert np.all(np.isfinite(array))


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_casadi_wherever_it_has_no_nan(name: str) -> None:
    """Signs of zeros too. In these functions a NaN of a product stays a NaN, so the output tells."""
    f = make(name, FORWARD)
    inputs = [np.concatenate(p) for p in zip(POINTS, AT_THE_EDGE)]
    expected = evaluate(f, inputs)
    for width in ALL_WIDTHS:
        for got, reference in zip(run_function(f, inputs, width=width), expected):
            assert np.all(same_bits(got, reference) | np.isnan(reference))


def test_casadi_leaks_where_we_do_not() -> None:
    """The cases above mean something: CasADi's evaluator gives NaN in some of them."""
    leaks = {n for n in CASES if np.isnan(evaluate(make(n, REVERSE), POINTS)[1]).any()}
    assert {"product with a truth value", "two selections of one root", "root of a maximum"} <= leaks


def test_nan_of_an_input_still_shows() -> None:
    """Only products with what is switched off are mended."""
    x, y = SX.sym("x"), SX.sym("y")
    either = (x > 0) + (y > 0)
    values = [ca.if_else(x > 0, 1, 2) * y, ca.sqrt(x) * y, either * ca.sqrt(x), either / ca.fmin(y, 0)]
    f = ca.Function("f", [x, y], values)
    got = run_function(f, [np.array([[1.0], [-1.0], [-1.0]]), np.array([[np.nan], [1.0], [-1.0]])])
    assert np.isnan(got[0][:, 0]).tolist() == [True, False, False]
    assert np.isnan(got[1][:, 0]).tolist() == [True, True, True]
    assert np.isnan(got[2][:, 0]).tolist() == [False, True, False]
    assert got[3][:, 0].tolist() == [np.inf, np.inf, 0.0]


def test_no_guard_without_a_selection_or_a_risk() -> None:
    x, y = SX.sym("x"), SX.sym("y")
    for value in (ca.log(x) / y * ca.sqrt(x), (x > 0) * ca.sin(y) * y, (x > y) / 3):
        f = ca.Function("f", [x, y], [value])
        assert ca.OP_IF_ELSE_ZERO not in [op for op, _, _ in read_instructions(f).operations]


def test_branches_of_one_selection_switch_nothing_behind_them() -> None:
    """if_else(c, a, b) is a sum that is always on: what follows it is not guarded."""
    x, y = SX.sym("x"), SX.sym("y")
    f = ca.Function("f", [x, y], [ca.if_else(x > y, x, 2 * y) / x])
    assert [op for op, _, _ in read_instructions(f).operations].count(ca.OP_IF_ELSE_ZERO) == 2


def test_jacobian_is_sparse_and_takes_the_shorter_mode() -> None:
    x, y = SX.sym("x", 30), SX.sym("y", 3)
    total = ca.sin(ca.exp(ca.cos(ca.sumsqr(x)))) * ca.sum1(y)
    inner = y[0] * y[1] + y[2]
    for _ in range(10):
        inner = ca.sin(inner)
    fan = ca.vertcat(*[ca.sin(k * inner) for k in range(30)])
    for expression, variables in ((total, x), (fan, y)):
        result = jacobian(expression, variables)
        lengths = [derivatives.length(ca.jacobian(expression, variables, m)) for m in (FORWARD, REVERSE)]
        assert (lengths[0] < lengths[1]) == (expression is fan)
        assert lengths[0] != lengths[1]
        assert derivatives.length(result) == min(lengths)
    assert jacobian(ca.sin(x), x).nnz() == 30
    assert jacobian(total, y).shape == (1, 3)
    assert jacobian(SX([1.0, 2.0]), y).nnz() == 0
    assert jacobian(SX(0, 1), y).shape == (0, 3)
    assert jacobian(x, SX(0, 1)).shape == (30, 0)


def test_jacobian_has_the_bits_of_both_evaluators() -> None:
    x, y = SX.sym("x", 4), SX.sym("y", 2)
    value = ca.vertcat(ca.norm_2(x), ca.atan2(x[0], y[1]), ca.cross(x[:3], ca.vertcat(y, 1)))
    f = ca.Function("f", [x, y], [jacobian(value, ca.vertcat(x, y))])
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(9, 4)), rng.normal(size=(9, 2))]
    assert_same_bits(run_function(f, inputs), evaluate(f, inputs))


@pytest.mark.parametrize("wrong", [SX([1.0]), 2 * SX.sym("x"), ca.vertcat(*[SX.sym("x")] * 2)])
def test_jacobian_asks_for_symbols(wrong: SX) -> None:
    with pytest.raises(InvalidArgumentError, match="variables: expected distinct symbols"):
        jacobian(SX.sym("z"), wrong)


@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_minima_with_constants(width: int) -> None:
    """Of two zeros the first, and the other operand where one is NaN."""
    x, least = SX.sym("x"), (ca.fmin, ca.fmax)
    pairs = [pair for c in (0.0, -0.0, 1.5, np.inf) for pair in ((x, c), (c, x))]
    f = ca.Function("minima", [x], [ca.vertcat(*(which(*pair) for which in least for pair in pairs))])
    points = np.array([np.nan, 0.0, -0.0, 1.5, 2.0, -3.0, np.inf, -np.inf])[:, None]
    assert_same_bits(run_function(f, [points], width=width), evaluate(f, [points]))
