"""Sines and cosines as arithmetic: near those of the C library, in lanes and in programs with joined calls."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from trajopt.kernels import KernelCall, Program, kernel, lane_count, rows, with_vector_sines
from trajopt.shooting.arrays import padded

W = lane_count()


def waves(x: Any) -> tuple[Any, Any]:
    """sin and cos of numbers (n W,), in lanes."""
    angle = ca.SX.sym("x")
    program = with_vector_sines(Program.of("waves", ca.Function("waves", [angle], [ca.sin(angle), ca.cos(angle)])))
    n = len(x) // W
    inputs, sine, cosine = (padded((n, 1, W)) for _ in range(3))
    inputs[:, 0] = x.reshape(n, W)
    blocks = np.arange(n)[:, None]
    KernelCall([kernel(program, W)], np.zeros(n), blocks, [rows(inputs), rows(sine), rows(cosine)], packed=True)()
    return sine.ravel(), cosine.ravel()


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 10.0, 1e3, 1e5])
def test_waves_are_those_of_the_library(size: float) -> None:
    x = np.random.default_rng(0).uniform(-size, size, 1000 * W)
    for got, expected in zip(waves(x), (np.sin(x), np.cos(x))):
        assert np.max(np.abs(got - expected) / np.spacing(np.abs(expected))) <= 2.0


def test_special_angles() -> None:
    quarters = np.arange(-8 * W, 8 * W) * (np.pi / 2)
    sine, cosine = waves(quarters)
    np.testing.assert_allclose(sine, np.sin(quarters), rtol=1e-15, atol=1e-30)
    np.testing.assert_allclose(cosine, np.cos(quarters), rtol=1e-15, atol=1e-30)
    odd = np.resize([np.nan, np.inf, -np.inf, 0.0], W)
    sine, cosine = waves(odd)
    np.testing.assert_array_equal(np.isnan(sine), ~np.isfinite(odd))
    np.testing.assert_array_equal(sine[np.isfinite(odd)], 0.0)
    np.testing.assert_array_equal(cosine[np.isfinite(odd)], 1.0)


def test_joined_calls_and_other_functions_keep_their_values() -> None:
    x = ca.SX.sym("x", 2)
    first = ca.Function("first", [x], [ca.vertcat(ca.sin(x[0]) * x[1], ca.exp(x[1]), 0)])
    y = ca.SX.sym("y", 3)
    second = ca.Function(
        "second", [x, y], [ca.cos(x[0]) + ca.sqrt(y[1]) - y[0], ca.if_else(y[0] > 0, ca.tan(y[0]), y[1])]
    )
    program = Program("two calls")
    point = program.input(2)
    (between,) = program.call(first, point)
    program.output(*program.call(second, point, between, joins=True))
    vector = with_vector_sines(program)
    assert vector.digest() != program.digest()
    values = np.random.default_rng(1).uniform(-2.0, 2.0, (2, W))
    inputs, a, b = padded((1, 2, W)), padded((1, 1, W)), padded((1, 1, W))
    inputs[0] = values
    KernelCall([kernel(vector, W)], [0], [[0]], [rows(inputs), rows(a), rows(b)], packed=True)()
    for lane in range(W):
        expected = program.evaluate(values[:, lane])
        np.testing.assert_allclose([a[0, 0, lane], b[0, 0, lane]], np.ravel(expected), rtol=1e-14)
