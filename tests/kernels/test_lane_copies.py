"""Copies of lanes, calls on rows that hold all lanes, and calls for chosen groups."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from trajopt.errors import InvalidArgumentError
from trajopt.kernels import (
    GroupCalls,
    KernelCall,
    LaneChoice,
    Program,
    Stage,
    copy_vectors,
    kernel,
    lane_count,
    rows,
)
from trajopt.shooting.arrays import padded

W = lane_count()


def test_a_lane_is_copied_to_another_one_and_to_a_row() -> None:
    source, target, row = np.arange(5.0 * W).reshape(5, W), np.zeros((5, W)), np.zeros(5)
    at, to, flat = (int(array.ctypes.data) for array in (source, target, row))
    copy_vectors(np.array([[at + 8, to + 16, 5, 8 * W, 8 * W], [at, flat, 4, 8 * W, 8]]))
    expected = np.zeros((5, W))
    expected[:, 2] = source[:, 1]
    np.testing.assert_array_equal(target, expected)
    np.testing.assert_array_equal(row, [*source[:4, 0], 0.0])


def test_chosen_lanes_are_copied() -> None:
    source, target, chosen = np.arange(5.0 * W).reshape(5, W), np.zeros((5, W)), padded((1, W))
    chosen[0, 1::3] = 1.0
    GroupCalls(Stage([[LaneChoice([(source[:4], target[:4])], chosen[0])]]))(np.array([0]))
    expected = np.zeros((5, W))
    expected[:4, 1::3] = source[:4, 1::3]
    np.testing.assert_array_equal(target, expected)


def test_groups_repeat_their_calls_until_no_lane_is_left() -> None:
    """Lanes count down from their numbers; a group makes as many passes as its largest number."""
    left, after = (padded((5, 1, 2, W)) for _ in range(2))
    left[:, 0, 0] = np.random.default_rng(0).integers(1, 9, (5, W))
    most = left[:, 0, 0].max(axis=1)
    state = ca.SX.sym("s", 2)
    down = ca.Function("down", [state], [ca.vertcat(ca.fmax(state[0] - 1, 0), state[1] + 1)])
    same = ca.Function("same", [state], [+state])
    calls = []
    for g in range(5):
        there, back = (kernel(Program.of(f.name(), f), W) for f in (down, same))
        first = KernelCall([there], [0], [[0]], [rows(left[g]), rows(after[g])], packed=True)
        calls.append([first, KernelCall([back], [0], [[0]], [rows(after[g]), rows(left[g])], packed=True)])
    GroupCalls(Stage(calls, left[:, 0, 0]))(np.array([0, 1, 2, 4]))
    np.testing.assert_array_equal(left[[0, 1, 2, 4], 0, 1], np.tile(most[[0, 1, 2, 4], None], W))
    assert not left[3, 0, 1].any()
    assert not left[[0, 1, 2, 4], 0, 0].any()


def test_a_group_that_halts_leaves_out_its_later_stages() -> None:
    zero, first, second, halts = (padded((4, 1, 2, W)) for _ in range(4))
    halts[2, 0, 1, W - 1] = -1.0
    state = ca.SX.sym("s", 2)
    one = kernel(Program.of("up", ca.Function("up", [state], [state + 1])), W)

    def calls(target: Any) -> Any:
        return [[KernelCall([one], [0], [[0]], [rows(zero[g]), rows(target[g])], packed=True)] for g in range(4)]

    GroupCalls(Stage(calls(first), halts=halts[:, 0, 1]), Stage(calls(second)))(np.array([1, 2, 3]))
    np.testing.assert_array_equal(first[:, 0, 0, 0], [0.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(second[:, 0, 0, 0], [0.0, 1.0, 0.0, 1.0])


def square() -> Program:
    x = ca.SX.sym("x", 3)
    return Program.of("square", ca.Function("square", [x], [x**2, ca.sum1(x)]))


def test_chosen_groups_work_in_place() -> None:
    x, y, total = (padded((4, 2, size, W)) for size in (3, 3, 1))
    x[:] = np.random.default_rng(0).normal(size=x.shape)
    k = kernel(square(), W)
    order = [[1], [0]]
    calls = [[KernelCall([k], [0, 0], order, [rows(x[g]), rows(y[g]), rows(total[g])], packed=True)] for g in range(4)]
    GroupCalls(Stage(calls))(np.array([1, 3]))
    np.testing.assert_array_equal(y[[1, 3]], x[[1, 3]] ** 2)
    np.testing.assert_allclose(total[[1, 3], :, 0], x[[1, 3]].sum(axis=2), rtol=1e-13)
    assert not y[[0, 2]].any()


def test_rows_of_lanes_are_checked() -> None:
    k = kernel(square(), W)
    x, y, total = padded((2, 3, W)), padded((2, 3, W)), padded((2, 1, W))
    with pytest.raises(InvalidArgumentError, match=r"kinds, indices: expected shapes \(B,\) and \(B, 1\)"):
        KernelCall([k], [0], [[0] * W], [rows(x), rows(y), rows(total)], packed=True)
    with pytest.raises(InvalidArgumentError, match=rf"expected rows 0 to 2 of {3 * W} numbers"):
        KernelCall([k], [0, 0], [[0], [2]], [rows(x), rows(y), rows(total)], packed=True)
    with pytest.raises(InvalidArgumentError, match=r"in place use separate arrays"):
        KernelCall([k], [0], [[0]], [rows(x), rows(x), rows(total)], packed=True)
