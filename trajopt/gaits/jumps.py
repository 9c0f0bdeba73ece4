"""Jumps: all feet lift off and land together; the flight takes as long as its height needs."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_count, check_finite, check_positive
from trajopt.errors import InvalidArgumentError, unknown_name
from trajopt.gaits.ballistic import Leap
from trajopt.gaits.foothold import Foothold, as_point
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.gaits.steps import first_stance
from trajopt.types import Reals

FLIGHTS = ("ballistic", "crocoddyl")
_HEIGHT_TOLERANCE = 0.05  # largest relative error of the height that the flight time gives [-]


class JumpOptions(TypedDict, total=False):
    """Keyword arguments of all jumps; `jump` has their defaults.

    Attributes:
        jump_length: Displacement of the feet, forward, left and up (3,) [m]; 0.1 m forward by default.
        dt: Time step, 5e-3 by default [s].
        flying_knots: Number of knots of the rise, and again of the fall [-]. It must fit the flight time sqrt(8
            jump_height / g), from which the default is computed.
        ground: Initial height of the feet's frames on the ground [m]; by default each foot's own height.
        flight: References of the centre of mass. "ballistic" (default) is the parabola of free fall, between a crouch
            and a push before it and their mirror image after it.
            "crocoddyl" is a line up to `jump_height` in any time, and no reference on the way down; the real height
            follows from the flight time (`flying_knots` is 20 and `ground` is 0 by default).
    """

    jump_length: npt.ArrayLike
    dt: float
    flying_knots: int | None
    ground: float | None
    flight: str


def jump(
    stance: Stance,
    height: float,
    ground_knots: int,
    landed_knots: int,
    first_foot: str,
    *,
    jump_length: npt.ArrayLike = (0.1, 0.0, 0.0),
    dt: float = 5e-3,
    flying_knots: int | None = None,
    ground: float | None = None,
    flight: str = "ballistic",
) -> ContactSchedule:
    """Generates a jump of all feet together, see `JumpOptions`.

    Args:
        stance: Initial stance.
        height: Rise of the centre of mass above the line from lift-off to landing, > 0 [m].
        ground_knots: Number of knots on the ground before the jump [-].
        landed_knots: Number of knots on the ground after it [-].
        first_foot: Foot whose change of height is that of the centre of mass.
        jump_length: See `JumpOptions`, as the following ones.
        dt: Time step [s].
        flying_knots: Number of knots of the rise [-].
        ground: Initial height of the feet's frames [m].
        flight: References in the air.
    """
    height, dt = check_positive("jump_height", height, unit="m"), check_positive("dt", dt, unit="s")
    check_count("ground_knots", ground_knots)
    check_count("landed_knots", landed_knots)
    by = check_array("jump_length", jump_length, (3,), cure="forward, left and up [m]")
    if not isinstance(flight, str) or flight not in FLIGHTS:
        raise unknown_name("flight:", flight, FLIGHTS)
    start = first_stance(stance, as_crocoddyl=flight == "crocoddyl")
    if ground is None and flight == "crocoddyl":
        ground = 0.0
    swings = tuple(Swing(name, _landing(place, by, ground), None) for name, place in start.feet.items())
    names, com = start.names, np.array(start.com)
    rise = swings[names.index(first_foot)].to.position[2] - start.feet[first_foot].position[2]
    moved = np.array([by[0], by[1], rise])
    landed = as_point("com", com + moved)
    if flight == "ballistic":
        knots = flight_knots(height, dt, flying_knots, stance.gravity)
        path = Leap(com=com, by=moved, stance=start, height=height, dt=dt, knots=knots)
        phases = path.phases(names, swings, ground_knots, landed_knots)
    else:
        knots, top = 20 if flying_knots is None else flying_knots, com + by / 2 + [0.0, 0.0, height]
        phases = [
            Phase(name="take-off", knots=ground_knots, stance=names),
            Phase(name="up", knots=knots, free=names, com=as_point("com", top), com_start=start.com, rise=height),
            Phase(name="down", knots=knots, swings=swings),
        ]
        if landed_knots > 0:
            phases.append(Phase(name="landed", knots=landed_knots, stance=names, com=landed, com_start=landed))
    return ContactSchedule(start=start, phases=tuple(phases), dt=dt)


def flight_knots(height: float, dt: float, flying_knots: int | None, gravity: float) -> int:
    """Number of knots of a flight that rises by `height` [m]: t = sqrt(8 h / g) between equal heights.

    Args:
        height: Rise of the centre of mass above the line from lift-off to landing [m].
        dt: Time step [s].
        flying_knots: Number of knots of the rise, and of the fall; None to compute it.
        gravity: Strength of gravity [m/s²].

    Raises:
        InvalidArgumentError: The height that this time allows differs by more than 5 %.
    """
    time = float(np.sqrt(8 * height / gravity))
    half = None if flying_knots is None else check_count("flying_knots", flying_knots, least=1)
    knots = max(2, round(time / dt)) if half is None else 2 * half
    reached = gravity * (knots * dt) ** 2 / 8
    if abs(reached - height) > _HEIGHT_TOLERANCE * height:
        cure = f"use dt <= {time / 40:.2g} s" if half is None else "omit flying_knots"
        raise InvalidArgumentError(
            f"{'dt' if half is None else 'flying_knots'}: expected a flight of {time:.3g} s for a jump "
            f"{height:g} m high, got {knots} knots of {dt:g} s = {knots * dt:.3g} s, which gives "
            f"{reached:.3g} m; {cure}, or set jump_height={reached:.3g}"
        )
    return knots


def _landing(place: Foothold, by: Reals, ground: float | None) -> Foothold:
    """Foothold after a jump; the initial ground is at the foot's own height unless `ground` is set."""
    x, y, z = place.position
    level = z if ground is None else check_finite("ground", ground)
    return Foothold((x + by[0], y + by[1], level + by[2]), place.quaternion, heading=place.heading)
