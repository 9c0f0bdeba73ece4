"""Inverse kinematics along a path of targets."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_known
from trajopt.ik.judge import judged
from trajopt.ik.optimal import optimal
from trajopt.ik.path import IKPath
from trajopt.ik.solver import IKSolver
from trajopt.ik.solver_cache import kept_solver
from trajopt.ik.target_path import course
from trajopt.ik.tracker import Following
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

METHODS = ("differential", "optimal")


def track(
    robot: Robot,
    tasks: Any,
    path: Any,
    dt: float,
    *,
    duration: float | None = None,
    method: str = "differential",
    q0: npt.ArrayLike | None = None,
    limits: bool = True,
    velocity: npt.ArrayLike | None = None,
    acceleration: npt.ArrayLike | None = None,
    settling: float = 0.1,
    tolerance: float = 1e-4,
    max_iterations: int = 100,
    fixed: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    collisions: bool | Scene = False,
    margin: float = 0.01,
) -> IKPath:
    """Computes a motion that follows a path of targets, within limits of position, velocity and acceleration.

    ```python
    track = ik.track(robot, tasks, targets, dt=1e-3, acceleration=10.0)  # one row of targets for each time
    track = ik.track(robot, tasks, {"hand.reference": lambda t: ...}, dt=0.02, duration=4.0, method="optimal")
    ```

    "differential" computes one step after another, like `IKTracker`. It looks one step ahead, takes microseconds for a
    step, and lags behind at limits. "optimal" solves for all times at once, with that motion as initial guess. It
    minimises the integral of ½ settling⁴ |a|² and of the costs, plus a price for leaving the path; it slows down ahead
    of limits.

    Args:
        robot: The robot.
        tasks: A ConstraintStack for the tasks that follow the path; or a tuple with a CostStack, such as a posture.
        path: Targets at times 0, dt, 2 dt, ...: an array with one row for each time, or a function of time [s], for
            the only constraint with a reference; or a mapping from parameter names to these, {"hand.reference": (n, 4,
            4)}.
        dt: Time step [s].
        duration: Duration of a path of functions, rounded to whole steps [s].
        method: "differential" or "optimal".
        q0: Initial configuration (nq,), at rest; by default the result of `ik.solve` for the first target. One beyond
            limits moves inside with bounded speed.
        limits: Whether to respect the state's limits of position and velocity, by default those of the robot.
        velocity: Largest velocity of all joints, or of each (nv,) [rad/s, m/s]; inf for none. By default the state's.
        acceleration: Largest acceleration of all joints, or of each (nv,) [rad/s², m/s²]; no limit by default.
        settling: Time constant with which costs are minimised [s].
        tolerance: Violation of a row that counts as zero [unit of the row].
        max_iterations: Largest number of iterations of the optimal method [-].
        fixed: Joints that do not move: the coordinates of each by its name, such as {"panda_joint4": -2.0} [m, rad];
            `q0` is moved there.
        weights: How dear the motion of joints is, > 0 by name, such as {"panda_joint4": 10.0}, and 1 for all others
            [-]: what constraints and costs leave open is done with the least Σ wᵢ vᵢ², or with the optimal method
            Σ wᵢ aᵢ².
        collisions: Whether to keep links apart from each other, or a Scene from which to keep them apart as well: a
            constraint "collisions", as in `ConstraintStack.of_robot`, which comes before following the path. Obstacles
            move by functions or arrays in `path`: {"collisions.ball": lambda t: ...}.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].

    Raises:
        UnknownNameError: There is no parameter, method or joint of this name.
        InvalidArgumentError: Tasks, path or numbers are invalid.
    """
    check_known("method", method, METHODS)
    check_count("max_iterations", max_iterations, least=1)
    following = Following(
        robot,
        tasks,
        dt,
        limits=limits,
        velocity=velocity,
        acceleration=acceleration,
        settling=settling,
        tolerance=tolerance,
        fixed=fixed,
        weights=weights,
        collisions=collisions,
        margin=margin,
    )
    p = course(following.model, path, following.dt, duration)
    start = _start(following, p[0], limits) if q0 is None else following.start("q0", q0)
    stepper = following.stepper(len(p) - 1)
    stepper.q[0], stepper.p[:] = start, p
    stepper.run()
    reached = functools.partial(_reached, following, limits)
    if method == "differential":
        return judged(following, p, stepper.q, stepper.v, reached)
    solution = optimal(following, p, stepper.q, stepper.v, max_iterations)
    nq = robot.nq
    return judged(following, p, solution.xs[:, :nq].copy(), solution.xs[:, nq:].copy(), reached, solution)


def _start(following: Following, p: Reals, limits: bool) -> Reals:
    """Configuration (nq,) for the first targets."""
    layout = following.model.layout
    values = {name: each.shaped(p[layout.slices[name]]) for name, each in layout.parameters.items()}
    return np.array(_poses(following, limits).solve(values).q)


def _reached(following: Following, limits: bool, p: Reals) -> npt.NDArray[np.bool_]:
    """Whether a configuration reaches the targets of each row of parameters (n, np), wherever the motion is."""
    layout = following.model.layout
    values = {name: [each.shaped(row) for row in p[:, layout.slices[name]]] for name, each in layout.parameters.items()}
    return _poses(following, limits).solve_batch(values).solved


def _poses(following: Following, limits: bool) -> IKSolver:
    tolerance, fixed = 1e-2 * following.tolerance, following.fixed
    return kept_solver(following.robot, following.tasks, limits=limits, tolerance=tolerance, fixed=fixed)[0]
