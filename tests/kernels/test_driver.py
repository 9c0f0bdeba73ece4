"""The driver: rows to lanes and back, rollouts, threads, matrix products, and what it refuses."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import (
    ALL_WIDTHS,
    LEVELS,
    Reals,
    assert_same_bits,
    evaluate,
    kernel_at,
    program_of,
    run_kernel,
)
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import (
    KernelCall,
    ParallelCalls,
    Program,
    Rows,
    blocks_of,
    compilations,
    kernel,
    lane_rows,
    rows,
)
from trajopt.kernels.rows import Ints

RNG = np.random.default_rng(5)


def pendulum() -> ca.Function:
    """(x, u, [m, l]) -> (x_next, cost): one Euler step, mass and length being parameters."""
    x, u, p = SX.sym("x", 2), SX.sym("u"), SX.sym("p", 2)
    acceleration = u / (p[0] * p[1] ** 2) - 9.81 / p[1] * ca.sin(x[0])
    return ca.Function("pendulum", [x, u, p], [x + 0.01 * ca.vertcat(x[1], acceleration), x.T @ x + u * u])


def linear() -> ca.Function:
    x, a = SX.sym("x", 3), SX.sym("a", 3, 3)
    return ca.Function("linear", [x, a], [a @ x, ca.sin(x).T @ a])


@pytest.mark.parametrize("T", [1, 2, 7, 8, 9, 16, 21])
@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_any_number_of_knots(T: int, width: int) -> None:
    f = linear()
    inputs = [RNG.normal(size=(T, 3)), RNG.normal(size=(T, 9))]
    assert_same_bits(run_kernel(kernel(program_of(f), width), inputs), evaluate(f, inputs))


@pytest.mark.parametrize("size", range(1, 14))
@pytest.mark.parametrize("width", ALL_WIDTHS[1:])
def test_rows_of_any_length_are_written_back_and_nothing_beside_them(size: int, width: int) -> None:
    """Elements are transposed four at a time, the last ones one by one."""
    x = SX.sym("x", size)
    program = program_of(ca.Function("f", [x], [2 * x]))
    array, result = RNG.normal(size=(11, size)), np.full((11, size + 3), -7.0)
    indices = blocks_of([2, 3, 5, 7, 10], width)
    KernelCall([kernel(program, width)], np.zeros(len(indices)), indices, [rows(array), rows(result)])()
    expected = np.full((11, size + 3), -7.0)
    expected[[2, 3, 5, 7, 10], :size] = 2 * array[[2, 3, 5, 7, 10]]
    assert_same_bits([result], [expected])


@pytest.mark.parametrize("size", [1, 3, 4, 5, 11, 24])
def test_runs_of_a_row_are_written_and_nothing_beside_them(size: int) -> None:
    """Of any length, in any place: in blocks of four that may overlap, or one by one."""
    x = SX.sym("x", size)
    compiled = kernel(program_of(ca.Function("f", [x], [2 * x, x + 1])), 8)
    array = RNG.normal(size=(11, size))
    bounds = [np.sort(RNG.integers(0, size + 1, size=2 * n)) for n in (0, 1, 1, 2, 2, 3, 4, 6)]
    for runs in [((0, size),), *(tuple((int(a), int(b)) for a, b in some.reshape(-1, 2)) for some in bounds)]:
        first, second = np.full((11, size), -7.0), np.full((11, size), -7.0)
        indices = blocks_of([2, 3, 5, 7, 10], 8)
        KernelCall([compiled], np.zeros(1), indices, [rows(array), rows(first, runs=runs), rows(second)])()
        expected = np.full((2, 11, size), -7.0)
        chosen = [i for a, b in runs for i in range(a, b)]
        for knot in indices[0]:
            expected[0, knot, chosen], expected[1, knot] = 2 * array[knot, chosen], array[knot] + 1
        assert_same_bits([first, second], list(expected))


def test_structural_zeros_are_left_out_where_zeros_are_already() -> None:
    """Each kind of knot has its own; -7 stands for the zeros that were written once."""
    x = SX.sym("x", 6)
    patterns = [[0, 1, 2, 4], [1, 5], []]
    kernels = []
    for chosen in patterns:
        y = SX(6, 1)
        for i in chosen:
            y[i] = 2 * x[i]
        kernels.append(kernel(program_of(ca.Function("f", [x], [y, ca.densify(y)])), 8))
    array, results = RNG.normal(size=(24, 6)), [np.full((24, 6), -7.0) for _ in range(2)]
    outputs = [rows(result, runs=((1, 5),), zeroed=True) for result in results]
    KernelCall(kernels, np.arange(3), blocks_of(range(24), 8), [rows(array), *outputs])()
    expected = np.full((2, 24, 6), -7.0)
    for kind, chosen in enumerate(patterns):
        block, inside = slice(8 * kind, 8 * kind + 8), [i for i in chosen if 1 <= i < 5]
        expected[0, block, inside], expected[1, block, 1:5] = 2 * array[block, inside].T, 0
        expected[1, block, inside] = 2 * array[block, inside].T
    assert_same_bits(results, list(expected))


def test_an_output_with_runs_is_written_in_place_by_one_lane() -> None:
    """In place: what is beside the runs may change too."""
    x = SX.sym("x", 6)
    compiled = kernel(program_of(ca.Function("f", [x], [2 * x])), 1)
    array, result = RNG.normal(size=(3, 6)), np.zeros((3, 6))
    output = rows(result, runs=((1, 3), (4, 5)), zeroed=True)
    KernelCall([compiled], np.zeros(3), blocks_of(range(3), 1), [rows(array), output])()
    assert_same_bits([result[:, [1, 2, 4]]], [2 * array[:, [1, 2, 4]]])


def test_blocks_of_fills_lanes_with_the_last_knot() -> None:
    assert blocks_of([4, 5, 6], 2).tolist() == [[4, 5], [6, 6]]
    assert blocks_of([], 8).shape == (0, 8)
    assert blocks_of(range(3), 1).tolist() == [[0], [1], [2]]


def test_no_blocks_is_no_work() -> None:
    x = np.ones((0, 3))
    call = KernelCall([kernel(program_of(linear()), 8)], np.zeros(0), blocks_of([], 8), [rows(x)] * 4)
    call()
    ParallelCalls([call])()


def test_offsets_and_shared_rows() -> None:
    """The next row of the same array as a second input; one row for all knots."""
    a, b, s = SX.sym("a", 2), SX.sym("b", 2), SX.sym("s", 2)
    program = program_of(ca.Function("f", [a, b, s], [(b - a) * s]))
    x, shared = RNG.normal(size=(10, 2)), np.array([2.0, -1.0])
    for width in ALL_WIDTHS:
        result = np.zeros((9, 2))
        indices = blocks_of(range(9), width)
        arguments = [rows(x), rows(x, offset=1), Rows(shared, 0), rows(result)]
        KernelCall([kernel(program, width)], np.zeros(len(indices)), indices, arguments)()
        np.testing.assert_array_equal(result, np.diff(x, axis=0) * shared)


@pytest.mark.parametrize(
    ("width", "lane"), [(width, lane) for width in ALL_WIDTHS[1:] for lane in (None, *range(width))]
)
def test_a_row_is_shared_only_if_all_lanes_have_it(width: int, lane: int | None) -> None:
    """A row that is the same in all lanes is read once; one lane that differs must not get it."""
    f = linear()
    x, a, trajectories = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 9)), RNG.normal(size=(width, 3, 3))
    indices = np.full((1, width), 1)
    if lane is not None:
        indices[0, lane] = 2
    for first, used in ((rows(x), x[indices[0]]), (lane_rows(trajectories), trajectories[range(width), indices[0]])):
        y, z = np.zeros((width, 3, 3)), np.zeros((width, 3, 3))
        arguments = [first, rows(a), lane_rows(y), lane_rows(z)]
        KernelCall([kernel(program_of(f), width)], np.zeros(1), indices, arguments)()
        got = [result[range(width), indices[0]] for result in (y, z)]
        assert_same_bits(got, evaluate(f, [used, a[indices[0]]]))


@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_rollout_feeds_the_next_row(width: int) -> None:
    """Lanes are trajectories: row t + 1 of the output is the input of the next block; controls are shared."""
    f, T = pendulum(), 12
    xs, us, p = np.zeros((width, T + 1, 2)), RNG.normal(size=(T, 1)), np.array([1.3, 0.6])
    xs[:, 0] = RNG.normal(size=(width, 2))
    costs, scale = np.zeros((width, T)), np.zeros(T)
    indices = np.repeat(np.arange(T)[:, None], width, axis=1)
    arguments = [lane_rows(xs), rows(us), Rows(p, 0), lane_rows(xs, offset=1), lane_rows(costs)]
    call = KernelCall([kernel(program_of(f), width)], scale, indices, arguments)
    call(0, 5)
    call(5)
    for lane in range(width):
        x = xs[lane, 0]
        for t in range(T):
            x, cost = (v.full().ravel() for v in f(x, us[t], p))
            assert_same_bits([xs[lane, t + 1], costs[lane, t : t + 1]], [x, cost])


def test_several_kinds_of_knots_in_one_call() -> None:
    x = SX.sym("x", 3)
    kernels = [kernel(program_of(ca.Function("f", [x], [y])), 8) for y in (2 * x, ca.sin(x[:2]), x)]
    array, result = RNG.normal(size=(30, 3)), np.zeros((30, 3))
    indices = np.concatenate([blocks_of(range(11), 8), blocks_of(range(11, 20), 8), blocks_of(range(20, 30), 8)])
    call = KernelCall(kernels, np.array([0, 0, 1, 1, 2, 2]), indices, [rows(array), rows(result)])
    call(0, 3)
    call(3)
    expected = array.copy()
    expected[:11] *= 2
    expected[11:20, :2], expected[11:20, 2] = [[np.sin(v) for v in row] for row in array[11:20, :2]], 0
    np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_parameters_change_without_compiling() -> None:
    f = pendulum()
    call_inputs = [RNG.normal(size=(9, 2)), RNG.normal(size=(9, 1)), np.tile([1.0, 0.5], (9, 1))]
    compiled = kernel(program_of(f), 8)
    first = run_kernel(compiled, call_inputs)
    before = compilations()
    call_inputs[2][:] = [2.0, 0.7]
    second = run_kernel(kernel(program_of(pendulum()), 8), call_inputs)  # written again: the same content
    assert compilations() == before
    assert not np.array_equal(first[0], second[0])
    assert_same_bits(second, evaluate(f, call_inputs))


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (2, 3, 4), (3, 2, 1), (1, 5, 2), (5, 4, 7), (6, 6, 6), (3, 0, 2), (0, 2, 3)]
)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("accumulate", [False, True])
def test_matrix_products_in_lanes(shape: tuple[int, int, int], transpose: bool, accumulate: bool) -> None:
    m, k, n = shape
    program = Program("product")
    a, b, c = program.input(*((k, m) if transpose else (m, k))), program.input(k, n), program.input(m, n)
    one = program.call(ca.Function("one", [], [SX(1)]))[0]
    program.output(program.matmul(a, b, transpose_a=transpose, initial=c if accumulate else None), one)
    inputs = [RNG.normal(size=(9, array.size)) for array in (a, b, c)]
    A, B, C = (v.reshape(9, *array.shape) for v, array in zip(inputs, (a, b, c)))
    expected = (A.swapaxes(1, 2) if transpose else A) @ B + (C if accumulate else 0)
    results = []
    for width in ALL_WIDTHS:
        for level in LEVELS.values():
            results.append(run_kernel(kernel_at(program, width, level), inputs)[0])
    for got in results:
        np.testing.assert_allclose(got.reshape(9, m, n), expected, rtol=0, atol=1e-14 * max(1, k))
        assert_same_bits([got], [results[0]])


def test_program_evaluates_as_its_kernel_does() -> None:
    """Calls, products, an array that is used twice, and an intermediate that is an output too."""
    x, A = SX.sym("x", 3), SX.sym("A", 3, 3)
    stage = ca.Function("stage", [x, A], [A @ ca.sin(x), A * x])
    program = Program("chain")
    a, M = program.input(3), program.input(3, 3)
    y, N = program.call(stage, a, M)
    z, P = program.call(stage, y, program.matmul(N, M))
    program.output(z, program.matmul(P, P, transpose_a=True, initial=M), y)
    inputs = [RNG.normal(size=(10, 3)), RNG.normal(size=(10, 9))]
    for width in ALL_WIDTHS:
        got = run_kernel(kernel(program, width), inputs)
        for t in range(10):
            for output, expected in zip(got, program.evaluate(*(v[t] for v in inputs))):
                np.testing.assert_allclose(output[t], expected.ravel(), rtol=1e-13, atol=1e-14)


def test_more_than_64_arrays() -> None:
    symbols = [SX.sym(f"x{i}", i % 3) for i in range(90)]
    f = ca.Function("f", symbols, [k * s for k, s in enumerate(symbols)])
    inputs = [RNG.normal(size=(9, s.numel())) for s in symbols]
    for width in ALL_WIDTHS:
        assert_same_bits(run_kernel(kernel(program_of(f), width), inputs), evaluate(f, inputs))


class TestRefusals:
    """Machine code trusts its addresses: what does not fit is refused when the call is made."""

    def call(
        self, width: int = 8, kinds: Reals | None = None, indices: Ints | None = None, **changes: Rows
    ) -> KernelCall:
        arrays = {"x": np.ones((9, 3)), "a": np.ones((9, 3, 3)), "y": np.ones((9, 3)), "z": np.ones((9, 3))}
        arguments = {name: rows(array) for name, array in arrays.items()} | changes
        indices = blocks_of(range(9), width) if indices is None else indices
        kinds = np.zeros(len(indices)) if kinds is None else kinds
        return KernelCall([kernel(program_of(linear()), width)], kinds, indices, list(arguments.values()))

    def test_fitting_arrays_are_accepted(self) -> None:
        self.call()()

    @pytest.mark.parametrize("index", [-1, 9])
    def test_rows_outside_the_array(self, index: int) -> None:
        with pytest.raises(InvalidArgumentError, match="linear: input 0: expected rows .* got an array of shape"):
            self.call(indices=np.full((2, 8), index))

    def test_offset_too_large(self) -> None:
        with pytest.raises(InvalidArgumentError, match="output 1: expected rows 1 to 9 .* reduce the offset 1"):
            self.call(z=rows(np.ones((9, 3)), offset=1))

    def test_rows_too_short(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"input 1: expected rows of 9 numbers, got shape \(9, 8\)"):
            self.call(a=rows(np.ones((9, 8))))

    def test_rows_not_in_one_piece(self) -> None:
        with pytest.raises(InvalidArgumentError, match="input 1: expected contiguous rows"):
            self.call(a=rows(np.ones((9, 3, 6))[:, :, ::2]))

    def test_other_numbers(self) -> None:
        with pytest.raises(InvalidArgumentError, match="input 0: expected an array of float64, got float32"):
            self.call(x=rows(np.ones((9, 6), dtype=np.float32)))  # type: ignore[arg-type]

    def test_read_only_output(self) -> None:
        fixed = np.ones((9, 3))
        fixed.flags.writeable = False
        self.call(x=rows(fixed))
        with pytest.raises(InvalidArgumentError, match="output 0: expected a writable array"):
            self.call(y=rows(fixed))

    @pytest.mark.parametrize("runs", [((0, 4),), ((-1, 2),), ((2, 1),), ((0, 2), (1, 3)), ((0, 1, 2),), ((0, 1.5),)])
    @pytest.mark.parametrize("width", [1, 8])
    def test_runs_that_do_not_fit(self, width: int, runs: tuple[tuple[int, int], ...]) -> None:
        with pytest.raises(
            InvalidArgumentError, match=r"output 0: runs: expected ascending ranges .* of 3 elements, got"
        ):
            self.call(width, y=rows(np.ones((9, 3)), runs=runs))

    @pytest.mark.parametrize("how", [{"runs": ((0, 3),)}, {"zeroed": True}])
    def test_runs_of_an_input(self, how: Any) -> None:
        with pytest.raises(InvalidArgumentError, match="input 0: runs, zeroed: expected for outputs only"):
            self.call(x=rows(np.ones((9, 3)), **how))

    def test_kinds_and_shapes(self) -> None:
        with pytest.raises(InvalidArgumentError, match=r"kinds: expected indices of 1 kernels, got .*1"):
            self.call(kinds=np.array([0, 1]))
        with pytest.raises(InvalidArgumentError, match=r"expected shapes \(B,\) and \(B, 8\), got \(3,\) and \(2, 8\)"):
            self.call(kinds=np.zeros(3))

    @pytest.mark.parametrize("wrong", [(0, 3), (-1, 1), (2, 1)])
    def test_range_of_blocks(self, wrong: tuple[int, int]) -> None:
        call = self.call()
        call()
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match=f"expected a range within 0..2, got {wrong[0]}..{wrong[1]}"):
                call(*wrong)

    def test_number_of_arrays(self) -> None:
        with pytest.raises(
            InvalidArgumentError, match="arguments: expected 4 arrays for .*, inputs first, then outputs; got 5"
        ):
            self.call(more=rows(np.ones((9, 3))))

    def test_kernels_that_do_not_fit_together(self) -> None:
        kernels = [kernel(program_of(linear()), width) for width in (1, 8)]
        with pytest.raises(InvalidArgumentError, match="kernels: expected the same width"):
            KernelCall(kernels, np.zeros(0), blocks_of([], 8), [rows(np.ones((9, 9)))] * 4)
        with pytest.raises(InvalidArgumentError, match="kernels: expected at least one"):
            KernelCall([], np.zeros(0), blocks_of([], 8), [])

    def test_one_lane_works_in_place(self) -> None:
        """An output over an input would be read after it was written; with several lanes rows are copied first."""
        x = np.ones((9, 3))
        with pytest.raises(InvalidArgumentError, match="output 0 shares memory with linear: input 0"):
            self.call(1, x=rows(x), y=rows(x))
        with pytest.raises(InvalidArgumentError, match="output 1 shares memory with linear: output 0"):
            self.call(1, y=rows(x), z=rows(x))
        for width, y in ((8, rows(x)), (1, rows(np.ones((10, 3)), offset=1))):
            self.call(width, x=Rows(y.array, y.row_stride), y=y)()

    def test_widths_and_programs(self) -> None:
        with pytest.raises(InvalidArgumentError, match="width: expected 1, 2, 4 or 8 lanes, got 3"):
            kernel(program_of(linear()), 3)
        empty = Program("empty")
        empty.input(2)
        with pytest.raises(InvalidArgumentError, match="program 'empty' has no outputs"):
            kernel(empty, 8)

    def test_programs_are_final_once_they_have_a_kernel(self) -> None:
        program = program_of(linear())
        kernel_at(program, 8, LEVELS["quick"])
        with pytest.raises(InvalidArgumentError, match="got one with a kernel"):
            program.input(2)
