"""The same bits, and where they differ: tiers, widths, and `Program.evaluate`, with and without matrix products."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.kernels.test_tiers import points, tangle
from tests.support.kernel_runner import ALL_WIDTHS, LEVELS, Reals, assert_same_bits, kernel_at, run_kernel
from trajopt.kernels import Program

EPS = np.finfo(float).eps


def chained(*, products: bool) -> Program:
    """Calls of functions on one another's results and sums in place, with products of their Jacobians on request."""
    program = Program("chained")
    x = program.input(5)
    y, J = program.call(tangle(71), x)
    stacked, K = program.call(tangle(72), program.call(stack(), y)[0])
    program.add(K, J)
    outputs = [y, J, stacked, K]
    if products:
        outputs.append(program.matmul(J, K, transpose_a=True))
        program.accumulate(K, J, outputs[-1])
    program.output(*outputs)
    return program


def stack() -> ca.Function:
    """(y, 1)."""
    y = ca.SX.sym("y", 4)
    return ca.Function("stack", [y], [ca.vertcat(y, 1)])


def evaluated(program: Program, inputs: list[Reals]) -> list[Reals]:
    """Outputs (T, size) of `Program.evaluate`."""
    values = [program.evaluate(*rows) for rows in zip(*inputs, strict=True)]
    return [np.array([v[i].ravel() for v in values]) for i in range(len(program.outputs))]


@pytest.mark.parametrize("products", [False, True])
def test_tiers_and_widths_have_the_same_bits(products: bool) -> None:
    program = chained(products=products)
    first, *others = (
        run_kernel(kernel_at(program, width, level), points()) for width in ALL_WIDTHS for level in LEVELS.values()
    )
    for other in others:
        assert_same_bits(other, first)


def test_without_products_evaluate_has_the_same_bits() -> None:
    program = chained(products=False)
    assert_same_bits(run_kernel(kernel_at(program, 8, LEVELS["optimised"]), points()), evaluated(program, points()))


@pytest.mark.parametrize("k", [1, 7, 40])
def test_products_differ_by_rounding_at_most(k: int, rng: np.random.Generator) -> None:
    """By 2 (k + 1) ε (|C| + |A| |B|): the bound of two sums of k terms in any order, fused or not.

    Source: Higham, Accuracy and stability of numerical algorithms, 2002, section 3.1.
    """
    program, T = Program("product"), 9
    a, b, c = program.input(6, k), program.input(k, 5), program.input(6, 5)
    program.output(program.matmul(a, b, initial=c))
    A, B, C = (
        rng.normal(size=(T, *shape)) * 10.0 ** rng.integers(-3, 4, (T, *shape)) for shape in ((6, k), (k, 5), (6, 5))
    )
    inputs = [v.reshape(T, -1) for v in (A, B, C)]
    (compiled,) = run_kernel(kernel_at(program, 8, LEVELS["optimised"]), inputs)
    (reference,) = evaluated(program, inputs)
    bound = 2 * (k + 1) * EPS * (np.abs(C) + np.abs(A) @ np.abs(B))
    assert np.all(np.abs(compiled - reference) <= bound.reshape(T, -1))
