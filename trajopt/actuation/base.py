"""Interface of actuations: maps from controls to joint torques."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.errors import InvalidArgumentError
from trajopt.model.base import Model
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import NO_LIMIT, StateMultibody
from trajopt.types import Reals


class ActuationModelAbstract(Model):
    """Actuation: joint torques tau = B u, with a constant matrix B.

    Attributes:
        state: State of the robot.
        matrix: B, shape (nv, nu) [-].
        nu: Number of controls [-].
        effort: Effort limits of the joints (nv,) [N m, N]; inf for joints without a limit.
        lower: Lower limits of the controls (nu,) [N m, N]; -inf for no limit. A control that drives a single joint
            with factor 1 has the effort limit of that joint.
        upper: Upper limits of the controls (nu,) [N m, N]; inf for no limit.
        names: Name of each control: "u:JOINT" if it drives a single joint with factor 1, else "u0", "u1", ...
    """

    def __init__(self, state: StateMultibody, matrix: Reals) -> None:
        self.state = state
        self.matrix = matrix
        self.nu = int(matrix.shape[1])
        self.effort = effort_limits(state.model)
        joints = [_driven_alone(column) for column in matrix.T]
        self.upper = np.array([np.inf if j is None else self.effort[j] for j in joints])
        self.lower = -self.upper
        labels = [name.split(":", 1)[-1] for name in state.tangent_names[: state.nv]]
        self.names = [f"u{i}" if j is None else f"u:{labels[j]}" for i, j in enumerate(joints)]

    @property
    def controls(self) -> dict[str, Any]:
        """Arguments `lower`, `upper` and `control_names` of a model whose controls are those of the actuation."""
        return {"lower": self.lower, "upper": self.upper, "control_names": self.names}

    def by_motor(self, u: SX) -> dict[str, SX]:
        """Entry of u (nu,) of each motor, by the name of the joint that it drives alone, or of the control."""
        return {name.removeprefix("u:"): u[i] for i, name in enumerate(self.names)}

    def torque(self, u: SX) -> SX:
        """Joint torques B u (nv,) [N m, N] of controls u (nu,)."""
        return SX(ca.sparsify(ca.DM(self.matrix))) @ u if self.nu else SX(self.state.nv, 1)


def check_actuation(actuation: Any, state: StateAbstract | None = None) -> ActuationModelAbstract:
    """Returns an actuation; raises InvalidArgumentError for anything else, or for one of another state than `state`."""
    if not isinstance(actuation, ActuationModelAbstract):
        raise InvalidArgumentError(
            f"actuation: expected an actuation model such as ActuationModelFull(state), got {actuation!r}"
        )
    if state is not None and actuation.state != state:
        raise InvalidArgumentError(
            f"actuation: expected an actuation of {state!r}, got one of {actuation.state!r}; use one state for both"
        )
    return actuation


def effort_limits(model: pin.Model) -> Reals:
    """Effort limits of a model's joints (nv,) [N m, N]; inf for no limit, also if the robot's file says 0."""
    effort = np.array(model.upperEffortLimit if hasattr(model, "upperEffortLimit") else model.effortLimit)
    return np.where((effort > 0) & (effort < NO_LIMIT), effort, np.inf)


def _driven_alone(column: Reals) -> int | None:
    """Index of the joint velocity that a column of B drives alone, with factor 1; else None."""
    rows = np.flatnonzero(column)
    return int(rows[0]) if len(rows) == 1 and column[rows[0]] == 1 else None
