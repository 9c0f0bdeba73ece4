"""Programs in more digits: every operation, every step, and the dynamics of robots."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import casadi as ca
import gmpy2
import mpmath
import numpy as np
import pinocchio as pin
import pytest
from casadi import SX
from mpmath import mpf

from tests.kernels.test_operations import OPERATIONS, REFUSED
from tests.kernels.test_selections import AT_THE_EDGE, CASES, FORWARD, POINTS, REVERSE, Mode, make
from tests.support.high_precision import as_mpmath
from tests.support.kernel_operations import function, held_by, inputs
from tests.support.kernel_runner import evaluate, run_function
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.kernels import Program
from trajopt.kernels.mpfr_operations import TEXT, inverse_error_function
from trajopt.kernels.operations import LIBM_BINARY, LIBM_UNARY
from trajopt.kernels.precision import HighPrecision, to_float64
from trajopt.kernels.steps import Groups
from trajopt.robots import load_robot

BITS, HIGH = 200, HighPrecision(200)
INEXACT = ({*LIBM_UNARY, *LIBM_BINARY}) - {ca.OP_FMOD, ca.OP_REMAINDER, ca.OP_COPYSIGN}
KNOWN = [name for name in OPERATIONS if name not in REFUSED]


def rounding_errors(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Distance in units of the last place of `expected`; 0 where both are NaN, the same infinity or the same zero."""
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected))
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(got - expected) / np.spacing(np.abs(expected))
    return np.where(same, 0.0, np.where(np.isfinite(errors) & (errors > 0), errors, np.inf))


@pytest.mark.parametrize("name", [n for n in KNOWN if n != "OP_ERFINV"])
def test_operations_in_53_bits_are_those_of_doubles(name: str) -> None:
    """The C library errs by two units at most; all else is the same, NaN, infinities and signs of zeros included.

    But products and quotients below 2.2e-308 were rounded twice.
    """
    f = function(name)
    x, y = inputs()
    if name == "OP_COPYSIGN":  # NaN has no sign here
        x, y = (v[~np.isnan(y)][:, None] for v in (x, y))
    program = Program.of(name, f)
    got = [to_float64(program.evaluate(a, b, numbers=HighPrecision(53))[0])[0, 0] for a, b in zip(x, y)]
    expected = evaluate(f, [x, y])[0][:, 0]
    exact = (np.abs(expected) >= np.finfo(float).tiny) & (not INEXACT & held_by(name))
    errors = rounding_errors(np.array(got), expected)
    worst = int(np.argmax(errors + exact * errors * 10))
    assert errors[worst] <= (0 if exact[worst] else 2), f"{name}({x[worst]}, {y[worst]}): {got[worst]!r}"


@pytest.mark.parametrize("name", sorted(REFUSED.keys() & set(OPERATIONS)))
def test_operations_that_are_refused(name: str) -> None:
    f = function(name)
    with pytest.raises(UnsupportedOperationError, match=REFUSED[name]):
        Program.of(name, f).evaluate(*range(f.n_in()), numbers=HIGH)


def test_an_unsupported_operation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TEXT, ca.OP_ATAN2)
    program = Program.of("f", function("OP_ATAN2"))
    with pytest.raises(UnsupportedOperationError, match=r"OP_ATAN2 of CasADi .* is not supported by HighPrecision"):
        program.evaluate(1, 2, numbers=HIGH)


