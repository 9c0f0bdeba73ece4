"""Description of a solved problem: what tables and pictures need of it, as plain data for a file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import ConstraintRows, constraint_rows
from trajopt.analysis.goals import goals_of, pose_goals
from trajopt.analysis.legs import LeggedMotion, has_contacts, legged_motion
from trajopt.analysis.lines import Line, lines_of
from trajopt.analysis.poses import poses_of
from trajopt.analysis.reached import Reached, reached
from trajopt.analysis.skeleton import model_skeleton
from trajopt.errors import TrajoptError
from trajopt.robots import Robot
from trajopt.robots.skeleton import Skeleton
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Description:
    """Names, units and numbers of a solved problem that tables and pictures need.

    Attributes:
        times: Time of each knot (T + 1,) [s]; None if the problem has no times.
        coordinate_names: Name of each coordinate of a state (nx,).
        coordinate_units: Unit of each (nx,).
        control_names: Name of each control (nu,).
        control_units: Unit of each (nu,); "-" where it is not known.
        lines: States and controls over time with their limits, as `plot_solution` draws them.
        cost_terms: See `Solution.cost_terms`; None where they could not be computed.
        contact_forces: See `Solution.contact_forces`; None likewise.
        goals: Frame and reference point (3,) [m] of each terminal cost term on a frame's position.
        legs: Contacts, forces and feet; None without contacts.
        robot: The robot; None for other states.
        skeleton: Skeleton of a body that is no robot, if its model has one.
        poses: Poses (T + 1, 4, 4) [-, m] of a body whose states are poses; else None.
        pose_goals: Positions that the body is to reach (n, 3) [m].
        reached: What a gait was asked to do, and did; empty for other problems.
        constraints: Constraints with values, bounds and multipliers; empty for problems without any.
    """

    times: Reals | None
    coordinate_names: tuple[str, ...]
    coordinate_units: tuple[str, ...]
    control_names: tuple[str, ...]
    control_units: tuple[str, ...]
    lines: tuple[Line, ...]
    cost_terms: Mapping[str, Reals] | None
    contact_forces: Mapping[str, Reals] | None
    goals: tuple[tuple[str, Reals], ...]
    legs: LeggedMotion | None
    robot: Robot | None
    skeleton: Skeleton | None
    poses: Reals | None
    pose_goals: Reals
    reached: tuple[Reached, ...] = ()
    constraints: tuple[ConstraintRows, ...] = ()


def describe(solution: Solution) -> Description | None:
    """Description of a solution: from its problem, else that of its file; None if it has neither."""
    if solution.problem is None:
        return solution.description
    terms: Mapping[str, Reals] | None = None
    forces: Mapping[str, Reals] | None = None
    legs: LeggedMotion | None = None
    skeleton: Skeleton | None = None
    constraints: tuple[ConstraintRows, ...] = ()
    try:
        skeleton = None if solution.robot is not None else model_skeleton(solution)
        terms, forces = solution.cost_terms(), solution.contact_forces()
        legs = legged_motion(solution) if has_contacts(solution) else None
        constraints = constraint_rows(solution)
    except TrajoptError as error:  # such as a black box that fails on the trajectory of a solve that failed
        _LOG.warning("the file lacks what pictures need: %s", error)
    poses = poses_of(solution)
    return Description(
        times=solution.times,
        coordinate_names=solution.coordinate_names,
        coordinate_units=solution.coordinate_units,
        control_names=solution.control_names,
        control_units=solution.control_units,
        lines=lines_of(solution),
        cost_terms=terms,
        contact_forces=forces,
        goals=tuple(goals_of(solution)),
        legs=legs,
        robot=solution.robot,
        skeleton=skeleton,
        poses=poses,
        pose_goals=np.zeros((0, 3)) if poses is None else pose_goals(solution),
        reached=() if legs is None else reached(solution, legs),
        constraints=constraints,
    )
