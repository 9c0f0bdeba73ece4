"""A network as steps of a program: products with constant matrices, and activations in between.

As one expression, a network of 3 x 64 has 47,000 instructions with its derivatives, three for each weight. As steps it
has a table of weights, and 50 instructions for the activation of an element.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels.expression import Expression
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Dense, Elementwise
from trajopt.networks.activations import ACTIVATIONS, tanh
from trajopt.networks.network import Network
from trajopt.types import Reals


def add_values(program: Program, network: Network, z: Array) -> Array:
    """Adds the steps that compute the output (outputs, 1) of an input z (inputs, 1)."""
    h = z
    for layer in network.layers:
        h = _product(program, layer.weights, layer.bias, h)
        if layer.activation != "identity":
            (h,) = _activation(program, layer.activation, h, slope=False)
    return h


def add_derivatives(program: Program, network: Network, z: Array, Dz: Array) -> tuple[Array, Array]:
    """Adds the steps that compute the output (outputs, 1), and its derivative (outputs, n).

    The derivative is computed backwards from the outputs, which are fewer than the n columns of a model.

    Args:
        program: Program that gets the steps.
        network: The network.
        z: Input (inputs, 1).
        Dz: Derivative of the input (inputs, n).
    """
    h, slopes = z, list[Array | None]()
    for layer in network.layers:
        h, slope = _product(program, layer.weights, layer.bias, h), None
        if layer.activation != "identity":
            h, slope = _activation(program, layer.activation, h, slope=True)
        slopes.append(slope)
    (G,) = program.call(ca.Function("seed", [], [ca.densify(SX.eye(network.outputs))]))
    for layer, slope in zip(reversed(network.layers), reversed(slopes)):
        inputs = layer.weights.shape[1]
        G = _product(program, layer.weights.T, np.zeros(inputs), _scaled(program, slope, G))
    return h, program.matmul(G, Dz, transpose_a=True)


def _product(program: Program, weights: Reals, bias: Reals, x: Array) -> Array:
    step = Dense.new(program, weights, bias, x)
    program.add_step(step)
    return step.result


def _activation(program: Program, name: str, x: Array, *, slope: bool) -> tuple[Array, ...]:
    """Values of an activation, and with `slope` its slopes."""
    symbol, activation = SX.sym("x"), ACTIVATIONS[name]
    y = activation.value(symbol, tanh)
    results = [y, SX(ca.densify(activation.slope(symbol, y, tanh)))] if slope else [y]
    step = Elementwise.new(program, Expression(ca.Function(name, [symbol], results)), x)
    program.add_step(step)
    return step.results


def _scaled(program: Program, slope: Array | None, D: Array) -> Array:
    """Rows of D (m, n) times the slopes (m, 1)."""
    if slope is None:
        return D
    s, d = SX.sym("slope", slope.shape[0]), SX.sym("D", *D.shape)
    return program.call(ca.Function("scaled", [s, d], [ca.repmat(s, 1, D.shape[1]) * d]), slope, D)[0]
