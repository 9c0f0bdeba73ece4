"""Programs that are repeated lane by lane: when a lane ends, alone among others, and one inside another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.kernels.test_steps import Given
from tests.support.kernel_runner import ALL_WIDTHS, Reals, assert_same_bits, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Array, Program, Step, kernel
from trajopt.kernels.entry import EntryWriter
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.precision import HighPrecision
from trajopt.kernels.steps import Iteration, ValuesByNumber

T = 13  # whole blocks of knots, and one that is not full
WIDTHS = ALL_WIDTHS


def counting() -> Program:
    """Of (count, value), n and trap: counts to n and turns `value` each time; left is NaN when count is at the trap."""
    count, value, n, trap = (SX.sym(name) for name in ("count", "value", "n", "trap"))
    after = count + 1
    left = ca.if_else(after == trap, np.nan, ca.if_else(after < n, n - after, 0))
    return Program.of("body", ca.Function("count", [count, value, n, trap], [after, ca.sin(value) + after, left]))


def copied(program: Program, *arrays: Array) -> list[Array]:
    """Copies of arrays, as starts."""
    symbols = [SX.sym("x", *array.shape) for array in arrays]
    return list(program.call(ca.Function("copy", symbols, symbols), *arrays))


def counted(limit: int = 40) -> Program:
    """Outputs (count, value, left) of `counting`, for inputs (value, n, trap)."""
    program = Program("counted")
    value, n, trap = (program.input(1) for _ in range(3))
    (zero,) = program.call(ca.Function("zero", [], [SX(ca.DM.zeros(1, 1))]))
    state = [zero, *copied(program, value)]
    left = program.iterate(counting(), state, [n, trap], limit=limit)
    program.output(*state, left)
    return program


def evaluated(program: Program, inputs: list[Reals]) -> list[Reals]:
    """Outputs (T, size) of `Program.evaluate`."""
    values = [program.evaluate(*rows) for rows in zip(*inputs, strict=True)]
    return [np.array([v[i].ravel() for v in values]) for i in range(len(program.outputs))]


def column(*values: float) -> Reals:
    return np.array(values, dtype=np.float64)[:, None]


PASSES = column(1, 30, 2, 7, 3, 30, 1, 12, 5, 1, 19, 2, 8)


def lanes(trap: float = 0.0) -> list[Reals]:
    """Inputs of `counted`: each lane has a number of passes of its own."""
    return [np.linspace(-1, 1, T)[:, None], PASSES.copy(), np.full((T, 1), float(trap))]


@pytest.mark.parametrize("width", WIDTHS)
def test_each_lane_makes_its_own_number_of_passes(width: int) -> None:
    """Those that are done keep the bits that they had then: the body would count on, and turn the value."""
    program = counted()
    got = run_kernel(kernel(program, width), lanes())
    assert_same_bits(got, evaluated(program, lanes()))
    count, value, left = got
    np.testing.assert_array_equal(count, PASSES)
    assert not left.any()
    expected = lanes()[0]
    for k in range(1, 31):
        expected = np.where(k <= PASSES, np.sin(expected) + k, expected)
    np.testing.assert_allclose(value, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_lanes_do_not_affect_each_other(seed: int) -> None:
    """Alone, among others in any order, and beside lanes that fail, it has the same bits."""
    program, inputs = counted(), lanes()
    alone = [run_kernel(kernel(program, 8), [v[t : t + 1] for v in inputs]) for t in range(T)]
    expected = [np.concatenate([a[i] for a in alone]) for i in range(3)]
    order = np.random.default_rng(seed).permutation(T)
    for width in WIDTHS:
        got = run_kernel(kernel(program, width), [v[order] for v in inputs])
        assert_same_bits(got, [v[order] for v in expected])
    inputs[2][order[:4]] = 1.0
    others = order[4:]
    got = run_kernel(kernel(program, 8), inputs)
    assert_same_bits([v[others] for v in got], [v[others] for v in expected])
    assert np.all(np.isnan(got[2][order[:4]]))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_lane_whose_measure_is_nan_ends_and_fails_alone(width: int) -> None:
    program, inputs = counted(), lanes(trap=4)
    got = run_kernel(kernel(program, width), inputs)
    assert_same_bits(got, evaluated(program, inputs))
    failed = PASSES >= 4
    np.testing.assert_array_equal(got[0], np.where(failed, 4, PASSES))
    np.testing.assert_array_equal(np.isnan(got[2]), failed)
    assert not got[2][~failed].any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_limit_gives_what_is_left_as_the_status(limit: int, width: int) -> None:
    program = counted(limit)
    assert program.status == program.outputs[2]
    got = run_kernel(kernel(program, width), lanes())
    assert_same_bits(got, evaluated(program, lanes()))
    np.testing.assert_array_equal(got[0], np.minimum(PASSES, limit))
    np.testing.assert_array_equal(got[2], np.maximum(PASSES - limit, 0))


@dataclass(frozen=True)
class Passes(Step):
    """Adds 1 to an array that it does not claim to write: no step may do that, but so one sees how often it runs."""

    count: Array
    result: Array

    reads = property(lambda self: (self.count,))
    writes = property(lambda self: (self.result,))
    content = property(lambda self: (self.count.number, self.result.number))
    work = property(lambda self: 1)

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        raise NotImplementedError

    def write(self, writer: EntryWriter) -> None:
        real, align, name = writer.lanes.real, writer.lanes.align, writer.name("%passes")
        writer.do(
            f"{name} = load {real}, {writer.address(self.count)}, align {align}",
            f"{name}.sum = fadd {real} {writer.lanes.constant(1.0)}, {name}",
            f"store {real} {name}.sum, {writer.address(self.count)}, align {align}",
            f"store {real} {name}.sum, {writer.address(self.result)}, align {align}",
        )


@pytest.mark.parametrize("width", WIDTHS)
def test_iteration_ends_with_the_slowest_lane_of_a_block(width: int) -> None:
    """As many passes are made as the slowest lane of a block needs."""
    body = Program("body")
    count, n, passes = (body.input(1) for _ in range(3))
    body.add_step(Passes(passes, body.array(1)))
    x, y = SX.sym("x"), SX.sym("y")
    left = ca.if_else(x + 1 < y, y - x, ca.if_else(y == 12, np.nan, 0))
    body.output(*body.call(ca.Function("f", [x, y], [x + 1, left]), count, n))
    program = Program("passes")
    state, passes = copied(program, *[program.input(1) for _ in range(2)])
    n = program.input(1)
    program.output(program.iterate(body, [state], [n, passes], limit=40), passes)
    status, made = run_kernel(kernel(program, width), [np.zeros((T, 1)), np.zeros((T, 1)), PASSES])
    np.testing.assert_array_equal(np.isnan(status), PASSES == 12)
    slowest = [PASSES[t - t % width :][:width].max() for t in range(T)]
    np.testing.assert_array_equal(made[:, 0], slowest)


def test_an_infinite_measure_goes_on() -> None:
    x = SX.sym("x")
    program = Program("infinite")
    state = copied(program, program.input(1))
    left = program.iterate(
        Program.of("body", ca.Function("f", [x], [x + 1, ca.if_else(x < 5, ca.inf, 0)])), state, limit=9
    )
    program.output(*state, left)
    for width in WIDTHS:
        x_end, status = run_kernel(kernel(program, width), [column(0, 3, -10)])
        np.testing.assert_array_equal(x_end, column(6, 6, -1))
        np.testing.assert_array_equal(status, column(0, 0, np.inf))


def root() -> Program:
    """A body: x = (x + s / x) / 2 until x² is s, with x and s (1, 1)."""
    x, s, tolerance = SX.sym("x"), SX.sym("s"), SX.sym("tolerance")
    better = (x + s / x) / 2
    error = ca.fabs(better * better - s)
    left = ca.if_else(error <= tolerance * s, 0, error)
    return Program.of("root", ca.Function("root", [x, s, tolerance], [better, left]))


def nested(limit: int = 30) -> Program:
    """A body: x = sqrt(1 + x), with the square root as an iteration inside; tends to the golden ratio."""
    body = Program("nested")
    x, tolerance = body.input(1), body.input(1)
    a, y = SX.sym("a"), SX.sym("y")
    start, square = body.call(ca.Function("start", [a], [SX(1) + 0 * a, 1 + a]), x)
    body.iterate(root(), [start], [square, tolerance], limit=limit)
    (left,) = body.call(ca.Function("left", [a, y], [ca.if_else(ca.fabs(a - y) <= 1e-9, 0, ca.fabs(a - y))]), x, start)
    body.output(start, left)
    return body


def golden(limit: int, inner_limit: int) -> Program:
    program = Program("golden")
    start, tolerance = program.input(1), program.input(1)
    state = copied(program, start)
    left = program.iterate(nested(inner_limit), state, [tolerance], limit=limit)
    program.output(*state, left)
    return program


STARTS = [np.linspace(0.0, 1000.0, T)[:, None], np.full((T, 1), 1e-14)]


@pytest.mark.parametrize("width", WIDTHS)
def test_an_iteration_in_an_iteration(width: int) -> None:
    program = golden(40, 30)
    got = run_kernel(kernel(program, width), STARTS)
    assert_same_bits(got, evaluated(program, STARTS))
    np.testing.assert_allclose(got[0], (1 + np.sqrt(5)) / 2, rtol=1e-9)
    assert not got[1].any()


@pytest.mark.parametrize("width", WIDTHS)
def test_an_iteration_that_fails_inside_is_not_done(width: int) -> None:
    """The outer measure may be zero: what is left inside is added to it; NaN ends both."""
    inputs = [v.copy() for v in STARTS]
    inputs[1][4:] = -1.0  # no inner one is ever done
    inputs[0][6] = np.nan
    program = golden(40, 60)
    got = run_kernel(kernel(program, width), inputs)
    assert_same_bits(got, evaluated(program, inputs))
    assert_same_bits([v[:4] for v in got], [v[:4] for v in run_kernel(kernel(program, width), STARTS)])
    assert np.isnan(got[1][6, 0])
    residual = np.abs(got[0] ** 2 - 1 - got[0])
    unfinished = [t for t in range(4, T) if t != 6]
    assert np.all(residual[unfinished] < 1e-8)


def test_a_status_inside_is_added_to_the_measure() -> None:
    x = SX.sym("x")
    for status, expected in ((0.0, 0.0), (0.25, 0.25), (np.inf, np.inf), (np.nan, np.nan)):
        body = Program("failing")
        start, given = body.input(1), body.input(1)
        body.add_step(Given(given, body.array(1)))
        body.output(*body.call(ca.Function("f", [x], [x + 1, 0 * x]), start))
        program = Program("outer")
        value, failure = program.input(1), program.input(1)
        state = copied(program, value)
        program.output(program.iterate(body, state, [failure], limit=3), *state)
        assert len(body.outputs) == 2  # the body that was given stays as it is
        for width in WIDTHS:
            left, count = run_kernel(kernel(program, width), [column(0), column(status)])
            np.testing.assert_array_equal(left, column(expected))
            np.testing.assert_array_equal(count, column(3 if expected > 0 else 1))


def matrices() -> Program:
    """A body of every kind of step: Newton's method for the minimum of Σ cosh(x) + ½ xᵀ Q x - cᵀ x, x (3, 1)."""
    body = Program("newton")
    x, Q, c = body.input(3), body.input(3, 3), body.input(3)
    point, slope, weights = SX.sym("x", 3), SX.sym("slope", 3), SX.sym("Q", 3, 3)
    gradient, H = body.call(
        ca.Function("f", [point, weights], [ca.sinh(point), weights + ca.diag(ca.cosh(point))]), x, Q
    )
    body.add(gradient, body.matmul(Q, x))
    (rest,) = body.call(ca.Function("rest", [point, slope], [point - slope]), c, gradient)
    step = body.solve(body.factor(H), rest)
    size = ca.norm_inf(slope)
    after, left = body.call(
        ca.Function("after", [point, slope], [point + slope, ca.if_else(size <= 1e-12, 0, size)]), x, step
    )
    body.output(after, left)
    return body


