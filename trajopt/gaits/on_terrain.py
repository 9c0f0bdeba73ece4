"""A schedule on terrain: footholds on the ground, swings above it, a centre of mass that rises with the feet."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING

import numpy as np

from trajopt.checks import check_instance, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.gaits.ballistic import leaping
from trajopt.gaits.foothold import Foothold, Vector3, as_point
from trajopt.gaits.phase import Phase, Swing
from trajopt.gaits.profiles import smooth_at, swing_path
from trajopt.gaits.stance import Stance
from trajopt.gaits.terrain import Terrain
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.gaits.schedule import ContactSchedule

_logger = logging.getLogger(__name__)

_SUNK = 1e-3  # depth of a foot at the start that counts as on the ground, where its file or posture is rounded [m]
_UNEVEN = 0.01  # largest difference of the distances of a sole's corners from the ground without a warning [m]
_SAMPLES = 40  # points of a swing whose distance from the ground is checked [-]
_LIFT = 5e-3  # step of the search for the height of a swing [m]
_MORE = 2.0  # times what the ground rises, and times the clearance, that a swing may be higher than asked [-]
_EDGE = 0.05  # least distance of a foothold from steps of the ground by default [m]
_BESIDE = 0.005  # of a round foot that rises, from a step beside it, besides its radius and the clearance [m]
_SHARE = 0.5  # clearance near a foothold, relative to the distance from it [-]


def on_terrain(schedule: ContactSchedule, terrain: Terrain, *, clearance: float, edge: float | None) -> ContactSchedule:
    """Schedule of `ContactSchedule.on`, which has the arguments."""
    check_instance("terrain", terrain, Terrain, "write gaits.Terrain(...) around surfaces")
    room = check_non_negative("clearance", clearance, unit="m")
    away = None if edge is None else check_non_negative("edge", edge, unit="m")
    feet = schedule.start.feet
    lifts = dict(zip(feet, terrain.distances([place.position for place in feet.values()]).tolist()))
    for name, lift in lifts.items():
        if not lift >= -_SUNK:
            raise InvalidArgumentError(
                f"terrain: expected {name!r} of the schedule's start on the ground or above it, got {-lift:.3g} m "
                "below it; move the robot or the terrain"
            )
    start = dataclasses.replace(schedule.start, feet={name: _standing(terrain, place) for name, place in feet.items()})
    before, now, phases = schedule.start, start, list[Phase]()
    for phase, after in zip(schedule.phases, schedule.stances[1:]):
        swings = []
        for swing in phase.swings:
            place, lift = after.feet[swing.foot], lifts[swing.foot]
            beside = max(_EDGE, 0.0 if place.sole else lift + room + _BESIDE)  # a round foot can rise straight up there
            to = terrain.place(place, lift, edge=beside if away is None else away)
            placed = dataclasses.replace(swing, to=to)
            swings.append(_raised(terrain, now.feet[swing.foot], placed, phase.rise, room))
        new = now.stepped({swing.foot: swing.to for swing in swings}, now.com)
        first, last = _moved(phase.com_start, before, now), _moved(phase.com, after, new)
        phases.append(dataclasses.replace(phase, swings=tuple(swings), com=last, com_start=first))
        before, now = after, new
    return dataclasses.replace(schedule, start=start, phases=leaping(start, phases, schedule.dt), terrain=terrain)


def warn_of_edges(schedule: ContactSchedule, sole: tuple[float, float]) -> None:
    """Warns of a sole that does not lie on the terrain: a corner hangs over an edge, or is inside of a step.

    Args:
        schedule: Schedule on terrain.
        sole: Length and width of a sole around the foot's frame [m].
    """
    if schedule.terrain is None:
        return
    corners = 0.5 * np.array(sole) * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    for name, place in (each for stance in schedule.stances for each in stance.feet.items() if each[1].sole):
        points = np.array(place.position) + corners @ place.rotation[:, :2].T
        off = float(np.ptp(points[:, 2] - schedule.terrain.heights(points)))
        if not off <= _UNEVEN:
            _logger.warning(
                "schedule: the sole of %s at (%.3g, %.3g) m does not lie on the ground, whose height differs by %.2g m "
                "from that below another corner; pass edge=%.2g to schedule.on(terrain), or move the stairs",
                name,
                *place.position[:2],
                off,
                0.5 * max(sole),
            )
            return


def level_paths(schedule: ContactSchedule) -> Reals:
    """Positions of the feet at each knot on straight lines between their footholds (T + 1, feet, 3) [m]."""
    return between_stances(
        schedule, np.array([[place.position for place in stance.feet.values()] for stance in schedule.stances])
    )


def between_stances(schedule: ContactSchedule, values: Reals) -> Reals:
    """Values at each knot (T + 1, ...), on straight lines between those in each stance (phases + 1, ...)."""
    number = schedule.phase_of_knot
    first = np.searchsorted(number, number)
    length = np.array([phase.total_knots for phase in schedule.phases])[number]
    progress = smooth_at((np.arange(len(number)) - first) / length)[0].reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray((1 - progress) * values[number] + progress * values[number + 1])


def slope_of(points: Reals) -> Reals:
    """Slope (2,) along x and y of the plane that fits points (n, 3) best; zero across points on a line."""
    away = points - points.mean(axis=0)
    return np.asarray(np.linalg.lstsq(away[:, :2], away[:, 2], rcond=1e-3)[0])


def _standing(terrain: Terrain, place: Foothold) -> Foothold:
    """The foothold with the normal of the ground below it."""
    if place.sole:
        return place
    return dataclasses.replace(place, normal=as_point("normal", terrain.normals([place.position])[0]))


def _raised(terrain: Terrain, start: Foothold, swing: Swing, rise: float | None, room: float) -> Swing:
    """The swing with the least height, at least its own, that clears the ground; a steep one if that is lower.

    Feet without a path in a jump get one that rises as high as the jump, or that of a foot at a platform.
    """
    least = rise if swing.height is None else swing.height
    if least is None:
        return swing
    ends = np.array([start.position, swing.to.position])
    lift, step = float(terrain.distances(ends).min()), float(np.ptp(ends[:, 2]))
    profiles = {swing.profile: 0.0, "steep": 0.0}
    if swing.height is None:  # heights of these paths are above the higher foothold
        profiles["onto" if ends[1, 2] >= ends[0, 2] else "off"] = step / 2
    line = ends[0, :2] + np.linspace(0.0, 1.0, _SAMPLES)[:, None] * (ends[1] - ends[0])[:2]
    ground = terrain.heights(line)
    most = least + _MORE * (float(np.ptp(ground[np.isfinite(ground)])) + room)
    for height in np.arange(least, most + _LIFT, _LIFT).tolist():
        for profile, less in profiles.items():
            chosen = max(height - less, 0.0)
            path = swing_path(profile, _SAMPLES, ends, chosen)
            away = np.linalg.norm(path[:, None] - ends, axis=2).min(axis=1)
            if np.all(terrain.distances(path) >= lift + np.minimum(room, _SHARE * away) - 1e-6):
                return dataclasses.replace(swing, height=chosen, profile=profile)
    raise InvalidArgumentError(
        f"terrain: expected a swing of {swing.foot!r} from {start!r} to {swing.to!r} that clears the ground by "
        f"{room:g} m, got none up to a height of {most:.2g} m; move footholds away from steps of the ground (edge=), "
        "or change the step length or clearance"
    )


def _moved(com: Vector3 | None, flat: Stance, placed: Stance) -> Vector3 | None:
    """A reference of the centre of mass, moved by the mean displacement of the feet."""
    return None if com is None else as_point("com", np.array(com) + placed.centre - flat.centre)
