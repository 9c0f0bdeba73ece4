"""Steps of the backward modes: solutions of their equations by Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError, ModelEvaluationError
from trajopt.simulator.modes import SimulatorMode
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator.simulator import Simulator

BACKWARD = (SimulatorMode.BACKWARD_RK1F, SimulatorMode.INVERSE_BACKWARD_RK1F, SimulatorMode.BACKWARD_RK1I)
"""Modes of which a step is the solution of an equation."""

_PASSES, _HALVINGS = 50, 30
_SMALL = 1e-10  # change of v₊ that ends the iteration, of the largest velocity or 1


def backward_step(simulator: Simulator, dt: float, x: Reals, tau: Reals | None) -> tuple[Reals, dict[str, Reals]]:
    """The state (q₊, v₊) with zero residual and q₊ = q ⊕ dt v₊, by Newton's method on v₊ from v, and its forces.

    Raises:
        ModelEvaluationError: It was not found; the message has residual and state.
    """
    state, nv = simulator.state, simulator.model.nv
    before = x[state.nq :]
    v = before.copy()

    def at(v: Reals, derivatives: bool) -> tuple[Reals, Reals, Reals | None]:
        step = np.concatenate([dt * v, np.zeros(nv)])
        q = state.integrate(state.at_rest(x), step)[: state.nq]
        residual, D, _ = simulator.simulate(dt, np.concatenate([q, v, before]), tau, Dqdq=derivatives)
        if D is None:
            return q, residual, None
        moved = state.jintegrate(state.at_rest(x), step)[1][:nv, :nv]
        return q, residual, dt * D[:, :nv] @ moved + D[:, nv : 2 * nv]

    _, residual, J = at(v, True)
    for _ in range(_PASSES):
        assert J is not None
        change = np.linalg.solve(J, -residual)
        alpha = 1.0
        for _ in range(_HALVINGS):
            q, trial, _ = at(v + alpha * change, False)
            if np.linalg.norm(trial) <= (1 - 1e-4 * alpha) * np.linalg.norm(residual):
                break
            alpha /= 2
        v = v + alpha * change
        q, residual, J = at(v, True)
        size = np.abs(change).max() / max(1.0, np.abs(v).max())
        stuck = alpha < 2.0 ** (1 - _HALVINGS)
        if (alpha == 1.0 and size <= _SMALL) or (stuck and size <= np.sqrt(_SMALL)):  # rounding is all that is left
            return np.concatenate([q, v]), simulator.contact_forces(dt, np.concatenate([q, v, before]), tau)
        if stuck:
            break
    raise ModelEvaluationError(
        f"the implicit step was not found (residual {np.linalg.norm(residual):.3g}) at x = {x}; take a smaller dt, or "
        "a larger barrier_weight"
    )


def check_steps(mode: SimulatorMode, steps_state: bool) -> None:
    """Raises InvalidArgumentError unless a mode has steps."""
    if not steps_state and mode not in BACKWARD:
        raise InvalidArgumentError(
            f"mode: expected one that steps a state, got {mode.name}, which gives "
            f"{'torques' if mode.name.startswith('INVERSE') else 'accelerations'}; use FORWARD_RK1F"
        )
