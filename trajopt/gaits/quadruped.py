"""Gaits of robots with four feet; with the default options their references are Crocoddyl's.

All take a stance whose feet are in the order left front, right front, left hind, right hind.

Source: Crocoddyl 3.2.1, utils/quadruped.py, SimpleQuadrupedalGaitProblem.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_finite
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.foothold import as_point, yaw_rotation
from trajopt.gaits.phase import Phase
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import StepShape, check_first_step, check_stance, cyclic_gait, jump

ORDER = "left front, right front, left hind, right hind"


def quadruped_walk(
    stance: Stance,
    *,
    step_length: float = 0.25,
    step_height: float = 0.15,
    dt: float = 1e-2,
    step_knots: int = 25,
    support_knots: int = 2,
    cycles: int = 1,
    first_step: str = "half",
    heading: float = 0.0,
    final_knots: int = 1,
    profile: str = "triangle",
    impulse: bool = True,
) -> ContactSchedule:
    """One foot after the other: right hind, right front, left hind, left front, with a support before each pair.

    Args:
        stance: Where it starts: `Stance.of(robot, feet)`, or the `end` of another schedule.
        step_length: Length of a step, may be negative [m].
        step_height: Top of the feet's path, >= 0 [m].
        dt: Time step [s].
        step_knots: Number of knots of a swing [-].
        support_knots: Number of knots of a support of all feet [-].
        cycles: How many cycles, >= 1 [-].
        first_step: "half": the feet that step first in the first cycle step half as far, as from standing still; or
            "full".
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        final_knots: Number of knots with all feet on the ground at the end [-].
        profile: How a foot moves: "triangle" is Crocoddyl's, "smooth" leaves and touches down at rest.
        impulse: Whether feet hit the ground at the end of a swing; else their contacts just begin.

    Raises:
        InvalidArgumentError: A value does not fit, or the feet are in another order.
    """
    lf, rf, lh, rh = _feet(stance)
    return cyclic_gait(
        stance,
        [None, [rh], [rf], None, [lh], [lf]],
        StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse),
        length=step_length,
        heading=heading,
        half=[rh, rf] if check_first_step(first_step) else [],
        support_knots=support_knots,
        final_knots=final_knots,
        cycles=cycles,
        dt=dt,
    )


def quadruped_trot(
    stance: Stance,
    *,
    step_length: float = 0.15,
    step_height: float = 0.1,
    dt: float = 1e-2,
    step_knots: int = 25,
    support_knots: int = 2,
    cycles: int = 1,
    first_step: str = "half",
    heading: float = 0.0,
    final_knots: int = 1,
    profile: str = "triangle",
    impulse: bool = True,
) -> ContactSchedule:
    """Diagonal pairs in turn: right front and left hind, then left front and right hind.

    The arguments are those of `quadruped_walk`.
    """
    lf, rf, lh, rh = _feet(stance)
    return cyclic_gait(
        stance,
        [None, [rf, lh], None, [lf, rh]],
        StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse),
        length=step_length,
        heading=heading,
        half=[rf, lh] if check_first_step(first_step) else [],
        support_knots=support_knots,
        final_knots=final_knots,
        cycles=cycles,
        dt=dt,
    )


def quadruped_pace(
    stance: Stance,
    *,
    step_length: float = 0.15,
    step_height: float = 0.1,
    dt: float = 1e-2,
    step_knots: int = 25,
    support_knots: int = 5,
    cycles: int = 1,
    first_step: str = "half",
    heading: float = 0.0,
    final_knots: int = 1,
    profile: str = "triangle",
    impulse: bool = True,
) -> ContactSchedule:
    """Sides in turn: both right feet, then both left ones.

    The arguments are those of `quadruped_walk`.
    """
    lf, rf, lh, rh = _feet(stance)
    return cyclic_gait(
        stance,
        [None, [rf, rh], None, [lf, lh]],
        StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse),
        length=step_length,
        heading=heading,
        half=[rf, rh] if check_first_step(first_step) else [],
        support_knots=support_knots,
        final_knots=final_knots,
        cycles=cycles,
        dt=dt,
    )


def quadruped_bound(
    stance: Stance,
    *,
    step_length: float = 0.15,
    step_height: float = 0.1,
    dt: float = 1e-2,
    step_knots: int = 25,
    support_knots: int = 5,
    cycles: int = 1,
    heading: float = 0.0,
    final_knots: int = 1,
    profile: str = "triangle",
    impulse: bool = True,
) -> ContactSchedule:
    """Both front feet, then both hind ones; all steps are of full length.

    The other arguments are those of `quadruped_walk`.
    """
    lf, rf, lh, rh = _feet(stance)
    return cyclic_gait(
        stance,
        [None, [lf, rf], None, [lh, rh]],
        StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse),
        length=step_length,
        heading=heading,
        half=[],
        support_knots=support_knots,
        final_knots=final_knots,
        cycles=cycles,
        dt=dt,
    )


def quadruped_jump(
    stance: Stance,
    *,
    jump_height: float = 0.15,
    jump_length: npt.ArrayLike = (0.0, 0.3, 0.0),
    dt: float = 1e-2,
    ground_knots: int = 10,
    flying_knots: int = 20,
    ground: float | None = None,
) -> ContactSchedule:
    """All feet leave the ground and land together; on the way up the centre of mass has a reference, then nothing.

    Args:
        stance: Where it starts.
        jump_height: Rise of the centre of mass above the line between start and landing, > 0 [m].
        jump_length: By how much the feet move (3,) [m]; the third is the step up or down.
        dt: Time step [s].
        ground_knots: Number of knots on the ground before, and again after [-].
        flying_knots: Number of knots on the way up, and again on the way down [-].
        ground: Height of the feet's frames on the ground that the robot starts from [m]; by default 0, as Crocoddyl
            has it. Round feet, whose frames are in their middle, need `stance.height`.

    Raises:
        InvalidArgumentError: A value does not fit, the feet are in another order, or they are not near height 0 and
            `ground` is not given.
    """
    _, rf, _, _ = _feet(stance)
    return jump(
        stance,
        height=jump_height,
        length=jump_length,
        dt=dt,
        ground_knots=ground_knots,
        flying_knots=flying_knots,
        landed_knots=ground_knots,
        first_foot=rf,
        ground=ground,
    )


def quadruped_com_shift(
    stance: Stance, *, shifts: Sequence[float] = (0.1, -0.1), dt: float = 1e-2, knots: int = 25, heading: float = 0.0
) -> ContactSchedule:
    """The centre of mass moves ahead and back above four standing feet.

    Args:
        stance: Where it starts.
        shifts: Where it is to be in turn, relative to its start [m].
        dt: Time step [s].
        knots: Number of knots without a reference before each knot with one [-].
        heading: Direction of the shifts, an angle about the vertical from the world's x axis [rad].
    """
    names = _feet(stance)
    assert stance.com is not None
    ahead, phases = yaw_rotation(check_finite("heading", heading))[:, 0], []
    for shift in shifts:
        goal = as_point("com", np.array(stance.com) + check_finite("shifts", shift) * ahead)
        phases.append(Phase(name="support", knots=knots, stance=names))
        phases.append(Phase(name=f"com {shift:+g} m", knots=1, stance=names, com=goal, com_start=goal))
    return ContactSchedule(start=stance, phases=tuple(phases), dt=dt)


def _feet(stance: Stance) -> tuple[str, ...]:
    """Names of the feet: left front, right front, left hind, right hind.

    Raises:
        InvalidArgumentError: There are not four, or they do not go round the robot in this order.
    """
    names = check_stance(stance, 4, ORDER).names
    around = np.array([stance.feet[names[i]].position[:2] for i in (0, 2, 3, 1)])
    x, y = around.T
    if not np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) > 0:
        raise InvalidArgumentError(
            f"stance: expected feet in the order {ORDER}, got {', '.join(names)}, which are not placed so; name them "
            "in this order"
        )
    return names
