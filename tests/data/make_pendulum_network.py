"""Trains the network of examples/36_learned_pendulum.py: `python make_pendulum_network.py`; it needs scikit-learn.

The network maps (sin q, cos q, v, u) to the acceleration dv/dt = 4 u - 19.62 sin(q), measured with noise of 0.02
rad/s². Training takes a minute. The weights are stored in single precision.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trajopt

FILE = Path(__file__).parents[2] / "examples" / "36_learned_pendulum.npz"


def main() -> None:
    """Trains the network and writes its layers."""
    rng = np.random.default_rng(0)
    q, v, u = rng.uniform([-np.pi, -12.0, -6.0], [np.pi, 12.0, 6.0], (6_000, 3)).T  # [rad, rad/s, N m]
    inputs = np.stack([np.sin(q), np.cos(q), v, u], axis=1)
    measured = 4.0 * u - 9.81 / 0.5 * np.sin(q) + rng.normal(0.0, 0.02, len(q))  # [rad/s²]
    options = {"activation": "tanh", "solver": "lbfgs", "alpha": 1e-7, "tol": 1e-9, "max_iter": 1500, "random_state": 0}
    perceptron = MLPRegressor(hidden_layer_sizes=(64, 64, 64), **options)
    regressor = TransformedTargetRegressor(make_pipeline(StandardScaler(), perceptron), transformer=StandardScaler())
    regressor.fit(inputs, measured)
    network = trajopt.Network.from_sklearn(regressor)
    error = network(inputs)[:, 0] - measured
    print(f"{network}: {error.std():.3f} rad/s² from the measurements, {np.abs(error).max():.3f} at most")
    arrays = {f"W{i}": layer.weights for i, layer in enumerate(network.layers)}
    arrays |= {f"b{i}": layer.bias for i, layer in enumerate(network.layers)}
    np.savez(FILE, **{name: array.astype(np.float32) for name, array in arrays.items()})


if __name__ == "__main__":
    main()
