"""Robots with two feet walk and jump."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy.typing as npt

from trajopt.errors import check_positive
from trajopt.gaits import biped_jump, biped_walk
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.gait_case import CROCODDYL, Known, gait_case

TOLERANCE = 1e-7  # as Crocoddyl's example; its costs are some thousands [cost]


@dataclass(frozen=True, kw_only=True)
class Walk:
    """How a robot walks, unless another way is asked for.

    Attributes:
        length: Of a step [m].
        height: To which the feet are lifted [m].
        known: A known cost.
    """

    length: float
    height: float
    known: Known | None = None


WALKS = {
    "talos_legs": Walk(length=0.6, height=0.1, known=Known(cost=5111.964479134185)),
    "talos": Walk(length=0.4, height=0.1),
    "small-biped": Walk(length=0.2, height=0.05),
}


def build_walk(
    *,
    robot: str = "talos_legs",
    step_length: float | None = None,
    step_height: float | None = None,
    step_knots: int = 15,
    support_knots: int = 4,
    cycles: int = 1,
    heading: float = 0.0,
    dt: float = 3e-2,
    mu: float = 0.7,
) -> ProblemCase:
    """The case of a robot: from standing still, so that the first step is half as long; it ends with a touch-down.

    Args:
        robot: One of `WALKS`.
        step_length: Length of a step [m]; what suits the robot by default.
        step_height: How high feet are lifted [m]; what suits the robot by default.
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots on both feet before each step [-].
        cycles: How often each foot steps [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        dt: Time step [s].
        mu: Friction coefficient [-].

    Source: Crocoddyl's example bipedal_gaits.
    """
    walk = WALKS[robot]
    length = walk.length if step_length is None else step_length
    schedule = functools.partial(
        biped_walk,
        step_length=length,
        step_height=walk.height if step_height is None else step_height,
        step_knots=step_knots,
        support_knots=support_knots,
        cycles=cycles,
        heading=heading,
        dt=check_positive("dt", dt, unit="s"),
    )
    return gait_case(
        name="biped-walk",
        description=f"{robot} walks in steps of {length:g} m.",
        robot=robot,
        schedule=schedule,
        mu=check_positive("mu", mu),
        inner=True,
        known=walk.known,
        tolerance=TOLERANCE,
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
    "talos_legs": Jump(height=0.1, length=(0.0, 0.3, 0.0), known=Known(cost=23230.77547590909)),
    "small-biped": Jump(height=0.1, length=(0.1, 0.0, 0.0)),
}


def build_jump(
    *,
    robot: str = "talos_legs",
    jump_height: float | None = None,
    jump_length: npt.ArrayLike | None = None,
    ground_knots: int = 9,
    flying_knots: int = 6,
    dt: float = 3e-2,
    mu: float = 0.7,
) -> ProblemCase:
    """Both feet leave the ground and land together.

    Args:
        robot: One of `JUMPS`.
        jump_height: Rise of the centre of mass above the line from start to landing [m]; what suits the robot by
            default.
        jump_length: By how much the feet move, forward, left and up (3,) [m]; what suits the robot by default.
        ground_knots: Number of knots on the ground before the jump; half as many follow it [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        dt: Time step [s].
        mu: Friction coefficient [-].

    Source: Crocoddyl's example bipedal_gaits.
    """
    jump = JUMPS[robot]
    height = jump.height if jump_height is None else jump_height
    schedule = functools.partial(
        biped_jump,
        jump_height=height,
        jump_length=jump.length if jump_length is None else jump_length,
        ground_knots=ground_knots,
        flying_knots=flying_knots,
        dt=check_positive("dt", dt, unit="s"),
    )
    return gait_case(
        name="biped-jump",
        description=f"{robot} jumps {height:g} m high.",
        robot=robot,
        schedule=schedule,
        mu=check_positive("mu", mu),
        inner=True,
        known=jump.known,
        tolerance=TOLERANCE,
    )


FAMILIES = (
    Family(
        name="biped-walk",
        description="A biped walks on its soles.",
        build=build_walk,
        robots=tuple(WALKS),
        reference_cost=5111.964479134185,
        reference_source=CROCODDYL,
    ),
    Family(
        name="biped-jump",
        description="A biped jumps and lands on both soles.",
        build=build_jump,
        robots=tuple(JUMPS),
        reference_cost=23230.77547590909,
        reference_source=CROCODDYL,
    ),
)
