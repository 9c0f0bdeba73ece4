"""Networks of scikit-learn. The classes are recognised by their names, so that scikit-learn is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.errors import InvalidArgumentError, UnsupportedOperationError
from trajopt.networks.chain import Chain
from trajopt.types import Reals

_KNOWN = (
    "supported are MLPRegressor, Pipeline(StandardScaler(), ..., MLPRegressor()), and TransformedTargetRegressor with "
    "a StandardScaler"
)


def chain_of(regressor: Any) -> Chain:
    """Layers of a fitted regressor."""
    chain = Chain()
    _add(chain, regressor)
    return chain


def _add(chain: Chain, part: Any) -> None:
    """Appends a regressor or a scaler of its input."""
    kind = _kind(part)
    if kind == "Pipeline":
        for _, step in part.steps:
            _add(chain, step)
    elif kind == "StandardScaler":
        mean, scale = _scaling(part)
        chain.scale("StandardScaler", 1 / scale, -mean / scale)
    elif kind == "TransformedTargetRegressor":
        _add(chain, _fitted(part, "regressor_"))
        if _kind(part.transformer_) == "StandardScaler":
            mean, scale = _scaling(part.transformer_)
            chain.scale("transformer", scale, mean)
        elif _kind(part.transformer_) != "FunctionTransformer" or part.transformer_.inverse_func is not None:
            raise _unsupported(f"the transformer {type(part.transformer_).__name__}")
    elif kind == "MLPRegressor":
        weights, biases = _fitted(part, "coefs_"), part.intercepts_
        for i, (W, b) in enumerate(zip(weights, biases)):
            chain.affine(f"coefs_[{i}]", np.asarray(W, dtype=np.float64).T, np.asarray(b, dtype=np.float64))
            last = i == len(weights) - 1
            chain.activate(part.out_activation_ if last else part.activation)
    elif not (isinstance(part, str) and part == "passthrough"):
        raise _unsupported(kind)


def _kind(part: Any) -> str:
    """Name of the class of scikit-learn to which a part belongs, or else of its own class."""
    names = [c.__name__ for c in type(part).__mro__ if c.__module__.partition(".")[0] == "sklearn"]
    return names[0] if names else type(part).__name__


def _fitted(part: Any, name: str) -> Any:
    """Attribute that `fit` sets."""
    if not hasattr(part, name):
        raise InvalidArgumentError(
            f"regressor: expected a fitted {_kind(part)}, got one without {name}; call fit first"
        )
    return getattr(part, name)


def _scaling(scaler: Any) -> tuple[Reals, Reals]:
    """Mean and scale of a StandardScaler, (n,) each."""
    n = _fitted(scaler, "n_features_in_")
    mean = np.zeros(n) if scaler.mean_ is None or not scaler.with_mean else scaler.mean_
    return mean, np.ones(n) if scaler.scale_ is None else scaler.scale_


def _unsupported(what: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(f"regressor: {what} is not supported; {_KNOWN}")
