"""Functions as kernels: shapes, sparsity, constants, cuts; the reference is CasADi's evaluator, bit for bit."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, assert_same_bits, evaluate, run_function
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.kernels import Program, emission
from trajopt.kernels.emission import EmittedFunction
from trajopt.kernels.instruction_list import InstructionList, InstructionWriter, drop_unused
from trajopt.kernels.instructions import read_instructions


def arrays(function: ca.Function, T: int = 5, seed: int = 0) -> list[np.ndarray]:
    """Random inputs (T, size) of a function."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(T, function.numel_in(i))) for i in range(function.n_in())]


def check(function: ca.Function) -> None:
    inputs = arrays(function)
    expected = evaluate(function, inputs)
    for width in ALL_WIDTHS:
        assert_same_bits(run_function(function, inputs, width=width), expected)


def chain(n: int, seed: int = 3) -> ca.Function:
    """A long expression: each value comes from two of the last fifty, now and then from the first ones."""
    rng = np.random.default_rng(seed)
    x = SX.sym("x", 6)
    values = [x[i] for i in range(6)]
    for k in range(n):
        a = values[-1 - int(rng.integers(min(50, len(values))))]
        b = values[int(rng.integers(6))] if k % 7 == 0 else values[-1 - int(rng.integers(min(50, len(values))))]
        kind = k % 5
        values.append([0.7 * a + b, a * b, ca.sin(a) - b, ca.if_else(a > b, a, 0.5 * b), a / (1 + b * b)][kind])
    return ca.Function("chain", [x], [ca.vertcat(*values[-9:]), ca.vertcat(*values[10:400:40])])


def test_several_inputs_and_matrices_are_row_major() -> None:
    a, b, s = SX.sym("a", 2, 3), SX.sym("b", 3, 2), SX.sym("s")
    f = ca.Function("f", [a, b, s], [a @ b, s * a.T, ca.sum1(b)])
    check(f)
    inputs = arrays(f)
    product = run_function(f, inputs)[0]
    np.testing.assert_allclose(product[1].reshape(2, 2), inputs[0][1].reshape(2, 3) @ inputs[1][1].reshape(3, 2))


def test_sparse_inputs_and_outputs() -> None:
    pattern = ca.Sparsity.lower(4)
    a, x = SX.sym("a", pattern), SX.sym("x", 4)
    f = ca.Function("f", [a, x], [a @ x, a * 2, ca.jacobian(ca.sin(x[:2]), x)])
    check(f)
    doubled = run_function(f, arrays(f))[1].reshape(-1, 4, 4)
    assert np.all(doubled[:, *np.triu_indices(4, 1)] == 0)  # the driver's buffers held NaN before


def test_constants_and_inputs_as_outputs() -> None:
    x = SX.sym("x", 3)
    values = ca.vertcat(0, -0.0, 1.5, np.inf, -np.inf, np.nan, 1e-310)
    check(ca.Function("f", [x], [values, x, ca.vertcat(x[2], x[2], 7, x[0]), SX(2, 2)]))
    check(ca.Function("f", [x], [x]))
    check(ca.Function("f", [x], [SX(7)]))
    check(ca.Function("f", [x], [SX(2, 2)]))


def test_empty_inputs_and_outputs() -> None:
    x, nothing = SX.sym("x", 2), SX.sym("nothing", 0)
    check(ca.Function("f", [nothing, x, nothing], [SX(0, 1), ca.sin(x), SX(0, 3)]))


def test_no_inputs() -> None:
    program = Program("constants")
    program.output(*program.call(ca.Function("f", [], [SX([1.0, 2.0])])))
    assert [v.tolist() for v in program.evaluate()] == [[[1.0], [2.0]]]


def test_mx_functions_are_expanded() -> None:
    x = ca.MX.sym("x", 3)
    a = ca.MX.sym("a", 3, 3)
    f = ca.Function("f", [a, x], [ca.mtimes(a, x), ca.norm_2(x), ca.dot(x, x)])
    inputs = arrays(f)
    expected = evaluate(f.expand(), inputs)
    for width in ALL_WIDTHS:
        assert_same_bits(run_function(f, inputs, width=width), expected)


def test_functions_without_scalar_form_are_refused() -> None:
    x = ca.MX.sym("x")
    table = ca.interpolant("table", "bspline", [list(range(6))], [0.0, 1.0, 0.0, 1.0, 0.0, 2.0])
    root = ca.rootfinder("root", "newton", {"x": x, "g": x * x - 2})
    for result in (table(x), root(x, [])):
        with pytest.raises(UnsupportedOperationError, match="function 'f'.*(call of another function|scalar)"):
            run_function(ca.Function("f", [x], [result]), [np.ones((1, 1))])


