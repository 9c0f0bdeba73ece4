"""Numerical contact Jacobian, and a check that contacts are independent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.contacts.stack import TouchStackAbstract
from trajopt.dynamics.falling import frame_motions
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.model.base import Model
from trajopt.model.parameters import ParameterLayout
from trajopt.model.programs import kept
from trajopt.types import Reals

Stack = TouchStackAbstract[Any]


def statics(model: Model, stack: Stack) -> Program:
    """Program (x, parameters of the robot and the stack) -> gravity torques (nv,), and J (nc, nv).

    The rows of J are zero for inactive contacts.

    Args:
        model: Model with the contacts or impulses; it caches the program.
        stack: Contacts or impulses.
    """
    return kept(model, "statics", lambda: _build_statics(stack))


def _build_statics(stack: Stack) -> Program:
    state, x = stack.state, SX.sym("x", stack.state.nx)
    still = SX(np.zeros(state.nv))
    robot = RobotExpressions(state.model, x[: state.nq], still, parameters=state.robot.parameters)
    motions = frame_motions(robot, still, stack.frames)
    jacobian = stack.jacobian(motions) * ca.repmat(stack.switches(), 1, state.nv)
    return Program.of("statics", ca.Function("statics", [x, _layout(stack).symbols], [robot.gravity(), jacobian]))


def _layout(stack: Stack) -> ParameterLayout:
    return ParameterLayout(stack.state.layout.parameters | stack.parameters())


def rest_forces(model: Model, stack: Stack, matrix: Reals, x: Reals, parameters: Mapping[str, Any] | None) -> Reals:
    """Smallest (u, λ) with B u + Jᵀ λ = g(q), of the contacts that are active.

    Args:
        model: As in `statics`, like the stack.
        stack: Contacts.
        matrix: B (nv, nu).
        x: State.
        parameters: Values of run-time parameters, those that differ from the defaults.
    """
    gravity, jacobian = statics(model, stack).evaluate(x, _layout(stack).column_of(parameters or {}))
    return np.asarray(np.linalg.pinv(np.hstack([matrix, jacobian.T])) @ gravity.ravel(), dtype=np.float64)


def check_independent(model: Model, stack: Stack, cure: str) -> None:
    """Raises InvalidArgumentError if the initially active constraints are redundant in all configurations.

    Args:
        model: The complete model.
        stack: Contacts or impulses.
        cure: Name of the argument that makes redundant constraints solvable.
    """
    parameters = stack.parameters()
    active = [name for name, key in stack.active_names().items() if parameters[key].default]
    if not active:
        return
    _, rows = statics(model, stack).evaluate(stack.state.rand(0), _layout(stack).column())  # a state without symmetry
    jacobian = rows[np.repeat([name in active for name in stack.names], list(stack.sizes.values()))]
    rank = np.linalg.matrix_rank(jacobian, tol=1e-9 * max(1.0, float(np.abs(jacobian).max())))
    if rank < len(jacobian):
        raise InvalidArgumentError(
            f"{stack.kind}s: expected independent constraints, got {', '.join(active)} with {len(jacobian)} "
            f"constraints of rank {rank}; pass {cure} > 0 (such as 1e-6), use smaller ones, or add some with "
            "active=False"
        )
