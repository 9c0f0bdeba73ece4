"""The step that calls one expression for many pairs of groups."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, assert_same_bits, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import PairCalls, Program, kernel

PAIRS = [(0, 1), (3, 0), (2, 2), (0, 0), (3, 2)]


def difference() -> ca.Function:
    """(a (2,), b (3,)) -> a number that depends on the order of all."""
    a, b = SX.sym("a", 2), SX.sym("b", 3)
    return ca.Function("difference", [a, b], [a[0] - 2.0 * a[1] + ca.sin(b[0]) * b[1] / b[2]])


def pairs_program() -> Program:
    program = Program("pairs")
    first, second = program.input(8), program.input(3, 3)
    step = PairCalls.new(program, difference(), first, second, PAIRS)
    program.add_step(step)
    program.output(step.result)
    return program


@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_each_pair_gets_the_function_of_its_groups(width: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1.0, 2.0, (5, 8)), rng.uniform(1.0, 2.0, (5, 9))
    (result,) = run_kernel(kernel(pairs_program(), width), [a, b])
    groups = [(x.reshape(4, 2), y.reshape(3, 3)) for x, y in zip(a, b)]
    expected = [[float(difference()(x[i], y[j])) for i, j in PAIRS] for x, y in groups]
    assert_same_bits(result.reshape(5, -1), np.array(expected))
    (one,) = pairs_program().evaluate(a[0], b[0])
    assert_same_bits(one.ravel(), result.reshape(5, -1)[0])


def test_indices_beyond_the_groups_and_other_functions_are_refused() -> None:
    program = Program("pairs")
    a, b = program.input(8), program.input(9)
    for pairs in ([(4, 0)], [(0, 3)], [(-1, 0)]):
        with pytest.raises(InvalidArgumentError, match="pairs: expected indices of groups"):
            PairCalls.new(program, difference(), a, b, pairs)
    x = SX.sym("x", 2)
    for function, pairs in ((ca.Function("one", [x], [x[0]]), PAIRS), (difference(), [])):
        with pytest.raises(InvalidArgumentError, match="function: expected one with two inputs"):
            PairCalls.new(program, function, a, b, pairs)
