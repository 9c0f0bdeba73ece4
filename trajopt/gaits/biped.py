"""Gaits of bipeds; with profile="triangle" and flight="crocoddyl" the references are those of Crocoddyl.

Each function takes a stance with the feet in the order right, left.

Source: Crocoddyl 3.2.1, utils/biped.py, SimpleBipedGaitProblem.
"""

from __future__ import annotations

from typing import Unpack

from trajopt.checks import check_count
from trajopt.gaits.jumps import JumpOptions, jump
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import StepOptions, check_stance, cyclic_gait

ORDER = "right, left"
_SLOW: StepOptions = {"dt": 2e-2, "final_knots": 0}


def biped_walk(
    stance: Stance,
    *,
    step_length: float = 0.4,
    step_height: float = 0.1,
    support_knots: int = 6,
    first_step: str = "half",
    **options: Unpack[StepOptions],
) -> ContactSchedule:
    """Generates a biped's walk: the right foot steps, then the left one, each after a double support.

    Its speed is step_length / (2 dt (step_knots + support_knots)), by default 0.32 m/s: in this time both feet step.
    For a speed v take step_length = 2 v dt (step_knots + support_knots). `print(schedule)` shows the speed.

    Args:
        stance: Initial stance: `Stance.of(robot, (right, left), soles=True)`, or the `end` of another schedule.
        step_length: Way of one foot from a foothold to its next one, a stride: twice the distance by which it passes
            the other foot; negative for backward steps [m].
        step_height: Height of a swing, >= 0 [m].
        support_knots: Number of knots of a double support [-].
        first_step: "half" for a walk that begins: the first step is half as long, and every further one passes the
            other foot. "full" for one that goes on from the `end` of such a walk; from feet side by side, the left foot
            only comes beside the right one at each step, as on stairs.
        **options: Options that all gaits share: dt=2e-2 [s]; step_knots=25, knots of a swing; cycles=1; heading=0,
            angle of the steps about the vertical [rad]; turn=0, angle by which the feet turn to the left over
            the whole gait [rad]; final_knots=0, knots with all feet on the ground at the end;
            profile="smooth" or "triangle", path of a swing; impulse=True, whether touch-downs are impulses.

    Raises:
        InvalidArgumentError: An argument has a wrong value.
    """
    right, left = check_stance(stance, 2, ORDER).names
    strides = [[[right]], [[left]]]
    return cyclic_gait(stance, strides, step_length, step_height, support_knots, first_step, **(_SLOW | options))


def biped_jump(
    stance: Stance, *, jump_height: float = 0.1, ground_knots: int = 80, **options: Unpack[JumpOptions]
) -> ContactSchedule:
    """Generates a biped's jump on both feet; `ground_knots` // 2 knots follow the landing.

    The arguments are those of `quadruped_jump`.
    """
    right, _ = check_stance(stance, 2, ORDER).names
    landed_knots = check_count("ground_knots", ground_knots, least=1) // 2
    return jump(stance, jump_height, ground_knots, landed_knots, right, **options)
