"""A kind of step that the room does not know: a Newton iteration in lanes, which may fail in some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, assert_same_bits, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Array, Kernel, Program, Step, compilations, emission, forget, kernel
from trajopt.kernels.builder import Builder
from trajopt.kernels.entry import EntryWriter
from trajopt.kernels.instructions import read_instructions
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.steps import ValuesByNumber


@dataclass(frozen=True)
class Cubic(Step):
    """z³ + a z = b by Newton's method from `start`; a lane that is done keeps its bits."""

    a: Array
    b: Array
    start: Array
    z: Array
    failed: Array
    limit: int = 20

    reads = property(lambda self: (self.a, self.b, self.start))
    writes = property(lambda self: (self.z, self.failed))
    status = property(lambda self: self.failed)
    content = property(lambda self: (*(x.number for x in (*self.reads, *self.writes)), self.limit))
    work = property(lambda self: 12 * self.limit)

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        a, b, z = (values[x.number][0, 0] for x in self.reads)
        with np.errstate(all="ignore"):
            for _ in range(self.limit):
                if not abs(residual := z * z * z + a * z - b) <= 1e-12:
                    z = z - residual / (3.0 * z * z + a)
            residual = abs(z * z * z + a * z - b)
        values[self.z.number] = np.array([[z]])
        values[self.failed.number] = np.array([[0.0 if residual <= 1e-12 else residual]])

    def write(self, writer: EntryWriter) -> None:
        symbol, real, mask = f"cubic_{self.limit}_{writer.width}", writer.lanes.real, writer.lanes.mask
        fabs, align, number = writer.intrinsic("fabs", 1), writer.lanes.align, writer.lanes.constant
        b = Builder(f"define internal void @{symbol}(ptr %a, ptr %b, ptr %start, ptr %z, ptr %failed)")
        a, right, start = (b.load(address, real, align) for address in ("%a", "%b", "%start"))

        def op(name: str, x: str, y: str) -> str:
            return b.op(f"{name} {real} {x}, {y}")

        def residual(z: str) -> tuple[str, str, str]:
            value = op("fsub", op("fadd", op("fmul", op("fmul", z, z), z), op("fmul", a, z)), right)
            size = b.op(f"call {real} @{fabs}({real} {value})")
            return value, size, b.op(f"fcmp ole {real} {size}, {number(1e-12)}")

        with b.loop(0, self.limit, carried=[(real, start)]) as loop:
            z = loop.values[0]
            value, _, done = residual(z)
            slope = op("fadd", op("fmul", op("fmul", number(3.0), z), z), a)
            better = op("fsub", z, op("fdiv", value, slope))
            loop.carry(b.op(f"select {mask} {done}, {real} {z}, {real} {better}"))
        _, size, done = residual(loop.results[0])
        b.store(loop.results[0], "%z", real, align)
        b.store(b.op(f"select {mask} {done}, {real} {number(0.0)}, {real} {size}"), "%failed", real, align)
        writer.define(symbol, b.text())
        writer.call(symbol, *self.reads, *self.writes)


def solve(program: Program, a: Array, b: Array, start: Array, limit: int = 20) -> Array:
    """Adds the step, and returns z."""
    step = Cubic(a, b, start, program.array(1), program.array(1), limit)
    program.add_step(step)
    return step.z


def two_roots() -> Program:
    """The same equation with twice the right-hand side starts at the first solution; sqrt of that is one step more."""
    program = Program("two roots")
    a, b, start = (program.input(1) for _ in range(3))
    x = SX.sym("x")
    (double,) = program.call(ca.Function("double", [x], [2 * x]), b)
    first = solve(program, a, b, start)
    second = solve(program, a, double, first)
    (root,) = program.call(ca.Function("root", [x], [ca.sqrt(x)]), second)
    assert program.status is not None
    program.output(first, second, root, program.status)
    return program


T = 13
RNG = np.random.default_rng(0)
INPUTS = [RNG.uniform(0.5, 2.0, (T, 1)), RNG.uniform(0.1, 3.0, (T, 1)), RNG.uniform(0.0, 1.0, (T, 1))]


def expected(program: Program, inputs: list[np.ndarray]) -> list[np.ndarray]:
    values = [program.evaluate(*(v[t] for v in inputs)) for t in range(T)]
    return [np.array([v[i].ravel() for v in values]) for i in range(len(program.outputs))]


