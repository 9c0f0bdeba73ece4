"""Angles of states that look like degrees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trajopt.states.base import StateAbstract
from trajopt.types import Reals


def looks_like_degrees(state: StateAbstract, x: Reals, elements: Sequence[int] | None = None) -> str:
    """Text on the first angle of a state that looks like degrees; empty if none does.

    Such an angle is more than a turn beyond its bounds, or more than two turns where it has none.

    Args:
        state: Manifold of the state.
        x: State (nx,).
        elements: Tangent coordinates that count; all by default.
    """
    if not np.abs(x).max(initial=0.0) > 2.0 * np.pi:
        return ""
    tangent = state.difference(state.zero(), x)
    bounds = np.minimum(np.abs(state.lower), np.abs(state.upper))
    usual = 2.0 * np.pi + np.where(np.isfinite(bounds), bounds, 2.0 * np.pi)
    for i in range(state.ndx) if elements is None else elements:
        if state.tangent_units[i] == "rad" and abs(tangent[i]) > usual[i]:
            name = state.tangent_names[i]
            return f"{name} is {tangent[i]:g} rad, which looks like degrees; convert it with np.radians"
    return ""
