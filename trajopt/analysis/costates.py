"""Costates, and the gradient of the Lagrangian along the controls."""

from __future__ import annotations

import numpy as np

from trajopt.shooting.values import ProblemDerivatives
from trajopt.types import Reals


def adjoint(d: ProblemDerivatives, K: Reals, y: Reals) -> tuple[Reals, Reals]:
    """Returns the gradient of the Lagrangian by the controls (T, nu), and the costates λ (T + 1, ndx).

    The formula is that of `Solution.stationarity`.

    Args:
        d: Derivatives along a trajectory.
        K: Feedback gains of later controls (T, nu, ndx).
        y: Multipliers of the constraints (T + 1, nc).
    """
    Lx, Lu = d.Lx + (y[:, None] @ d.Cx)[:, 0], d.Lu + (y[:-1, None] @ d.Cu)[:, 0]
    costates, gradient = Lx.copy(), np.zeros_like(Lu)
    with np.errstate(over="ignore", invalid="ignore"):  # a trajectory that diverged has no finite gradient
        for t in range(len(Lu) - 1, -1, -1):
            gradient[t] = Lu[t] + d.Fu[t].T @ costates[t + 1]
            costates[t] += d.Fx[t].T @ costates[t + 1] - K[t].T @ gradient[t]
    return gradient, costates
