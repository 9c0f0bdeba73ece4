"""Contacts at rest: their Jacobian as numbers, and whether one of them follows from the others."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.contacts.base import TouchModelAbstract
from trajopt.contacts.stack import TouchStackAbstract
from trajopt.dynamics.falling import frame_motions
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.expressions import Instant

Stack = TouchStackAbstract[Any]


def statics(stack: Stack) -> ca.Function:
    """(x, activity of each contact) -> gravity's torques (nv,), and J (nc, nv), zero where it is not active."""
    state, x = stack.state, SX.sym("x", stack.state.nx)
    still = SX(np.zeros(state.nv))
    robot = RobotExpressions(state.model, x[: state.nq], still)
    motions = frame_motions(robot, still, stack.frames)
    active = SX.sym("active", len(stack.names))
    rows = [ca.repmat(active[i], stack[name].nc, 1) for i, name in enumerate(stack.names)]
    jacobian = stack.jacobian(motions)
    if rows:
        jacobian = jacobian * ca.repmat(ca.vertcat(*rows), 1, state.nv)
    return ca.Function("statics", [x, active], [robot.gravity(), jacobian])


def check_independent(stack: Stack, cure: str) -> None:
    """Raises InvalidArgumentError if the constraints that are active at first are redundant in all configurations.

    Args:
        stack: Contacts or impulses.
        cure: The argument that would help.
    """
    parameters = stack.parameters()
    active = [name for name in stack.names if parameters[f"{stack.kind}s.{name}.active"].default]
    if not active:
        return
    jacobian = numeric_jacobian(stack, active)
    rank = np.linalg.matrix_rank(jacobian, tol=1e-9 * max(1.0, float(np.abs(jacobian).max())))
    if rank < len(jacobian):
        raise InvalidArgumentError(
            f"{stack.kind}s: {', '.join(active)} are redundant together: {len(jacobian)} constraints, of which {rank} "
            f"are independent; pass {cure} > 0 (such as 1e-6), use smaller ones, or add some with active=False"
        )


def numeric_jacobian(stack: Stack, names: list[str]) -> np.ndarray:
    """J (n, nv) of some of them in a configuration without symmetry."""
    state = stack.state
    x = state.rand(0)
    chosen: list[TouchModelAbstract] = [stack[name] for name in names]
    instant = Instant(state, 0)
    still = SX(np.zeros(state.nv))
    robot = RobotExpressions(state.model, instant.x[: state.nq], still)
    motions = frame_motions(robot, still, stack.frames)
    rows = ca.vertcat(*[item.jacobian(motions) for item in chosen])
    return np.array(ca.Function("jacobian", [instant.x], [rows])(x).full())
