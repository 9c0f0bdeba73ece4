"""Quadrupeds walk, trot, pace, bound and jump; for some there are also Crocoddyl's exact problems.

Source of Crocoddyl's problems: its example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
"""

from __future__ import annotations

from trajopt.gaits import quadruped_bound, quadruped_jump, quadruped_pace, quadruped_trot, quadruped_walk
from trajopt.problems import gait_tables as tables
from trajopt.problems.gait_case import Gait, as_in_crocoddyl, jump_case, step_case

_STEPS = (
    Gait(
        name="quadruped-walk",
        description="A quadruped walks, one foot after the other.",
        verb="walks",
        generate=quadruped_walk,
        robots=tables.WALK,
    ),
    Gait(
        name="quadruped-trot",
        description="A quadruped trots, diagonal pairs in turn.",
        verb="trots",
        generate=quadruped_trot,
        robots=tables.TROT,
    ),
    Gait(
        name="quadruped-pace",
        description="A quadruped paces, the right side and the left side in turn.",
        verb="paces",
        generate=quadruped_pace,
        robots=tables.PACE,
    ),
    Gait(
        name="quadruped-bound",
        description="A quadruped bounds, the front feet and the hind feet in turn.",
        verb="bounds",
        generate=quadruped_bound,
        robots=tables.BOUND,
    ),
)
_JUMP = Gait(
    name="quadruped-jump",
    description="A quadruped jumps and lands on all its feet.",
    verb="jumps",
    generate=quadruped_jump,
    robots=tables.JUMP,
)
_PUBLISHED = (tables.CROCODDYL_WALK, tables.CROCODDYL_TROT, tables.CROCODDYL_PACE, tables.CROCODDYL_BOUND)
FAMILIES = (
    *(gait.family(step_case) for gait in _STEPS),
    _JUMP.family(jump_case),
    *(as_in_crocoddyl(gait, robots).family(step_case) for gait, robots in zip(_STEPS, _PUBLISHED)),
    as_in_crocoddyl(_JUMP, tables.CROCODDYL_JUMP).family(jump_case),
)
