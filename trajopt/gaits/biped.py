"""Gaits of bipeds; with profile="triangle" and flight="crocoddyl" the references are those of Crocoddyl.

Each function takes a stance with the feet in the order right, left.

Source: Crocoddyl 3.2.1, utils/biped.py, SimpleBipedGaitProblem.
"""

from __future__ import annotations

import numpy.typing as npt

from trajopt.checks import check_count
from trajopt.gaits.jumps import jump
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import check_stance, cyclic_gait

ORDER = "right, left"


def biped_walk(
    stance: Stance,
    *,
    step_length: float = 0.4,
    step_height: float = 0.1,
    dt: float = 2e-2,
    step_knots: int = 25,
    support_knots: int = 6,
    cycles: int = 1,
    first_step: str = "half",
    heading: float = 0.0,
    final_knots: int = 0,
    profile: str = "smooth",
    impulse: bool = True,
) -> ContactSchedule:
    """Generates a biped's walk: the right foot steps, then the left one, each after a double support.

    Args:
        stance: Initial stance: `Stance.of(robot, (right, left), soles=True)`, or the `end` of another schedule.
        step_length: Length of a step; negative for backward steps [m].
        step_height: Height of a swing, >= 0 [m].
        dt: Time step [s].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots of a double support [-].
        cycles: Number of cycles, >= 1 [-].
        first_step: "half" if the first step is half as long, to start at rest; or "full".
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        final_knots: Number of knots of the double support at the end [-]. With 0 the gait ends with the touch-down.
        profile: Path of a swinging foot, "smooth" or "triangle", see `Swing`.
        impulse: Whether touch-downs are impulses, see `Phase`.

    Raises:
        InvalidArgumentError: An argument has a wrong value.
    """
    right, left = check_stance(stance, 2, ORDER).names
    return cyclic_gait(
        stance,
        [[[right]], [[left]]],
        step_length=step_length,
        step_height=step_height,
        dt=dt,
        step_knots=step_knots,
        support_knots=support_knots,
        cycles=cycles,
        first_step=first_step,
        heading=heading,
        final_knots=final_knots,
        profile=profile,
        impulse=impulse,
    )


def biped_jump(
    stance: Stance,
    *,
    jump_height: float = 0.1,
    jump_length: npt.ArrayLike = (0.1, 0.0, 0.0),
    dt: float = 5e-3,
    ground_knots: int = 80,
    flying_knots: int | None = None,
    ground: float | None = None,
    flight: str = "ballistic",
) -> ContactSchedule:
    """Generates a biped's jump on both feet; `ground_knots` // 2 knots follow the landing.

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
        landed_knots=check_count("ground_knots", ground_knots, least=1) // 2,
        first_foot=right,
        ground=ground,
        flight=flight,
    )
