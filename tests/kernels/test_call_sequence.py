"""Calls one after the other: their order, and one call of machine code for those that follow one another."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tests.support.kernel_runner import program_of
from trajopt.kernels import CallSequence, KernelCall, Reduction, blocks_of, kernel, rows
from trajopt.kernels.call_sequence import Together
from trajopt.types import Reals


def tripled(x: Reals, y: Reals, width: int) -> KernelCall:
    """y := 3 x, row by row."""
    symbol = ca.SX.sym("x", x.shape[1])
    compiled = kernel(program_of(ca.Function("tripled", [symbol], [3 * symbol])), width)
    blocks = blocks_of(range(len(x)), width)
    return KernelCall([compiled], np.zeros(len(blocks)), blocks, [rows(x), rows(y)])


@pytest.mark.parametrize("width", [1, 8])
def test_each_call_sees_what_those_before_it_have_written(width: int) -> None:
    x, y, z = np.random.default_rng(0).normal(size=(11, 4)), np.zeros((11, 4)), np.zeros((11, 4))
    seen: list[Reals] = []
    sums, first, second = Reduction(z), tripled(x, y, width), tripled(y, z, width)
    turn = CallSequence([first, second, sums, lambda: seen.append(z.copy()), first])
    for _ in range(3):
        x += 1.0
        turn()
        np.testing.assert_array_equal(z, 3 * (3 * x))
        np.testing.assert_array_equal(seen[-1], z)
        assert sums.latest() == z.sum(axis=1).tolist()


def test_machine_code_runs_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    together, count = Together.__call__, [0]

    def counted(self: Together) -> None:
        count[0] += 1
        together(self)

    monkeypatch.setattr(Together, "__call__", counted)
    x, y = np.ones((3, 2)), np.zeros((3, 2))
    call, sums = tripled(x, y, 8), Reduction(y)
    CallSequence([call, sums, call])()
    assert count == [1]
    CallSequence([call, lambda: None, sums, call])()
    assert count == [3]
    CallSequence([])()
    CallSequence([lambda: y.fill(5.0)])()
    assert count == [3]
    assert np.all(y == 5.0)


def test_all_blocks_are_run_whatever_the_call_was_aimed_at() -> None:
    x, y = np.ones((6, 2)), np.zeros((6, 2))
    call = tripled(x, y, 1)
    turn = CallSequence([call])
    turn()
    y[:] = 0.0
    call(2, 4)
    assert y[:, 0].tolist() == [0.0, 0.0, 3.0, 3.0, 0.0, 0.0]
    turn()
    assert np.all(y == 3.0)
