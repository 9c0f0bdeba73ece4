"""Goals of a plan: configurations, the placement of a frame, or tasks of inverse kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt import ik
from trajopt.checks import check_array, check_text
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError
from trajopt.planning.free_space import FreeSpace
from trajopt.residuals import ResidualModelFramePlacement
from trajopt.robots import Robot, Scene
from trajopt.states import StateMultibody
from trajopt.types import Reals

ABOVE = 1e-4  # by how much configurations of tasks keep more than the margin [m]
SAME = 1e-9  # distance of configurations that count as equal [rad, m]


def checked_configuration(space: FreeSpace, argument: str, value: Any) -> Reals:
    """A configuration (nq,) that is free.

    Raises:
        InvalidArgumentError: It has another size, a joint is beyond a limit, or bodies are nearer than the margin.
    """
    robot = space.robot
    more = "; pass frame=... with a placement" if argument == "goal" else ""
    q = check_array(argument, value, (robot.nq,), cure=f"a configuration of {robot.name}{more}")
    beyond = np.maximum(space.lower - q, q - space.upper)
    if beyond.max() > 0.0:
        i = int(beyond.argmax())
        limits = f"[{space.lower[i]:.6g}, {space.upper[i]:.6g}]"
        raise InvalidArgumentError(
            f"{argument}: expected joints within limits, got {robot.joint_names[i]} = {q[i]:.6g} beyond {limits}"
        )
    if not space.contains(q):
        distance, bodies, margin = space.nearest(q)
        raise InvalidArgumentError(
            f"{argument}: expected {bodies} at least {margin:.3g} m apart, got {distance:.4g} m; choose another "
            "configuration, or lower margin"
        )
    return q


def goal_configurations(
    space: FreeSpace, goal: Any, frame: str | None, start: Reals, scene: Scene | None, margin: float, seed: int
) -> Reals:
    """Configurations (n, nq) that meet a goal and are free, other than the start.

    Raises:
        InvalidArgumentError: The goal is none, or a configuration that is not free or is the start.
    """
    tasks = _tasks(space.robot, goal, frame)
    if tasks is None:
        found = checked_configuration(space, "goal", goal)[None]
    else:
        avoided = True if scene is None else scene
        result = ik.solve(
            space.robot, tasks, start=start, collisions=avoided, margin=margin + ABOVE, seed=seed
        )  # those of the result meet the constraints
        found = result.configurations if result.solved else np.zeros((0, len(start)))
        found = np.array([q for q in found if space.contains(q)]).reshape(-1, len(start))
    others = found[np.abs(found - start).max(axis=1, initial=0.0) > SAME]
    if len(found) and not len(others):
        raise InvalidArgumentError("goal: expected another configuration than the start, got the same one")
    return others


def _tasks(robot: Robot, goal: Any, frame: str | None) -> Any:
    """Tasks of a goal; None for a configuration."""
    if frame is not None:
        name = check_text("frame", frame, such_as="tool0")
        state = StateMultibody(robot)
        return ConstraintStack(state).add("goal", ResidualModelFramePlacement(state, name, goal), equals=0.0)
    return goal if isinstance(goal, (ConstraintStack, CostStack, tuple)) and not _numbers(goal) else None


def _numbers(goal: Any) -> bool:
    return isinstance(goal, tuple) and not any(isinstance(each, (ConstraintStack, CostStack)) for each in goal)
