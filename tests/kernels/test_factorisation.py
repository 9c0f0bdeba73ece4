"""Factors of symmetric matrices and solutions with them, in lanes: any size and block, and matrices without factors."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import Reals, assert_same_bits, run_guarded, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Array, Kernel, Program, triangles
from trajopt.kernels.precision import HighPrecision, to_float64

T = 9  # whole blocks of knots, and one that is not full
WIDTHS = (1, 4, 8)
EPS = np.finfo(float).eps


def solving(n: int, m: int) -> Program:
    """Outputs (factors, x), for inputs A (n, n) and B (n, m)."""
    program = Program("solving")
    a, b = program.input(n, n), program.input(n, m)
    factors = program.factor(a)
    program.output(factors, program.solve(factors, b))
    return program


def problem(n: int, m: int, seed: int, *, decades: float = 1.0) -> tuple[Reals, Reals]:
    """Symmetric positive definite matrices (T, n, n) of condition 10 to the `decades` at most, and B (T, n, m)."""
    rng = np.random.default_rng([n, m, seed])
    Q = np.linalg.qr(rng.normal(size=(T, n, n)))[0] if n else np.zeros((T, 0, 0))
    A = (Q * 10.0 ** rng.uniform(-decades, 0, (T, 1, n))) @ Q.swapaxes(1, 2)
    return (A + A.swapaxes(1, 2)) / 2, rng.normal(size=(T, n, m))


def run(program: Program, A: Reals, B: Reals) -> list[Reals]:
    """Factors and solutions of the compiled program, the same bits in all widths."""
    inputs = [A.reshape(T, -1), B.reshape(T, -1)]
    (factors, solutions), *others = (run_kernel(Kernel(program, width), inputs) for width in WIDTHS)
    for each in others:
        assert_same_bits(each, [factors, solutions])
    return [factors.reshape(A.shape), solutions.reshape(B.shape)]


def assert_factors(F: Reals, A: Reals) -> None:
    """|A - L D Lᵀ| is at most (n + 2) ε |L| |D| |Lᵀ|, and D Lᵀ above agrees with L below and 1/D on the diagonal.

    Source: Higham, Accuracy and stability of numerical algorithms, 2002, theorem 9.3, with two roundings more: of 1/D,
    and of the multiplication with it.
    """
    n = A.shape[1]
    L, U = np.tril(F, -1) + np.eye(n), np.triu(F, 1)
    D = 1 / np.diagonal(F, axis1=1, axis2=2)
    product = (L * D[:, None, :]) @ L.swapaxes(1, 2)
    size = (np.abs(L) * np.abs(D[:, None, :])) @ np.abs(L).swapaxes(1, 2)
    assert np.all(np.abs(product - A) <= (2 * n + 6) * EPS * size)  # that, and as much for the product here
    upper = np.triu(D[:, :, None] * L.swapaxes(1, 2), 1)
    np.testing.assert_allclose(U, upper, rtol=8 * EPS, atol=0)


def assert_solves(F: Reals, A: Reals, X: Reals, B: Reals) -> None:
    """|A x - b| is at most (5 n + 10) ε |L| |D Lᵀ| |x|, whatever the condition number (Higham, theorem 9.4)."""
    n = A.shape[1]
    L = np.tril(F, -1) + np.eye(n)
    D = 1 / np.diagonal(F, axis1=1, axis2=2)
    size = (np.abs(L) * D[:, None, :]) @ np.abs(L).swapaxes(1, 2) @ np.abs(X)
    assert np.all(np.abs(A @ X - B) <= (5 * n + 10) * EPS * (size + np.abs(B)))


RANDOM = np.random.default_rng(11)
SIZES = [(n, int(RANDOM.choice([1, 2, 3, 4, 5, 6, 7, 11, 18]))) for n in (*range(1, 15), 23, 24, 31, 48, 60)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("decades", [0.5, 12.0])
def test_factors_and_solutions(size: tuple[int, int], decades: float) -> None:
    A, B = problem(*size, seed=1, decades=decades)
    program = solving(*size)
    F, X = run(program, A, B)
    assert_factors(F, A)
    assert_solves(F, A, X, B)
    for t in (0, T - 1):  # the evaluator subtracts in the same order, not fused
        reference = program.evaluate(A[t], B[t])
        assert_factors(reference[0][None], A[t : t + 1])
        assert_solves(reference[0][None], A[t : t + 1], reference[1][None], B[t : t + 1])
        if decades < 1:
            np.testing.assert_allclose(F[t], reference[0], rtol=0, atol=100 * size[0] * EPS)
            np.testing.assert_allclose(X[t], reference[1], rtol=0, atol=100 * size[0] * EPS * np.abs(B[t]).sum())


@pytest.mark.parametrize("size", [(24, 1), (24, 7), (7, 120)])
def test_solutions_agree_with_numpy(size: tuple[int, int]) -> None:
    A, B = problem(*size, seed=2, decades=0.5)
    _, X = run(solving(*size), A, B)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0)])
def test_systems_without_rows_or_right_hand_sides_are_accepted(n: int, m: int) -> None:
    A, B = problem(n, m, seed=0)
    F, X = run(solving(n, m), A, B)
    assert X.shape == (T, n, m)
    if n:
        assert_factors(F, A)


@pytest.mark.parametrize("n", [1, 5, 8, 13])
def test_only_the_lower_triangle_is_read(n: int) -> None:
    A, B = problem(n, 2, seed=3)
    expected = run(solving(n, 2), A, B)
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    assert_same_bits(run(solving(n, 2), np.where(upper, np.nan, A), B), expected)


@pytest.mark.parametrize("blocks", [((1, 1), (1, 1)), ((2, 3), (3, 1)), ((3, 2), (2, 1)), ((5, 4), (8, 1))])
def test_the_size_of_blocks_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch, blocks: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    monkeypatch.setenv("TRAJOPT_CACHE_DIR", "off")
    for n, m in ((11, 1), (13, 7), (4, 3)):
        A, B = problem(n, m, seed=4)
        expected = run(solving(n, m), A, B)
        with monkeypatch.context() as patch:
            patch.setattr(triangles, "WIDE", blocks[0])
            patch.setattr(triangles, "NARROW", blocks[0])
            patch.setattr(triangles, "COLUMN", blocks[1])
            assert_same_bits(run(solving(n, m), A, B), expected)


@pytest.mark.parametrize("n", [1, 4, 6, 13])
@pytest.mark.parametrize("pivot", [0.0, -1.0, np.nan, -np.inf])
def test_a_pivot_that_is_not_positive_makes_all_of_a_lane_nan(n: int, pivot: float) -> None:
    """Wherever it is, and nothing of the other lanes."""
    A, B = problem(n, 3, seed=5)
    good = run(solving(n, 3), A, B)
    for k in {0, n // 2, n - 1}:
        bad = A.copy()
        bad[2, k, :], bad[2, :, k] = 0.0, 0.0
        bad[2, k, k] = pivot
        F, X = run(solving(n, 3), bad, B)
        others = np.arange(T) != 2
        assert_same_bits([F[others], X[others]], [v[others] for v in good])
        assert np.isnan(F[2, k, k])
        assert np.all(np.isnan(X[2]))
        reference = solving(n, 3).evaluate(bad[2], B[2])
        assert np.isnan(reference[0][k, k])
        assert np.all(np.isnan(reference[1]))


@pytest.mark.parametrize("size", [(1, 1), (5, 1), (13, 7), (24, 18), (3, 120)])
def test_scratch_is_as_long_as_said(size: tuple[int, int]) -> None:
    for width in WIDTHS:
        run_guarded(Kernel(solving(*size), width))


def masked(program: Program, array: Array, mask: Reals) -> Array:
    """A copy of an array whose structural zeros are those of a mask: nobody writes them unless they are read."""
    symbol = SX.sym("a", *array.shape)
    sparsity = ca.sparsify(ca.DM(mask.astype(float))).sparsity()
    return program.call(ca.Function("masked", [symbol], [ca.project(symbol, sparsity)]), array)[0]


def test_structural_zeros_of_both_are_read() -> None:
    n, m, rng = 7, 5, np.random.default_rng(6)
    A, B = problem(n, m, seed=6)
    A = A + 2 * np.eye(n)
    zeros = np.tril(rng.random((n, n)) < 0.5, -1)
    mask_a, mask_b = ~(zeros | zeros.T), rng.random((n, m)) < 0.5
    program = Program("sparse")
    a, b = program.input(n, n), program.input(n, m)
    program.output(program.solve(program.factor(masked(program, a, mask_a)), masked(program, b, mask_b)))
    for width in WIDTHS:
        (X,) = run_kernel(Kernel(program, width), [A.reshape(T, -1), B.reshape(T, -1)])
        np.testing.assert_allclose(X.reshape(B.shape), np.linalg.solve(A * mask_a, B * mask_b), rtol=0, atol=1e-13)
    assert program.pattern(program.outputs[0]).all()


@pytest.mark.parametrize("n", [6, 13])
def test_more_digits_on_request(n: int) -> None:
    """Hilbert's matrix, of condition 1e7 and 1e18: A x = b with 60 digits, where doubles lose up to all."""
    numbers = HighPrecision(240)
    i = np.arange(n)
    with numbers.context():
        A = 1 / numbers.array(i[:, None] + i + 1, (n, n))
        exact = numbers.array(np.arange(2.0 * n) - n, (n, 2))
        F, X = solving(n, 2).evaluate(A, A @ exact, numbers=numbers)
        error = to_float64(X - exact)
    assert F.dtype == object
    assert np.abs(error).max() < 1e-45


@pytest.mark.parametrize("n", [1, 3, 24])
def test_work_counts_multiplications(n: int) -> None:
    factor, solve = solving(n, 5).steps
    assert factor.work == sum((i + 1) * (j + 1) for i, j in zip(range(n), reversed(range(n))))
    assert solve.work == 5 * n * n


def test_sizes_that_do_not_fit_are_refused() -> None:
    program = Program("refused")
    a, b, wide = program.input(3, 3), program.input(4, 2), program.input(3, 4)
    with pytest.raises(InvalidArgumentError, match=r"a: expected a square matrix, got shape \(3, 4\)"):
        program.factor(wide)
    with pytest.raises(InvalidArgumentError, match=r"b: expected 3 rows, with factors \(3, 3\), got shape \(4, 2\)"):
        program.solve(program.factor(a), b)
    with pytest.raises(InvalidArgumentError, match=r"factors: expected a square matrix, got shape \(3, 4\)"):
        program.solve(wide, a)