REFERENCES: dict[str, Any] = {
    "OP_ADD": lambda x, y: x + y,
    "OP_SUB": lambda x, y: x - y,
    "OP_MUL": lambda x, y: x * y,
    "OP_DIV": lambda x, y: x / y,
    "OP_NEG": lambda x, y: -x,
    "OP_SQ": lambda x, y: x * x,
    "OP_TWICE": lambda x, y: 2 * x,
    "OP_INV": lambda x, y: 1 / x,
    "OP_FABS": lambda x, y: abs(x),
    "OP_FMIN": lambda x, y: min(x, y),
    "OP_FMAX": lambda x, y: max(x, y),
    "OP_SIGN": lambda x, y: mpmath.sign(x),
    "OP_POW": lambda x, y: x**y if x > 0 else None,
    "OP_CONSTPOW": lambda x, y: x ** mpf(2.5) if x > 0 else None,
    "OP_SQRT": lambda x, y: mpmath.sqrt(x) if x > 0 else None,
    "OP_FLOOR": lambda x, y: mpmath.floor(x),
    "OP_CEIL": lambda x, y: mpmath.ceil(x),
    "OP_EXP": lambda x, y: mpmath.exp(x),
    "OP_LOG": lambda x, y: mpmath.log(x) if x > 0 else None,
    "OP_SIN": lambda x, y: mpmath.sin(x),
    "OP_COS": lambda x, y: mpmath.cos(x),
    "OP_TAN": lambda x, y: mpmath.tan(x),
    "OP_ASIN": lambda x, y: mpmath.asin(x) if abs(x) < 1 else None,
    "OP_ACOS": lambda x, y: mpmath.acos(x) if abs(x) < 1 else None,
    "OP_ATAN": lambda x, y: mpmath.atan(x),
    "OP_SINH": lambda x, y: mpmath.sinh(x),
    "OP_COSH": lambda x, y: mpmath.cosh(x),
    "OP_TANH": lambda x, y: mpmath.tanh(x),
    "OP_ASINH": lambda x, y: mpmath.asinh(x),
    "OP_ACOSH": lambda x, y: mpmath.acosh(x) if x > 1 else None,
    "OP_ATANH": lambda x, y: mpmath.atanh(x) if abs(x) < 1 else None,
    "OP_ERF": lambda x, y: mpmath.erf(x),
    "OP_ERFINV": lambda x, y: mpmath.erfinv(x) if abs(x) < 1 else None,
    "OP_LOG1P": lambda x, y: mpmath.log1p(x) if x > -1 else None,
    "OP_EXPM1": lambda x, y: mpmath.expm1(x),
    "OP_FMOD": lambda x, y: mpmath.sign(x) * (abs(x) - abs(y) * mpmath.floor(abs(x) / abs(y))),
    "OP_REMAINDER": lambda x, y: x - y * mpmath.nint(x / y),
    "OP_ATAN2": lambda x, y: mpmath.atan2(x, y),
    "OP_HYPOT": lambda x, y: mpmath.hypot(x, y),
    "OP_COPYSIGN": lambda x, y: abs(x) * mpmath.sign(y),
    "OP_LT": lambda x, y: mpf(x < y),
    "OP_LE": lambda x, y: mpf(x <= y),
    "OP_EQ": lambda x, y: mpf(x == y),
    "OP_NE": lambda x, y: mpf(x != y),
    "OP_NOT": lambda x, y: mpf(x == 0),
    "OP_AND": lambda x, y: mpf(x != 0 and y != 0),
    "OP_OR": lambda x, y: mpf(x != 0 or y != 0),
    "OP_IF_ELSE_ZERO": lambda x, y: y,
}
"""The operations of two numbers that are not 0, in mpmath; None where there is no result."""


def test_references_are_complete() -> None:
    assert set(KNOWN) - set(REFERENCES) <= {"OP_CONST", "OP_INPUT", "OP_OUTPUT", "OP_ASSIGN", "OP_LIFT"}


@pytest.mark.parametrize("name", REFERENCES)
def test_operations_in_200_bits_agree_with_mpmath(name: str) -> None:
    """To rounding in the last of 200 bits, where mpmath has 600; numbers of up to 200 bits."""
    program, rng = Program.of(name, function(name)), np.random.default_rng(3)
    tried = 0
    with HIGH.context():
        pairs = [
            [gmpy2.mpfr(a) + gmpy2.mpfr(b) * gmpy2.exp2(gmpy2.mpfr(-60)) for a, b in rng.normal(size=(2, 2)) * scale]
            for scale in (1e-12, 1e-3, 0.3, 1.0, 20.0)
            for _ in range(20)
        ]
    with mpmath.workprec(3 * BITS):
        for x, y in pairs:
            expected = REFERENCES[name](as_mpmath(x), as_mpmath(y))
            if expected is not None:
                (got,) = program.evaluate(x, y, numbers=HIGH)
                tried += 1
                assert abs(as_mpmath(got[0, 0]) - expected) <= mpf(2) ** (-BITS) * abs(expected), f"{name}({x}, {y})"
    assert tried >= 8


