"""Inverse kinematics in one call: `ik.solve(robot, tasks)`, and batches of targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from trajopt.checks import check_mapping
from trajopt.ik.collisions import with_collisions
from trajopt.ik.result import IKBatch, IKResult
from trajopt.ik.solver_cache import kept_solver
from trajopt.ik.weights import REFERENCE
from trajopt.robots import Robot, Scene


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
    fixed: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    collisions: bool | Scene = False,
    margin: float = 0.01,
) -> IKResult:
    """Computes a configuration at rest that satisfies constraints and minimises costs.

    ```python
    state = StateMultibody(robot)
    tasks = ConstraintStack(state).add("tool", ResidualModelFramePlacement(state, "panda_hand", target), equals=0)
    result = ik.solve(robot, tasks)
    ```

    Tasks of the same structure share compiled code, whatever their targets, bounds and weights. In a loop, an
    `IKSolver` saves the milliseconds that this function needs to build and compare tasks.

    Args:
        robot: The robot.
        tasks: A ConstraintStack (`equals`, or `lower` and `upper`; also `soft`), a CostStack, or a tuple of both.
        targets: Values of parameters by name, which replace those of the tasks, such as {"tool.reference":
            pinocchio.SE3}.
        limits: Whether to respect the robot's joint limits.
        starts: Largest number of starts [-].
        seed: Seed of the random starts, which follow those near the target.
        start: Configuration (nq,) of the first start; one beyond limits is moved inside. Without costs, the result is
            the nearest to it of the solutions that are found, among them that of a descent from there. For the least
            motion pass `weights`.
        tolerance: Largest violation of a row of the constraints [unit of the row].
        fixed: Joints that do not move: the coordinates of each by its name, such as {"panda_joint4": -2.0} [m, rad];
            a start that has others is moved there.
        weights: How dear the motion of joints is: adds the cost "motion", ½ Σ wᵢ (q ⊖ start)ᵢ², with weights > 0 by
            name, such as {"panda_joint4": 10.0}, and 1 for all others [cost / rad², cost / m²]. Without a start, the
            motion begins at the neutral configuration. None for no cost.
        collisions: Whether to keep links apart from each other, or a Scene from which to keep them apart as well: a
            constraint "collisions", as in `ConstraintStack.of_robot`.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].

    Raises:
        UnknownNameError: There is no parameter, or no joint, of this name.
        InvalidArgumentError: There is no task; or a task needs a control, or has another robot; or a target
            does not fit its parameter.
    """
    replaced = {} if targets is None else check_mapping("targets", targets, 'pass {"tool.reference": value}')
    tasks = with_collisions(robot, tasks, collisions, margin)
    solver, values = kept_solver(robot, tasks, limits=limits, tolerance=tolerance, fixed=fixed, weights=weights)
    if start is not None and weights is not None:
        values.pop(REFERENCE, None)
    return solver.solve({**values, **replaced}, starts=starts, seed=seed, start=start)


def solve_batch(
    robot: Robot,
    tasks: Any,
    targets: Any,
    *,
    limits: bool = True,
    starts: int = 32,
    seed: int = 0,
    start: npt.ArrayLike | None = None,
    tolerance: float = 1e-6,
    fixed: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    collisions: bool | Scene = False,
    margin: float = 0.01,
) -> IKBatch:
    """Computes configurations for many targets.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, a CostStack, or a tuple of both.
        targets: Values of parameters by name, one row for each target: {"tool.reference": (n, 4, 4)}.
        limits: Whether to respect the robot's joint limits.
        starts: Largest number of starts for each target [-]. With costs, a target ends when three starts have led to
            the same least cost.
        seed: Seed of the random starts, which follow those near the targets.
        start: Configuration of the first start, one for all targets (nq,) or one for each (n, nq), such as those of
            neighbours; one beyond limits is moved inside.
        tolerance: Largest violation of a row of the constraints [unit of the row].
        fixed: Joints that do not move: the coordinates of each by its name, such as {"panda_joint4": -2.0} [m, rad].
        weights: How dear the motion of joints is, as in `solve`, from `start`, the neutral configuration, or
            "motion.reference" in `targets`, a state at rest for each target (n, nx).
        collisions: Whether to keep links apart from each other, or a Scene from which to keep them apart as well.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].

    Raises:
        UnknownNameError: There is no parameter, or no joint, of this name.
        InvalidArgumentError: The tasks are invalid as in `solve`, or targets do not fit their parameters.
    """
    tasks = with_collisions(robot, tasks, collisions, margin)
    solver, values = kept_solver(robot, tasks, limits=limits, tolerance=tolerance, fixed=fixed, weights=weights)
    if start is not None and weights is not None:
        values.pop(REFERENCE, None)
    return solver.solve_batch(targets, first=values, starts=starts, seed=seed, start=start)
