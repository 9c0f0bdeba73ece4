"""Robots with two feet walk and jump."""

from __future__ import annotations

import functools

import numpy.typing as npt

from trajopt.gaits import biped_jump, biped_walk
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.gait_case import gait_case
from trajopt.problems.gait_tables import BIPED_JUMP, BIPED_WALK

TOLERANCE = 1e-7  # as Crocoddyl's example: costs are some thousands [cost]


def build_walk(
    *,
    robot: str = "talos_legs",
    step_length: float | None = None,
    step_height: float | None = None,
    step_knots: int | None = None,
    support_knots: int | None = None,
    cycles: int = 1,
    heading: float = 0.0,
    profile: str | None = None,
    dt: float = 3e-2,
    mu: float = 0.7,
    cone: float | None = None,
) -> ProblemCase:
    """The case of a robot, from standing still to a touch-down; None is what suits the robot, see gait_tables.py.

    Args:
        robot: One of `BIPED_WALK`.
        step_length: Length of a step, may be negative; the first one is half as long [m].
        step_height: How high feet are lifted [m].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots on both feet before each step [-].
        cycles: How often each foot steps [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        profile: How a foot swings: "smooth" leaves and touches down at rest; "triangle" is Crocoddyl's.
        dt: Time step [s].
        mu: Friction coefficient [-].
        cone: Weight of a wrench with which a sole would slip or tip [cost/N²].

    Source: Crocoddyl's example bipedal_gaits.
    """
    steps = BIPED_WALK[robot]
    length = steps.length if step_length is None else step_length
    schedule = functools.partial(
        biped_walk,
        step_length=length,
        step_height=steps.height if step_height is None else step_height,
        step_knots=steps.knots if step_knots is None else step_knots,
        support_knots=steps.support if support_knots is None else support_knots,
        cycles=cycles,
        heading=heading,
        profile=steps.profile if profile is None else profile,
        dt=dt,
    )
    return gait_case(
        name="biped-walk",
        description=f"{robot} walks in steps of {length:g} m.",
        robot=robot,
        schedule=schedule,
        mu=mu,
        inner=steps.inner,
        cone=steps.cone if cone is None else cone,
        known=steps,
        tolerance=TOLERANCE,
    )


def build_jump(
    *,
    robot: str = "talos_legs",
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int | None = None,
    flying_knots: int | None = None,
    dt: float | None = None,
    mu: float = 0.7,
    cone: float | None = None,
) -> ProblemCase:
    """Both feet leave the ground and land together; None is what suits the robot, see gait_tables.py.

    Args:
        robot: One of `BIPED_JUMP`.
        jump_height: Rise of the centre of mass above the line from start to landing [m].
        jump_length: By how much the feet move, forward, left and up (3,) [m].
        ground_knots: Number of knots on the ground before the jump; half as many follow it [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        dt: Time step [s].
        mu: Friction coefficient [-].
        cone: Weight of a wrench with which a sole would slip or tip [cost/N²].

    Source: Crocoddyl's example bipedal_gaits.
    """
    leap = BIPED_JUMP[robot]
    height = leap.height if jump_height is None else jump_height
    schedule = functools.partial(
        biped_jump,
        jump_height=height,
        jump_length=leap.length if jump_length is None else jump_length,
        ground_knots=leap.ground if ground_knots is None else ground_knots,
        flying_knots=leap.flying if flying_knots is None else flying_knots,
        dt=leap.dt if dt is None else dt,
    )
    return gait_case(
        name="biped-jump",
        description=f"{robot} jumps {height:g} m high.",
        robot=robot,
        schedule=schedule,
        mu=mu,
        inner=leap.inner,
        cone=leap.cone if cone is None else cone,
        known=leap,
        tolerance=TOLERANCE,
    )


FAMILIES = (
    Family(
        name="biped-walk",
        description="A biped walks on its soles.",
        build=build_walk,
        robots=tuple(BIPED_WALK),
        reference_cost=BIPED_WALK["talos_legs"].cost,
        reference_source=BIPED_WALK["talos_legs"].source,
    ),
    Family(
        name="biped-jump",
        description="A biped jumps and lands on both soles.",
        build=build_jump,
        robots=tuple(BIPED_JUMP),
        reference_cost=BIPED_JUMP["talos_legs"].cost,
        reference_source=BIPED_JUMP["talos_legs"].source,
    ),
)
