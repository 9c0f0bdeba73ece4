"""Chain rule along a trajectory without gaps, such as a rollout."""

from __future__ import annotations

import numpy as np

from trajopt.types import Reals


def end_derivatives(Fx: Reals, Fu: Reals) -> tuple[Reals, Reals]:
    """Derivatives of the last state by the first one (ndx, ndx) and by each control (T, ndx, nu), in tangent spaces.

    Args:
        Fx: Derivative of each next state by its state (T, ndx, ndx).
        Fu: Derivative of each next state by its control (T, ndx, nu).
    """
    by_state, by_controls = np.eye(Fu.shape[1]), np.empty_like(Fu)
    for t in range(len(Fx) - 1, -1, -1):
        by_controls[t] = by_state @ Fu[t]
        by_state = by_state @ Fx[t]
    return by_state, by_controls
