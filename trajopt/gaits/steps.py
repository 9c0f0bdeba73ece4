"""Building blocks of gaits: support phases, steps of some feet, and cycles of steps."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from trajopt.checks import check_count, check_finite, check_known, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.foothold import Foothold, Vector3, as_point, check_heading, turned, yaw_rotation
from trajopt.gaits.phase import MOST_KNOTS, Phase, Swing
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.types import Reals

_logger = logging.getLogger(__name__)

FIRST_STEPS = ("half", "full")


class StepOptions(TypedDict, total=False):
    """Keyword arguments of all gaits that consist of steps; `cyclic_gait` has their defaults.

    Attributes:
        dt: Time step [s]; 1e-2 unless the gait has another default.
        step_knots: Number of knots of a swing [-]; 25 unless the gait has another default.
        cycles: Number of cycles, >= 1, 1 by default [-].
        heading: Direction of the steps, an angle about the vertical from the world's x axis, 0 by default [rad].
        turn: Angle by which the feet turn to the left over the whole gait, 0 by default [rad].
        final_knots: Number of knots with all feet on the ground at the end, 1 by default [-].
        profile: Path of a swinging foot, "smooth" (default) or "triangle", see `Swing`.
        impulse: Whether touch-downs are impulses, True by default, see `Phase`.
    """

    dt: float
    step_knots: int
    cycles: int
    heading: float
    turn: float
    final_knots: int
    profile: str
    impulse: bool


@dataclass(frozen=True, kw_only=True)
class StepShape:
    """Properties that all steps of a gait share.

    Attributes:
        knots: Number of knots of a swing [-].
        height: Height of a swing [m].
        profile: Path of a swinging foot, see `Swing`.
        impulse: Whether touch-downs are impulses, see `Phase`.
    """

    knots: int
    height: float
    profile: str
    impulse: bool


def check_stance(stance: Any, count: int, order: str) -> Stance:
    """Returns the stance; raises an error unless it has `count` feet and a centre of mass.

    Raises:
        InvalidArgumentError: `stance` is not a Stance, has another number of feet, or no centre of mass. The message
            shows `order`.
    """
    if not isinstance(stance, Stance):
        raise InvalidArgumentError(f"stance: expected Stance.of(robot, feet) or schedule.end, got {stance!r}")
    if len(stance.feet) != count:
        raise InvalidArgumentError(
            f"stance: expected {count} feet in the order {order}, got {len(stance.feet)}: {', '.join(stance.feet)}"
        )
    if stance.com is None:
        raise InvalidArgumentError(
            "stance: expected a stance with a com, got one without; compute it with Stance.of(robot, feet)"
        )
    return stance


def above_the_feet(stance: Stance) -> Stance:
    """Returns the stance with its centre of mass moved above the mean of its feet, as in Crocoddyl's gaits."""
    assert stance.com is not None
    x, y, _ = stance.centre
    return replace(stance, com=(float(x), float(y), stance.com[2]))


def first_stance(stance: Stance, *, as_crocoddyl: bool) -> Stance:
    """The stance where a gait begins: of bipeds, and of Crocoddyl's gaits, with the centre of mass above the feet.

    Go2 stands with its centre of mass 2 cm ahead of the middle of its feet; moved above it, a trot on the spot drifts
    by as much. For bipeds the stance's offset was no better: walks cost 1 to 3 % more.
    """
    return above_the_feet(stance) if as_crocoddyl or len(stance.feet) == 2 else stance


def support_phases(argument: str, stance: Stance, knots: int) -> tuple[Phase, ...]:
    """A phase of `knots` knots with all feet on the ground, or no phase for 0 knots; errors name `argument`."""
    count = check_count(argument, knots, most=MOST_KNOTS)
    return (Phase(name="support", knots=count, stance=stance.names),) if count else ()


