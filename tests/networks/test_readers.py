"""Networks of other libraries return what these return; parts that are not supported are named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError

POINTS = np.random.default_rng(3).normal(size=(20, 3))


# scikit-learn


def perceptron(**options: Any) -> Any:
    neural = pytest.importorskip("sklearn.neural_network")
    return neural.MLPRegressor(**{"hidden_layer_sizes": (7, 5), "max_iter": 40, "random_state": 0, **options})


def targets(count: int) -> Any:
    return (POINTS @ np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, 9.0]]) + 5.0)[:, :count]


@pytest.mark.filterwarnings("ignore")  # it need not converge
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
def test_perceptron_of_scikit_learn(activation: str, count: int) -> None:
    regressor = perceptron(activation=activation).fit(POINTS, targets(count).squeeze())
    network = trajopt.Network.from_sklearn(regressor)
    np.testing.assert_allclose(network(POINTS), regressor.predict(POINTS).reshape(20, count), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("count", [1, 2])
def test_scalings_of_scikit_learn(count: int) -> None:
    regressor = perceptron()
    compose, pipeline = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler
    inner = pipeline.make_pipeline(scaler(with_mean=False), "passthrough", scaler(with_std=False), regressor)
    outer = compose.TransformedTargetRegressor(inner, transformer=scaler())
    outer.fit(POINTS * [1.0, 10.0, 0.1] + 3.0, targets(count).squeeze())
    network = trajopt.Network.from_sklearn(outer)
    expected = outer.predict(POINTS).reshape(20, count)
    np.testing.assert_allclose(network(POINTS), expected, rtol=1e-11, atol=1e-11)
    assert len(network.layers) == 3
    plain = compose.TransformedTargetRegressor(perceptron()).fit(POINTS, targets(count).squeeze())
    expected = plain.predict(POINTS).reshape(20, count)
    np.testing.assert_allclose(trajopt.Network.from_sklearn(plain)(POINTS), expected, rtol=1e-11)


@pytest.mark.filterwarnings("ignore")
def test_other_parts_of_scikit_learn_are_named() -> None:
    compose, pipeline = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.pipeline")
    other = pytest.importorskip("sklearn.preprocessing").MinMaxScaler
    fitted = pipeline.make_pipeline(other(), perceptron()).fit(POINTS, targets(2))
    with pytest.raises(UnsupportedOperationError, match="regressor: MinMaxScaler is not supported; supported are MLP"):
        trajopt.Network.from_sklearn(fitted)
    target = compose.TransformedTargetRegressor(perceptron(), transformer=other()).fit(POINTS, targets(2))
    with pytest.raises(UnsupportedOperationError, match="the transformer MinMaxScaler is not supported"):
        trajopt.Network.from_sklearn(target)
    log = compose.TransformedTargetRegressor(perceptron(), func=np.arcsinh, inverse_func=np.sinh)
    with pytest.raises(UnsupportedOperationError, match="the transformer FunctionTransformer is not supported"):
        trajopt.Network.from_sklearn(log.fit(POINTS, targets(2)))
    with pytest.raises(InvalidArgumentError, match="expected a fitted MLPRegressor, got one without coefs_; call fit"):
        trajopt.Network.from_sklearn(perceptron())


def test_regressors_of_other_packages_are_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match="regressor: SimpleNamespace is not supported"):
        trajopt.Network.from_sklearn(SimpleNamespace(coefs_=[], intercepts_=[]))
    with pytest.raises(InvalidArgumentError, match="expected at least one layer with weights"):
        trajopt.Network.from_sklearn("passthrough")
    with pytest.raises(UnsupportedOperationError, match="regressor: ndarray is not supported"):
        trajopt.Network.from_sklearn(np.ones(2))


# PyTorch


@pytest.mark.parametrize("name", ["Tanh", "ReLU", "Sigmoid", "Softplus", "ELU", "GELU", "SiLU", "Identity"])
def test_modules_of_torch(name: str) -> None:
    nn, torch = pytest.importorskip("torch.nn"), pytest.importorskip("torch")
    torch.manual_seed(0)
    inner = nn.Sequential(nn.Linear(8, 8), getattr(nn, name)(), nn.Dropout())
    module = nn.Sequential(nn.Linear(3, 8, bias=False), nn.Tanh(), inner, nn.Linear(8, 2)).double().eval()
    network = trajopt.Network.from_torch(module)
    with torch.no_grad():
        expected = module(torch.from_numpy(POINTS)).numpy()
    np.testing.assert_allclose(network(POINTS), expected, rtol=1e-12, atol=1e-12)
    single = trajopt.Network.from_torch(module.float())
    np.testing.assert_allclose(single(POINTS), expected, rtol=1e-5, atol=1e-5)


def test_other_layers_of_torch_are_named() -> None:
    nn = pytest.importorskip("torch.nn")
    cases = {
        r"module\[1\]\[0\]: BatchNorm1d is not supported; supported are Sequential, Linear": nn.Sequential(
            nn.Linear(3, 4), nn.Sequential(nn.BatchNorm1d(4))
        ),
        r"module\[1\]: ELU with alpha=0.5 is not supported; alpha=1.0 is": nn.Sequential(nn.Linear(3, 4), nn.ELU(0.5)),
        r"module\[1\]: GELU with approximate='tanh' is not": nn.Sequential(nn.Linear(3, 4), nn.GELU("tanh")),
        r"module: tests\..*Own is not supported": Own(),
    }
    for message, module in cases.items():
        with pytest.raises(UnsupportedOperationError, match=message):
            trajopt.Network.from_torch(module)
    with pytest.raises(InvalidArgumentError, match=r"module\[1\].weight: expected shape \(n, 4\)"):
        trajopt.Network.from_torch(nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 1)))


class Own:
    """Looks like nothing that is known."""


def test_modules_of_other_packages_are_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"module: tests\..*Own is not supported; supported are"):
        trajopt.Network.from_torch(Own())


# ONNX


def model_of(nodes: list[Any], constants: dict[str, Any], *, inputs: int | str = 3) -> Any:
    """A checked model from x to y."""
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(value, dtype=np.float64), name) for name, value in constants.items()
    ]
    ends = [
        helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", ["n", inputs]), ("y", ["n", "m"]))
    ]
    graph = helper.make_graph(nodes, "graph", [ends[0]], [ends[1]], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    onnx.checker.check_model(model)
    return model


def chain(*operations: tuple[str, list[str], dict[str, Any]]) -> list[Any]:
    """Nodes, each of which reads the result of the one before as "_"."""
    onnx = pytest.importorskip("onnx")
    nodes, here = [], "x"
    for i, (kind, inputs, attributes) in enumerate(operations):
        after = "y" if i == len(operations) - 1 else f"h{i}"
        nodes.append(onnx.helper.make_node(kind, [here if n == "_" else n for n in inputs], [after], **attributes))
        here = after
    return nodes


def reference(model: Any) -> Any:
    evaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator(model)
    return evaluator.run(None, {"x": POINTS})[0]


RNG = np.random.default_rng(4)
CONSTANTS = {
    "W1": RNG.normal(size=(6, 3)),
    "b1": RNG.normal(size=6),
    "W2": RNG.normal(size=(6, 2)),
    "b2": RNG.normal(size=(1, 2)),
    "mean": RNG.normal(size=3),
    "scale": RNG.uniform(0.5, 2.0, 3),
    "one": np.array(1.5),
}
GEMM: Any = ("Gemm", ["_", "W1", "b1"], {"transB": 1, "alpha": 0.7, "beta": -1.3})


@pytest.mark.parametrize("name", ["Tanh", "Relu", "Sigmoid", "Softplus", "Elu", "Gelu", "Identity"])
def test_models_of_onnx(name: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    operations: list[Any] = [
        ("Sub", ["_", "mean"], {}),
        ("Div", ["_", "scale"], {}),
        GEMM,
        (name, ["_"], {}),
        ("MatMul", ["_", "W2"], {}),
        ("Add", ["b2", "_"], {}),
        ("Mul", ["_", "one"], {}),
        ("Sub", ["one", "_"], {}),
    ]
    model = model_of(chain(*operations), CONSTANTS)
    onnx.save(model, tmp_path / "net.onnx")
    for source in (model, tmp_path / "net.onnx", str(tmp_path / "net.onnx")):
        network = trajopt.Network.from_onnx(source)
        digits = 1e-6 if name == "Gelu" else 1e-12  # its reference computes in single precision
        np.testing.assert_allclose(network(POINTS), reference(model), rtol=digits, atol=digits)
    assert len(network.layers) == 2 - (name == "Identity")


def test_silu_of_onnx_and_constants_among_the_nodes() -> None:
    onnx = pytest.importorskip("onnx")
    nodes = chain(GEMM, ("Sigmoid", ["_"], {}), ("Mul", ["h0", "_"], {}), ("MatMul", ["_", "W2"], {}))
    tensor = onnx.numpy_helper.from_array(CONSTANTS["W2"], "value")
    nodes.insert(0, onnx.helper.make_node("Constant", [], ["W2"], value=tensor))
    model = model_of(nodes, {name: CONSTANTS[name] for name in ("W1", "b1")})
    network = trajopt.Network.from_onnx(model)
    np.testing.assert_allclose(network(POINTS), reference(model), rtol=1e-12)
    assert [layer.activation for layer in network.layers] == ["silu", "identity"]


def test_a_number_may_scale_all_inputs_of_onnx() -> None:
    model = model_of(chain(("Mul", ["_", "one"], {}), GEMM), CONSTANTS)
    np.testing.assert_allclose(trajopt.Network.from_onnx(model)(POINTS), reference(model), rtol=1e-12)
    unknown = model_of(chain(GEMM, ("Tanh", ["_"], {})), CONSTANTS, inputs="unknown")
    np.testing.assert_allclose(trajopt.Network.from_onnx(unknown)(POINTS), reference(unknown), rtol=1e-12)


def test_other_operations_of_onnx_are_named() -> None:
    pytest.importorskip("onnx")
    linear: Any = ("MatMul", ["_", "W2"], {})
    cases: list[tuple[str, list[Any]]] = [
        ("LeakyRelu is not supported; supported are Gemm, MatMul, Identity, Tanh", [GEMM, ("LeakyRelu", ["_"], {})]),
        (r"Elu with \{'alpha': 0.5\} is not supported", [GEMM, ("Elu", ["_"], {"alpha": 0.5})]),
        ("Gemm is not supported", [("Transpose", ["_"], {}), ("Gemm", ["_", "W1"], {"transA": 1, "transB": 1})][1:]),
        (r"Add: it does not follow 'h1'", [GEMM, ("Relu", ["_"], {}), ("Add", ["h0", "h0"], {})]),
        (r"Add with these inputs is not supported", [GEMM, ("Relu", ["_"], {}), ("Add", ["_", "h0"], {})]),
        (r"Add with a constant of shape \(3,\)", [GEMM, ("Add", ["_", "mean"], {})]),
        (r"Div with a constant of shape \(\)", [GEMM, ("Div", ["one", "_"], {})]),
    ]
    for message, operations in cases:
        with pytest.raises(UnsupportedOperationError, match=message):
            trajopt.Network.from_onnx(model_of(chain(*operations), CONSTANTS))
    with pytest.raises(InvalidArgumentError, match=r"MatMul: expected shape \(n, 2\)"):
        trajopt.Network.from_onnx(model_of(chain(GEMM, linear, ("MatMul", ["_", "W2"], {})), CONSTANTS))


def test_files_that_are_none_of_onnx_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    (tmp_path / "text.onnx").write_text("hello")
    for path in (tmp_path / "text.onnx", tmp_path / "absent.onnx"):
        with pytest.raises(InvalidArgumentError, match=r"model: cannot read .* as an ONNX file"):
            trajopt.Network.from_onnx(path)
    with pytest.raises(InvalidArgumentError, match="model: expected a path or an onnx.ModelProto, got 3"):
        trajopt.Network.from_onnx(3)
