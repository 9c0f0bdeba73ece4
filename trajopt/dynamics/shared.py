"""Expressions of robots that models share: those of the same robot at the same state symbol are built once.

Dynamics, costs and constraints of a problem need the same kinematics. Building them once takes a quarter off the first
start of a walk of a quadruped.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Hashable

import pinocchio as pin
from casadi import SX

from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.dynamics.variable_bodies import Parameters
from trajopt.kernels.interrupts import Heard
from trajopt.kernels.recent import Recent
from trajopt.model.pickled import pickled

KEPT = 4  # robots

_kept: Recent[Hashable, RobotExpressions] = Recent(KEPT, lambda _: 1.0)


@functools.cache
def state_symbol(nx: int) -> SX:
    """The symbol of a state, SX (nx,), which all expressions of a state of this size share by default."""
    return SX.sym("x", nx)


def shared_expressions(
    model: pin.Model,
    x: SX,
    *,
    friction: SmoothFriction | None,
    derivatives: bool,
    parameters: Parameters | None = None,
) -> RobotExpressions:
    """Expressions of a robot at its state x = (q, v), SX (nq + nv,); see `RobotExpressions`.

    They are shared by all who pass `state_symbol(nx)`, within one thread. They belong to the model as it is now.
    """
    if x is not state_symbol(model.nq + model.nv):
        return _built(model, x, parameters).branch(friction=friction, with_derivatives=derivatives)
    key = pickled(model), tuple(parameters or ()), threading.get_ident()
    robot = _kept.get(key, lambda: _built(model.copy(), x, parameters))
    return robot.branch(friction=friction, with_derivatives=derivatives)


def _built(model: pin.Model, x: SX, parameters: Parameters | None) -> RobotExpressions:
    with Heard():
        return RobotExpressions(model, x[: model.nq], x[model.nq :], parameters=parameters)
