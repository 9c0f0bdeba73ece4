"""Matrix products of programs: structural zeros, symmetric results, sums in place, products that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import LEVELS, Reals, assert_same_bits, kernel_at, run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Program, kernel, patterns
from trajopt.kernels.entry import entry_text
from trajopt.kernels.steps import Array, Groups, MatrixProduct

T = 9  # whole blocks of knots, and one that is not full
WIDTHS = (1, 4, 8)


def masks(seed: int, m: int, k: int, n: int) -> Iterator[tuple[Reals, Reals, Reals]]:
    """Where A, B and C may differ from zero: alike rows, empty rows and columns, nothing at all, everything."""
    rng = np.random.default_rng(seed)
    for density in (0.0, 0.2, 0.5, 1.0):
        A, B, C = (rng.random(shape) < density for shape in ((m, k), (k, n), (m, n)))
        if density == 0.5:
            A[1::3], B[:, 1::2] = A[: len(A[1::3])], False
            A[:, :1], C[:, -1:] = False, False
        yield A, B, C


def masked(program: Program, array: Array, mask: Reals) -> Array:
    """A copy of an array whose structural zeros are those of a mask."""
    symbol = SX.sym("a", *array.shape)
    sparsity = ca.DM(mask.astype(float)).sparsity() if mask.all() else ca.sparsify(ca.DM(mask.astype(float))).sparsity()
    (copy,) = program.call(ca.Function("masked", [symbol], [ca.project(symbol, sparsity)]), array)
    np.testing.assert_array_equal(program.pattern(copy), mask)
    return copy


def run(program: Program, inputs: list[Reals], level: str = "optimised") -> list[Reals]:
    """Outputs (T, rows, columns) of the compiled program, the same for all widths."""
    flat = [v.reshape(T, -1) for v in inputs]
    results, *others = (run_kernel(kernel_at(program, width, LEVELS[level]), flat) for width in WIDTHS)
    for each in others:
        assert_same_bits(each, results)
    return [v.reshape(T, *array.shape) for v, array in zip(results, program.outputs)]


def assert_evaluator_agrees(program: Program, inputs: list[Reals], outputs: list[Reals]) -> None:
    for t in range(T):
        assert_evaluator_agrees_at(program, inputs, outputs, t)


SIZES = [(1, 1, 1), (6, 3, 6), (3, 0, 2), (1, 5, 1), (4, 7, 1), (7, 2, 3)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("transpose", [False, True])
def test_structural_zeros(size: tuple[int, int, int], transpose: bool) -> None:
    """Every pattern with and without an initial value, added and subtracted, in one program."""
    m, k, n = size
    rng = np.random.default_rng(m + k)
    inputs = [rng.normal(size=(T, *shape)) for shape in ((k, m) if transpose else (m, k), (k, n), (m, n))]
    program = Program("products")
    a, b, c = (program.input(*v.shape[1:]) for v in inputs)
    expected = []
    for A, B, C in masks(m * n, m, k, n):
        left = masked(program, a, A.T if transpose else A)
        right, start = masked(program, b, B), masked(program, c, C)
        first = inputs[0].swapaxes(1, 2) if transpose else inputs[0]
        product = (first * A) @ (inputs[1] * B)
        for initial in (None, start):
            for subtract in (False, True):
                result = program.matmul(left, right, transpose_a=transpose, initial=initial, subtract=subtract)
                program.output(result)
                expected.append((0 if initial is None else inputs[2] * C) + (-product if subtract else product))
                reachable = (A.astype(int) @ B.astype(int) > 0) | (C if initial else False)
                np.testing.assert_array_equal(program.pattern(result), reachable)
    outputs = run(program, inputs)
    for got, value in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(got, np.broadcast_to(value, got.shape), rtol=0, atol=1e-13)
    assert_evaluator_agrees(program, inputs, outputs)


@pytest.mark.parametrize("symmetric", [False, True])
def test_blocks_cover_every_element_and_multiply_no_zero_they_can_skip(
    symmetric: bool, rng: np.random.Generator
) -> None:
    for _ in range(40):
        m, k, n = rng.integers(1, 9, 3)
        A, B = rng.random((m, k)) < 0.4, rng.random((k, n)) < 0.4
        if symmetric:
            B, n = A.T, m
        blocks = patterns.upper_blocks(A, B) if symmetric else patterns.blocks(A, B)
        times, sums = np.zeros((m, n), dtype=int), np.zeros((m, n, k), dtype=bool)
        for block in blocks:
            where = np.ix_(range(*block.rows), range(*block.cells))
            times[where] += 1
            for inner in block.inner:
                sums[np.ix_(range(*block.rows), range(*block.cells), range(*inner))] = True
        needed = A[:, None, :] & B.T[None, :, :]
        asked = np.triu(np.ones((m, n), dtype=bool)) if symmetric else np.ones((m, n), dtype=bool)
        assert np.all(times[asked] == 1)
        assert np.all(sums[asked] >= needed[asked])
        if not symmetric:
            np.testing.assert_array_equal(sums, needed)
            assert sum(b.multiplications for b in blocks) == needed.sum()


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_symmetric_sums_in_place(n: int) -> None:
    """Target += Zᵀ H Z: exactly symmetric, and right, for odd and even sizes and any structural zeros."""
    rng = np.random.default_rng(n)
    for density in (0.3, 1.0):
        Z, H, S = rng.normal(size=(T, 4, n)), rng.normal(size=(T, 4, 4)), rng.normal(size=(T, n, n))
        H, S = H + H.swapaxes(1, 2), S + S.swapaxes(1, 2)
        mask = rng.random((4, n)) < density
        program = Program("symmetric")
        z, h, s = (program.input(*v.shape[1:]) for v in (Z, H, S))
        left, target = masked(program, z, mask), masked(program, s, np.ones((n, n), dtype=bool))
        program.accumulate(target, left, program.matmul(h, left), transpose_a=True, symmetric=True)
        program.output(target)
        (got,) = run(program, [Z, H, S])
        np.testing.assert_array_equal(got, got.swapaxes(1, 2))
        np.testing.assert_allclose(got, S + (Z * mask).swapaxes(1, 2) @ H @ (Z * mask), rtol=0, atol=1e-12)
        assert_evaluator_agrees(program, [Z, H, S], [got])


def test_a_symmetric_sum_takes_half_of_the_multiplications() -> None:
    work = []
    for symmetric in (False, True):
        program = Program("work")
        a, s = program.input(6, 10), program.call(ca.Function("s", [], [SX(ca.DM.ones(10, 10))]))[0]
        program.accumulate(s, a, a, transpose_a=True, symmetric=symmetric)
        (step,) = [step for step in program.steps if isinstance(step, MatrixProduct)]
        work.append(step.work)
    assert work == [600, 6 * (2 * (10 + 8 + 6 + 4 + 2))]


def test_sums_in_place_one_after_the_other(rng: np.random.Generator) -> None:
    A, B, C = rng.normal(size=(T, 3, 2)), rng.normal(size=(T, 2, 5)), rng.normal(size=(T, 3, 5))
    program = Program("sums")
    a, b, c = (program.input(*v.shape[1:]) for v in (A, B, C))
    target = masked(program, c, np.eye(3, 5, dtype=bool))
    for subtract in (False, False, True, False, False):
        program.accumulate(target, a, b, subtract=subtract)
    program.output(target)
    (got,) = run(program, [A, B, C], "quick")
    np.testing.assert_allclose(got, C * np.eye(3, 5) + 3 * A @ B, rtol=0, atol=1e-13)
    assert_evaluator_agrees(program, [A, B, C], [got])
    assert program.pattern(target).all()


def test_sums_of_sparse_arrays(rng: np.random.Generator) -> None:
    """Each with zeros of its own; what is not there is neither read nor changed, also not by what comes next."""
    A, B = rng.normal(size=(T, 4, 5)), rng.normal(size=(T, 4, 5))
    program = Program("sums")
    a, b = program.input(4, 5), program.input(4, 5)
    double = SX.sym("d", 4, 5)
    expected = []
    for density in (0.0, 0.3, 1.0):
        first, second = (rng.random((4, 5)) < density for _ in range(2))
        target, other = masked(program, a, first), masked(program, b, second)
        program.add(target, other)
        np.testing.assert_array_equal(program.pattern(target), first | second)
        (doubled,) = program.call(ca.Function("double", [double], [2 * double]), other)  # reads zeros too
        program.output(target, doubled)
        expected += [A * first + B * second, 2 * B * second]
    for got, value in zip(run(program, [A, B]), expected, strict=True):
        np.testing.assert_allclose(got, value, rtol=0, atol=1e-14)
    assert_evaluator_agrees(program, [A, B], expected)


def assert_evaluator_agrees_at(program: Program, inputs: list[Reals], outputs: list[Reals], t: int) -> None:
    for got, expected in zip(program.evaluate(*(v[t] for v in inputs)), outputs, strict=True):
        np.testing.assert_allclose(got, expected[t], rtol=0, atol=1e-13)


RANGES = {"one": ((0, 5),), "three": ((0, 1), (1, 3), (3, 5)), "all": tuple((i, i + 1) for i in range(5))}


def chosen_at(ranges: tuple[tuple[int, int], ...], values: Reals, width: int) -> Any:
    """Which of the indices matter at each knot (T, n): one knot whose value is not zero makes its block compute."""
    matter = np.zeros((T, values.shape[1]), dtype=bool)
    for first, end in ranges:
        knots = np.any(values[:, first:end] != 0, axis=(1, 2))
        blocks = [knots[t // width * width : t // width * width + width].any() for t in range(T)]
        matter[:, first:end] = np.array(blocks)[:, None]
    return matter


@pytest.mark.parametrize("ranges", RANGES.values(), ids=list(RANGES))
@pytest.mark.parametrize("value", [1e-300, np.nan, np.inf])
def test_groups_that_do_not_matter_are_left_out(
    ranges: tuple[tuple[int, int], ...], value: float, rng: np.random.Generator
) -> None:
    """Rows, inner indices, sums and symmetric targets; in an array of several columns any one counts."""
    A, B, C, S = (rng.normal(size=(T, *shape)) for shape in ((5, 5), (5, 4), (5, 4), (4, 4)))
    S += S.swapaxes(1, 2)
    R, K = np.zeros((T, 5, 2)), np.zeros((T, 5, 1))
    R[::2] = -0.0
    R[2, 0, 1], R[8, 4, 0], K[4, 1, 0], K[8, 2, 0] = value, value, value, value
    inputs = [A, B, C, S, R, K]
    program = Program("groups")
    a, b, c, s, r, k = (program.input(*v.shape[1:]) for v in inputs)
    rows, inner = Groups(ranges, r), Groups(ranges, k)
    targets = [masked(program, c, np.ones((5, 4), dtype=bool)) for _ in range(3)]
    square = masked(program, s, np.ones((4, 4), dtype=bool))
    program.add(targets[0], program.matmul(a, b, rows=rows), rows=rows)
    program.accumulate(targets[1], a, b, subtract=True, rows=rows, inner=inner)
    program.add(targets[2], program.matmul(a, b, inner=inner))
    program.accumulate(square, b, b, transpose_a=True, symmetric=True, inner=inner)
    program.output(*targets, square, program.matmul(b, b, transpose_a=True, inner=inner, initial=s, subtract=True))

    def expected(width: int) -> list[Reals]:
        some = chosen_at(ranges, R, width)[:, :, None]
        part = chosen_at(ranges, K, width)
        summed, squared = (A * part[:, None, :]) @ B, (B * part[:, :, None]).swapaxes(1, 2) @ B
        return [C + some * (A @ B), C - some * summed, C + summed, S + squared, S - squared]

    for width in WIDTHS:
        got = run_kernel(kernel(program, width), [v.reshape(T, -1) for v in inputs])
        for flat, value_of in zip(got, expected(width), strict=True):
            np.testing.assert_allclose(flat.reshape(value_of.shape), value_of, rtol=0, atol=1e-13)
    assert_evaluator_agrees(program, inputs, expected(1))


def test_no_groups_at_all(rng: np.random.Generator) -> None:
    """As without contacts: functions take no mask, and calls pass none."""
    C = rng.normal(size=(T, 2, 3))
    program = Program("none")
    c = program.input(2, 3)
    a, b, nothing = program.call(ca.Function("empty", [], [SX(2, 0), SX(0, 3), SX(0, 1)]))
    groups = Groups((), nothing)
    target = masked(program, c, np.ones((2, 3), dtype=bool))
    program.accumulate(target, a, b, inner=groups)
    program.output(target, program.matmul(a, b, initial=c, inner=groups))
    for got in run(program, [C]):
        np.testing.assert_array_equal(got, C)
    text = entry_text(program, 8)
    assert "i64 0)" not in text
    assert "%inner" not in text


def test_a_group_of_an_array_that_has_changed_is_tested_again(rng: np.random.Generator) -> None:
    """Neither what an array was before, nor what lies behind it in memory, counts."""
    A, G = rng.normal(size=(T, 2, 2)), np.ones((T, 2, 2))
    program = Program("changed")
    a, g = program.input(2, 2), program.input(2, 2)
    first, second, nothing = (masked(program, a, np.ones((2, 2), dtype=bool)) for _ in range(3))
    switch = masked(program, g, np.ones((2, 2), dtype=bool))
    (empty,) = program.call(ca.Function("empty", [], [SX(2, 0)]))
    groups = Groups(((0, 2),), switch)
    program.add(first, a, rows=groups)
    program.accumulate(switch, g, masked(program, g, np.eye(2, dtype=bool)), subtract=True)
    program.add(second, a, rows=groups)
    program.add(nothing, a, rows=Groups(((0, 2),), empty))
    program.output(first, second, nothing)
    outputs = run(program, [A, G])
    for got, value in zip(outputs, (2 * A, A, A), strict=True):
        np.testing.assert_array_equal(got, value)
    assert_evaluator_agrees(program, [A, G], outputs)


@pytest.mark.parametrize(("zeros", "length"), [(0, 1), (1, 1), (15, 1), (16, 1), (17, 1), (40, 1500)])
def test_structural_zeros_of_outputs_are_written(zeros: int, length: int) -> None:
    """Arrays come with anything in them; a long function is cut into parts, of which only the first one clears."""
    x = SX.sym("x", 2)
    chain = x
    for _ in range(length):
        chain = ca.cos(chain[::-1])
    sparse = SX(zeros + 3, 1)
    sparse[0], sparse[zeros + 1], sparse[zeros + 2] = chain[0], 7.0, chain[1]
    function = ca.Function("f", [x], [sparse, SX(2, zeros), chain])
    program = Program("zeros")
    given = program.input(2)
    outputs = program.call(function, given)
    program.output(*outputs)
    points = np.random.default_rng(1).normal(size=(T, 2))
    for level in LEVELS:
        got = run(program, [points], level)
        for t, point in enumerate(points):
            a, _, c = (v.full() for v in function(point))
            assert_same_bits([got[0][t], got[2][t]], [a, c])
        assert got[1].shape == (T, 2, zeros)
        assert not got[1].any()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda p, a, b, c: p.accumulate(a, b, c),
            r"target: expected an array that is not an input, of shape \(2, 2\)",
        ),
        (lambda p, a, b, c: p.accumulate(p.matmul(a, a), b, c), r"target: .* of shape \(2, 2\), got .*\(3, 3\)"),
        (lambda p, a, b, c: p.accumulate(p.matmul(a, c), c, b, symmetric=True), "target"),
        (lambda p, a, b, c: p.accumulate(p.matmul(a, c), a, c, symmetric=True), "expected a square target"),
        (lambda p, a, b, c: p.matmul(a, b), r"a b of shapes \(3, 3\) and \(2, 3\) does not exist"),
        (lambda p, a, b, c: p.matmul(a, b, transpose_a=True), r"aᵀ b of shapes \(3, 3\) and \(2, 3\)"),
        (lambda p, a, b, c: p.matmul(b, c, initial=a), r"initial: expected shape \(2, 2\), got \(3, 3\)"),
        (lambda p, a, b, c: p.matmul(b, c, rows=Groups(((0, 2),), Array(99, (2, 1)))), "is not of program 'refused'"),
        (
            lambda p, a, b, c: p.matmul(b, c, rows=Groups(((0, 3),), a)),
            r"rows: expected groups of indices 0\.\.1, .* 2 rows",
        ),
        (
            lambda p, a, b, c: p.matmul(b, c, inner=Groups(((0, 1), (2, 3)), a)),
            r"inner: expected groups .* 0\.\.2",
        ),
        (lambda p, a, b, c: p.matmul(b, c, inner=Groups(((0, 3),), b)), r"inner: .* an array of 3 rows"),
        (
            lambda p, a, b, c: p.accumulate(p.matmul(a, a), a, a, symmetric=True, rows=Groups(((0, 3),), a)),
            "rows: expected None for a symmetric target, got groups",
        ),
        (lambda p, a, b, c: in_place_of_a_factor(p, a), "target: expected an array that is not a factor"),
        (lambda p, a, b, c: p.add(a, p.matmul(a, a)), "target: expected an array other than a, not an input"),
        (lambda p, a, b, c: p.add(p.matmul(a, a), b), r"not an input, of shape \(2, 3\), got .*\(3, 3\)"),
    ],
)
def test_products_refuse(build: Any, message: str) -> None:
    program = Program("refused")
    a, b, c = program.input(3, 3), program.input(2, 3), program.input(3, 2)
    with pytest.raises(InvalidArgumentError, match=message):
        build(program, a, b, c)


def in_place_of_a_factor(program: Program, a: Array) -> None:
    square = program.matmul(a, a)
    program.accumulate(square, a, square)
