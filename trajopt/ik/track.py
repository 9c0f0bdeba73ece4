"""Inverse kinematics along a path of targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_known
from trajopt.ik.judge import judged
from trajopt.ik.optimal import optimal
from trajopt.ik.path import IKPath
from trajopt.ik.solver_cache import kept_solver
from trajopt.ik.target_path import course
from trajopt.ik.tracker import Following
from trajopt.robots import Robot
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
    acceleration: npt.ArrayLike | None = None,
    settling: float = 0.1,
    tolerance: float = 1e-4,
    max_iterations: int = 100,
) -> IKPath:
    """A motion whose constraints follow a path of targets, within limits of position, velocity and acceleration.

    ```python
    track = ik.track(robot, tasks, targets, dt=1e-3, acceleration=10.0)  # one target of the only reference a time
    track = ik.track(robot, tasks, {"hand.reference": lambda t: ...}, dt=0.02, duration=4.0, method="optimal")
    ```

    "differential" goes from time to time, as `IKTracker` does: it sees one step ahead, takes microseconds a step, and
    lags where limits are in the way. "optimal" solves for all times at once, from that motion: the integral of
    ½ settling⁴ |a|² and of the costs is least, where leaving the path has a price; it slows down before it must.

    Args:
        robot: The robot.
        tasks: A ConstraintStack, what is to be followed; or a tuple of it and a CostStack, such as a posture.
        path: Targets at times 0, dt, 2 dt ...: an array with one row a time, or a function of time [s], of the only
            constraint's reference; or a mapping of such by the parameter's name, {"hand.reference": (n, 4, 4)}.
        dt: Time step [s].
        duration: Length of a path that is given as functions, rounded to whole steps [s].
        method: "differential" or "optimal".
        q0: Configuration (nq,) to start from, at rest; by default that of `ik.solve` for the first target. One beyond
            limits is moved inside with bounded speed.
        limits: Whether to keep the state's limits of position and velocity, which are the robot's by default.
        acceleration: Largest accelerations, one of all or (nv,); by default there is no limit [rad/s², m/s²].
        settling: Time in which costs are approached [s].
        tolerance: Violation of a row that counts as none [unit of the row].
        max_iterations: Largest number of iterations of the optimal method [-].

    Raises:
        UnknownNameError: There is no such parameter, or method.
        InvalidArgumentError: Tasks, path or numbers are not as said.
    """
    check_known("method", method, METHODS)
    check_count("max_iterations", max_iterations, least=1)
    following = Following.of(
        robot, tasks, dt, limits=limits, acceleration=acceleration, settling=settling, tolerance=tolerance
    )
    p = course(following.model, path, following.dt, duration)
    start = _start(following, tasks, p[0], limits) if q0 is None else following.configuration("q0", q0)
    stepper = following.stepper(len(p) - 1)
    stepper.q[0], stepper.p[:] = start, p
    stepper.run()
    if method == "differential":
        return judged(following, p, stepper.q, stepper.v)
    solution = optimal(following, p, stepper.q, stepper.v, max_iterations)
    nq = robot.nq
    return judged(following, p, solution.xs[:, :nq].copy(), solution.xs[:, nq:].copy(), solution)


def _start(following: Following, tasks: Any, p: Reals, limits: bool) -> Reals:
    """The configuration (nq,) for the first targets."""
    layout = following.model.layout
    solver, _ = kept_solver(following.robot, tasks, limits=limits, tolerance=1e-2 * following.tolerance)
    values = {name: each.shaped(p[layout.slices[name]]) for name, each in layout.parameters.items()}
    return np.array(solver.solve(values).q)