@pytest.mark.parametrize("width", ALL_WIDTHS)
def test_cut_functions_have_the_same_bits(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    f = chain(400)
    inputs = arrays(f, T=9)
    code = read_instructions(f)
    expected = evaluate(f, inputs)
    for cut in (10_000, 333, 50):
        monkeypatch.setattr(emission, "CUT", cut)
        parts = EmittedFunction("f", code, width).parts
        assert len(parts) == -(-len(code) // cut)
        assert_same_bits(run_function(f, inputs, width=width), expected)


@pytest.mark.slow
def test_slots_of_scratch_serve_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that wait at cuts reuse the scratch: a longer chain holds no more of them at any cut."""
    monkeypatch.setattr(emission, "CUT", 100)
    sizes = [EmittedFunction("f", read_instructions(chain(n)), 8).scratch for n in (1000, 4000)]
    assert 0 < sizes[1] < 2 * sizes[0]


def test_equal_instructions_are_merged_and_unused_ones_dropped() -> None:
    x, y = SX.sym("x"), SX.sym("y")
    same = ca.Function("f", [x, y], [ca.sin(x * y) + 1, ca.sin(y * x) - 1])
    operations = [op for op, _, _ in read_instructions(same).operations]
    assert operations.count(ca.OP_SIN) == 1
    assert operations.count(ca.OP_MUL) == 1
    check(same)
    x0, two, three = (ca.OP_INPUT, 0, 0), (ca.OP_CONST, 2.0, -1), (ca.OP_CONST, 3.0, -1)
    code = InstructionList([two, x0, (ca.OP_EXP, 1, -1), three, (ca.OP_MUL, 1, 3)], [[4, None, 3]], [(1, 1)], [(3, 1)])
    kept = drop_unused(code)
    assert kept.operations == [x0, three, (ca.OP_MUL, 0, 1)]
    assert kept.outputs == [[2, None, 1]]


def test_lists_without_unused_instructions_stay_as_they_are() -> None:
    code = read_instructions(chain(5))
    assert drop_unused(code) is code


def test_reals_are_numbered_in_the_order_in_which_llvm_counts_them() -> None:
    for part in EmittedFunction("f", read_instructions(chain(400)), 8).parts:
        results = [line.split(" = ")[0] for line in part.splitlines() if line[:1] == "%" and line[1].isdigit()]
        assert results == [f"%{n}" for n in range(1, len(results) + 1)]


def test_zero_and_minus_zero_are_not_merged() -> None:
    writer = InstructionWriter()
    numbers = [writer.constant(v) for v in (0.0, -0.0, np.nan, 0.0, -0.0, float("nan"))]
    assert numbers == [0, 1, 2, 0, 1, 2]


def test_different_programs_have_different_digests() -> None:
    x, y = SX.sym("x", 2), SX.sym("y", 2)
    f = ca.Function("f", [x, y], [x - y])

    def digest(swap: bool, product: bool = False) -> str:
        program = Program("p")
        a, b = program.input(2), program.input(2)
        (c,) = program.call(f, *((b, a) if swap else (a, b)))
        program.output(program.matmul(c, c, transpose_a=True) if product else c)
        return program.digest()

    assert digest(False) == digest(False)
    assert len({digest(False), digest(True), digest(False, True), digest(True, True)}) == 4


def test_misuse_of_programs_names_the_argument() -> None:
    x = SX.sym("x", 2, 3)
    f = ca.Function("f", [x], [2 * x])
    program = Program("p")
    a, b = program.input(2, 3), program.input(3, 2)
    with pytest.raises(InvalidArgumentError, match=r"inputs: expected 1 arrays for 'f', got 2"):
        program.call(f, a, a)
    with pytest.raises(InvalidArgumentError, match=r"expected shape \(2, 3\) for input 0 \(i0\) of .*, got \(3, 2\)"):
        program.call(f, b)
    with pytest.raises(InvalidArgumentError, match=r"matmul: a b of shapes \(2, 3\) and \(2, 3\)"):
        program.matmul(a, a)
    with pytest.raises(InvalidArgumentError, match=r"initial: expected shape \(2, 2\), got \(2, 3\)"):
        program.matmul(a, b, initial=a)
    with pytest.raises(InvalidArgumentError, match="is an input already"):
        program.output(a)
    other = Program("other").input(5)
    with pytest.raises(InvalidArgumentError, match="is not of program 'p'"):
        program.output(other)
