"""Quadrupeds walk, trot, pace, bound and jump; for some there are also Crocoddyl's exact problems.

Source of Crocoddyl's problems: its example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
"""

from __future__ import annotations

from trajopt.gaits import quadruped_bound, quadruped_jump, quadruped_pace, quadruped_trot, quadruped_walk
from trajopt.problems import gait_tables as tables
from trajopt.problems.gait_case import Gait, as_in_crocoddyl, jump_case, step_case

_STEPS = (
    Gait("quadruped-walk", "A quadruped walks, one foot after the other.", "walks", quadruped_walk, tables.WALK),
    Gait("quadruped-trot", "A quadruped trots, diagonal pairs in turn.", "trots", quadruped_trot, tables.TROT),
    Gait(
        "quadruped-pace",
        "A quadruped paces, the right side and the left side in turn.",
        "paces",
        quadruped_pace,
        tables.PACE,
    ),
    Gait(
        "quadruped-bound",
        "A quadruped bounds, the front feet and the hind feet in turn.",
        "bounds",
        quadruped_bound,
        tables.BOUND,
    ),
)
_JUMP = Gait("quadruped-jump", "A quadruped jumps and lands on all its feet.", "jumps", quadruped_jump, tables.JUMP)
_IN_CROCODDYL = [(gait, tables.PUBLISHED[gait.name]) for gait in _STEPS if gait.name in tables.PUBLISHED]
FAMILIES = (
    *(gait.family(step_case) for gait in _STEPS),
    _JUMP.family(jump_case),
    *(as_in_crocoddyl(gait, robots).family(step_case) for gait, robots in _IN_CROCODDYL),
    as_in_crocoddyl(_JUMP, tables.CROCODDYL_JUMP).family(jump_case),
)
