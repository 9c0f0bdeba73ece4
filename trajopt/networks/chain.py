"""Layers of a network, and the chain that collects them from affine maps and activations.

Scalings of inputs and outputs are affine maps too. Adjacent affine maps become one layer, so that they cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.checks import all_finite
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals


@dataclass(frozen=True, eq=False)
class Layer:
    """Layer y = s(W x + b).

    Attributes:
        weights: W (outputs, inputs) [-].
        bias: b (outputs,) [-].
        activation: Name of s.
    """

    weights: Reals
    bias: Reals
    activation: str


class Chain:
    """Collects the layers of a network, from its input to its output."""

    def __init__(self) -> None:
        self._layers: list[Layer] = []
        self._map: tuple[Reals, Reals] | None = None  # affine map since the last activation

    @property
    def size(self) -> int | None:
        """Number of outputs so far [-]; None at the beginning, where it may be any."""
        if self._map is not None:
            return len(self._map[1])
        return len(self._layers[-1].bias) if self._layers else None

    def affine(self, argument: str, weights: Reals, bias: Reals) -> None:
        """Appends the map W x + b.

        Args:
            argument: Name of the weights, for the message.
            weights: W (m, n).
            bias: b (m,).

        Raises:
            InvalidArgumentError: n differs from the number of outputs so far.
        """
        if self.size not in (None, weights.shape[1]):
            raise InvalidArgumentError(
                f"{argument}: expected shape (n, {self.size}), as {self.size} numbers come before it, got "
                f"{weights.shape}; weights are (outputs, inputs), so transpose those of the form x W"
            )
        if self._map is not None:
            with np.errstate(all="ignore"):
                weights, bias = weights @ self._map[0], weights @ self._map[1] + bias
        if not (all_finite(weights) and all_finite(bias)):
            raise InvalidArgumentError(f"{argument}: expected finite numbers, also times those before, got {bias}")
        self._map = (weights, bias)

    def scale(self, argument: str, factor: Reals, shift: Reals) -> None:
        """Appends the map factor · x + shift, element by element, of vectors (n,)."""
        self.affine(argument, np.diag(factor), shift)

    def activate(self, name: str) -> None:
        """Appends an activation; "identity" has no effect."""
        if name == "identity":
            return
        if self._map is None:
            if self.size is None:
                raise InvalidArgumentError(f"weights: expected weights before the activation {name!r}, got none")
            self._map = (np.eye(self.size), np.zeros(self.size))
        self._layers.append(Layer(*self._map, name))
        self._map = None

    def layers(self) -> tuple[Layer, ...]:
        """All layers; their arrays are read-only.

        Raises:
            InvalidArgumentError: There is none.
        """
        if self._map is not None:
            self._layers.append(Layer(*self._map, "identity"))
            self._map = None
        if not self._layers:
            raise InvalidArgumentError("weights: expected at least one layer with weights, got none")
        for layer in self._layers:
            layer.weights.flags.writeable = layer.bias.flags.writeable = False
        return tuple(self._layers)