@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_lanes_agree_with_the_reference(width: int) -> None:
    """To the bit: lanes that are done wait for the others."""
    program = two_roots()
    got = run_kernel(kernel(program, width), INPUTS)
    assert_same_bits(got, expected(program, INPUTS))
    first, second, root, status = got
    np.testing.assert_allclose(first**3 + INPUTS[0] * first, INPUTS[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(second**3 + INPUTS[0] * second, 2 * INPUTS[1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(root, np.sqrt(second))
    assert not status.any()


ACCIDENTS: dict[str, tuple[float, float, float]] = {
    "no solution in time": (-1.0, -1e30, 1e-3),
    "slope zero": (-3.0, 7.0, 1.0),
    "not a number": (np.nan, 1.0, 0.0),
    "infinite": (1.0, np.inf, 0.0),
}


@pytest.mark.parametrize("width", ALL_WIDTHS)
@pytest.mark.parametrize("accident", ACCIDENTS)
def test_a_lane_that_fails_disturbs_no_other(accident: str, width: int) -> None:
    program, inputs = two_roots(), [v.copy() for v in INPUTS]
    good = run_kernel(kernel(program, width), inputs)
    for array, value in zip(inputs, ACCIDENTS[accident]):
        array[3] = value
    got = run_kernel(kernel(program, width), inputs)
    assert_same_bits(got, expected(program, inputs))
    others = np.arange(T) != 3
    assert_same_bits([v[others] for v in got], [v[others] for v in good])
    status = got[3]
    assert not status[others].any()
    assert status[3] > 0 or np.isnan(status[3])
    if accident == "no solution in time":
        assert np.isfinite(status[3])


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        ((0.0, 0.0, 0.0), 0.0),
        ((0.0, 2.0, 1.0), 2.0),
        ((3.0, 2.0, 0.0), 3.0),
        ((0.0, np.inf, 1.0), np.inf),
        ((np.nan, 0.0, 0.0), np.inf),
        ((0.0, 1.0, np.nan), np.inf),
        ((np.nan, np.nan, 5.0), np.inf),
    ],
)
def test_status_of_a_program_is_the_worst_one(statuses: tuple[float, ...], worst: float) -> None:
    program = Program("worst")
    for given in [program.input(1) for _ in statuses]:
        program.add_step(Given(given, program.array(1)))
    assert program.status is not None
    program.output(program.status)
    assert program.evaluate(*statuses)[0] == worst
    for width in ALL_WIDTHS:
        (got,) = run_kernel(kernel(program, width), [np.full((T, 1), s) for s in statuses])
        assert np.all(got == worst)


@dataclass(frozen=True)
class Given(Step):
    """A status that is given."""

    value: Array
    result: Array
    sign: str = "fadd"

    reads = property(lambda self: (self.value,))
    writes = property(lambda self: (self.result,))
    status = property(lambda self: self.result)
    content = property(lambda self: (self.value.number, self.result.number))  # it does not tell the sign
    work = property(lambda self: 1)

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        values[self.result.number] = values[self.value.number].copy()

    def write(self, writer: EntryWriter) -> None:
        real, align, name = writer.lanes.real, writer.lanes.align, writer.name("%given")
        writer.do(f"{name} = load {real}, {writer.address(self.value)}, align {align}")
        writer.do(f"{name}.sum = {self.sign} {real} {writer.lanes.constant(-0.0)}, {name}")
        writer.do(f"store {real} {name}.sum, {writer.address(self.result)}, align {align}")


def test_a_step_whose_text_has_changed_gets_code_of_its_own() -> None:
    """Also from the disk cache: the source of other people's steps is part of no key, so their text is."""

    def result(sign: str) -> float:
        program = Program("given")
        step = Given(program.input(1), program.array(1), sign)
        program.add_step(step)
        program.output(step.result)
        return float(run_kernel(kernel(program, 8), [np.ones((T, 1))])[0][0, 0])

    assert [result("fadd"), result("fsub")] == [1.0, -1.0]
    forget()
    before = compilations()
    assert [result("fsub"), result("fadd")] == [-1.0, 1.0]
    assert compilations() == before


def test_programs_without_such_steps_have_no_status() -> None:
    program = Program("plain")
    program.output(program.matmul(program.input(2, 2), program.input(2, 2)))
    assert program.status is None


@dataclass(frozen=True)
class Reversed(Step):
    """Calls an expression on a vector in reverse order, which it puts together in its scratch."""

    call: Step
    vector: Array
    result: Array

    reads = property(lambda self: (self.vector,))
    writes = property(lambda self: (self.result,))
    content = property(lambda self: (self.call.functions[0].digest, self.vector.number, self.result.number))
    work = property(lambda self: self.call.work)
    functions = property(lambda self: self.call.functions)
    scratch = property(lambda self: self.vector.size)

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        values[self.result.number] = np.array(self.functions[0].function(values[self.vector.number][::-1]))

    def write(self, writer: EntryWriter) -> None:
        symbol, real, align = f"reversed_{self.vector.size}_{writer.width}", writer.lanes.real, writer.lanes.align
        b = Builder(f"define internal void @{symbol}(ptr %from, ptr %to)")
        for i in range(self.vector.size):
            value = b.load(b.at("%from", i * writer.width), real, align)
            b.store(value, b.at("%to", (self.vector.size - 1 - i) * writer.width), real, align)
        writer.define(symbol, b.text())
        writer.call(symbol, self.vector, writer.scratch)
        writer.clear(self.result)
        writer.call(writer.function(self.functions[0], 2), writer.scratch, self.result, writer.spill)


@pytest.mark.parametrize("width", ALL_WIDTHS)
@pytest.mark.parametrize("length", [1, 50])  # the long one is cut: its function has scratch of its own
def test_a_step_may_call_functions_and_use_scratch(monkeypatch: pytest.MonkeyPatch, length: int, width: int) -> None:
    """And reads zeros that a call before it need not have written."""
    monkeypatch.setattr(emission, "CUT", 100)
    x = SX.sym("x", 3)
    y = x
    for k in range(length):
        y = ca.sin(y) + ca.vertcat(y[1:], k * y[0])
    program = Program("reversed")
    vector, turned = program.input(3), ca.Function("f", [x], [ca.vertcat(y, x[0] + x[1])])
    (plain,) = program.call(turned, vector)
    (sparse,) = program.call(ca.Function("sparse", [x], [ca.vertcat(x[2], SX(1, 1), x[0])]), vector)
    step = Reversed(program.steps[0], sparse, program.array(4))
    program.add_step(step)
    program.output(plain, step.result)
    points = np.random.default_rng(3).normal(size=(T, 3))
    got = run_kernel(Kernel(program, width), [points])
    assert_same_bits(got, expected(program, [points]))
    assert len(program.functions) == 2
    parts = emission.EmittedFunction("f", read_instructions(turned), width)
    assert (parts.scratch > 0) == (length > 1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda p, a: Cubic(a, a, Array(7, (1, 1)), p.array(1), p.array(1)), r"Cubic.reads: .* is not of program"),
        (lambda p, a: Cubic(a, a, a, p.array(1), Array(9, (1, 1))), r"Cubic.writes: .* is not of program"),
        (lambda p, a: Cubic(a, a, p.array(1), p.array(1), p.array(1)), "Cubic.reads: no earlier step writes"),
        (lambda p, a: Cubic(a, a, a, a, p.array(1)), "Cubic.writes: expected no input"),
        (lambda p, a: Cubic(a, a, a, p.array(1), p.array(2)), r"Cubic.status: expected one of its writes, .*\(2, 1\)"),
    ],
)
def test_programs_refuse_steps_that_do_not_fit(build: Callable[[Program, Array], Step], message: str) -> None:
    program = Program("refused")
    given = program.input(1)
    with pytest.raises(InvalidArgumentError, match=message):
        program.add_step(build(program, given))


def test_outputs_need_a_step_that_writes_them_and_compiled_programs_take_no_more_steps() -> None:
    program = Program("final")
    given = program.input(1)
    with pytest.raises(InvalidArgumentError, match="output: no earlier step writes"):
        program.output(program.array(1))
    program.output(solve(program, given, given, given))
    step = replace(program.steps[0], limit=3)
    kernel(program, 1)
    with pytest.raises(InvalidArgumentError, match="got one with a kernel"):
        program.add_step(step)


def test_one_symbol_for_two_texts_is_refused() -> None:
    program = Program("clash")
    given = program.input(1)
    first = Cubic(given, given, given, program.array(1), program.array(1), 3)
    program.add_step(first)
    writer = EntryWriter(program, 8)
    writer.define("cubic_3_8", "define internal void @cubic_3_8() { ret void }")
    with pytest.raises(InvalidArgumentError, match="'cubic_3_8' has two texts"):
        first.write(writer)
