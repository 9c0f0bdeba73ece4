"""Gaits of quadrupeds; with profile="triangle" and flight="crocoddyl" the references are those of Crocoddyl.

Each function takes a stance with the feet in the order left front, right front, left hind, right hind. Its centre of
mass keeps its place relative to their middle; Crocoddyl's references move it above the middle.

Source: Crocoddyl 3.2.1, utils/quadruped.py, SimpleQuadrupedalGaitProblem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from trajopt.checks import check_count, check_vector
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.foothold import as_point, check_heading, yaw_rotation
from trajopt.gaits.jumps import JumpOptions, jump
from trajopt.gaits.phase import Phase
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import StepOptions, check_stance, cyclic_gait

ORDER = "left front, right front, left hind, right hind"
_QUICK: StepOptions = {"dt": 5e-3, "step_knots": 36}  # errors of the feet grow with the square of dt


def quadruped_walk(
    stance: Stance,
    *,
    step_length: float = 0.25,
    step_height: float = 0.15,
    support_knots: int = 2,
    first_step: str = "half",
    **options: Unpack[StepOptions],
) -> ContactSchedule:
    """Generates a walk, one foot at a time: right hind, right front, left hind, left front.

    Its speed is step_length / (dt (4 step_knots + 2 support_knots)), by default 0.24 m/s: in this time each foot steps
    once. `print(schedule)` shows the speed.

    Args:
        stance: Initial stance: `Stance.of(robot, feet)`, or the `end` of another schedule.
        step_length: Way of a foot from a foothold to its next one; negative for backward steps [m].
        step_height: Height of a swing, >= 0 [m].
        support_knots: Number of knots with all feet on the ground, before the steps of each side [-].
        first_step: "half" for a gait that begins: the first stride of the first cycle is half as long, and every
            further step passes the feet beside it. "full" for one that goes on from the `end` of such a gait; from feet
            side by side, left and right feet come beside each other in turn and never pass, as on stairs.
        **options: Options that all gaits share: dt=1e-2 [s]; step_knots=25, knots of a swing; cycles=1; heading=0,
            angle of the steps about the vertical [rad]; turn=0, angle by which the feet turn to the left over
            the whole gait [rad]; final_knots=1, knots with all feet on the ground at the end;
            profile="smooth" or "triangle", path of a swing; impulse=True, whether touch-downs are impulses.

    Raises:
        InvalidArgumentError: An argument has a wrong value, or the feet are in another order.
    """
    lf, rf, lh, rh = _feet(stance)
    strides = [[[rh], [rf]], [[lh], [lf]]]
    return cyclic_gait(stance, strides, step_length, step_height, support_knots, first_step, **options)


def quadruped_trot(
    stance: Stance,
    *,
    step_length: float = 0.15,
    step_height: float = 0.1,
    support_knots: int = 2,
    first_step: str = "half",
    **options: Unpack[StepOptions],
) -> ContactSchedule:
    """Generates a trot, diagonal pairs in turn: right front and left hind, then left front and right hind.

    Its speed is step_length / (2 dt (step_knots + support_knots)), by default 0.28 m/s.
    The arguments are those of `quadruped_walk`.
    """
    lf, rf, lh, rh = _feet(stance)
    strides = [[[rf, lh]], [[lf, rh]]]
    return cyclic_gait(stance, strides, step_length, step_height, support_knots, first_step, **options)


def quadruped_pace(
    stance: Stance,
    *,
    step_length: float = 0.1,
    step_height: float = 0.05,
    support_knots: int = 10,
    first_step: str = "half",
    **options: Unpack[StepOptions],
) -> ContactSchedule:
    """Generates a pace, sides in turn: both right feet, then both left ones.

    Its speed is step_length / (2 dt (step_knots + support_knots)), by default 0.22 m/s.
    The arguments are those of `quadruped_walk`. The defaults are dt = 5e-3 and step_knots = 36, because the robot
    falls to the side during a step.
    """
    lf, rf, lh, rh = _feet(stance)
    strides = [[[rf, rh]], [[lf, lh]]]
    return cyclic_gait(stance, strides, step_length, step_height, support_knots, first_step, **(_QUICK | options))


def quadruped_bound(
    stance: Stance,
    *,
    step_length: float = 0.1,
    step_height: float = 0.05,
    support_knots: int = 10,
    **options: Unpack[StepOptions],
) -> ContactSchedule:
    """Generates a bound: both front feet, then both hind ones; all steps have full length.

    Its speed is step_length / (2 dt (step_knots + support_knots)), by default 0.22 m/s.
    The other arguments are those of `quadruped_walk`; the defaults are dt = 5e-3 and step_knots = 36.
    """
    lf, rf, lh, rh = _feet(stance)
    strides = [[[lf, rf]], [[lh, rh]]]
    return cyclic_gait(stance, strides, step_length, step_height, support_knots, "full", **(_QUICK | options))


def quadruped_jump(
    stance: Stance, *, jump_height: float = 0.15, ground_knots: int = 60, **options: Unpack[JumpOptions]
) -> ContactSchedule:
    """Generates a jump: all feet lift off and land together. `ContactSchedule.on` puts it on a platform.

    Args:
        stance: Initial stance.
        jump_height: Rise of the centre of mass above the line from lift-off to landing, > 0 [m]. At a step, the ends of
            this line are lower than the standing robot's centre of mass.
        ground_knots: Number of knots on the ground before the jump, and again after it [-].
        **options: Options that all jumps share, see `trajopt.gaits.JumpOptions`: jump_length, dt, flying_knots, ground,
            flight.

    Raises:
        InvalidArgumentError: An argument has a wrong value, the flight time does not fit the height, or the feet are
            in another order.
    """
    _, rf, _, _ = _feet(stance)
    landed_knots = check_count("ground_knots", ground_knots, least=1)
    return jump(stance, jump_height, ground_knots, landed_knots, rf, **options)


def quadruped_com_shift(
    stance: Stance, *, shifts: Sequence[float] = (0.1, -0.1), dt: float = 1e-2, knots: int = 25, heading: float = 0.0
) -> ContactSchedule:
    """Generates a motion of the centre of mass forward and back above four feet at rest.

    Args:
        stance: Initial stance.
        shifts: References of the centre of mass in turn, relative to its start [m].
        dt: Time step [s].
        knots: Number of knots without a reference before each knot with one [-].
        heading: Direction of the shifts, an angle about the vertical from the world's x axis [rad].
    """
    names = _feet(stance)
    assert stance.com is not None
    ahead, phases = yaw_rotation(check_heading("heading", heading))[:, 0], []
    for shift in check_vector("shifts", shifts):
        goal = as_point("com", np.array(stance.com) + shift * ahead)
        phases.append(Phase(name="support", knots=knots, stance=names))
        phases.append(Phase(name=f"com {shift:+g} m", knots=1, stance=names, com=goal, com_start=goal))
    return ContactSchedule(start=stance, phases=tuple(phases), dt=dt)


def _feet(stance: Stance) -> tuple[str, ...]:
    """Names of the feet: left front, right front, left hind, right hind.

    Raises:
        InvalidArgumentError: There are not four feet, or they are not around the robot in this order.
    """
    names = check_stance(stance, 4, ORDER).names
    around = np.array([stance.feet[names[i]].position[:2] for i in (0, 2, 3, 1)])
    x, y = around.T
    if not np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) > 0:
        raise InvalidArgumentError(
            f"stance: expected feet in the order {ORDER}, got {', '.join(names)}, whose positions do not fit this "
            "order; reorder their names"
        )
    return names
