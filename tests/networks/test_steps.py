"""A network as steps of a program: values and derivatives of its expression, for every activation."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.networks.test_network import NUMPY, arrays
from tests.support.kernel_runner import LEVELS, kernel_at, run_kernel
from trajopt.kernels import Program
from trajopt.kernels.derivatives import jacobian
from trajopt.networks.activations import tanh
from trajopt.networks.steps import add_derivatives, add_values
from trajopt.types import Reals


def tanh_of(x: Reals) -> Reals:
    s = ca.SX.sym("x")
    f = ca.Function("tanh", [s], [tanh(s)])
    return np.array([float(f(v)) for v in x])


def test_tanh_by_doubling() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [3.0 * rng.normal(size=4000), 1e-4 * rng.normal(size=500), [0.0, 1e-300, 19.9, 20.1, 1e300, np.inf]]
    )
    np.testing.assert_allclose(tanh_of(x), np.tanh(x), rtol=3e-15, atol=0)
    assert np.abs(tanh_of(x) - np.tanh(x)).max() < 5e-16
    np.testing.assert_array_equal(tanh_of(-x), -tanh_of(x))
    assert np.isnan(tanh_of(np.array([np.nan])))


@pytest.mark.parametrize("name", NUMPY)
def test_values_and_derivatives_are_those_of_the_expression(name: str) -> None:
    network = trajopt.Network(*arrays(3, 20, 11, 2), activation=name, output=name, output_scale=[3.0, -0.2])
    program = Program("derivatives")
    z, Dz = program.input(3), program.input(3, 4)
    program.output(*add_derivatives(program, network, z, Dz))
    values = Program("values")
    values.output(add_values(values, network, values.input(3)))
    rng = np.random.default_rng(1)
    points, seeds = rng.normal(size=(9, 3)), rng.normal(size=(9, 3, 4))
    y, D = run_kernel(kernel_at(program, 8, LEVELS["optimised"]), [points, seeds.reshape(9, -1)])
    (alone,) = run_kernel(kernel_at(values, 1, LEVELS["quick"]), [points])
    np.testing.assert_array_equal(alone, y)
    np.testing.assert_allclose(y, network(points), rtol=1e-13, atol=1e-13)
    x = ca.SX.sym("x", 3)
    J = ca.Function("J", [x], [jacobian(network(x), x)])
    expected = np.array([J(p).full() @ S for p, S in zip(points, seeds)])
    np.testing.assert_allclose(D.reshape(9, 2, 4), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(program.evaluate(points[0], seeds[0])[1], expected[0], rtol=1e-11, atol=1e-12)