@pytest.mark.parametrize("bits", [53, 200, 1000])
def test_inverse_error_function_near_one(bits: int) -> None:
    """Where 1 - x has few digits left, and where x is small; ±inf at ±1 and NaN beyond, of both signs."""
    with HighPrecision(bits).context(), mpmath.workprec(4 * bits):
        tiny = [gmpy2.exp2(gmpy2.mpfr(-k)) for k in (1, 2, 5, 20, bits - 1, bits)]
        for x in [*(1 - t for t in tiny), *tiny, gmpy2.exp2(gmpy2.mpfr(-4 * bits))]:
            y = inverse_error_function(x)
            assert inverse_error_function(-x) == -y
            if x < 1:
                value, slope = as_mpmath(y), 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-(as_mpmath(y) ** 2))
                error = (mpmath.erf(value) - as_mpmath(x)) / slope
                assert abs(error) <= mpf(2) ** (-bits) * abs(value), x
        special = [inverse_error_function(gmpy2.mpfr(x)) for x in (1, -1, 2, -2, "nan", "inf", 0)]
    np.testing.assert_array_equal(to_float64(special), [np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan, 0.0])


@pytest.mark.parametrize("mode", [FORWARD, REVERSE], ids=["forward", "reverse"])
@pytest.mark.parametrize("name", CASES)
def test_selections_are_those_of_compiled_code(name: str, mode: Mode) -> None:
    """Values, derivatives and second derivatives, with NaN in the same places: products with truth values select."""
    f = make(name, mode)
    program, points = Program.of(name, f), [np.concatenate(p) for p in zip(POINTS, AT_THE_EDGE)]
    compiled = run_function(f, points)
    for t, point in enumerate(zip(*points)):
        for got, expected in zip(program.evaluate(*point, numbers=HighPrecision(53)), compiled):
            np.testing.assert_allclose(to_float64(got).ravel(), expected[t], rtol=1e-13, atol=1e-13)


# Steps


