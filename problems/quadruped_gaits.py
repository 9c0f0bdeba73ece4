"""Robots with four feet walk, trot, pace, bound and jump."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy.typing as npt

from trajopt.errors import check_positive
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
from trajopt.problems.gait_case import CROCODDYL, Known, gait_case


@dataclass(frozen=True, kw_only=True)
class Steps:
    """How a robot steps, unless another way is asked for.

    Attributes:
        length: Of a step [m].
        height: To which the feet are lifted [m].
        support: Knots with all feet on the ground between steps; as usual for the gait by default [-].
        known: A known cost.
    """

    length: float
    height: float
    support: int | None = None
    known: Known | None = None


@dataclass(frozen=True, kw_only=True)
class Gait:
    """A family of problems.

    Attributes:
        name: Its name.
        description: What is to happen, in one sentence.
        verb: What the robot does, for the description of a case.
        generate: Makes the schedule.
        support: Usual number of knots between steps [-].
        robots: How each robot steps, the default one first.
    """

    name: str
    description: str
    verb: str
    generate: Callable[..., ContactSchedule]
    support: int
    robots: dict[str, Steps]


SMALL = Steps(length=0.1, height=0.05)

WALK = Gait(
    name="quadruped-walk",
    description="A quadruped walks, one foot after the other.",
    verb="walks",
    generate=quadruped_walk,
    support=2,
    robots={
        "anymal": Steps(length=0.25, height=0.15, known=Known(cost=588.636806788914)),
        "hyq": Steps(length=0.25, height=0.25, known=Known(cost=1596.8183356032512)),
        "solo12": Steps(length=0.1, height=0.05, known=Known(cost=177.28190799832163)),
        "go2": Steps(length=0.1, height=0.05, known=Known(cost=146.6535197551702)),
        "a1": SMALL,
        "b1": Steps(length=0.2, height=0.1),
        "small-quadruped": SMALL,
    },
)
TROT = Gait(
    name="quadruped-trot",
    description="A quadruped trots, diagonal pairs in turn.",
    verb="trots",
    generate=quadruped_trot,
    support=2,
    robots={
        "anymal": Steps(length=0.15, height=0.1, known=Known(cost=231.7924777294141)),
        "hyq": Steps(length=0.15, height=0.2, known=Known(cost=864.1027376812725)),
        "solo12": Steps(length=0.1, height=0.05, known=Known(cost=187.05516584728588)),
        "go2": Steps(length=0.1, height=0.05, known=Known(cost=120.45571802353005)),
        "a1": SMALL,
        "b1": Steps(length=0.15, height=0.1),
        "small-quadruped": SMALL,
    },
)
PACE = Gait(
    name="quadruped-pace",
    description="A quadruped paces, the right side and the left side in turn.",
    verb="paces",
    generate=quadruped_pace,
    support=5,
    robots={
        "anymal": Steps(length=0.15, height=0.1, known=Known(cost=754.5215396300716)),
        "hyq": Steps(length=0.15, height=0.2, support=2, known=Known(cost=2522.5512234575144)),
        "solo12": SMALL,
        "go2": SMALL,
        "a1": SMALL,
        "b1": Steps(length=0.15, height=0.1),
        "small-quadruped": SMALL,
    },
)
BOUND = Gait(
    name="quadruped-bound",
    description="A quadruped bounds, the front feet and the hind feet in turn.",
    verb="bounds",
    generate=quadruped_bound,
    support=5,
    robots={
        "anymal": Steps(length=0.15, height=0.1, known=Known(cost=1968.508491418044)),
        "hyq": Steps(length=0.007, height=0.05, support=12, known=Known(cost=2104.1956082263496)),
        "solo12": Steps(length=0.05, height=0.03),
        "go2": Steps(length=0.05, height=0.03),
        "a1": Steps(length=0.05, height=0.03),
        "b1": Steps(length=0.1, height=0.05),
        "small-quadruped": Steps(length=0.05, height=0.03),
    },
)


def build(
    gait: Gait,
    *,
    robot: str = "anymal",
    step_length: float | None = None,
    step_height: float | None = None,
    step_knots: int = 25,
    support_knots: int | None = None,
    cycles: int = 1,
    heading: float = 0.0,
    dt: float = 1e-2,
    mu: float = 0.7,
    inner: bool | None = None,
) -> ProblemCase:
    """The case of a robot: from standing still, so that the first step is half as long.

    Args:
        gait: One of this file.
        robot: One of `gait.robots`.
        step_length: Length of a step [m]; what suits the robot by default.
        step_height: How high feet are lifted [m]; what suits the robot by default.
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots with all feet on the ground between steps [-]; as usual for the gait by default.
        cycles: How often every foot steps [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it, where they may slide
            a little; by default within, but for robots whose cost is known from Crocoddyl, which takes the other.

    Source: Crocoddyl's example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
    """
    steps = gait.robots[robot]
    length = steps.length if step_length is None else step_length
    support = (steps.support or gait.support) if support_knots is None else support_knots
    schedule = functools.partial(
        gait.generate,
        step_length=length,
        step_height=steps.height if step_height is None else step_height,
        step_knots=step_knots,
        support_knots=support,
        cycles=cycles,
        heading=heading,
        dt=check_positive("dt", dt, unit="s"),
    )
    return gait_case(
        name=gait.name,
        description=f"{robot} {gait.verb} in steps of {length:g} m.",
        robot=robot,
        schedule=schedule,
        mu=check_positive("mu", mu),
        inner=steps.known is None if inner is None else inner,
        known=steps.known,
    )


@dataclass(frozen=True, kw_only=True)
class Jump:
    """How a robot jumps, unless another way is asked for.

    Attributes:
        height: Rise of the centre of mass [m].
        length: By how much the feet move (3,) [m].
        known: A known cost.
    """

    height: float
    length: tuple[float, float, float]
    known: Known | None = None


JUMPS = {
    "anymal": Jump(height=0.15, length=(0.0, 0.3, 0.0), known=Known(cost=2950.2339928883607)),
    "hyq": Jump(height=0.15, length=(0.0, 0.3, 0.0), known=Known(cost=4657.640514201292)),
    "solo12": Jump(height=0.1, length=(0.1, 0.0, 0.0)),
    "go2": Jump(height=0.1, length=(0.15, 0.0, 0.0)),
    "a1": Jump(height=0.1, length=(0.15, 0.0, 0.0)),
    "b1": Jump(height=0.15, length=(0.2, 0.0, 0.0)),
    "small-quadruped": Jump(height=0.1, length=(0.15, 0.0, 0.0)),
}


def build_jump(
    *,
    robot: str = "anymal",
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int = 10,
    flying_knots: int = 20,
    dt: float = 1e-2,
    mu: float = 0.7,
    inner: bool | None = None,
) -> ProblemCase:
    """All feet leave the ground and land together.

    Args:
        robot: One of `JUMPS`.
        jump_height: Rise of the centre of mass above the line from start to landing [m]; what suits the robot by
            default.
        jump_length: By how much the feet move, forward, left and up (3,) [m]; what suits the robot by default.
        ground_knots: Number of knots on the ground before the jump, and again after it [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        dt: Time step [s].
        mu: Friction coefficient [-].
        inner: Whether forces are kept in a pyramid within the friction cone, or in one around it, where they may slide
            a little; by default within, but for robots whose cost is known from Crocoddyl, which takes the other.

    Source: Crocoddyl's example quadrupedal_gaits (ANYmal) and its benchmark of gaits (HyQ).
    """
    jump = JUMPS[robot]
    height = jump.height if jump_height is None else jump_height
    schedule = functools.partial(
        quadruped_jump,
        jump_height=height,
        jump_length=jump.length if jump_length is None else jump_length,
        ground_knots=ground_knots,
        flying_knots=flying_knots,
        dt=check_positive("dt", dt, unit="s"),
    )
    return gait_case(
        name="quadruped-jump",
        description=f"{robot} jumps {height:g} m high.",
        robot=robot,
        schedule=schedule,
        mu=check_positive("mu", mu),
        inner=jump.known is None if inner is None else inner,
        known=jump.known,
    )


def _family(gait: Gait) -> Family:
    first = next(iter(gait.robots.values()))
    return Family(
        name=gait.name,
        description=gait.description,
        build=functools.partial(build, gait),
        robots=tuple(gait.robots),
        reference_cost=first.known.cost if first.known else None,
        reference_source=first.known.source if first.known else "",
    )


FAMILIES = (
    *(_family(gait) for gait in (WALK, TROT, PACE, BOUND)),
    Family(
        name="quadruped-jump",
        description="A quadruped jumps and lands on all its feet.",
        build=build_jump,
        robots=tuple(JUMPS),
        reference_cost=2950.2339928883607,
        reference_source=CROCODDYL,
    ),
)
