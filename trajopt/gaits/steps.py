"""What the gaits are made of: support, and steps of some feet while the others stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_count, check_finite, check_positive
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.foothold import Foothold, Point, as_point, yaw_rotation
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance

FIRST_STEPS = ("half", "full")
_NEAR_THE_GROUND = 0.015  # [m]


@dataclass(frozen=True, kw_only=True)
class StepShape:
    """What all steps of a gait share.

    Attributes:
        knots: Number of knots of a swing [-].
        height: Top of the feet's path [m].
        profile: How the feet move, see `Swing`.
        impulse: Whether touch-downs are impulses.
    """

    knots: int
    height: float
    profile: str
    impulse: bool


def check_stance(stance: Any, count: int, order: str) -> Stance:
    """The stance, if it has `count` feet and a centre of mass; `order` says in the message which.

    Raises:
        InvalidArgumentError: It has not.
    """
    if not isinstance(stance, Stance):
        raise InvalidArgumentError(f"stance: expected Stance.of(robot, feet) or schedule.end, got {stance!r}")
    if len(stance.feet) != count:
        raise InvalidArgumentError(
            f"stance: expected {count} feet in the order {order}, got {len(stance.feet)}: {', '.join(stance.feet)}"
        )
    if stance.com is None:
        raise InvalidArgumentError("stance: expected one with a com; Stance.of(robot, feet) reads it from a robot")
    return stance


def above_the_feet(stance: Stance) -> Stance:
    """The stance with its centre of mass moved above the mean of its feet, as Crocoddyl's gaits assume it."""
    assert stance.com is not None
    x, y, _ = stance.centre
    return Stance(stance.feet, (float(x), float(y), stance.com[2]))


def support(stance: Stance, knots: int) -> tuple[Phase, ...]:
    """All feet on the ground for some knots; no phase if there are none."""
    count = check_count("support_knots", knots)
    return (Phase(name="support", knots=count, stance=stance.names),) if count else ()


def step(stance: Stance, places: Mapping[str, Foothold], shape: StepShape) -> tuple[Phase, Stance]:
    """Some feet swing to other places; the centre of mass moves by the mean of all feet's displacements."""
    assert stance.com is not None
    moves = [np.subtract(place.position, stance.feet[name].position) for name, place in places.items()]
    com: Point = as_point("com", np.array(stance.com) + np.sum(moves, axis=0) / len(stance.feet))
    phase = Phase(
        name="+".join(places),
        knots=shape.knots,
        stance=tuple(name for name in stance.feet if name not in places),
        swings=tuple(Swing(name, place, shape.height, shape.profile) for name, place in places.items()),
        com=com,
        impulse=shape.impulse,
    )
    return phase, stance.stepped(places, com)


def cyclic_gait(
    stance: Stance,
    pattern: Sequence[Sequence[str] | None],
    shape: StepShape,
    *,
    length: float,
    heading: float,
    half: Sequence[str],
    support_knots: int,
    final_knots: int,
    cycles: int,
    dt: float,
) -> ContactSchedule:
    """Groups of feet step ahead in turn; None in the pattern is a support of all feet.

    Args:
        stance: Where it starts.
        pattern: Feet that step together, or None, for one cycle.
        shape: What the steps share.
        length: Length of a step, may be negative [m].
        heading: Direction of the steps, an angle about the vertical from the world's x axis [rad].
        half: Feet whose first step is half as long.
        support_knots: Number of knots of a support [-].
        final_knots: Number of knots with all feet on the ground after the last step [-].
        cycles: How often the pattern is repeated, >= 1 [-].
        dt: Time step [s].
    """
    if check_count("cycles", cycles) < 1:
        raise InvalidArgumentError(f"cycles: expected an integer >= 1, got {cycles}")
    ahead = check_finite("step_length", length) * yaw_rotation(check_finite("heading", heading))[:, 0]
    start = now = above_the_feet(stance)
    phases: list[Phase] = []
    for cycle in range(cycles):
        for group in pattern:
            if group is None:
                phases += support(now, support_knots)
                continue
            scale = {name: 0.5 if cycle == 0 and name in half else 1.0 for name in group}
            phase, now = step(now, {name: now.feet[name].shifted(scale[name] * ahead) for name in group}, shape)
            phases.append(phase)
    phases += support(now, final_knots)
    return ContactSchedule(start=start, phases=tuple(phases), dt=dt)


def check_first_step(first_step: str) -> bool:
    """Whether the first steps are half as long.

    Raises:
        UnknownNameError: It is neither "half" nor "full".
    """
    if first_step not in FIRST_STEPS:
        raise unknown_name("first_step:", first_step, FIRST_STEPS)
    return first_step == "half"


def jump(
    stance: Stance,
    *,
    height: float,
    length: npt.ArrayLike,
    dt: float,
    ground_knots: int,
    flying_knots: int,
    landed_knots: int,
    first_foot: str,
    ground: float | None,
) -> ContactSchedule:
    """All feet leave the ground together and come down together, moved by `length` (3,) [m]; see `quadruped_jump`."""
    check_positive("jump_height", height, unit="m")
    by = check_array("jump_length", length, (3,))
    start = above_the_feet(stance)
    assert start.com is not None
    com = np.array(start.com)
    top = com + by / 2 + [0.0, 0.0, height]
    level, swings = _ground(stance, ground), []
    for name, place in start.feet.items():
        x, y, _ = place.position
        swings.append(Swing(name, Foothold((x + by[0], y + by[1], level + by[2]), place.quaternion), None))
    rise = by[2] + level - start.feet[first_foot].position[2]
    landed = as_point("com", np.add(com, (by[0], by[1], rise)))
    names = start.names
    phases = [
        Phase(name="take-off", knots=ground_knots, stance=names),
        Phase(name="up", knots=flying_knots, free=names, com=as_point("com", top), com_start=start.com),
        Phase(name="down", knots=flying_knots, swings=tuple(swings)),
    ]
    if landed_knots > 0:
        phases.append(Phase(name="landed", knots=landed_knots, stance=names, com=landed, com_start=landed))
    return ContactSchedule(start=start, phases=tuple(phases), dt=dt)


def _ground(stance: Stance, ground: float | None) -> float:
    """Height of feet that stand on level ground [m].

    Raises:
        InvalidArgumentError: It is not given, and the feet do not stand near height 0.
    """
    if ground is not None:
        return check_finite("ground", ground)
    if abs(stance.height) > _NEAR_THE_GROUND:
        raise InvalidArgumentError(
            f"ground: expected a height, the feet's frames are {stance.height:.3g} m above 0; give "
            "ground=stance.height if that is where they touch the ground, as with round feet, or ground=0.0"
        )
    return 0.0