def step_phase(
    stance: Stance, places: Mapping[str, Foothold], shape: StepShape, turn: float = 0.0
) -> tuple[Phase, Stance]:
    """A phase in which some feet swing to other footholds, and the stance after it.

    The centre of mass moves by the mean of the displacements of all feet, and turns about their middle by `turn` [rad].
    """
    assert stance.com is not None
    moves = [np.subtract(place.position, stance.feet[name].position) for name, place in places.items()]
    turned_by = (yaw_rotation(turn) - np.eye(3)) @ (np.array(stance.com) - stance.centre)
    com: Vector3 = as_point("com", np.array(stance.com) + np.sum(moves, axis=0) / len(stance.feet) + turned_by)
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
    strides: Sequence[Sequence[Sequence[str]]],
    step_length: float,
    step_height: float,
    support_knots: int,
    first_step: str,
    *,
    dt: float = 1e-2,
    step_knots: int = 25,
    cycles: int = 1,
    heading: float = 0.0,
    turn: float = 0.0,
    final_knots: int = 1,
    profile: str = "smooth",
    impulse: bool = True,
) -> ContactSchedule:
    """Generates a gait in which groups of feet step in turn.

    Args:
        stance: Initial stance.
        strides: Strides of one cycle. Each begins with a support of all feet; then its groups of feet step one after
            the other. The feet of a group step together.
        step_length: Way of a foot from a foothold to its next one; negative for backward steps [m].
        step_height: Height of a swing, >= 0 [m].
        support_knots: Number of knots of a support [-].
        first_step: "half" for a gait that begins: the first group of feet steps half as far, and every further step
            passes the other feet by half of its length. "full" for one that goes on from the `end` of such a gait; from
            feet side by side, the groups come beside each other in turn and never pass, as on stairs.
        dt: Time step [s].
        step_knots: Number of knots of a swing [-].
        cycles: Number of cycles, >= 1 [-].
        heading: Direction of the first steps, an angle about the vertical from the world's x axis [rad].
        turn: Angle by which the feet turn to the left over the whole gait, about their middle [rad]; the direction of
            the steps turns with them. Strides turn by equal parts, and the last step of each foot ends at the whole.
            At most π/2 for each cycle.
        final_knots: Number of knots with all feet on the ground after the last step [-].
        profile: Path of a swinging foot, "smooth" or "triangle", see `Swing`.
        impulse: Whether touch-downs are impulses, see `Phase`.
    """
    half = check_first_step(first_step)
    shape = StepShape(knots=step_knots, height=step_height, profile=profile, impulse=impulse)
    start = now = first_stance(stance, as_crocoddyl=profile == "triangle")
    warn_if_far(stance, abs(check_finite("step_length", step_length)))
    check_step_height(stance, step_height)
    heading = check_heading("heading", heading)
    cycles = check_count("cycles", cycles, least=1, most=MOST_KNOTS // 10)
    count = cycles * len(strides)
    turn = check_heading("turn", turn, most=0.5 * math.pi * cycles)
    angles = turn * np.minimum(np.arange(1.0, count + 1) / (count - len(strides) + 1), 1.0)
    body = _Body(stance.centre, 0.0)
    bodies, phases = dict.fromkeys(stance.feet, body), list[Phase]()
    for number, angle in enumerate(angles):
        phases += support_phases("support_knots", now, support_knots)
        behind = 0.5 if half and number % len(strides) == 0 else 0.0
        body = body.moved(step_length * (number // len(strides) + 1 - behind), heading, angle)
        for group in strides[number % len(strides)]:
            places = {name: bodies[name].carry(now.feet[name], body) for name in group}
            part = sum(body.turn - bodies[name].turn for name in group) / len(stance.feet)
            phase, now = step_phase(now, places, shape, part)
            bodies |= dict.fromkeys(group, body)
            phases.append(phase)
    phases += support_phases("final_knots", now, final_knots)
    return ContactSchedule(start=start, phases=tuple(phases), dt=dt)


@dataclass(frozen=True)
class _Body:
    """Middle of the feet (3,) [m], their turn about it [rad], and the length of the path to it [m]."""

    centre: Reals
    turn: float
    travelled: float = 0.0

    def moved(self, travelled: float, heading: float, turn: float) -> _Body:
        """The next place on a path with a length and a turn; it goes there in the mean direction."""
        ahead = yaw_rotation(heading + 0.5 * (self.turn + turn))[:, 0]
        return _Body(self.centre + (travelled - self.travelled) * ahead, turn, travelled)

    def carry(self, place: Foothold, to: _Body) -> Foothold:
        """A foothold that moves along with the body from this place to another one."""
        turn = yaw_rotation(to.turn - self.turn)
        return turned(place, to.turn - self.turn, to.centre + turn @ (np.array(place.position) - self.centre))


def warn_if_far(stance: Stance, step_length: float) -> None:
    """Warns of impossible steps: longer than twice the height of the centre of mass above the feet."""
    assert stance.com is not None
    height = stance.com[2] - stance.height
    if height > 0 and step_length > 2 * height:
        _logger.warning(
            "step_length: %g m is more than twice the height of the centre of mass above the feet, %.3g m; is it in "
            "metres?",
            step_length,
            height,
        )


def check_step_height(stance: Stance, step_height: float) -> None:
    """Raises InvalidArgumentError for a swing that is higher than the centre of mass is above the feet."""
    assert stance.com is not None
    reach = stance.com[2] - stance.height
    if check_non_negative("step_height", step_height, unit="m") > reach > 0:
        unit, parts = ("cm", 100.0) if step_height / 100.0 <= reach else ("mm", 1000.0)
        raise InvalidArgumentError(
            f"step_height: expected a height within the legs' reach, at most {reach:.3g} m as the centre of mass above "
            f"the feet, got {step_height:g} m; it is in metres, so {step_height:g} {unit} are {step_height / parts:g}"
        )


def check_first_step(first_step: str) -> bool:
    """Whether the first steps are half as long as the others.

    Raises:
        UnknownNameError: `first_step` is neither "half" nor "full".
    """
    check_known("first_step:", first_step, FIRST_STEPS)
    return first_step == "half"
