"""The interface of actuations: how controls become joint torques."""

from __future__ import annotations

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.model import Model
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import StateMultibody

Reals = npt.NDArray[np.float64]


class ActuationModelAbstract(Model):
    """Joint torques tau = B u, with a constant matrix B.

    Attributes:
        state: The robot's state.
        matrix: B, shape (nv, nu) [-].
        nu: Number of controls [-].
        lower: Lower limits of the controls (nu,) [N m, N]; -inf where there is none.
        upper: Upper limits (nu,) [N m, N].
        names: Name of each control.
    """

    def __init__(self, state: StateAbstract, matrix: Reals, names: list[str] | None = None) -> None:
        if not isinstance(state, StateMultibody):
            raise InvalidArgumentError(f"state: {type(self).__name__} needs a StateMultibody (a robot), got {state!r}")
        self.state = state
        self.matrix = matrix
        self.nu = int(matrix.shape[1])
        effort = np.array(state.model.upperEffortLimit if hasattr(state.model, "upperEffortLimit") else state.model.effortLimit)
        selects = np.abs(matrix)  # a control has the limit of the joint that it drives alone
        rows = selects.argmax(axis=0) if matrix.size else np.zeros(0, dtype=int)
        alone = (np.count_nonzero(matrix, axis=0) == 1) & np.array([matrix[r, i] == 1 for i, r in enumerate(rows)], bool)
        limit = np.where(effort > 0, effort, np.inf)
        self.upper = np.where(alone, limit[rows], np.inf) if self.nu else np.zeros(0)
        self.lower = -self.upper
        torque_names = [n.split(":", 1)[-1] for n in state.tangent_names[: state.nv]]
        self.names = names or [f"u:{torque_names[r]}" if a else f"u{i}" for i, (r, a) in enumerate(zip(rows, alone))]

    def torque(self, u: SX) -> SX:
        """Joint torques (nv,) of controls (nu,)."""
        return SX(ca.sparsify(ca.DM(self.matrix))) @ u if self.nu else SX(self.state.nv, 1)
