"""Growth of derivatives along a motion: how far a linear prediction from its first knot can be trusted."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np

from trajopt.types import Reals

LARGE = 1e5
"""Growth beyond which linear predictions from the first knot to later ones mean little [-]."""
_EXPLICIT = "FORWARD"  # start of the names of modes with explicit contact forces


def growth(F: Reals, K: Reals) -> float:
    """Largest element of a product of closed-loop steps (Fx - Fu K) from the first knot to a later one [-].

    Args:
        F: Derivatives of each step by state and control (T, ndx, ndx + nu).
        K: Feedback gains (T, nu, ndx).
    """
    n = F.shape[1]
    product, largest = np.eye(n), 1.0
    for step, gains in zip(F, K, strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            product = (step[:, :n] - step[:, n:] @ gains) @ product
        size = float(np.abs(product).max(initial=0.0))
        if not np.isfinite(size):
            return np.inf
        largest = max(largest, size)
    return largest


def explicit_contacts(models: Iterable[object]) -> str:
    """Cure for derivatives that grow along simulated steps with explicit contact forces; empty without such steps."""
    simulator = sys.modules.get("trajopt.simulator")  # nothing is simulated before it is loaded
    if simulator is None:
        return ""
    simulated = [model.simulator for model in models if isinstance(model, simulator.ActionModelSimulator)]
    modes = {each.mode.name for each in simulated if each.contacts and each.mode.name.startswith(_EXPLICIT)}
    if not modes:
        return ""
    return f"contacts of {min(modes)} bounce where bodies slide: use Simulator(..., 'BACKWARD_RK1F'), or a shorter dt"
