"""Valid arguments and objects of networks, and of models with one."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from casadi import SX

import trajopt
from tests.fuzz.worlds import World, folder, world

HIDDEN = 5


@functools.cache
def _network() -> trajopt.Network:
    rng = np.random.default_rng(0)
    return trajopt.Network([rng.normal(size=(HIDDEN, 3)), rng.normal(size=(1, HIDDEN))], [np.ones(HIDDEN), np.zeros(1)])


@functools.cache
def _perceptron() -> Any:
    if importlib.util.find_spec("sklearn") is None:
        return object()
    from sklearn.neural_network import MLPRegressor

    points = np.random.default_rng(0).normal(size=(20, 3))
    with warnings.catch_warnings(action="ignore"):
        return MLPRegressor(hidden_layer_sizes=(HIDDEN,), max_iter=2).fit(points, points[:, 0])


@functools.cache
def _file() -> str:
    if importlib.util.find_spec("onnx") is None:
        return "network.onnx"
    import onnx
    from onnx import helper, numpy_helper

    value = functools.partial(helper.make_tensor_value_info, elem_type=onnx.TensorProto.DOUBLE)
    nodes = [helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])]
    W = numpy_helper.from_array(np.ones((3, 2)), "W")
    graph = helper.make_graph(nodes, "g", [value("x", shape=["n", 3])], [value("y", shape=["n", 2])], [W])
    path = Path(folder()) / "network.onnx"
    onnx.save(helper.make_model(graph), path)
    return str(path)


def _of_two(x: SX, u: SX) -> list[SX]:
    return [x[0], x[1], u[0]]


def _push(x: SX, u: SX) -> SX:
    return 2.0 * u[0]


LEARNED: dict[str, Callable[[World, Random], Any]] = {
    "Network.weights": lambda w, rng: [np.ones((HIDDEN, 3)), np.ones((1, HIDDEN))],
    "Network.biases": lambda w, rng: [np.ones(HIDDEN), np.ones(1)],
    "Network.activation": lambda w, rng: rng.choice(["tanh", "relu", ["silu"]]),
    "Network.output": lambda w, rng: rng.choice(["identity", "softplus"]),
    "Network.input_mean": lambda w, rng: np.ones(3),
    "Network.input_scale": lambda w, rng: np.array([1.0, 2.0, 0.5]),
    "Network.output_mean": lambda w, rng: np.ones(1),
    "Network.output_scale": lambda w, rng: np.ones(1),
    "Network.from_sklearn.regressor": lambda w, rng: _perceptron(),
    "Network.from_torch.module": lambda w, rng: object(),  # PyTorch is no dependency of the tests
    "Network.from_onnx.model": lambda w, rng: _file(),
    **{
        f"DifferentialActionModelNetwork.{argument}": value
        for argument, value in {
            "state": lambda w, rng: world("vector").state,
            "nu": lambda w, rng: 1,
            "costs": lambda w, rng: w.costs(rng, world("vector").state),
            "constraints": lambda w, rng: w.constraints(rng, world("vector").state),
            "network": lambda w, rng: _network(),
            "features": lambda w, rng: _of_two,
            "nominal": lambda w, rng: _push,
            "lower": lambda w, rng: [-1.0],
            "upper": lambda w, rng: [1.0],
            "control_names": lambda w, rng: ["torque"],
            "control_units": lambda w, rng: ["N m"],
        }.items()
    },
}

FIXED_LEARNED: dict[str, Callable[[World, Random], Any]] = {"Network": lambda w, rng: _network()}
