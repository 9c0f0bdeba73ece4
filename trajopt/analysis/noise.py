"""Process noise of a solution: normal distributions in the tangent space of the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.checks import as_numbers, check_array
from trajopt.errors import InvalidArgumentError
from trajopt.types import Reals

NEGATIVE = -1e-9  # smallest eigenvalue of a covariance, relative to the largest


def noise_covariances(argument: str, noise: Any, T: int, n: int) -> Reals:
    """Converts noise to covariances Q (T, n, n) of the noise after each knot.

    Args:
        argument: Name of the argument, for messages.
        noise: One standard deviation for all tangent coordinates, one for each (n,), one covariance (n, n), or one for
            each knot (T, n, n).
        T: Number of knots [-].
        n: Dimension of the tangent space [-].

    Raises:
        InvalidArgumentError: The shape differs, a number is not finite, a standard deviation is negative, or a matrix
            is not a covariance.
    """
    values = as_numbers(argument, noise)
    if values.ndim <= 1:
        sigma = check_array(argument, values, () if values.ndim == 0 else (n,), cure="standard deviations, see noise")
        if np.min(sigma, initial=0.0) < 0:
            raise InvalidArgumentError(f"{argument}: expected standard deviations >= 0, got {np.min(sigma):g}")
        Q = np.diag(np.broadcast_to(sigma, (n,)) ** 2)
    elif values.ndim == 2:
        Q = check_covariance(argument, check_array(argument, values, (n, n), cure="a covariance"))
    else:
        each = check_array(argument, values, (T, n, n), cure="a covariance for each knot")
        return np.array([check_covariance(f"{argument}[{t}]", q) for t, q in enumerate(each)]).reshape(T, n, n)
    return np.broadcast_to(Q, (T, n, n))


def factors_of(Q: Reals) -> Reals:
    """Returns factors L with L Lᵀ = Q of covariances (..., n, n), which may be singular."""
    values, vectors = np.linalg.eigh(Q)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def check_covariance(argument: str, Q: Reals) -> Reals:
    """Returns a covariance (n, n); raises InvalidArgumentError if it is not symmetric or has negative eigenvalues."""
    values = np.linalg.eigvalsh(0.5 * (Q + Q.T))
    size = max(1e-300, float(np.abs(values).max(initial=0.0)))
    if np.abs(Q - Q.T).max(initial=0.0) > 1e-9 * size or values.min(initial=0.0) < NEGATIVE * size:
        raise InvalidArgumentError(
            f"{argument}: expected a covariance, symmetric without negative eigenvalues; smallest eigenvalue "
            f"{values.min(initial=0.0):.3g}"
        )
    return 0.5 * (Q + Q.T)
