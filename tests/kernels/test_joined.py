"""Calls that are joined to one function: the same bits, each instruction once, and nothing that nobody needs."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.support.kernel_runner import ALL_WIDTHS, LEVELS, Reals, assert_same_bits, kernel_at, run_kernel
from trajopt.kernels import Program
from trajopt.kernels.joined import JoinedCall, joined
from trajopt.kernels.steps import Call, Slice


def chain(*, joins: bool = True, swapped: bool = False) -> Program:
    """A placement, and two functions of what it gives, with a product in the end."""
    program = Program("chain")
    x, p = program.input(3), program.input(4)
    q, scale, y = SX.sym("q", 3), SX.sym("scale", 2), SX.sym("y", 2, 2)
    turn = ca.blockcat([[ca.cos(q[0]), -ca.sin(q[0])], [SX(1, 1), ca.cos(q[0])]])
    placement, unused = program.call(ca.Function("placement", [q], [turn, ca.exp(q)]), x)
    first, second = program.slice(p, 1, 2), program.slice(p, 2, 2)
    given = (second, first) if swapped else (first, second)
    cost = ca.Function("cost", [q, y, scale], [scale[0] * ca.sin(q[0]) + scale[1] * ca.sum1(ca.sum2(y))])
    rows = ca.Function(
        "rows", [y, scale], [y * scale[0], ca.if_else(y[0, 0] > scale[1], ca.sqrt(y[0, 0] - scale[1]), 0)]
    )
    (value,) = program.call(cost, x, placement, given[0], joins=joins)
    scaled, root = program.call(rows, placement, given[1], joins=joins)
    program.output(value, root, program.matmul(scaled, scaled), unused)
    return program


def inputs(count: int = 19) -> list[Reals]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=(count, 3)), rng.normal(size=(count, 4))]


def test_parts_and_the_joined_function_have_the_same_bits() -> None:
    apart = run_kernel(kernel_at(chain(joins=False), 1, LEVELS["quick"]), inputs())
    for width in ALL_WIDTHS:
        for level in LEVELS.values():
            assert_same_bits(run_kernel(kernel_at(chain(), width, level), inputs()), apart)
    program = joined(chain())
    values = [program.evaluate(*rows) for rows in zip(*inputs())]
    assert_same_bits([apart[i] for i in (0, 1, 3)], [np.array([v[i].ravel() for v in values]) for i in (0, 1, 3)])


def test_common_parts_of_joined_calls_are_computed_once() -> None:
    program = joined(chain())
    calls = [step for step in program.steps if isinstance(step, (Call, JoinedCall))]
    (call,) = calls
    assert isinstance(call, JoinedCall)
    operations = [op for op, _, _ in call.function.code.operations]
    assert operations.count(ca.OP_SIN) == operations.count(ca.OP_COS) == 1
    assert len(operations) < call.function.instructions
    assert call.function.label == "placement and cost and rows"
    assert all(isinstance(step, Slice) for step in program.steps[:2])


def test_values_read_only_inside_a_joined_call_are_no_outputs() -> None:
    (call,) = [step for step in joined(chain()).steps if isinstance(step, JoinedCall)]
    placement = chain().steps[0].writes[0]
    assert placement not in call.writes
    assert len(call.writes) == 4


def test_a_program_without_calls_that_join_stays_as_it_is() -> None:
    program = chain(joins=False)
    assert joined(program) is program
    assert joined(chain()).digest() != chain().digest()


def test_wiring_is_part_of_the_digest() -> None:
    one, same, other = (joined(chain(swapped=swapped)).digest() for swapped in (False, False, True))
    assert one == same != other


def test_programs_that_were_pickled_join_to_the_same_function() -> None:
    again = pickle.loads(pickle.dumps(chain()))
    assert joined(again).digest() == joined(chain()).digest()
    level = LEVELS["optimised"]
    assert_same_bits(
        run_kernel(kernel_at(again, 8, level), inputs()), run_kernel(kernel_at(chain(), 8, level), inputs())
    )


@pytest.mark.parametrize("size", [0, 2])
def test_slices_are_read_only_parts_of_inputs(size: int) -> None:
    program = Program("slices")
    p = program.input(4)
    part = program.slice(p, 1, size)
    assert program.slice(p, 1, size) is part
    with pytest.raises(ValueError, match="is an input"):
        program.output(part)
    with pytest.raises(ValueError, match="expected no input"):
        program.add(part, program.call(ca.Function("zero", [], [SX.zeros(size)]))[0])
    with pytest.raises(ValueError, match=r"expected an input with elements 3\.\.5"):
        program.slice(p, 3, 2)
