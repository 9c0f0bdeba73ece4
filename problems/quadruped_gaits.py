"""Robots with four feet walk, trot, pace, bound and jump.

Source: Crocoddyl's example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
"""

from __future__ import annotations

from trajopt.gaits import quadruped_bound, quadruped_jump, quadruped_pace, quadruped_trot, quadruped_walk
from trajopt.problems.gait_case import Gait, jump_case, step_case
from trajopt.problems.gait_tables import BOUND, JUMP, PACE, TROT, WALK

_STEPS = (
    Gait(
        name="quadruped-walk",
        description="A quadruped walks, one foot after the other.",
        verb="walks",
        generate=quadruped_walk,
        robots=WALK,
    ),
    Gait(
        name="quadruped-trot",
        description="A quadruped trots, diagonal pairs in turn.",
        verb="trots",
        generate=quadruped_trot,
        robots=TROT,
    ),
    Gait(
        name="quadruped-pace",
        description="A quadruped paces, the right side and the left side in turn.",
        verb="paces",
        generate=quadruped_pace,
        robots=PACE,
    ),
    Gait(
        name="quadruped-bound",
        description="A quadruped bounds, the front feet and the hind feet in turn.",
        verb="bounds",
        generate=quadruped_bound,
        robots=BOUND,
    ),
)
_JUMP = Gait(
    name="quadruped-jump",
    description="A quadruped jumps and lands on all its feet.",
    verb="jumps",
    generate=quadruped_jump,
    robots=JUMP,
)
FAMILIES = (*(gait.family(step_case) for gait in _STEPS), _JUMP.family(jump_case))
