"""The twin's steps with impacts at the impulse level: FORWARD_RK1I, RK2I and RK4I in their three variants.

RK1I is Euler's method in world axes. The field of the others is g(q, v) = [v̂, H⁻¹(τ - C(q, v̂))] with v̂ = MDP(q, v) of
the source, [v, H⁻¹(τ - C(q, v̂))] of the README, and free dynamics from (q, v̂) of "projected". Rates of q are carried to
the tangent space at the start of the step, κ = ∂(y ⊖ q)/∂y v (Munthe-Kaas), which changes nothing for vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.simulator.twin_numbers import Numbers, scalar

if TYPE_CHECKING:
    from tests.simulator.twin import Twin

Rate = Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]

STAGES: dict[str, tuple[tuple[tuple[float, ...], ...], tuple[float, ...], int]] = {
    "FORWARD_RK2I": (((), (0.5,)), (0.0, 1.0), 1),  # midpoint
    "FORWARD_RK4I": (((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1.0, 2.0, 2.0, 1.0), 6),
}
"""Coefficients a of each stage, weights b, and what b is divided by."""

IMPULSE_STEPS = ("FORWARD_RK1I", *STAGES)
"""Modes of this module."""


def runge_kutta(mode: str) -> Callable[..., Numbers]:
    """The function of a mode: [q, v] after a step."""

    def step(twin: Twin, dt: float, q: Numbers, v: Numbers, *, tau: Numbers, variant: str = "projected") -> Numbers:
        def filtered(y: Numbers, w: Numbers) -> tuple[Numbers, Numbers]:
            stopped, _ = twin.maximal_dissipation(y, w, "impulse")
            return (stopped if variant == "source" else w), twin.acceleration(y, stopped, tau)

        def free(y: Numbers, w: Numbers) -> tuple[Numbers, Numbers]:
            return w, twin.acceleration(y, w, tau)

        time = scalar(dt, q)
        stopped, _ = twin.maximal_dissipation(q, v, "impulse")
        if mode == "FORWARD_RK1I":  # free joints in world axes
            after = twin.free_velocity(q, stopped, tau, dt, start=stopped if variant == "projected" else v)
            return np.concatenate(twin.moved(q, stopped if variant == "source" else after, dt, carried=after))
        if variant == "projected":
            return integrate(twin, mode, free, q, stopped, time)
        return integrate(twin, mode, filtered, q, v, time)

    return step


def integrate(twin: Twin, mode: str, rate: Rate, q: Numbers, v: Numbers, dt: Any) -> Numbers:
    """[q, v] after an explicit Runge-Kutta step of a field."""
    coefficients, weights, divisor = STAGES[mode]
    moves: list[Numbers] = []
    pushes: list[Numbers] = []
    for row in coefficients:
        turned = dt * sum((scalar(a, q) * m for a, m in zip(row, moves)), 0 * v)
        y = twin.mechanism.integrate(q, turned)
        move, push = rate(y, v + dt * sum((scalar(a, q) * p for a, p in zip(row, pushes)), 0 * v))
        moves.append(twin.mechanism.seen_from(q, y, move))
        pushes.append(push)
    step = sum((scalar(b, q) * m for b, m in zip(weights, moves)), 0 * v) / divisor
    gain = sum((scalar(b, q) * p for b, p in zip(weights, pushes)), 0 * v) / divisor
    return np.concatenate([twin.mechanism.integrate(q, dt * step), v + dt * gain])
