"""Motions without a problem as solutions, for views, films, tables and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.analysis.lines import coordinate_units, robot_lines
from trajopt.analysis.obstacles import planes_of
from trajopt.analysis.quantities import efforts_of
from trajopt.analysis.rollouts import rollout_motion
from trajopt.solution.description import completed
from trajopt.solution.record import SolverStatus
from trajopt.solution.solution import Solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator import Rollout


def described_motion(xs: Reals, us: Reals | None = None, *, solver: str, **fields: Any) -> Solution:
    """Returns a trajectory without a problem as a Solution that views and films can show.

    Args:
        xs: States (T + 1, nx).
        us: Controls (T, nu); None for a motion without controls.
        solver: Where it comes from.
        **fields: Attributes of its description, such as `robot`, `times`, `legs` and `goals`.
    """
    effort: dict[str, Any] = {"status": SolverStatus.UNSOLVED, "iterations": 0, "history": (), "seconds": 0.0}
    us = np.zeros((len(xs) - 1, 0)) if us is None else us
    return Solution(xs=xs, us=us, cost=float("nan"), solver=solver, x0=xs[0], described=completed(fields), **effort)


def motion_of_rollout(rollout: Rollout) -> Solution:
    """Returns a rollout of the simulator as a Solution; its controls are the torques at all velocities (nv,)."""
    state = StateMultibody(rollout.robot)
    efforts = efforts_of(state)
    return described_motion(
        rollout.xs,
        rollout.taus,
        solver="Simulator",
        robot=rollout.robot,
        times=rollout.times,
        coordinate_names=tuple(state.coordinate_names),
        coordinate_units=coordinate_units(state),
        control_names=tuple(efforts),
        control_units=tuple(unit for _, unit in efforts.values()),
        lines=tuple(robot_lines(state, rollout.xs, rollout.taus)),
        contact_forces=dict(rollout.forces),
        legs=rollout_motion(rollout),
        planes=planes_of(rollout.contacts),
        goals=(),
    )
