"""Speed of a gait over the ground."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from trajopt.gaits.schedule import ContactSchedule


def mean_speed(schedule: ContactSchedule) -> float:
    """Speed of the middle of the feet [m/s], over whole strides of the foot that lands last, see the schedule."""
    centres = [stance.centre[:2] for stance in schedule.stances]
    after = schedule.times[-1] + (0.0 if schedule.touchdowns[-1] else schedule.dt)
    ends = np.append(schedule.times, after)[np.cumsum([phase.total_knots for phase in schedule.phases])]
    landings = {foot: list[int]() for foot in schedule.feet}
    for i, phase in enumerate(schedule.phases):
        for swing in phase.swings:
            landings[swing.foot].append(i)
    if not all(landings.values()):
        return 0.0
    phases = max(landings.values(), key=lambda each: each[-1])
    if len(phases) < 2:
        way, time = [centres[0], centres[-1]], schedule.duration
    else:
        way, time = [centres[i + 1] for i in phases], ends[phases[-1]] - ends[phases[0]]
    length = sum(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(way))
    return length / float(time) if time > 0.0 else 0.0
