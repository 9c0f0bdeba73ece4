"""Networks in ONNX files: a chain of operations from one input to one output."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from trajopt.checks import check_path
from trajopt.errors import InvalidArgumentError, UnsupportedOperationError, shown
from trajopt.networks.chain import Chain
from trajopt.objects.extras import Extra
from trajopt.types import Reals

_ACTIVATIONS = {
    "Identity": "identity",
    "Tanh": "tanh",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "Elu": "elu",
    "Gelu": "gelu",
}
_ARITHMETIC = ("Add", "Sub", "Mul", "Div")
_KNOWN = ", ".join(("Gemm", "MatMul", *_ACTIVATIONS, *(f"{name} with a constant" for name in _ARITHMETIC)))
_ONNX = Extra("Network.from_onnx", "onnx", "networks")


def chain_of(model: Any) -> Chain:
    """Layers of a model, or of the file at a path."""
    graph = _loaded(model).graph
    constants = _constants(graph)
    inputs = [each.name for each in graph.input if each.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise UnsupportedOperationError(
            f"model: expected one input and one output, got {len(inputs)} and {len(graph.output)}"
        )
    chain, here = Chain(), inputs[0]
    if size := _size(next(each for each in graph.input if each.name == here)):
        chain.scale("input", np.ones(size), np.zeros(size))
    waiting = [node for node in graph.node if node.op_type != "Constant"]
    while waiting:
        node = waiting.pop(0)
        if here not in node.input:
            raise UnsupportedOperationError(f"{_name(node)}: it does not follow {here!r}; supported is a chain")
        if waiting and _is_silu(node, waiting[0], here):
            node = waiting.pop(0)
            chain.activate("silu")
        else:
            _add(chain, node, here, constants)
        here = node.output[0]
    if here != graph.output[0].name:
        raise UnsupportedOperationError(f"model: its output is not {here!r}, the last result; supported is a chain")
    return chain


def _size(value: Any) -> int:
    """Length of the last axis of an input; 0 if it is not known."""
    axes = value.type.tensor_type.shape.dim
    return int(axes[-1].dim_value) if axes else 0


def _loaded(model: Any) -> Any:
    onnx = _ONNX.load("onnx")
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, PathLike)):
        raise InvalidArgumentError(f"model: expected a path or an onnx.ModelProto, got {shown(model)}")
    try:
        return onnx.load(str(check_path("model", model)))
    except Exception as error:  # of protobuf, of the file system
        raise InvalidArgumentError(f"model: cannot read {str(model)!r} as an ONNX file: {error}") from error


def _constants(graph: Any) -> dict[str, Reals]:
    """Constants of a graph by name."""
    numpy_helper = _ONNX.load("onnx.numpy_helper")
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    tensors |= {n.output[0]: n.attribute[0].t for n in graph.node if n.op_type == "Constant" and _holds_tensor(n)}
    return {name: np.asarray(numpy_helper.to_array(t), dtype=np.float64) for name, t in tensors.items()}


def _holds_tensor(node: Any) -> bool:
    return len(node.attribute) == 1 and node.attribute[0].name == "value"


def _is_silu(node: Any, following: Any, here: str) -> bool:
    """Whether two operations are x · sigmoid(x)."""
    product = {here, node.output[0]} == set(following.input) and following.op_type == "Mul"
    return bool(product and node.op_type == "Sigmoid")


def _add(chain: Chain, node: Any, here: str, constants: Mapping[str, Reals]) -> None:
    """Appends an operation on the array named `here`."""
    kind, attributes = node.op_type, _attributes(node)
    others = [constants[name] for name in node.input if name in constants]
    if len(others) != len([name for name in node.input if name]) - 1 or node.domain not in ("", "ai.onnx"):
        raise _unsupported(node, "with these inputs")
    if kind == "Gemm" and node.input[0] == here and not attributes.get("transA"):
        W = others[0] if attributes.get("transB") else others[0].T
        b = attributes.get("beta", 1.0) * others[1] if len(others) == 2 else np.zeros(1)
        chain.affine(_name(node), attributes.get("alpha", 1.0) * W, np.broadcast_to(b.ravel(), len(W)).copy())
    elif kind == "MatMul" and node.input[0] == here and others[0].ndim == 2:
        chain.affine(_name(node), others[0].T, np.zeros(others[0].shape[1]))
    elif kind in _ARITHMETIC:
        _add_arithmetic(chain, node, others[0], first=node.input[0] == here)
    elif kind in _ACTIVATIONS:
        if attributes.get("alpha", 1.0) != 1.0 or attributes.get("approximate", b"none") != b"none":
            raise _unsupported(node, f"with {attributes}")
        chain.activate(_ACTIVATIONS[kind])
    else:
        raise _unsupported(node)


def _add_arithmetic(chain: Chain, node: Any, constant: Reals, *, first: bool) -> None:
    """Appends x + c, x - c, c - x, x c or x / c, element by element; x stands first in x - c and x / c."""
    size = constant.size if chain.size is None else chain.size
    if constant.size not in (1, size) or (node.op_type == "Div" and not first):
        raise _unsupported(node, f"with a constant of shape {constant.shape}")
    c, one = np.broadcast_to(constant.ravel(), size), np.ones(size)
    factor, shift = {
        "Add": (one, c),
        "Sub": (one, -c) if first else (-one, c),
        "Mul": (c, 0 * c),
        "Div": (1 / c, 0 * c),
    }[node.op_type]
    chain.scale(_name(node), factor, shift)


def _attributes(node: Any) -> dict[str, Any]:
    helper = _ONNX.load("onnx.helper")
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _name(node: Any) -> str:
    return f"{node.op_type} {node.name!r}" if node.name else str(node.op_type)


def _unsupported(node: Any, how: str = "") -> UnsupportedOperationError:
    domain = f" of {node.domain}" if node.domain not in ("", "ai.onnx") else ""
    how = f" {how}" if how else ""
    return UnsupportedOperationError(f"{_name(node)}{domain}{how} is not supported; supported are {_KNOWN}")
