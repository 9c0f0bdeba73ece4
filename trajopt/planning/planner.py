"""A way around obstacles in one call: `trajopt.plan(robot, start, goal, scene)`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_finite, check_instance, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.planning.free_space import FreeSpace
from trajopt.planning.goals import checked_configuration, goal_configurations
from trajopt.planning.result import Plan, PlanStatus
from trajopt.planning.search import PLAN, PathSearch
from trajopt.planning.smoothing import smooth_path
from trajopt.retiming import JointPath, RetimedPath, retime
from trajopt.retiming.limits import JointLimits
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

INTERVALS = 100  # of a motion [-]
EFFORT = 2_000  # least number of checks of each further path; more if the first path needed more [-]


def plan(
    robot: Robot,
    start: npt.ArrayLike,
    goal: Any,
    scene: Scene | None = None,
    *,
    frame: str | None = None,
    margin: float = 0.01,
    paths: int = 3,
    seed: int = 0,
    time_limit: float = 10.0,
    velocity: npt.ArrayLike | None = None,
    acceleration: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    jerk: npt.ArrayLike | None = None,
) -> Plan:
    """Finds a motion from rest to rest around obstacles, within joint limits.

    ```python
    motion = trajopt.plan(robot, start, goal, scene, jerk=500.0).motion
    ```

    OMPL searches paths among the robot's collision shapes and shortens them. The one that promises the shortest motion
    becomes a spline, which is smoother where it has more room, and `retime` moves along it in minimum time. The spline
    keeps the margin also between the configurations at which distances are computed: where bodies are near each other,
    none moves further than 5 mm from one to the next. Equal arguments give equal motions unless time_limit ends a
    search. The path is not optimal: for a shorter time make the motion the guess of SolverSQP with a free "dt", see
    "Avoid obstacles" in the documents.

    Args:
        robot: A robot on a fixed base with collision geometry, whose joints have one coordinate each.
        start: Configuration (nq,) [rad, m].
        goal: A configuration (nq,); or, with `frame`, the placement of that frame: a pinocchio.SE3, a matrix (4, 4),
            or position and quaternion xyzw (7,); or tasks of `ik.solve`: a ConstraintStack, a CostStack or both in a
            tuple.
        scene: Obstacles; by default links keep apart from each other alone.
        frame: Name of the frame that the goal places.
        margin: Least distance from obstacles, and of links from each other, there at most 0.01 m if there are any [m].
        paths: Number of searches, of which the best path is kept, >= 1 [-].
        seed: Seed of the searches, >= 0.
        time_limit: Time of all searches, > 0 [s]. Searches after the first end earlier where they need more checks than
            the first.
        velocity: Largest velocity of each joint, (nv,) or one number [rad/s, m/s]; inf for none. By default that of the
            robot's file.
        acceleration: Largest acceleration [rad/s², m/s²]; none by default.
        torque: Largest torque or force of each motor [N m, N]; by default that of the robot's file.
        jerk: Largest jerk [rad/s³, m/s³]; none by default.

    Returns:
        The motion with its status, which tells why there is none.

    Raises:
        InvalidArgumentError: An argument has a wrong type or size; or a joint of start or goal is beyond a limit, or
            two bodies are nearer to each other than the margin, which the message names.
        MissingDependencyError: OMPL is not installed.

    Sources: Sucan, Moll and Kavraki, The Open Motion Planning Library, 2012; Kuffner and LaValle, RRT-Connect, 2000.
    """
    PLAN.check("ompl")
    check_instance("robot", robot, Robot, "load one by trajopt.load_robot(name)")
    if robot.nq != robot.nv or robot.floating_base:
        raise InvalidArgumentError(
            f"robot: expected a fixed base and joints with one coordinate each, got {robot!r}; lock the other joints "
            "with robot.lock_joints"
        )
    if scene is not None:
        check_instance("scene", scene, Scene)
    least, count = check_finite("margin", margin), check_count("paths", paths, least=1)
    number, longest = check_count("seed", seed), check_positive("time_limit", time_limit, unit="s")
    limits = {"velocity": velocity, "acceleration": acceleration, "torque": torque, "jerk": jerk}
    checked = JointLimits.of(robot, velocity, acceleration, torque, jerk)
    space = FreeSpace(robot, scene, least)
    first = checked_configuration(space, "start", start)
    goals = goal_configurations(space, goal, frame, first, scene, least, number)
    begin = time.perf_counter()
    found = _paths(space, first, goals, count, number, begin + longest) if len(goals) else []
    found.sort(key=lambda corners: _duration(corners, checked.velocity))
    seconds = [time.perf_counter() - begin, 0.0, 0.0]
    status = PlanStatus.NO_PATH if len(goals) else PlanStatus.UNREACHABLE
    corners, motion = np.zeros((0, robot.nq)), None
    for corners in found:
        status, motion = _motion(space, corners, limits, seconds)
        if motion is not None:
            break
    return Plan(
        robot=robot,
        scene=scene,
        margin=least,
        status=status,
        corners=corners,
        motion=motion,
        paths=len(found),
        checked=space.checked,
        seconds=np.array(seconds),
    )


def _paths(space: FreeSpace, start: Reals, goals: Reals, count: int, seed: int, deadline: float) -> list[Reals]:
    """Corners (n, nq) of paths from a start to goals (n, nq): a straight line if one is free, or several paths."""
    nearest = goals[np.linalg.norm(goals - start, axis=1).argmin()]
    if space.connects(start, nearest):
        return [np.array([start, nearest])]
    search, found, most = PathSearch(space, start, goals), list[Reals](), np.inf
    for number in np.random.default_rng(seed).integers(1, 2**31, count).tolist():
        before = space.checked
        path = search.path(number, deadline, most)
        if path is not None:
            found.append(path)
        most = max(space.checked - before, EFFORT) if np.isinf(most) else most
    return found


def _duration(corners: Reals, velocity: Reals) -> float:
    """Time along lines with the largest velocities [s]; without such limits the length."""
    fastest = np.where(np.isfinite(velocity), velocity, 1.0)
    return float((np.abs(np.diff(corners, axis=0)) / fastest).max(axis=1).sum())


def _motion(
    space: FreeSpace, corners: Reals, limits: dict[str, Any], seconds: list[float]
) -> tuple[PlanStatus, RetimedPath | None]:
    """Status and motion along lines; adds its times to `seconds`."""
    start = time.perf_counter()
    path = smooth_path(space, corners)
    seconds[1] += time.perf_counter() - start
    if path is None:
        return PlanStatus.NO_PATH, None
    start = time.perf_counter()
    motion = _retimed(space.robot, path, limits)
    seconds[2] += time.perf_counter() - start
    return (PlanStatus.NO_MOTION if motion is None else PlanStatus.SOLVED), motion


def _retimed(robot: Robot, path: JointPath, limits: dict[str, Any]) -> RetimedPath | None:
    try:
        motion = retime(robot, path.waypoints, intervals=INTERVALS, **limits)
    except InvalidArgumentError:  # motors are too weak to hold the robot somewhere on the path
        return None
    return motion if motion.converged else None
