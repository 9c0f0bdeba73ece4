"""Cache of inverse kinematics solvers by the structure of their tasks, for repeated calls of `ik.solve`."""

from __future__ import annotations

from typing import Any

from trajopt.checks import check_flag, check_positive
from trajopt.ik.fixed import fixed_joints
from trajopt.ik.solver import IKSolver
from trajopt.ik.tasks import TaskModel
from trajopt.ik.weights import solver_model
from trajopt.kernels.recent import Recent
from trajopt.model import content
from trajopt.robots import Robot

MANY = 32
"""Number of most recently used solvers that the process keeps."""

_kept: Recent[tuple[str, bool, float, tuple[Any, ...]], IKSolver] = Recent(MANY, lambda solver: 1.0)


def kept_solver(
    robot: Robot, tasks: Any, *, limits: bool, tolerance: float, fixed: Any = None, weights: Any = None
) -> tuple[IKSolver, dict[str, Any]]:
    """Returns the solver for tasks of this structure, and the values of the tasks' parameters by name.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both.
        limits: Whether to respect the robot's joint limits.
        tolerance: Largest violation of a row of the constraints [unit of the row].
        fixed: Coordinates of joints that do not move, by name; None for none.
        weights: Weights of the motion of joints, by name; None for no such cost.
    """
    check_flag("limits", limits)
    check_positive("tolerance", tolerance)
    model = TaskModel.of(robot, tasks)
    held = fixed_joints(model.state, fixed, limits=limits)
    model = solver_model(model, held, weights)
    values = {name: parameter.default for name, parameter in model.layout.parameters.items()}

    def build() -> IKSolver:
        return IKSolver(robot, tasks, limits=limits, tolerance=tolerance, fixed=held, weights=weights)

    try:
        key = content.model_hash(model), bool(limits), float(tolerance), tuple(held.items())
    except (content.UnknownContentError, RecursionError):
        return build(), values
    return _kept.get(key, build), values
