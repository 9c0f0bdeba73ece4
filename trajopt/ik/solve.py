"""Inverse kinematics in one call: `ik.solve(robot, tasks)`, and batches of targets."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from trajopt.checks import check_mapping
from trajopt.ik.result import IKBatch, IKResult
from trajopt.ik.solver_cache import kept_solver
from trajopt.robots import Robot


def solve(
    robot: Robot,
    tasks: Any,
    targets: Any = None,
    *,
    limits: bool = True,
    starts: int = 32,
    seed: int = 0,
    start: npt.ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> IKResult:
    """A configuration that meets constraints and makes costs small, at rest.

    ```python
    state = StateMultibody(robot)
    tasks = ConstraintStack(state).add("tool", ResidualModelFramePlacement(state, "panda_hand", target), equals=0)
    result = ik.solve(robot, tasks)
    ```

    Tasks of the same structure share compiled code, whatever their targets, bounds and weights. In a loop an `IKSolver`
    saves the milliseconds that it takes to build and to recognise tasks.

    Args:
        robot: The robot.
        tasks: A ConstraintStack (`equals`, or `lower` and `upper`), a CostStack, or a tuple of both.
        targets: Values by the parameter's name that take the place of those of the tasks, such as {"tool.reference":
            pinocchio.SE3}.
        limits: Whether to keep the robot's joint limits.
        starts: Largest number of starts [-].
        seed: Of the starts beyond the target's neighbourhood.
        start: A configuration (nq,) to start from first; one beyond limits is moved inside. Without costs the answer
            need not be the nearest to it: a cost of ResidualModelState says which one is wanted.
        tolerance: Largest violation of a row of the constraints [unit of the row].

    Raises:
        UnknownNameError: There is no parameter of this name.
        InvalidArgumentError: There is no task, or a task needs a control, or is soft, or of another robot; or a target
            is not as its parameter needs it.
    """
    given = {} if targets is None else check_mapping("targets", targets, 'write {"tool.reference": value}')
    solver, values = kept_solver(robot, tasks, limits=limits, tolerance=tolerance)
    return solver.solve({**values, **given}, starts=starts, seed=seed, start=start)


def solve_batch(
    robot: Robot,
    tasks: Any,
    targets: Any,
    *,
    limits: bool = True,
    starts: int = 32,
    seed: int = 0,
    tolerance: float = 1e-6,
) -> IKBatch:
    """Configurations for many targets.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both.
        targets: Values by the parameter's name, one row a target: {"tool.reference": (n, 4, 4)}.
        limits: Whether to keep the robot's joint limits.
        starts: Largest number of starts of each target [-].
        seed: Of the starts beyond the targets' neighbourhood.
        tolerance: Largest violation of a row of the constraints [unit of the row].

    Raises:
        UnknownNameError: There is no parameter of this name.
        InvalidArgumentError: Tasks or targets are not as said.
    """
    solver, values = kept_solver(robot, tasks, limits=limits, tolerance=tolerance)
    return solver.solve_batch(targets, first=values, starts=starts, seed=seed)
