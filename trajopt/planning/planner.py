"""A way around obstacles in one call: `trajopt.plan(robot, start, goal, scene)`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_count, check_instance, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.planning.fastest import Choice, fastest
from trajopt.planning.free_space import FreeSpace
from trajopt.planning.goals import checked_configuration, goal_configurations
from trajopt.planning.result import Plan, PlanStatus
from trajopt.planning.search import PLAN, PathSearch
from trajopt.retiming.limits import JointLimits
from trajopt.robots import Robot, Scene
from trajopt.types import Reals

FEWEST, MOST = 3, 20  # searches where their number is not given [-]
BUDGET = 40_000  # checks after which no further search begins then, 0.4 s for an arm among boxes [-]
EFFORT = 2_000  # least number of checks of each further path; more if the first path needed more [-]


def plan(
    robot: Robot,
    start: npt.ArrayLike,
    goal: Any,
    scene: Scene | None = None,
    *,
    frame: str | None = None,
    margin: float = 0.01,
    paths: int | None = None,
    seed: int = 0,
    time_limit: float = 10.0,
    velocity: npt.ArrayLike | None = None,
    acceleration: npt.ArrayLike | None = None,
    torque: npt.ArrayLike | None = None,
    jerk: npt.ArrayLike | None = None,
    intervals: int = 200,
) -> Plan:
    """Finds a motion from rest to rest around obstacles, within joint limits.

    ```python
    motion = trajopt.plan(robot, start, goal, scene, jerk=500.0).motion
    ```

    OMPL searches paths among the robot's collision shapes and shortens them; each search after the first looks only
    where a path can be shorter than those before. Those that promise the shortest motions become splines, which are
    smoother where they have more room, `retime` moves along each in minimum time, and the fastest motion is kept. A
    spline keeps the margin also between the configurations at which distances are computed: where bodies are near each
    other, none moves further than 5 mm from one to the next. Equal arguments give equal motions unless time_limit ends
    a search. The path is not optimal: for a shorter time make the motion the guess of SolverSQP with a free "dt", see
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
        paths: Number of searches, of which the best path is kept, >= 1 [-]; more of them find a shorter motion. By
            default 3, and up to 20 while all of them together need less than 40,000 checks, about 0.4 s.
        seed: Seed of the searches, >= 0.
        time_limit: Time of all searches, > 0 [s]. Searches after the first end earlier where they need more checks than
            the first.
        velocity: Largest velocity of each joint, (nv,) or one number [rad/s, m/s]; inf for none. By default that of the
            robot's file.
        acceleration: Largest acceleration [rad/s², m/s²]; none by default.
        torque: Largest torque or force of each motor [N m, N]; by default that of the robot's file.
        jerk: Largest jerk [rad/s³, m/s³]; none by default.
        intervals: Number of intervals of the motion, see `retime` [-].

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
        check_instance("scene", scene, Scene, 'write trajopt.Scene({"ball": obstacle})')
    least = check_non_negative("margin", margin, unit="m")
    count = None if paths is None else check_count("paths", paths, least=1)
    number, longest = check_count("seed", seed), check_positive("time_limit", time_limit, unit="s")
    limits = {"velocity": velocity, "acceleration": acceleration, "torque": torque, "jerk": jerk}
    parts = check_count("intervals", intervals, least=2)
    checked = JointLimits.of(robot, velocity, acceleration, torque, jerk)
    space = FreeSpace(robot, scene, least)
    first = checked_configuration(space, "start", start)
    goals = goal_configurations(space, goal, frame, first, scene, least, number)
    begin = time.perf_counter()
    search = PathSearch(space, first, goals, np.where(np.isfinite(checked.velocity), checked.velocity, 1.0))
    found = _paths(search, count, number, begin + longest) if len(goals) else []
    found.sort(key=search.duration)
    searching = time.perf_counter() - begin
    choice = fastest(space, found, limits, parts) if found else Choice(corners=np.zeros((0, robot.nq)))
    return Plan(
        robot=robot,
        scene=scene,
        margin=least,
        status=_status(len(goals) > 0, choice),
        corners=choice.corners,
        motion=choice.motion,
        paths=len(found),
        checked=space.checked,
        seconds=np.array([searching, choice.smoothing, choice.retiming]),
    )


def _paths(search: PathSearch, count: int | None, seed: int, deadline: float) -> list[Reals]:
    """Corners (n, nq) of paths: a straight line if one is free, or several paths, sought where they can be shorter."""
    space, start, goals = search.space, search.start, search.goals
    nearest = goals[np.linalg.norm(goals - start, axis=1).argmin()]
    if space.connects(start, nearest):
        return [np.array([start, nearest])]
    found, most, shortest = list[Reals](), np.inf, np.inf
    begin, fewest = space.checked, count or FEWEST
    for i, number in enumerate(np.random.default_rng(seed).integers(1, 2**31, count or MOST).tolist()):
        before = space.checked
        if i >= fewest and before - begin > BUDGET:
            break
        path = search.path(number, deadline, most, shortest)
        if path is not None:
            found.append(path)
            shortest = min(shortest, search.duration(path))
        most = max(space.checked - before, EFFORT) if np.isinf(most) else most
    return found


def _status(reachable: bool, choice: Choice) -> PlanStatus:
    if not reachable:
        return PlanStatus.UNREACHABLE
    if not choice.smooth:
        return PlanStatus.NO_PATH
    return PlanStatus.NO_MOTION if choice.motion is None else PlanStatus.SOLVED
