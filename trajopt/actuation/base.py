"""Interface of actuations: maps from controls to joint torques."""

from __future__ import annotations

from typing import Any, TypeVar

import casadi as ca
import numpy as np
import pinocchio as pin
from casadi import SX

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError
from trajopt.model.base import Model
from trajopt.states.base import StateAbstract
from trajopt.states.state_multibody import NO_LIMIT, StateMultibody
from trajopt.types import Reals

Numbers = TypeVar("Numbers", SX, Reals)


class ActuationModelAbstract(Model):
    """Actuation: joint torques tau = B m(u), with a constant matrix B and motor torques m = u, unless squashed.

    Attributes:
        state: State of the robot.
        matrix: B, shape (nv, nu) [-].
        nu: Number of controls [-].
        effort: Effort limits of the joints (nv,) [N m, N]; inf for joints without a limit.
        lower: Lower limits of the controls (nu,) [N m, N]; -inf for no limit. A control that drives a single joint
            with factor g has the effort limit of that joint over |g|.
        upper: Upper limits of the controls (nu,) [N m, N]; inf for no limit.
        is_linear: Whether motor torques are the controls.
        names: Name of each control: "u:JOINT" if it drives a single joint with factor 1, else "u0", "u1", ...
    """

    is_linear = True

    def __init__(self, state: StateMultibody, matrix: Reals) -> None:
        self.state = state
        self.matrix = matrix
        self.nu = int(matrix.shape[1])
        self.effort = effort_limits(state.model)
        alone = [_driven_alone(column) for column in matrix.T]
        self.upper = np.array([np.inf if own is None else self.effort[own[0]] / abs(own[1]) for own in alone])
        self.lower = -self.upper
        labels = [name.split(":", 1)[-1] for name in state.tangent_names[: state.nv]]
        self.names = [f"u{i}" if own is None or own[1] != 1 else f"u:{labels[own[0]]}" for i, own in enumerate(alone)]

    @property
    def controls(self) -> dict[str, Any]:
        """Arguments `lower`, `upper` and `control_names` of a model whose controls are those of the actuation."""
        return {"lower": self.lower, "upper": self.upper, "control_names": self.names}

    def by_motor(self, u: SX) -> dict[str, SX]:
        """Entry of u (nu,) of each motor, by the name of the joint that it drives alone, or of the control."""
        torques = self.motor_torque(u)
        return {name.removeprefix("u:"): torques[i] for i, name in enumerate(self.names)}

    def motor_torque(self, u: SX) -> SX:
        """Motor torques m(u) (nu,) [N m, N] of controls u (nu,), which they are by default."""
        return self._motor_torque(u)

    def _motor_torque(self, u: Numbers) -> Numbers:
        """The formula, for expressions and arrays."""
        return u

    def motor_slope(self, u: SX) -> SX:
        """Derivative of each motor torque by its control (nu,)."""
        return SX.ones(self.nu)

    def controls_for(self, torques: Reals) -> Reals:
        """Controls (nu,) that have these motor torques (nu,) [N m, N]."""
        return self._checked("torques", torques)

    @property
    def motor_limits(self) -> tuple[Reals, Reals]:
        """Lower and upper limits of the motor torques (nu,) [N m, N]."""
        return self.lower, self.upper

    def torque(self, u: SX) -> SX:
        """Joint torques B m(u) (nv,) [N m, N] of controls u (nu,)."""
        return SX(ca.sparsify(ca.DM(self.matrix))) @ self.motor_torque(u) if self.nu else SX(self.state.nv, 1)

    def torque_derivative(self, u: SX) -> SX:
        """Derivative of the joint torques by the controls (nv, nu), sparse."""
        B = SX(ca.sparsify(ca.DM(self.matrix)))
        return B if self.is_linear else SX(B @ ca.diag(self.motor_slope(u)))

    def joint_torques(self, u: Reals) -> Reals:
        """Joint torques (nv,) [N m, N] of controls u (nu,), as numbers."""
        return np.asarray(self.matrix @ self._motor_torque(self._checked("u", u)))

    def _checked(self, argument: str, value: Any) -> Reals:
        return check_array(argument, value, (self.nu,), cure="one number for each motor")


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


def check_linear(actuation: ActuationModelAbstract, user: str) -> None:
    """Raises InvalidArgumentError for motors whose torques are not the controls."""
    if not actuation.is_linear:
        raise InvalidArgumentError(
            f"actuation: {user} needs motor torques that are controls, got {actuation!r}; use the actuation inside"
        )


def _driven_alone(column: Reals) -> tuple[int, float] | None:
    """Index of the joint velocity that a column of B drives alone, and the factor; else None."""
    rows = np.flatnonzero(column)
    return (int(rows[0]), float(column[rows[0]])) if len(rows) == 1 else None
