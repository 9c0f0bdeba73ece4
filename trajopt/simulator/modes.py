"""Modes of the simulator: the equation of a step."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from trajopt.errors import InvalidArgumentError, close_names, shown

E = TypeVar("E", bound=Enum)


class SimulatorMode(Enum):
    """Equation of a step; the value of a member is its formula.

    C(q, v) are Coriolis, centrifugal and gravity forces. v̂ is the velocity after maximal dissipation: MDP(q, v) by
    impulses, MDP(q, v, τ) by the forces of one time step. All steps but those of RK2I and RK4I add velocities of free
    joints in world axes, and ⊕ moves along them, see `trajopt.states.world_axes`.
    """

    INVERSE_I = "τ = H v̇ + C(q, v̂), v̂ = MDP(q, v), of (q, v, v̇)"
    FORWARD_I = "(v, v̇), v̇ = H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v)"
    INVERSE_LF = "τ = H v̇ + C(q, v) - Jᵀ f, of (q, v, v̇), f the limit of forces as dt -> 0"
    FORWARD_LF = "(v, v̇), v̇ = H⁻¹ (τ - C(q, v) + Jᵀ f), f the limit of forces as dt -> 0"
    INVERSE_BACKWARD_RK1F = "H(q₊) (v₊ - v) / dt + C(q₊, v₊) - Jᵀ f - τ, of (q₊, v₊, v)"
    BACKWARD_RK1F = "v + dt H(q₊)⁻¹ (τ - C(q₊, v₊) + Jᵀ f) - v₊, of (q₊, v₊, v)"
    FORWARD_RK1F = "v₊ = v + dt H⁻¹ (τ - C(q, v) + Jᵀ f), q₊ = q ⊕ dt v₊"
    FORWARD_RK1I = "v₊ = v̂ + dt H⁻¹ (τ - C(q, v̂)), v̂ = MDP(q, v), q₊ = q ⊕ dt v₊"
    FORWARD_RK2I = "the midpoint rule on v̇ = H⁻¹ (τ - C(q, v)) from (q, v̂), v̂ = MDP(q, v)"
    FORWARD_RK4I = "the classical Runge-Kutta step on v̇ = H⁻¹ (τ - C(q, v)) from (q, v̂), v̂ = MDP(q, v)"
    BACKWARD_RK1I = "MDP(q₊, v + dt H(q₊)⁻¹ (τ - C(q₊, v₊))) - v₊, of (q₊, v₊, v)"

    FORWARD = FORWARD_I
    INVERSE = INVERSE_I
    FORWARD_IF = FORWARD_LF

    @classmethod
    def of(cls, mode: Any) -> SimulatorMode:
        """Converts a mode or its name, in any case, such as "forward_rk1f"; raises InvalidArgumentError for others."""
        member = _member(cls, mode)
        if member is None:
            names = tuple(cls.__members__)
            near: list[str] = []
            if isinstance(mode, str):
                forward = f"FORWARD_{mode.upper()}"  # the command line omits this prefix
                near = [forward] if forward in names else close_names(mode, names)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise InvalidArgumentError(f"mode: expected one of {', '.join(names)}, got {shown(mode)}{hint}")
        return member


class Variant(Enum):
    """Variants of FORWARD_RK1I, FORWARD_RK2I and FORWARD_RK4I."""

    PROJECTED = "a step starts from v̂ = MDP(q, v), and then moves freely"
    README = "the printed equations: contacts enter through C(q, v̂) alone"
    SOURCE = "explicit Runge-Kutta on (q, v)' = (v̂, H⁻¹ (τ - C(q, v̂))), as DiffNE's code does"

    @classmethod
    def of(cls, variant: Any) -> Variant:
        """Converts a variant or its name, such as "projected"; raises InvalidArgumentError for others."""
        member = _member(cls, variant)
        if member is None:
            names = ", ".join(name.lower() for name in cls.__members__)
            raise InvalidArgumentError(f"variant: expected one of {names}, got {shown(variant)}")
        return member


def _member(kind: type[E], value: Any) -> E | None:
    """Member of an enumeration, or the one of this name in any case; None if there is none."""
    if isinstance(value, kind):
        return value
    return kind.__members__.get(value.upper()) if isinstance(value, str) else None
