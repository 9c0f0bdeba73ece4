"""Robots with four feet walk, trot, pace, bound and jump."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from trajopt.gaits import (
    ContactSchedule,
    quadruped_bound,
    quadruped_jump,
    quadruped_pace,
    quadruped_trot,
    quadruped_walk,
)
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.gait_case import gait_case
from trajopt.problems.gait_tables import BOUND, JUMP, PACE, TROT, WALK, Steps


@dataclass(frozen=True, kw_only=True)
class Gait:
    """A family of problems.

    Attributes:
        name: Its name.
        description: What is to happen, in one sentence.
        verb: What the robot does, for the description of a case.
        generate: Makes the schedule.
        robots: How each robot steps, the default one first.
    """

    name: str
    description: str
    verb: str
    generate: Callable[..., ContactSchedule]
    robots: dict[str, Steps]


GAITS = (
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


def build(
    gait: Gait,
    *,
    robot: str = "anymal",
    step_length: float | None = None,
    step_height: float | None = None,
    step_knots: int | None = None,
    support_knots: int | None = None,
    cycles: int = 1,
    heading: float = 0.0,
    profile: str | None = None,
    dt: float = 1e-2,
    mu: float = 0.7,
    inner: bool | None = None,
    cone: float | None = None,
) -> ProblemCase:
    """The case of a robot, from standing still; None is what suits the robot, see gait_tables.py.

    Args:
        gait: One of `GAITS`.
        robot: One of `gait.robots`.
        step_length: Length of a step, may be negative; the first one is half as long [m].
        step_height: How high feet are lifted [m].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-].
        cycles: How often every foot steps [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        profile: How a foot swings: "smooth" leaves and touches down at rest; "triangle" is Crocoddyl's.
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it, where feet may slide
            a little.
        cone: Weight of a force outside of the pyramid [cost/N²].

    Source: Crocoddyl's example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
    """
    steps = gait.robots[robot]
    length = steps.length if step_length is None else step_length
    schedule = functools.partial(
        gait.generate,
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
        name=gait.name,
        description=f"{robot} {gait.verb} in steps of {length:g} m.",
        robot=robot,
        schedule=schedule,
        mu=mu,
        inner=steps.inner if inner is None else inner,
        cone=steps.cone if cone is None else cone,
        known=steps,
    )


def build_jump(
    *,
    robot: str = "anymal",
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int | None = None,
    flying_knots: int | None = None,
    dt: float | None = None,
    mu: float = 0.7,
    inner: bool | None = None,
    cone: float | None = None,
) -> ProblemCase:
    """All feet leave the ground and land together; None is what suits the robot, see gait_tables.py.

    Args:
        robot: One of `JUMP`.
        jump_height: Rise of the centre of mass above the line from start to landing [m].
        jump_length: By how much the feet move, forward, left and up (3,) [m].
        ground_knots: Number of knots on the ground before the jump, and again after it [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it, where feet may slide
            a little.
        cone: Weight of a force outside of the pyramid [cost/N²].

    Source: Crocoddyl's example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
    """
    leap = JUMP[robot]
    height = leap.height if jump_height is None else jump_height
    schedule = functools.partial(
        quadruped_jump,
        jump_height=height,
        jump_length=leap.length if jump_length is None else jump_length,
        ground_knots=leap.ground if ground_knots is None else ground_knots,
        flying_knots=leap.flying if flying_knots is None else flying_knots,
        dt=leap.dt if dt is None else dt,
    )
    return gait_case(
        name="quadruped-jump",
        description=f"{robot} jumps {height:g} m high.",
        robot=robot,
        schedule=schedule,
        mu=mu,
        inner=leap.inner if inner is None else inner,
        cone=leap.cone if cone is None else cone,
        known=leap,
    )


FAMILIES = (
    *(
        Family(
            name=gait.name,
            description=gait.description,
            build=functools.partial(build, gait),
            robots=tuple(gait.robots),
            reference_cost=gait.robots["anymal"].cost,
            reference_source=gait.robots["anymal"].source,
        )
        for gait in GAITS
    ),
    Family(
        name="quadruped-jump",
        description="A quadruped jumps and lands on all its feet.",
        build=build_jump,
        robots=tuple(JUMP),
        reference_cost=JUMP["anymal"].cost,
        reference_source=JUMP["anymal"].source,
    ),
)
