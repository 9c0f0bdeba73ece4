"""Run-time parameters of a gait at each knot: active contacts, weights, references and time step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from trajopt.contacts.stack import parameter_name
from trajopt.errors import DuplicateNameError
from trajopt.gaits.limits import cone_name, cone_parameters
from trajopt.gaits.options import GaitOptions, holding_gains
from trajopt.gaits.schedule import ContactSchedule
from trajopt.gaits.stance import Stance
from trajopt.residuals import FrictionCone, WrenchCone
from trajopt.types import Reals

KnotParameter = tuple[str, Reals | float, list[int]]
"""Name of a parameter, its value or one value for each knot, and the knots."""


def knot_parameters(
    options: GaitOptions,
    stance: Stance,
    schedule: ContactSchedule,
    nv: int,
    *,
    soft: bool,
    cones: Mapping[str, FrictionCone | WrenchCone],
) -> Iterator[KnotParameter]:
    """Active contacts, weights, references and time steps at all knots 0..T.

    Args:
        options: Weights and gains.
        stance: Feet of the models; their footholds are the values of references with weight zero.
        schedule: The gait.
        nv: Number of velocities of the robot [-].
        soft: Whether all knots have cost terms for foot velocities; if not, only touch-downs and the end.
        cones: Hard cones of feet by their identifiers; none by default.
    """
    touchdown, T = schedule.touchdowns[:-1], schedule.T
    timed, hits = np.flatnonzero(~touchdown).tolist(), np.flatnonzero(touchdown).tolist()
    with_end, footholds = [*timed, T], _footholds(schedule)
    for i, (foot, key) in enumerate(identifiers(stance.names).items()):
        active, landing = schedule.active[:, i].astype(np.float64), schedule.references.landing[:, i]
        yield parameter_name("contacts", key, "active"), active[timed], timed
        yield f"{key}_cone.weight", options.cone * active[timed], timed
        sole, places = stance.feet[foot].sole, footholds[timed, i]
        yield f"{key}_cone.rotation", without_copies(places[:, :, :3]), timed
        if options.gains is None:
            for gain, value in zip(("kp", "kd"), holding_gains(schedule.dt)):
                yield parameter_name("contacts", key, gain), value, timed
        if options.gains is None or options.gains[0]:
            yield parameter_name("contacts", key, "reference"), places if sole else places[:, :, 3], timed
        if hits:
            yield parameter_name("impulses", key, "active"), active[hits], hits
        if key in cones:
            bounds, force = (cones[key].lower, cones[key].upper), cone_name(key)
            yield from cone_parameters(force, bounds, active, [*range(T)])
            yield f"{force}.rotation", without_copies(footholds[:-1, i, :, :3]), [*range(T)]
        references = schedule.foot_references[:, i]
        guided = ~np.isnan(references[:, 0, 0])
        landed = options.touchdown_foot * _once(schedule)
        values = np.where(guided[:, None, None], references, stance.feet[foot].placement)
        everywhere = list(range(T + 1))
        yield f"{key}_track.weight", np.where(landing, landed, options.foot) * guided, everywhere
        yield f"{key}_track.reference", values if sole else values[:, :, 3], everywhere
        if options.landing_velocity:
            gentle = landing & np.append(False, guided[:-1])  # a foot without a path in the air may land at any speed
            knots = [t for t in everywhere if soft or t == T or schedule.touchdowns[t]]
            yield f"{key}_velocity.weight", (options.landing_velocity * _once(schedule) * gentle)[knots], knots
    guided = ~np.isnan(schedule.com_references[:, 0])
    com = np.where(schedule.active.any(axis=1), options.com, options.flight)
    yield "com.weight", (com * guided)[with_end], with_end
    yield "com.reference", np.where(guided[:, None], schedule.com_references, 0.0)[with_end], with_end
    yield "dt", schedule.dt, timed
    yield from _end(options, bool(schedule.touchdowns[-1]), nv, T)


def without_copies(values: Reals) -> Reals:
    """Values of knots (n, ...), or one value (...) if all are equal, which takes less time to set."""
    return values[0] if len(values) and np.all(values == values[0]) else values


def _footholds(schedule: ContactSchedule) -> Reals:
    """Rotation and position of each foot's current or last foothold at each knot (T + 1, feet, 3, 4) [-, m].

    At a touch-down it is that on which the foot lands.
    """
    places = np.array([[foot.placement for foot in stance.feet.values()] for stance in schedule.stances])
    return places[schedule.phase_of_knot + schedule.touchdowns]


def _end(options: GaitOptions, touchdown: bool, nv: int, T: int) -> Iterator[KnotParameter]:
    """Parameters of the terminal knot: those of a touch-down if it is one, else those of a running knot."""
    posture = options.touchdown_state_weights if touchdown else options.state_weights
    yield "state.weight", options.touchdown_state if touchdown else options.state, [T]
    yield "state.weights", posture.squared(nv), [T]
    if options.bounds:
        yield "bounds.weight", 0.0 if touchdown else options.bounds, [T]


def _once(schedule: ContactSchedule) -> Reals:
    """Factor on a weight at each knot (T + 1,) that cancels the factor dt of the cost."""
    timed = np.append(~schedule.touchdowns[:-1], False)
    return np.where(timed, 1 / schedule.dt, 1.0)


def identifiers(names: tuple[str, ...]) -> dict[str, str]:
    """Identifier of each foot: its name with underscores for all characters except letters and digits.

    Raises:
        DuplicateNameError: Two feet would have the same identifier.
    """
    keys = {name: re.sub(r"\W", "_", name) for name in names}
    keys = {name: key if key.isidentifier() else f"foot_{key}" for name, key in keys.items()}
    if len(set(keys.values())) < len(keys):
        raise DuplicateNameError(f"feet: {', '.join(names)} differ only in special characters; rename one")
    return keys