def integers(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Integers of 90 bits, too long for a double."""
    numbers = [int.from_bytes(rng.bytes(11), "little", signed=True) * 5 + 1 for _ in range(rows * columns)]
    return np.array(numbers, dtype=object).reshape(rows, columns)


def test_products_and_sums_are_exact_if_there_are_enough_bits(rng: np.random.Generator) -> None:
    """All kinds of products of integers, with groups left out, against Python's integers."""
    program = Program("products")
    a, b, c, active = program.input(4, 5), program.input(5, 3), program.input(4, 3), program.input(4)
    x = SX.sym("x", 4, 3)
    groups = Groups(((0, 1), (1, 3), (3, 4)), active)
    (copy,) = program.call(ca.Function("twice", [x], [2 * x]), c)
    plain, from_c = program.matmul(a, b), program.matmul(a, b, initial=c, subtract=True)
    chosen = program.matmul(a, b, rows=groups)
    program.accumulate(copy, a, b, rows=groups)
    gram = program.matmul(c, copy, transpose_a=True, inner=groups)
    program.accumulate(gram, b, b, transpose_a=True, symmetric=True, subtract=True)
    program.add(plain, c, rows=groups)
    program.output(plain, from_c, chosen, copy, gram)
    A, B, C = integers(rng, 4, 5), integers(rng, 5, 3), integers(rng, 4, 3)
    on = np.array([[0], [0], [3], [0]], dtype=object)  # the middle group matters
    mask = np.array([[0], [1], [1], [0]], dtype=object)
    got = program.evaluate(A, B, C, on, numbers=HighPrecision(400))
    added = 2 * C + mask * (A @ B)
    expected = [A @ B + mask * C, C - A @ B, mask * (A @ B), added, C.T @ (mask * added) - B.T @ B]
    for value, exact in zip(got, expected, strict=True):
        assert value.shape == exact.shape
        assert [int(v) for v in value.ravel()] == exact.ravel().tolist()
        assert all(v == int(v) for v in value.ravel())


def test_a_runge_kutta_step_of_a_linear_system_is_its_taylor_polynomial() -> None:
    """x' = A x: the derivative is I + hA + (hA)²/2 + (hA)³/6 + (hA)⁴/24, here in fractions."""
    n, h = 3, Fraction(1, 4)
    A = [[Fraction(a, 8) for a in row] for row in ((0, 8, 0), (-13, -1, 3), (5, 0, 2))]
    one = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    expected, power = np.array(one), np.array(one)
    for k in range(1, 5):
        power = power @ np.array(A) * h / k
        expected = expected + power
    program, sx = Program("rk4"), SX.sym("x", n)
    field = ca.Function("field", [sx], [ca.mtimes(SX(np.array(A, dtype=float)), sx), SX(np.array(A, dtype=float))])
    x, identity = program.input(n), program.input(n, n)
    scales = [program.input(n, n) for _ in range(2)]  # h/2 I and h I
    total, y, Y = [], x, identity
    for scale in (scales[0], scales[0], scales[1], None):
        f, J = program.call(field, y)
        K = program.matmul(J, Y)
        total.append((f, K))
        if scale is not None:
            y, Y = program.matmul(scale, f, initial=x), program.matmul(scale, K, initial=identity)
    weights = [program.input(n, n) for _ in range(2)]  # h/6 I and h/3 I
    (xnext,), (F,) = (program.call(_copy(a.shape), a) for a in (x, identity))
    for weight, (f, K) in zip((weights[0], weights[1], weights[1], weights[0]), total):
        program.accumulate(xnext, weight, f)
        program.accumulate(F, weight, K)
    program.output(xnext, F)
    diagonals = [[[c * d for d in row] for row in one] for c in (h / 2, h, h / 6, h / 3)]
    point = [Fraction(1, 3), Fraction(-2, 7), Fraction(5)]
    values = [np.array(v, dtype=object) for v in (point, one, *diagonals)]
    got_x, got_F = program.evaluate(*values, numbers=HIGH)
    with HIGH.context():
        for got, exact in ((got_F, expected), (got_x[:, 0], expected @ np.array(point))):
            assert max(abs(a - gmpy2.mpfr(b)) for a, b in zip(got.ravel(), exact.ravel())) < 1e-59


def _copy(shape: tuple[int, int]) -> ca.Function:
    x = SX.sym("x", *shape)
    return ca.Function("copy", [x], [x])


def test_iterations_reach_the_requested_precision() -> None:
    """A root by Newton's method, with the tolerance an input; what is left where the limit is too small."""
    x, a, tolerance = SX.sym("x"), SX.sym("a"), SX.sym("tolerance")
    better = (x + a / x) / 2
    error = ca.fabs(better * better - a) / a
    body = Program.of("newton", ca.Function("f", [x, a, tolerance], [better, ca.if_else(error > tolerance, error, 0)]))
    for limit, done in ((20, True), (4, False)):
        program = Program("root")
        given, tolerance_array = program.input(1), program.input(1)
        (start,) = program.call(_copy((1, 1)), given)
        left = program.iterate(body, (start,), (given, tolerance_array), limit=limit)
        program.output(start, left)
        root, rest = (v[0, 0] for v in program.evaluate(2, "1e-58", numbers=HIGH))
        with HIGH.context():
            assert (abs(root - gmpy2.sqrt(gmpy2.mpfr(2))) < 1e-57) == done
        assert (rest == 0) == done
        assert rest == 0 or 1e-58 < rest < 1


@pytest.mark.parametrize("n", [1, 2, 7])
def test_factors_and_solutions(n: int, rng: np.random.Generator) -> None:
    """A x = b to rounding, and NaN of a matrix that is not positive definite."""
    program = Program("solve")
    A, b = program.input(n, n), program.input(n, 3)
    program.output(program.solve(program.factor(A), b))
    root, right = integers(rng, n, n), integers(rng, n, 3)
    matrix = root @ root.T
    (x,) = program.evaluate(matrix, right, numbers=HighPrecision(400))
    with HighPrecision(400).context():
        residual = np.abs(matrix @ x - right).max() / np.abs(right).max()
    assert residual < 1e-100
    (failed,) = program.evaluate(-matrix, right, numbers=HIGH)
    assert np.isnan(to_float64(failed)).all()


# Robots


def forward_dynamics(model: pin.Model) -> Program:
    """(q, v, tau) -> a."""
    q, v, tau = SX.sym("q", model.nq), SX.sym("v", model.nv), SX.sym("tau", model.nv)
    return Program.of("aba", ca.Function("aba", [q, v, tau], [RobotExpressions(model, q, v).forward_dynamics(tau)]))


@pytest.mark.parametrize("name", ["planar-2r", "cart-pole", "ur5", "panda", "small-quadruped", "small-biped"])
def test_forward_dynamics_of_robots(name: str, rng: np.random.Generator) -> None:
    """Doubles agree to 1e-12, 200 bits with 400 to 1e-55, relative to the largest acceleration."""
    model = load_robot(name).model
    program = forward_dynamics(model)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    values = (q, rng.normal(size=model.nv), 10 * rng.normal(size=model.nv))
    (double,) = program.evaluate(*values)
    (high,), (higher,) = (program.evaluate(*values, numbers=HighPrecision(bits)) for bits in (200, 400))
    with HighPrecision(400).context():
        size = np.abs(higher).max()
        assert np.abs(double - high).max() <= 1e-12 * size
        assert 0 < np.abs(high - higher).max() <= 1e-55 * size


# Doors


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        (52, "bits: expected 53 .a double. to 1000000, got 52"),
        (-1, "bits: expected 53"),
        (10**9, "to 1000000, got 1000000000"),
        (200.0, "bits: expected an integer, got 200.0; 200 bits are 60 decimal digits"),
        ("200", "bits: expected an integer, got '200'"),
        (True, "bits: expected an integer, got True"),
        (None, "bits: expected an integer, got None"),
    ],
)
def test_precisions_that_do_not_exist(bits: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        HighPrecision(bits)


@pytest.mark.parametrize("value", ["abc", 1j, None])
def test_values_that_are_no_numbers(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="values: expected real numbers, fractions, mpfr, or decimals"):
        Program.of("f", function("OP_SIN")).evaluate(value, 1.0, numbers=HIGH)


KINDS: dict[str, tuple[Any, Fraction]] = {
    "double": (0.1, Fraction(0.1)),
    "single": (np.float32(0.1), Fraction(float(np.float32(0.1)))),
    "integer": (10**40 + 1, Fraction(10**40 + 1)),
    "integers": (np.array([2**62 + 1]), Fraction(2**62 + 1)),
    "objects": (np.array([np.float64(0.5)], dtype=object), Fraction(1, 2)),
    "truth value": (True, Fraction(1)),
    "text": ("0.1", Fraction(1, 10)),
    "fraction": (Fraction(1, 3), Fraction(1, 3)),
    "mpfr": (gmpy2.mpfr("0.1", 150), Fraction(*gmpy2.mpfr("0.1", 150).as_integer_ratio())),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_inputs(kind: str) -> None:
    """Rounded to the precision, not to a double before."""
    value, exact = KINDS[kind]
    (got,) = Program.of("copy", _copy((1, 1))).evaluate(value, numbers=HIGH)
    for number in (got[0, 0], HIGH.array(value, (1,))[0]):
        assert abs(Fraction(*map(int, number.as_integer_ratio())) - exact) <= abs(exact) / 2**BITS


def test_the_callers_context_neither_matters_nor_changes() -> None:
    x = SX.sym("x")
    program = Program.of("third", ca.Function("third", [x], [x / 3, ca.pi * SX(1)]))
    with gmpy2.context(precision=60, round=gmpy2.RoundUp) as mine:
        third, pi = program.evaluate(1, numbers=HIGH)
        assert gmpy2.get_context().precision == mine.precision == 60
    assert third[0, 0].precision == 200
    assert abs(Fraction(*map(int, third[0, 0].as_integer_ratio())) - Fraction(1, 3)) <= Fraction(1, 2**202)
    assert to_float64(pi)[0, 0] == pi[0, 0] == math.pi


def test_arrays_without_elements_and_structural_zeros() -> None:
    x = SX.sym("x", 2)
    f = ca.Function("f", [x, SX(0, 1)], [ca.vertcat(x[1], SX(1, 1)), SX(0, 3)])
    program = Program.of("f", f)
    empty = program.matmul(program.input(2, 0), program.input(0, 3))
    program.output(empty)
    values = [np.array([1, 2]), np.zeros((0, 1)), np.zeros((2, 0)), np.zeros((0, 3))]
    for got, shape in zip(program.evaluate(*values, numbers=HIGH), ((2, 1), (0, 3), (2, 3)), strict=True):
        assert got.shape == shape
        assert all(isinstance(v, type(gmpy2.mpfr(0))) for v in got.ravel())
    assert to_float64(program.evaluate(*values, numbers=HIGH)[0]).tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize("build", [lambda: HighPrecision(200), lambda: HighPrecision(np.int64(200))])
def test_the_same_precision_is_the_same(build: Callable[[], HighPrecision]) -> None:
    assert build() == HIGH
    assert hash(build()) == hash(HIGH)
    assert repr(HIGH) == "HighPrecision(bits=200)"
