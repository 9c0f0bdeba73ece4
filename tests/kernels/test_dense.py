"""Products with constant matrices, functions of each element: the bits of any number of lanes, numpy's values."""

from __future__ import annotations

import copy
import pickle

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, LEVELS, Reals, assert_same_bits, kernel_at, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Array, Program
from trajopt.kernels.expression import Expression
from trajopt.kernels.steps import Dense, Elementwise

T = 9
SIZES = [(1, 1, 1), (64, 64, 1), (45, 13, 1), (40, 3, 1), (7, 5, 1), (1, 64, 1), (5, 3, 2), (13, 8, 3), (9, 4, 7)]


def dense(matrix: Reals, offset: Reals, columns: int) -> Program:
    program = Program("dense")
    step = Dense.new(program, matrix, offset, program.input(matrix.shape[1], columns))
    program.add_step(step)
    program.output(step.result)
    return program


def run_everywhere(program: Program, inputs: list[Reals]) -> list[Reals]:
    """Outputs of a program, the same for all numbers of lanes and both tiers."""
    kernels = [kernel_at(program, width, level) for width in ALL_WIDTHS for level in LEVELS.values()]
    first, *others = (run_kernel(kernel, inputs) for kernel in kernels)
    for each in others:
        assert_same_bits(each, first)
    return first


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_product_with_a_constant_matrix(size: tuple[int, int, int]) -> None:
    m, n, p = size
    rng = np.random.default_rng(m + n)
    W, b, x = rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=(T, n, p))
    program = dense(W, b, p)
    (y,) = run_everywhere(program, [x.reshape(T, -1)])
    expected = W @ x + b[:, None]
    bound = 2 * (n + 1) * 2.2e-16 * (np.abs(W) @ np.abs(x) + np.abs(b)[:, None])
    assert np.all(np.abs(y.reshape(T, m, p) - expected) <= bound)
    np.testing.assert_allclose(program.evaluate(x[0])[0], expected[0], rtol=0, atol=bound[0].max())
    same = pickle.loads(pickle.dumps(program))
    assert same.digest() == program.digest()


def test_digest_tells_matrices_apart_by_any_number() -> None:
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(64, 64)), rng.normal(size=64)
    digests = {dense(W, b, 1).digest()}
    for array, place in ((W, (33, 40)), (b, (31,))):
        before = array[place]
        array[place] = np.nextafter(before, 9.0)
        digests.add(dense(W.copy(), b.copy(), 1).digest())
        array[place] = before
    assert len(digests) == 3
    assert dense(W.T, b, 1).digest() not in digests


def test_sizes_of_a_product_are_checked() -> None:
    program = Program("wrong")
    with pytest.raises(InvalidArgumentError, match=r"matrix: expected shape \(2, 4\), got \(2, 3\)"):
        Dense.new(program, np.ones((2, 3)), np.ones(2), program.input(4))


def functions() -> ca.Function:
    """Products, a selection, a function of the C library."""
    x = SX.sym("x")
    return ca.Function("f", [x], [ca.if_else(x > 0.1, x * x - 3.0, ca.fmin(x, 2.0) / 7.0), ca.tanh(x)])


def elementwise(rows: int, columns: int) -> tuple[Program, tuple[Array, ...]]:
    program = Program("elementwise")
    step = Elementwise.new(program, Expression(functions()), program.input(rows, columns))
    program.add_step(step)
    program.output(*step.results)
    return program, step.results


@pytest.mark.parametrize("size", [(1, 1), (8, 1), (64, 1), (13, 1), (3, 5)], ids=str)
def test_functions_of_each_element_have_the_bits_of_casadi(size: tuple[int, int]) -> None:
    x = np.random.default_rng(3).normal(size=(T, size[0] * size[1]))
    program, results = elementwise(*size)
    outputs = run_everywhere(program, [x])
    f = functions()
    expected = [np.array([[float(f(v)[i]) for v in row] for row in x]) for i in range(2)]
    assert_same_bits(outputs, expected)
    for array, value, wanted in zip(results, program.evaluate(x[0]), expected):
        np.testing.assert_array_equal(value, wanted[0].reshape(array.shape))


def test_a_function_of_an_element_takes_one_number() -> None:
    program, x = Program("wrong"), SX.sym("x", 2)
    with pytest.raises(InvalidArgumentError, match="expected numbers of one number"):
        Elementwise.new(program, Expression(ca.Function("f", [x], [2 * x])), program.input(2))


def test_both_read_and_write_between_other_steps() -> None:
    """A lane depends on itself alone, also behind a call and before a product."""
    program = Program("between")
    x = program.input(3)
    s = SX.sym("s", 3)
    (twice,) = program.call(ca.Function("twice", [s], [2 * s]), x)
    product = Dense.new(program, np.arange(12.0).reshape(4, 3), np.ones(4), twice)
    program.add_step(product)
    each = Elementwise.new(program, Expression(functions()), product.result)
    program.add_step(each)
    program.output(program.matmul(each.results[1], each.results[0], transpose_a=True))
    points = np.random.default_rng(5).normal(size=(T, 3))
    (y,) = run_everywhere(program, [points])
    again = copy.deepcopy(points)
    again[1:] = np.nan
    (alone,) = run_everywhere(program, [again])
    assert alone[0] == y[0]
    z = np.arange(12.0).reshape(4, 3) @ (2 * points[0]) + 1
    f = [np.where(z > 0.1, z * z - 3.0, np.minimum(z, 2.0) / 7.0), np.tanh(z)]
    assert y[0, 0] == pytest.approx(f[0] @ f[1], rel=1e-12)
