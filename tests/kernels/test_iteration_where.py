"""Iterations in some lanes: others make no pass."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tests.kernels.test_iteration import WIDTHS, Passes, T, copied
from tests.support.kernel_runner import run_kernel
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Program, kernel


@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_that_need_not_keep_their_state(width: int) -> None:
    """A block without a lane that does makes no pass at all; NaN is not 0."""
    where = np.where(np.arange(T)[:, None] % 3 == 1, 0.0, 1e-300)
    where[8:] = 0.0
    where[3] = np.nan
    body = Program("body")
    x, passes = body.input(1), body.input(1)
    body.add_step(Passes(passes, body.array(1)))
    count = SX.sym("x")
    body.output(*body.call(ca.Function("f", [count], [count + 1, ca.if_else(count < 3, 1, 0)]), x))
    program = Program("where")
    state, passes = copied(program, *[program.input(1) for _ in range(2)])
    asked = program.input(1)
    left = program.iterate(body, [state], [passes], limit=9, where=asked)
    program.output(state, left, passes)
    start = np.linspace(-1, 1, T)[:, None].round()
    count, left, made = run_kernel(kernel(program, width), [start, np.zeros((T, 1)), where])
    passed = where != 0
    np.testing.assert_array_equal(count, np.where(passed, 4, start))
    assert not left.any()
    np.testing.assert_array_equal(made[:, 0] != 0, [passed[t - t % width :][:width].any() for t in range(T)])


def test_where_must_be_a_separate_array_of_one_number() -> None:
    program = Program("where")
    (state,) = copied(program, program.input(1))
    body = Program.of("body", ca.Function("f", [x := SX.sym("x")], [x, x]))
    with pytest.raises(InvalidArgumentError, match="where: expected an array"):
        program.iterate(body, [state], limit=3, where=program.input(2))
