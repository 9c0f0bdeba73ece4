"""The network itself: values against numpy, derivatives, scalings, what it refuses, pickles and content."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.special import erf, expit

import trajopt
from trajopt.errors import ImmutableError, InvalidArgumentError, UnknownNameError
from trajopt.kernels.derivatives import jacobian
from trajopt.model.content import content_hash
from trajopt.types import Reals

NUMPY: dict[str, Any] = {
    "identity": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
    "sigmoid": expit,
    "logistic": expit,
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "gelu": lambda x: 0.5 * x * (1.0 + erf(x / np.sqrt(2.0))),
    "silu": lambda x: x * expit(x),
}


def arrays(*sizes: int, seed: int = 0) -> tuple[list[Reals], list[Reals]]:
    """Random weights and biases."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    return [rng.normal(size=(m, n)) for n, m in pairs], [rng.normal(size=m) for _, m in pairs]


def by_hand(x: Reals, weights: list[Reals], biases: list[Reals], hidden: str, output: str) -> Reals:
    for i, (W, b) in enumerate(zip(weights, biases)):
        x = NUMPY[output if i == len(weights) - 1 else hidden](W @ x + b)
    return x


@pytest.mark.parametrize("name", NUMPY)
def test_values_are_those_of_numpy(name: str) -> None:
    weights, biases = arrays(3, 6, 5, 2)
    network = trajopt.Network(weights, biases, activation=name, output="sigmoid")
    points = np.random.default_rng(1).normal(size=(7, 3))
    expected = np.array([by_hand(x, weights, biases, name, "sigmoid") for x in points])
    np.testing.assert_allclose(network(points), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(network(points[2]), network(points)[2])
    x = ca.SX.sym("x", 3)
    f = ca.Function("f", [x], [network(x)])
    np.testing.assert_allclose(f(points.T).full().T, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("at", [-800.0, -40.0, -0.3, 0.2, 30.0, 40.0, 800.0])
def test_activations_and_their_slopes_are_finite_everywhere(name: str, at: float) -> None:
    x = ca.SX.sym("x")
    y = trajopt.Network([[[1.0]], [[1.0]]], activation=name)(x)
    value, slope = (float(each) for each in ca.Function("f", [x], [y, jacobian(y, x)])(at))
    assert value == pytest.approx(float(NUMPY[name](np.array(at))), rel=1e-14, abs=1e-14)
    h = 1e-5 * max(1.0, abs(at))
    expected = float(NUMPY[name](np.array(at + h)) - NUMPY[name](np.array(at - h))) / (2 * h)
    assert slope == pytest.approx(expected, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("name", NUMPY)
def test_nan_stays_nan_and_infinity_is_finite_where_it_can_be(name: str) -> None:
    network = trajopt.Network([[[1.0]], [[1.0]]], activation=name)
    assert np.isnan(network([np.nan]))
    if name in ("tanh", "sigmoid", "logistic"):
        assert network([np.inf]) == 1.0


def test_softplus_has_its_slope_at_zero() -> None:
    x = ca.SX.sym("x")
    y = trajopt.Network([[[1.0]], [[1.0]]], activation="softplus")(x)
    assert float(ca.Function("f", [x], [jacobian(y, x)])(0.0)) == 0.5


def test_derivatives_are_exact_by_a_complex_step() -> None:
    weights, biases = arrays(4, 64, 64, 64, 2)
    weights = [W / np.sqrt(W.shape[1]) for W in weights]
    network, x = trajopt.Network(weights, biases), ca.SX.sym("x", 4)
    J = ca.Function("J", [x], [jacobian(network(x), x)])
    at = np.random.default_rng(2).normal(size=4)
    h = 1e-30
    expected = [by_hand(at + 1j * h * e, weights, biases, "tanh", "identity").imag / h for e in np.eye(4)]
    np.testing.assert_allclose(J(at).full(), np.transpose(expected), rtol=0, atol=1e-14)


def test_scalings_are_those_of_the_formula() -> None:
    weights, biases = arrays(3, 5, 2)
    scaled = trajopt.Network(
        weights,
        biases,
        output="tanh",
        input_mean=[1.0, 2.0, -3.0],
        input_scale=[0.5, 2.0, 10.0],
        output_mean=[4.0, -1.0],
        output_scale=[3.0, 0.0],
    )
    x = np.array([0.3, 1.7, 5.0])
    plain = trajopt.Network(weights, biases, output="tanh")
    expected = plain((x - [1.0, 2.0, -3.0]) / [0.5, 2.0, 10.0]) * [3.0, 0.0] + [4.0, -1.0]
    np.testing.assert_allclose(scaled(x), expected, rtol=1e-13)
    linear = trajopt.Network(weights, biases, output_scale=[2.0, 3.0])
    assert len(linear.layers) == 2  # the scaling is inside the last layer
    np.testing.assert_allclose(linear(x), trajopt.Network(weights, biases)(x) * [2.0, 3.0], rtol=1e-13)


def test_each_hidden_layer_may_have_its_own_activation() -> None:
    weights, biases = arrays(2, 4, 4, 1)
    network = trajopt.Network(weights, biases, activation=["relu", "silu"])
    x = np.array([0.4, -0.2])
    h = NUMPY["silu"](weights[1] @ NUMPY["relu"](weights[0] @ x + biases[0]) + biases[1])
    np.testing.assert_allclose(network(x), weights[2] @ h + biases[2], rtol=1e-13)
    assert repr(network) == "Network(2 → 4 relu → 4 silu → 1)"


def test_copies_and_pickles_are_equal_and_arrays_do_not_change() -> None:
    weights, biases = arrays(2, 4, 1)
    network = trajopt.Network(weights, biases)
    before = network([0.1, 0.2])
    weights[0][:] = 0.0
    for same in (network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        np.testing.assert_array_equal(same([0.1, 0.2]), before)
        with pytest.raises(ValueError, match="read-only"):
            same.layers[0].weights[0, 0] = 1.0
        assert content_hash([same]) == content_hash([network])
    with pytest.raises(ImmutableError, match="construct another object"):
        network.layers = ()


def test_content_tells_networks_apart_by_any_weight() -> None:
    weights, biases = arrays(4, 64, 64, 64, 1)

    def content(**options: Any) -> str:
        return content_hash([trajopt.Network(weights, biases, **options)])

    first = content()
    assert first == content()
    assert first != content(activation="sigmoid")
    assert first != content(input_mean=[0.0, 0.0, 0.0, 1e-12])
    weights[1][33, 17] = np.nextafter(weights[1][33, 17], 1.0)
    assert first != content()


def test_wrong_networks_are_refused() -> None:
    W1, W2 = np.ones((4, 2)), np.ones((1, 4))
    cases: list[tuple[type[Exception], str, list[Any], dict[str, Any]]] = [
        (InvalidArgumentError, r"weights\[1\]: expected shape \(n, 4\), .*got \(4, 1\); .*transpose", [W1, W2.T], {}),
        (InvalidArgumentError, r"weights\[0\]: expected a matrix .*got shape \(3,\)", [np.ones(3)], {}),
        (InvalidArgumentError, r"weights: expected one matrix for each layer, got none", [], {}),
        (InvalidArgumentError, r"weights\[1\]: expected finite numbers, got nan", [W1, W2 * np.nan], {}),
        (InvalidArgumentError, r"biases: expected 2 vectors", [W1, W2], {"biases": [np.zeros(4)]}),
        (
            InvalidArgumentError,
            r"biases\[1\]: expected shape \(1,\), got \(4,\)",
            [W1, W2],
            {"biases": [np.zeros(4)] * 2},
        ),
        (UnknownNameError, "activation 'tan' not found; did you mean 'tanh'", [W1, W2], {"activation": "tan"}),
        (UnknownNameError, "activation 'Relu6' not found; did you mean 'relu'", [W1, W2], {"output": "Relu6"}),
        (InvalidArgumentError, "activation: expected a name, or 1 for", [W1, W2], {"activation": ["tanh", "tanh"]}),
        (InvalidArgumentError, "input_scale: expected numbers other than 0", [W1, W2], {"input_scale": [1.0, 0.0]}),
        (InvalidArgumentError, "input_scale: expected finite", [W1, W2], {"input_scale": [1.0, 1e-309]}),
        (InvalidArgumentError, r"weights\[0\]: expected finite", [1e300 * W1, W2], {"input_scale": [1.0, 1e-300]}),
        (InvalidArgumentError, r"output_mean: expected shape \(1,\)", [W1, W2], {"output_mean": [1.0, 0.0]}),
    ]
    for kind, message, weights, options in cases:
        with pytest.raises(kind, match=message):
            trajopt.Network(weights, **options)
    network = trajopt.Network([W1, W2])
    with pytest.raises(InvalidArgumentError, match=r"x: expected shape \(2, 1\), got \(1, 2\)"):
        network(ca.SX.sym("x", 1, 2))
    with pytest.raises(InvalidArgumentError, match=r"x: expected shape \(2,\) or \(n, 2\), got \(3,\)"):
        network([1.0, 2.0, 3.0])
