"""Symplectic Euler step of a robot whose free joints are stepped in world axes, with its derivatives."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from trajopt.states.state_multibody import StateMultibody
from trajopt.states.world_axes import WorldAxesStep


class WorldEulerStep:
    """w = v + dt (a + ω × v), v⁺ = exp(dt ω⁺)ᵀ w and q⁺ = q ⊕ dt v⁺ for free joints; see `WorldAxesStep`.

    Args:
        state: State of the robot.
        dt: Symbol of the time step [s].
    """

    def __init__(self, state: StateMultibody, dt: SX) -> None:
        self._state, self._dt, self._axes = state, dt, WorldAxesStep(state)

    def next_state(self, x: SX, a: SX) -> SX:
        """Next state (nx,) from a state x (nx,) and accelerations a (nv,)."""
        w = self._moved(x, a)
        return self._after(x, self._axes.turn(w, self._dt * w))

    def results(self, x: SX, a: SX, D: SX, lift: int | None) -> dict[str, SX]:
        """Next state "xnext", and its derivative "F" (ndx, ndx + nu) or the expressions of a `Lift`.

        Args:
            x: State (nx,).
            a: Accelerations (nv,).
            D: Derivative of a by (x, u), (nv, ndx + nu).
            lift: Size of the blocks of the lift [-]; None for F.
        """
        nv, dt, axes, v = self._state.nv, self._dt, self._axes, x[self._state.nq :]
        w = self._moved(x, a)
        after = axes.turn(w, dt * w)
        by_w, by_d = axes.turn_derivatives(w, dt * w)
        own = SX.eye(nv) + dt * axes.drift_derivative(v)
        Fv = ca.mtimes(by_w + dt * by_d, ca.horzcat(SX(nv, nv), own, SX(nv, D.shape[1] - 2 * nv)) + dt * D)
        first, second = axes.move_derivatives(x[: self._state.nq], dt * after)
        second, xnext = dt * second, self._after(x, after)
        if lift is None:
            rest = ca.horzcat(first, SX(nv, D.shape[1] - nv))
            return {"xnext": xnext, "F": ca.vertcat(rest + second @ Fv, Fv)}
        return {"xnext": xnext, "dt": dt, "J0": first[:lift, :lift], "J1": second[:lift, :lift], "Fv": Fv}

    def _moved(self, x: SX, a: SX) -> SX:
        """New velocity w (nv,) in the axes of q."""
        v = x[self._state.nq :]
        return v + self._dt * (a + self._axes.drift(v))

    def _after(self, x: SX, v: SX) -> SX:
        """State (nx,) after a step from x with the new velocity v (nv,)."""
        return SX(ca.densify(ca.vertcat(self._axes.move(x[: self._state.nq], self._dt * v), v)))
