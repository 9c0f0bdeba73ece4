"""PD controller that is evaluated inside a step, with its derivative."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import named_call
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
        return self._call(program, qdq, settings, {"torque": self._torque})["torque"]

    def derivative(self, program: Program, qdq: Array, settings: Array) -> Array:
        """Adds the call that computes the derivative of τ by the whole input of a step (nv, n)."""
        m = self._model
        more = qdq.size - m.nq - m.nv
        whole = ca.horzcat(self._derivative, SX(m.nv, more))
        return self._call(program, qdq, settings, {"derivative": ca.sparsify(whole)})["derivative"]

    def _call(self, program: Program, qdq: Array, settings: Array, results: dict[str, SX]) -> dict[str, Array]:
        m = self._model
        whole = SX.sym("qdq", qdq.size)
        values = ca.substitute(list(results.values()), [self._x], [whole[: m.nq + m.nv]])
        return named_call(
            program, "pd", [(whole, qdq), (self._settings, settings)], dict(zip(results, map(SX, values)))
        )


def torque_at(state: StateMultibody, settings: Reals, x: npt.ArrayLike) -> Reals:
    """Torque τ (nv,) for settings and a state x (nx,) [N m, N]."""
    target, kp, kd = np.split(settings, [state.nx, state.nx + state.nv])
    error = state.difference(np.asarray(x), target)
    return np.asarray(kp * error[: state.nv] + kd * error[state.nv :])
