"""A trained neural network, as an expression and for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import MX, SX

from trajopt.checks import as_numbers, check_array, check_items, check_known
from trajopt.errors import InvalidArgumentError
from trajopt.networks import onnx, sklearn, torch
from trajopt.networks.activations import ACTIVATIONS
from trajopt.networks.chain import Chain, Layer
from trajopt.objects.immutable import Immutable
from trajopt.types import Reals


class Network(Immutable):
    """Neural network of dense layers: h ← s(W h + b), from the scaled input to the scaled output.

    ```python
    network = Network(weights=[W1, W2], biases=[b1, b2], activation="tanh")  # W1 (64, 3), W2 (1, 64)

    class Learned(DifferentialActionModelSymbolic):
        def acceleration(self, x, u):
            return network(ca.vertcat(x, u))
    ```

    The call takes CasADi symbols, so that a network may be part of dynamics, residuals and costs. A network cannot
    change after construction. It can be pickled, and compiled code is found again by its weights.

    Args:
        weights: Weights W of each layer, (outputs, inputs) [-]. scikit-learn and Keras keep the transposed matrices.
        biases: Bias b (outputs,) of each layer [-]; 0 by default.
        activation: Activation s of the hidden layers: "tanh", "relu", "sigmoid" or "logistic", "softplus", "elu" (with
            α = 1), "gelu" (by the error function), "silu" or "identity"; or one name for each.
        output: Activation of the last layer.
        input_mean: Mean (inputs,), in the units of the input: the first layer gets (x - mean) / scale; 0 by default.
        input_scale: Scale (inputs,), in the units of the input, not 0; 1 by default.
        output_mean: Mean (outputs,), in the units of the output: the result is mean + scale · h; 0 by default.
        output_scale: Scale (outputs,), in the units of the output; 1 by default.

    Attributes:
        layers: Layers with the scalings inside, of which adjacent affine ones are merged.
        inputs: Number of inputs [-].
        outputs: Number of outputs [-].

    Raises:
        InvalidArgumentError: Shapes do not fit each other, or a number is not finite.
        UnknownNameError: There is no such activation.
    """

    def __init__(
        self,
        weights: Sequence[npt.ArrayLike],
        biases: Sequence[npt.ArrayLike] | None = None,
        *,
        activation: str | Sequence[str] = "tanh",
        output: str = "identity",
        input_mean: npt.ArrayLike | None = None,
        input_scale: npt.ArrayLike | None = None,
        output_mean: npt.ArrayLike | None = None,
        output_scale: npt.ArrayLike | None = None,
    ) -> None:
        matrices = [_matrix(f"weights[{i}]", W) for i, W in enumerate(check_items("weights", weights, "matrices"))]
        if not matrices:
            raise InvalidArgumentError("weights: expected one matrix for each layer, got none")
        offsets = _biases(biases, matrices)
        names = [*_activations(activation, len(matrices) - 1), check_known("activation", output, ACTIVATIONS)]
        n, m = matrices[0].shape[1], len(offsets[-1])
        mean, scale = _vector("input_mean", input_mean, n, 0.0), _vector("input_scale", input_scale, n, 1.0)
        if not np.all(scale):
            raise InvalidArgumentError(
                f"input_scale: expected numbers other than 0, got {scale}; use 1 for an input that never varied"
            )
        chain = Chain()
        if input_mean is not None or input_scale is not None:
            with np.errstate(all="ignore"):
                chain.scale("input_scale", 1 / scale, -mean / scale)
        for i, (W, b, name) in enumerate(zip(matrices, offsets, names)):
            chain.affine(f"weights[{i}]", W, b)
            chain.activate(name)
        if output_mean is not None or output_scale is not None:
            factor, shift = _vector("output_scale", output_scale, m, 1.0), _vector("output_mean", output_mean, m, 0.0)
            chain.scale("output_scale", factor, shift)
        self.layers: tuple[Layer, ...] = chain.layers()
        self.inputs, self.outputs = n, m

    @classmethod
    def from_sklearn(cls, regressor: Any) -> Network:
        """Network of a fitted MLPRegressor of scikit-learn.

        Args:
            regressor: The regressor, alone or at the end of a Pipeline of StandardScalers; either may be in a
                TransformedTargetRegressor with a StandardScaler.

        Raises:
            UnsupportedOperationError: It has other parts; the message names them.
            InvalidArgumentError: It is not fitted.
        """
        return _of(sklearn.chain_of(regressor))

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """Network of a PyTorch module, by its current weights.

        Args:
            module: An nn.Sequential of nn.Linear and activations; it may contain further nn.Sequential, and
                nn.Dropout, which has no effect. Results are in double precision.

        Raises:
            UnsupportedOperationError: It has other layers; the message names them.
        """
        return _of(torch.chain_of(module))

    @classmethod
    def from_onnx(cls, model: Any) -> Network:
        """Network of an ONNX model with one input and one output.

        Args:
            model: Path of a file, or an onnx.ModelProto. Its graph is a chain of Gemm, MatMul, activations, and Add,
                Sub, Mul and Div with constants. Results are in double precision.

        Raises:
            MissingDependencyError: The package onnx is not installed.
            UnsupportedOperationError: It has other operations; the message names them.
            InvalidArgumentError: The file cannot be read.
        """
        return _of(onnx.chain_of(model))

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_layers, (self.layers,)

    @overload
    def __call__(self, x: SX) -> SX: ...

    @overload
    def __call__(self, x: MX) -> MX: ...

    @overload
    def __call__(self, x: npt.ArrayLike) -> Reals: ...

    def __call__(self, x: Any) -> Any:
        """Output of the network.

        Args:
            x: Symbols (inputs, 1), numbers (inputs,), or numbers (n, inputs), a row for each of n inputs.

        Returns:
            Symbols (outputs, 1), numbers (outputs,), or numbers (n, outputs).

        Raises:
            InvalidArgumentError: The shape is wrong.
        """
        if isinstance(x, (SX, MX)):
            if x.shape != (self.inputs, 1):
                raise InvalidArgumentError(
                    f"x: expected shape ({self.inputs}, 1), got {x.shape}; casadi.vertcat(a, b) stacks several"
                )
            return self._apply(x)
        values = as_numbers("x", x, cure="casadi.vertcat(a, b) stacks symbols")
        if values.ndim not in (1, 2) or values.shape[-1] != self.inputs:
            raise InvalidArgumentError(
                f"x: expected shape ({self.inputs},) or (n, {self.inputs}), got {values.shape}; {self!r}"
            )
        result: Reals = self._apply(ca.DM(np.atleast_2d(values).T)).full().T
        return result if values.ndim == 2 else result[0]

    def _apply(self, h: Any) -> Any:
        """Output of columns of inputs."""
        for layer in self.layers:
            product = ca.mtimes(ca.DM(layer.weights), h)
            h = ACTIVATIONS[layer.activation].value(product + ca.repmat(ca.DM(layer.bias), 1, h.shape[1]), ca.tanh)
        return h

    def __repr__(self) -> str:
        sizes = [f"{len(layer.bias)} {layer.activation}".removesuffix(" identity") for layer in self.layers]
        return f"Network({' → '.join([str(self.inputs), *sizes])})"


def _of(chain: Chain) -> Network:
    """Network of the layers of a chain."""
    return _of_layers(chain.layers())


def _of_layers(layers: Sequence[Layer]) -> Network:
    weights, biases = [layer.weights for layer in layers], [layer.bias for layer in layers]
    *hidden, output = [layer.activation for layer in layers]
    return Network(weights, biases, activation=hidden, output=output)


def _matrix(argument: str, value: Any) -> Reals:
    array = as_numbers(argument, value, "a matrix")
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidArgumentError(f"{argument}: expected a matrix (outputs, inputs), got shape {array.shape}")
    return check_array(argument, array, array.shape)


def _biases(biases: Any, weights: Sequence[Reals]) -> list[Reals]:
    if biases is None:
        return [np.zeros(len(W)) for W in weights]
    items = check_items("biases", biases, "vectors")
    if len(items) != len(weights):
        raise InvalidArgumentError(f"biases: expected {len(weights)} vectors, one for each matrix, got {len(items)}")
    cure = "one number for each row of the weights"
    return [check_array(f"biases[{i}]", b, (len(W),), cure=cure) for i, (b, W) in enumerate(zip(items, weights))]


def _activations(activation: Any, count: int) -> list[str]:
    """Name for each of `count` hidden layers."""
    names = (
        [activation] * count if isinstance(activation, str) else list(check_items("activation", activation, "names"))
    )
    if len(names) != count:
        raise InvalidArgumentError(f"activation: expected a name, or {count} for the hidden layers, got {len(names)}")
    if isinstance(activation, str):
        check_known("activation", activation, ACTIVATIONS)  # without hidden layers too
    return [check_known("activation", name, ACTIVATIONS) for name in names]


def _vector(argument: str, value: Any, size: int, default: float) -> Reals:
    return np.full(size, default) if value is None else check_array(argument, value, (size,))
