"""Poses of a single body that the states of a motion describe: a unicycle, a quadrotor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution


def poses_of(solution: Solution) -> Reals | None:
    """Poses (T + 1, 4, 4) of the body that the states describe; None where they describe none."""
    if solution.problem is None and solution.description is not None:
        return solution.description.poses
    state = getattr(solution.problem, "state", None)
    return None if state is None else state.body_poses(solution.xs)