def minimum() -> Program:
    program = Program("minimum")
    x, Q, c = program.input(3), program.input(3, 3), program.input(3)
    state = copied(program, x)
    left = program.iterate(matrices(), state, [Q, c], limit=50)
    program.output(*state, left)
    return program


def test_bodies_of_every_kind_of_step() -> None:
    """Both widths have the same bits; the evaluator differs by rounding."""
    rng = np.random.default_rng(5)
    x, Z, c = rng.normal(size=(T, 3)) * 3, rng.normal(size=(T, 3, 3)), rng.normal(size=(T, 3)) * 10
    inputs = [x, (Z @ Z.swapaxes(1, 2)).reshape(T, 9), c]
    program = minimum()
    wide, narrow = (run_kernel(kernel(program, width), inputs) for width in (8, 1))
    assert_same_bits(wide, narrow)
    assert not wide[1].any()
    gradient = np.sinh(wide[0]) + np.einsum("tij,tj->ti", Z @ Z.swapaxes(1, 2), wide[0]) - c
    np.testing.assert_allclose(gradient, 0, atol=1e-11)
    np.testing.assert_allclose(evaluated(program, inputs)[0], wide[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
def test_structural_zeros_of_the_state(width: int) -> None:
    """Of a start and of a body that write a diagonal only; room that nobody has written is NaN here."""
    x, n = SX.sym("x", 3, 3), SX.sym("n")
    diagonal = ca.project(x, ca.Sparsity.diag(3))
    left = ca.if_else(x[0, 0] < n, n - x[0, 0], 0)
    body = Program.of("body", ca.Function("f", [x, n], [ca.project(x + SX.eye(3), ca.Sparsity.diag(3)), left]))
    program = Program("diagonal")
    start, end = program.input(3, 3), program.input(1)
    (state,) = program.call(ca.Function("start", [x], [diagonal]), start)
    program.iterate(body, [state], [end], limit=40)
    program.output(state)
    (got,) = run_kernel(kernel(program, width), [np.full((T, 9), 0.5), PASSES])
    expected = np.where(np.eye(3, dtype=bool).ravel(), PASSES + 1.5, 0.0)
    np.testing.assert_array_equal(got, expected)


def test_more_digits_on_request() -> None:
    """A tolerance that is an array may ask for more than doubles hold; the golden ratio solves x² = x + 1."""
    numbers = HighPrecision(200)
    program = Program("golden")
    square, tolerance = program.input(1), program.input(1)
    state = copied(program, square)
    left = program.iterate(root(), state, [square, tolerance], limit=30)
    program.output(*state, left)
    ((x,),), ((rest,),) = program.evaluate(2.0, "1e-55", numbers=numbers)
    with numbers.context():
        assert rest == 0
        assert abs(x * x - 2) < 1e-54
    ((x,),), ((rest,),) = program.evaluate(2.0, 1e-12)
    assert rest == 0
    assert abs(x - np.sqrt(2)) < 1e-12


def test_a_body_may_be_used_again() -> None:
    """In one program, where both share its code, and in another one."""
    body = root()
    program = Program("twice")
    s, tolerance = program.input(1), program.input(1)
    first, second = copied(program, s, s)
    program.iterate(body, [first], [s, tolerance], limit=30)
    program.iterate(body, [second], [first, tolerance], limit=30)
    program.output(first, second)
    assert len(program.functions) == 3  # copy, root, worse
    for width in WIDTHS:
        got = run_kernel(kernel(program, width), [column(2.0, 81.0), np.full((2, 1), 1e-15)])
        np.testing.assert_allclose(np.hstack(got), np.array([[2.0, 81.0]]).T ** [0.5, 0.25], rtol=1e-15)
    other = Program("other")
    s, tolerance = other.input(1), other.input(1)
    (start,) = copied(other, s)
    other.iterate(body, [start], [s, tolerance], limit=30)
    assert other.steps[-1].programs == (body,)


def refused(make: Callable[[Program, Array, Program], object]) -> None:
    program = Program("refused")
    inputs = [program.input(1) for _ in range(3)]
    (start,) = copied(program, inputs[0])
    make(program, start, counting())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p, s, b: p.iterate(b, [s], p.inputs[1:], limit=3), "body: expected inputs of the shapes"),
        (lambda p, s, b: p.iterate(b, [s, s], p.inputs[1:], limit=3), "state, given: expected different arrays"),
        (lambda p, s, b: p.iterate(b, [s, *p.inputs[:1]], p.inputs[1:], limit=3), "writes: expected no input"),
        (lambda p, s, b: p.iterate(b, [s, p.array(1)], p.inputs[1:], limit=3), "reads: no earlier step writes"),
        (lambda p, s, b: p.iterate(b, [s, *copied(p, s)], p.inputs[1:], limit=0), "limit: expected a whole number"),
        (lambda p, s, b: p.iterate(b, [s, *copied(p, s)], p.inputs[1:], limit=True), "limit: expected a whole number"),
        (
            lambda p, s, b: p.iterate(b, [s], [*p.inputs[1:], p.inputs[0]], limit=3),
            "body: expected outputs .* of program 'body'",
        ),
    ],
)
def test_iterations_that_do_not_fit_are_refused(make: Callable[..., object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        refused(make)


def test_a_body_is_final() -> None:
    """And iterations of it are equal to others with the same arrays only."""
    program = counted()
    (step,) = [s for s in program.steps if isinstance(s, Iteration)]
    with pytest.raises(InvalidArgumentError, match="got one with a kernel"):
        step.body.input(1)
    assert step == replace(step)
    assert step.work == 40 * step.body.work
