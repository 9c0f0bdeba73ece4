"""Machine code of SQP beside NumPy, to the bit: blends of Hessians, filled as a pass comes to them, sizes of rows."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.solvers.test_linear_quadratic import solution
from tests.support.stage_programs import random_program
from trajopt import problems
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.qp.row_sizes import RowSizes
from trajopt.solvers.riccati.blended_hessian import BlendedHessian
from trajopt.solvers.riccati.linear_quadratic import LinearQuadratic
from trajopt.solvers.riccati.riccati import Riccati
from trajopt.types import Reals

SCALE = 0.7


class Blend:
    """A Hessian of the cart-pole, of random numbers, in a program of `more` controls and `first` knots more."""

    def __init__(self, first: int, more: int) -> None:
        e = Evaluator(problems.load("cart-pole").problem)
        random = np.random.default_rng(0)
        self.exact = LagrangianHessian(e)
        for array in (e.H, e.terminal_H, self.exact.H, self.exact.terminal_H):
            array[:] = random.normal(size=array.shape)
        self.e, self.first, self.n, self.s = e, first, e.state.ndx, e.state.ndx + e.nu
        self.lq = LinearQuadratic.zeros(e.T + first, self.n, e.nu + more)
        self.lq.H[:] = -5.0
        self.hessian = BlendedHessian(e, self.exact, self.lq, first)

    def expected(self, part: float, ridge: float) -> tuple[Reals, Reals]:
        """What the program's arrays are to become."""
        both = zip((self.e.H, self.e.terminal_H), (self.exact.H, self.exact.terminal_H))
        inner, end = ((1.0 - part) * SCALE * a + part * SCALE * b for a, b in both)
        inner[:, range(self.n, self.s), range(self.n, self.s)] += ridge
        H = np.full(self.lq.H.shape, -5.0)
        H[self.first :, : self.s, : self.s] = inner
        return H, end


@pytest.mark.parametrize(("first", "more"), [(0, 0), (0, 3), (1, 3)])
@pytest.mark.parametrize(("part", "ridge"), [(0.0, 0.0), (0.0, 1e-3), (0.25, 0.0), (0.5, 2.0), (1.0, 0.0)])
def test_a_blend_is_the_formula(first: int, more: int, part: float, ridge: float) -> None:
    of = Blend(first, more)
    H, end = of.expected(part, ridge)
    of.hessian.blend(part, SCALE, ridge)
    assert np.all(of.lq.H == -5.0)
    of.hessian.write()
    np.testing.assert_array_equal(of.lq.H, H)
    np.testing.assert_array_equal(of.lq.terminal_H, end)


@pytest.mark.parametrize("first", [0, 1])
def test_the_hessian_of_a_knot_is_written_on_request(first: int) -> None:
    of = Blend(first, 0)
    H, end = of.expected(0.5, 0.0)
    of.hessian.blend(0.5, SCALE, 0.0)
    address, job = of.hessian.ready
    ready = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(address)
    T = of.e.T + first
    for t in (-1, T - 2):
        ready(job, t)
    np.testing.assert_array_equal(of.lq.H[T - 2], H[T - 2])
    assert np.all(np.delete(of.lq.H, T - 2, axis=0) == -5.0)
    assert not of.lq.terminal_H.any()
    ready(job, T)
    np.testing.assert_array_equal(of.lq.terminal_H, end)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (41, 3), (30, 40)])
def test_sizes_of_rows(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    c = random.normal(size=shape)
    y = np.where(random.random(shape) < 0.3, 0.0, random.normal(size=shape))
    lower = np.where(random.random(shape) < 0.2, -np.inf, c + random.normal(size=shape))
    upper = np.where(random.random(shape) < 0.2, np.inf, np.where(lower == -np.inf, c, lower) + random.random(shape))
    soft = random.random(shape) < 0.2
    beyond = np.abs(np.where(soft, 0.0, c - np.clip(c, lower, upper)))
    distance = np.where(y > 0.0, upper - c, c - lower)
    product = np.abs(y) * np.where(np.isfinite(distance), np.maximum(distance, 0.0), 0.0)
    sizes = RowSizes(lower, upper, soft)
    size = sizes.size[:] = 0.5 + random.random(shape)
    relative = beyond / size
    total = float(np.add.reduce(relative, axis=None))
    assert sizes.sum_of_violations(c) == total
    expected = total, relative.max(), beyond.max(), (np.abs(y) * size).max(), product.max()
    assert sizes.all(c, y) == expected


@pytest.mark.parametrize("wrong", ["c", "y"])
def test_sizes_of_what_is_no_number(wrong: str) -> None:
    arrays = {"c": np.zeros((5, 2)), "y": np.ones((5, 2))}
    arrays[wrong][3, 1] = np.nan
    sizes = RowSizes(-np.ones((5, 2)), np.ones((5, 2)), np.zeros((5, 2), bool))
    total, relative, violation, multiplier, product = sizes.all(**arrays)
    assert np.isnan((total, relative, violation) if wrong == "c" else (multiplier, product)).all()


def test_knots_that_are_filled_when_the_pass_comes_to_them() -> None:
    """From the end on; those before a failure are not asked for."""
    lq = random_program(6, 3, 2)
    whole, H, asked = Riccati(lq), lq.H.copy(), list[int]()
    whole.factor()
    expected = solution(whole)
    lq.H[:] = np.nan

    def fill(_: int | None, t: int) -> None:
        asked.append(t)
        if 0 <= t < 6:
            lq.H[t] = H[t]

    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(fill)
    riccati, address = Riccati(lq), ctypes.cast(function, ctypes.c_void_p).value or 0
    assert riccati.factor(fill=(address, 0)).failure is None
    assert asked == [6, 5, 4, 3, 2, 1, 0, -1]
    np.testing.assert_array_equal(lq.H, H)
    for found, wanted in zip(solution(riccati), expected):
        np.testing.assert_array_equal(found, wanted)
    asked.clear()
    H[4] -= 100.0 * np.eye(5)
    assert riccati.factor(fill=(address, 0)).failed_knot == 4
    assert min(asked) == 3
    asked.clear()
    riccati.factor()
    assert not asked
