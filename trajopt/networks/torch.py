"""Networks of PyTorch. The classes are recognised by their names, so that PyTorch is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.errors import UnsupportedOperationError
from trajopt.networks.chain import Chain

_ACTIVATIONS = {
    "Identity": "identity",
    "Dropout": "identity",
    "Tanh": "tanh",
    "ReLU": "relu",
    "Sigmoid": "sigmoid",
    "Softplus": "softplus",
    "ELU": "elu",
    "GELU": "gelu",
    "SiLU": "silu",
}
_OPTIONS = {"Softplus": ("beta", 1.0), "ELU": ("alpha", 1.0), "GELU": ("approximate", "none")}
"""Option of an activation, and its only supported value."""


def chain_of(module: Any) -> Chain:
    """Layers of a module."""
    chain = Chain()
    _add(chain, module, "module")
    return chain


def _add(chain: Chain, module: Any, place: str) -> None:
    """Appends a module; `place` is its name, such as "module[2]", for messages."""
    kind = _kind(module)
    if kind == "Sequential":
        for i, child in enumerate(module.children()):
            _add(chain, child, f"{place}[{i}]")
    elif kind == "Linear":
        W = _array(module.weight)
        chain.affine(f"{place}.weight", W, np.zeros(len(W)) if module.bias is None else _array(module.bias))
    elif kind in _ACTIVATIONS:
        name, value = _OPTIONS.get(kind, ("", None))
        if name and getattr(module, name) != value:
            raise UnsupportedOperationError(
                f"{place}: {kind} with {name}={getattr(module, name)!r} is not supported; {name}={value!r} is"
            )
        chain.activate(_ACTIVATIONS[kind])
    else:
        raise UnsupportedOperationError(
            f"{place}: {kind} is not supported; supported are Sequential, Linear, {', '.join(_ACTIVATIONS)}"
        )


def _kind(module: Any) -> str:
    """Name of the class of PyTorch if the module is of exactly this class, since subclasses compute something else."""
    kind = type(module)
    return kind.__name__ if kind.__module__.startswith("torch.nn.") else f"{kind.__module__}.{kind.__name__}"


def _array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().cpu().double().numpy())
