"""Tables that expressions read at run time: bits of CasADi, derivatives, pickles, other processes, wrong indices."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import (
    ALL_WIDTHS,
    LEVELS,
    assert_same_bits,
    evaluate,
    kernel_at,
    program_of,
    run_kernel,
)
from trajopt.errors import UnsupportedOperationError
from trajopt.kernels import Program, with_vector_sines
from trajopt.kernels.expression import Expression
from trajopt.kernels.machine import kernel
from trajopt.kernels.precision import HighPrecision, to_float64
from trajopt.kernels.tables import Table

VALUES = np.random.default_rng(0).normal(size=50)
INDICES = np.r_[np.linspace(-3.0, 60.0, 400), 0.0, 49.0, 49.999, -0.5, -1.0, 50.0, 1e300, -1e300, np.inf, np.nan]


def smooth(table: Table) -> ca.Function:
    """x -> a parabola in each unit interval whose two coefficients are read from a table, and its derivatives."""
    x = SX.sym("x")
    i = ca.floor(x)
    y = table.at(i) * (x - i) ** 2 + ca.sin(x) * table.at(i + 1)
    slope = ca.jacobian(y, x)
    return ca.Function("smooth", [x], [y, slope, ca.jacobian(slope, x)])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_code_has_the_bits_of_casadi(width: int, level: str) -> None:
    f, table = smooth(Table(VALUES)), Table(VALUES)
    got = run_kernel(kernel_at(program_of(f), width, LEVELS[level]), [INDICES[:, None]])
    outside = (INDICES < 0) | ~(INDICES < 49)
    np.testing.assert_array_equal(np.isnan(got[0][:, 0]), outside)
    inside = INDICES[~outside, None]
    assert_same_bits([each[~outside] for each in got], evaluate(f, [inside]))
    assert table.number == Table(VALUES).number != Table(2 * VALUES).number


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 8])
def test_code_in_several_parts_reads_inputs_and_kept_values(width: int) -> None:
    x, table = SX.sym("x", 2), Table(VALUES)
    first = table.at(x[0])
    terms = [table.at(ca.floor(10 * ca.fabs(ca.sin(k * x[1])))) * first for k in range(1, 1000)]
    f = ca.Function("long", [x], [ca.vertcat(*terms), table.at(x[1])])
    points = np.random.default_rng(1).integers(0, 49, (24, 2)).astype(np.float64)
    assert_same_bits(run_kernel(kernel_at(program_of(f), width, 1), [points]), evaluate(f, [points]))


def test_the_derivative_by_the_index_is_zero() -> None:
    x, f = np.array(7.3), smooth(Table(VALUES))
    expected = VALUES[7] * 0.3**2 + np.sin(7.3) * VALUES[8]
    np.testing.assert_allclose(f(x)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(f(x)[1], VALUES[7] * 0.6 + np.cos(7.3) * VALUES[8], rtol=1e-12)
    np.testing.assert_allclose(f(x)[2], VALUES[7] * 2 - np.sin(7.3) * VALUES[8], rtol=1e-12)


def test_two_tables_in_joined_code_and_with_sines_as_arithmetic() -> None:
    first, second = Table(VALUES), Table(-3.0 * VALUES)
    x, y = SX.sym("x"), SX.sym("y")
    times = ca.Function("times", [x, y], [second.at(ca.floor(x)) * y * ca.cos(x)])
    program = Program("joined")
    place = program.input(1)
    (value,) = program.call(smooth(first), place)[:1]
    (product,) = program.call(times, place, value, joins=True)
    program.output(value, product)
    inside = np.linspace(0.0, 48.9, 64)[:, None]
    values = evaluate(smooth(first), [inside])[0]
    for wanted in (program, with_vector_sines(program)):
        got = run_kernel(kernel(wanted, 8), [inside])
        np.testing.assert_allclose(got[0], values, rtol=1e-12)
        np.testing.assert_allclose(got[1], evaluate(times, [inside, values])[0], rtol=1e-12)


def test_higher_precision_reads_the_same_numbers() -> None:
    program = program_of(smooth(Table(VALUES)))
    for index in (3.7, 48.0):
        exact = [to_float64(each) for each in program.evaluate(np.array([index]), numbers=HighPrecision(100))]
        np.testing.assert_allclose(exact, program.evaluate(np.array([index])), rtol=1e-13)
    assert np.isnan(program.evaluate(np.array([70.0]), numbers=HighPrecision(100))[0].astype(float))


def test_a_pickle_has_its_table() -> None:
    """Also in another process, where no table with its number is known; the table lives as long as the code."""
    text = pickle.dumps(Expression(smooth(Table(VALUES))))
    code = (
        "import gc, pickle, sys, numpy as np\n"
        "from trajopt.kernels import Program\n"
        "from tests.support.kernel_runner import run_kernel\n"
        "from trajopt.kernels.machine import kernel\n"
        "f = pickle.loads(sys.stdin.buffer.read())\n"
        "program = Program('again')\n"
        "program.output(*program.call(f, program.input(1)))\n"
        "made = kernel(program, 8)\n"
        "gc.collect(); np.full(50, 7.0)\n"
        "print(repr(run_kernel(made, [np.array([[7.3]])])[0].item()))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, timeout=300)
    assert float(run.stdout) == pytest.approx(float(smooth(Table(VALUES))(7.3)[0]), rel=1e-13), run.stderr


@pytest.mark.slow
def test_the_table_lives_as_long_as_the_code() -> None:
    values = np.random.default_rng(5).normal(size=100_000)
    made = kernel(program_of(smooth(Table(values))), 1)
    gc.collect()
    other = [np.full(100_001, np.nan) for _ in range(5)]
    got = run_kernel(made, [np.array([[7.3]])])[0].item()
    assert got == pytest.approx(values[7] * 0.3**2 + np.sin(7.3) * values[8], rel=1e-12)
    assert len(other) == 5


def test_calls_of_other_functions_are_refused() -> None:
    x = SX.sym("x")
    inner = ca.Function("inner", [x], [ca.sin(x)], {"never_inline": True})
    f = ca.Function("f", [x], [Table(VALUES).at(x) + inner(x)])
    with pytest.raises(UnsupportedOperationError, match="contains the call of another function"):
        kernel(program_of(f), 1)
