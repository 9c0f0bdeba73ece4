"""Gaits of robots with two feet; with the default options their references are Crocoddyl's.

All take a stance whose feet are in the order right, left.

Source: Crocoddyl 3.2.1, utils/biped.py, SimpleBipedGaitProblem.
"""

from __future__ import annotations

import numpy.typing as npt

from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import StepShape, check_first_step, check_stance, cyclic_gait, jump

ORDER = "right, left"


def biped_walk(
    stance: Stance,
    *,
    step_length: float = 0.6,
    step_height: float = 0.1,
    dt: float = 3e-2,
    step_knots: int = 15,
    support_knots: int = 4,
    cycles: int = 1,
    first_step: str = "half",
    heading: float = 0.0,
    final_knots: int = 0,
    profile: str = "triangle",
    impulse: bool = True,
) -> ContactSchedule:
    """The right foot steps, then the left one, each after a support on both.

    Args:
        stance: Where it starts: `Stance.of(robot, (right, left), soles=True)`, or the `end` of another schedule.
        step_length: How far a foot moves, may be negative [m].
        step_height: Top of the feet's path, >= 0 [m].
        dt: Time step [s].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots of a support on both feet [-].
        cycles: How many cycles, >= 1 [-].
        first_step: "half": the first step is half as long, as from standing still; or "full".
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        final_knots: Number of knots on both feet at the end [-]; 0 ends with the touch-down.
        profile: How a foot moves: "triangle" is Crocoddyl's, "smooth" leaves and touches down at rest.
        impulse: Whether feet hit the ground at the end of a swing; else their contacts just begin.

    Raises:
        InvalidArgumentError: A value does not fit.
    """
    right, left = check_stance(stance, 2, ORDER).names
    return cyclic_gait(
        stance,
        [None, [right], None, [left]],
        StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse),
        length=step_length,
        heading=heading,
        half=[right] if check_first_step(first_step) else [],
        support_knots=support_knots,
        final_knots=final_knots,
        cycles=cycles,
        dt=dt,
    )


def biped_jump(
    stance: Stance,
    *,
    jump_height: float = 0.1,
    jump_length: npt.ArrayLike = (0.0, 0.3, 0.0),
    dt: float = 3e-2,
    ground_knots: int = 9,
    flying_knots: int = 6,
    ground: float | None = None,
) -> ContactSchedule:
    """Both feet leave the ground and land together; half of `ground_knots` knots, rounded down, follow the landing.

    The arguments are those of `quadruped_jump`.
    """
    right, _ = check_stance(stance, 2, ORDER).names
    return jump(
        stance,
        height=jump_height,
        length=jump_length,
        dt=dt,
        ground_knots=ground_knots,
        flying_knots=flying_knots,
        landed_knots=ground_knots // 2,
        first_foot=right,
        ground=ground,
    )
