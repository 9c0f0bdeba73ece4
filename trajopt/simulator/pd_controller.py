"""PD controller that is evaluated inside a step, with its derivative."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula
from trajopt.robots.bases import driven_joints
from trajopt.simulator.model import SimulatorModel
from trajopt.states.state_multibody import StateMultibody
from trajopt.types import Reals


class PDController:
    """PD controller τ = kp (q* ⊖ q) + kd (v* - v), without torque at the base, as steps of a program.

    Its settings are the column (q*, v*, kp, kd).

    Args:
        model: The simulator's model.
    """

    def __init__(self, model: SimulatorModel) -> None:
        self._model = model
        nq, nv = model.nq, model.nv
        self.size = nq + 3 * nv
        self._settings, self._x = SX.sym("settings", self.size), SX.sym("x", nq + nv)
        target, kp, kd = (self._settings[i:j] for i, j in ((0, nq + nv), (nq + nv, nq + 2 * nv), (nq + 2 * nv, None)))
        error = model.state.sx_difference(self._x, target)
        by_x, _ = model.state.sx_jdifference(self._x, target)
        self._torque = kp * error[:nv] + kd * error[nv:]
        self._derivative = ca.diag(kp) @ by_x[:nv, :] + ca.diag(kd) @ by_x[nv:, :]

    def settings(self, target: Reals, kp: Reals, kd: Reals) -> Reals:
        """Column of settings for a target state (q*, v*) and gains (nv,); the gains of the base are set to zero."""
        driven = driven_joints(self._model.state.model)
        return np.concatenate([target, np.where(driven, kp, 0.0), np.where(driven, kd, 0.0)])

    def torque(self, program: Program, qdq: Array, settings: Array) -> Array:
        """Adds the call that computes τ at the initial state of a step."""
        return self._call(program, qdq, settings, self._torque)

    def derivative(self, program: Program, qdq: Array, settings: Array) -> Array:
        """Adds the call that computes the derivative of τ by the whole input of a step (nv, n)."""
        more = SX(self._model.nv, qdq.size - self._x.numel())
        return self._call(program, qdq, settings, SX(ca.sparsify(ca.horzcat(self._derivative, more))))

    def _call(self, program: Program, qdq: Array, settings: Array, result: SX) -> Array:
        def at_input(whole: SX) -> list[SX]:
            return [ca.substitute(result, self._x, whole[: self._x.numel()])]

        return call_formula(program, "pd", at_input, qdq, reads=[(self._settings, settings)])[0]


def torque_at(state: StateMultibody, settings: Reals, x: Reals) -> Reals:
    """Torque τ (nv,) for settings and a checked state x (nx,) [N m, N]."""
    n, nv = state.nx, state.nv
    error = state.difference_unchecked(x, settings[:n])
    return np.asarray(settings[n : n + nv] * error[:nv] + settings[n + nv :] * error[nv:])
