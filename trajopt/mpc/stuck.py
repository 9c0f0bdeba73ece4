"""Closed loops that stand still in front of an obstacle, away from their reference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.analysis.constraints import ConstraintRows, named_rows
from trajopt.analysis.obstacles import Obstacle
from trajopt.errors import TrajoptError

if TYPE_CHECKING:
    from trajopt.mpc.log import ClosedLoop
    from trajopt.mpc.tracking import Tracked

END = 0.25
"""Part of a loop in which the plant stands still, at least [-]."""
LEAST = 0.05
"""Distance from a reference that counts [m]."""
NEAR, PART = 0.01, 0.02
"""Distance by which an obstacle may be from its bound, and the distance from the reference may fall meanwhile [m], or,
if that is more, the part of the distance from the reference [-]."""
ROOM = 0.25
"""Part of the distance from the reference by which the plant may move meanwhile: noise moves it along obstacles [-]."""
FEWEST = 8
"""Number of samples of a loop that tell of a standstill [-]."""
_MOST = 3  # largest number of named obstacles [-]


@dataclass(frozen=True, kw_only=True)
class Stuck:
    """A plant that stands still in front of obstacles.

    Attributes:
        name: Name of the cost term with the reference.
        since: Time from which on it stands [s].
        distance: Distance from the reference at the end [m].
        obstacles: Obstacles whose distance is about at its bound meanwhile, such as "posts[circle 0]".
        through: Obstacles, or their margins, through which the reference leads; empty if there are none or unknown.
        still: Whether it stays at one place; otherwise noise moves it along the obstacles.
    """

    name: str
    since: float
    distance: float
    obstacles: tuple[str, ...]
    through: tuple[str, ...]
    still: bool = True

    def __str__(self) -> str:
        way = "stands still" if self.still else "moves to and fro"
        return (
            f"from {self.since:.3g} s on the plant {way} in front of {_listed(self.obstacles)}, {self.distance:.3g} m "
            "from its reference"
        )

    @property
    def cure(self) -> str:
        """Advice to follow a way around."""
        leads = f", which leads through {_listed(self.through)}" if self.through else ", behind the end of its windows"
        return (
            f'{self}{leads}: follow a way around, controller.follow("{self.name}.reference", (solution.times, '
            "solution.xs), hold=True), such as a solution of the whole way with the same margin, or planar.around"
        )


def stuck(log: ClosedLoop) -> Stuck | None:
    """Returns how a plant stands still in front of obstacles until the end; None if it moves, or is where it should be.

    It stands if in the last quarter of the loop its position stays within a quarter of its distance from the reference,
    which does not fall by a fiftieth, while the nearest obstacle is about at its bound or beyond. Medians count, as
    noise moves a plant to and fro.
    """
    if log.motion is None or not log.motion.description.obstacles:
        return None
    try:
        rows = named_rows(log.motion)
    except TrajoptError:  # a state that is not finite
        return None
    for tracked in log.tracked:
        distance = float(tracked.errors[-1])
        near, count = max(NEAR, PART * distance), len(tracked.actual)
        if tracked.unit != "m" or not distance > LEAST or count < FEWEST:
            continue
        last = slice(round((1.0 - END) * count), None)
        moved = np.linalg.norm(tracked.actual - np.median(tracked.actual[last], axis=0), axis=1)
        most = max(near, float(moved[last].max()))
        moving = np.flatnonzero(moved > most)
        first = int(moving[-1]) + 1 if len(moving) else 0
        earlier, later = (float(np.median(half)) for half in np.array_split(tracked.errors[last], 2))
        still = most <= max(near, ROOM * distance) and earlier - later < near
        names = _at_bounds(log, rows, first, near) if still else ()
        if names:
            return Stuck(
                name=tracked.name.partition(":")[0],
                since=float(log.sample_times[first]),
                distance=distance,
                obstacles=names,
                through=_on_reference(log, rows, tracked),
                still=most <= near,
            )
    return None


def _at_bounds(log: ClosedLoop, constraints: Sequence[ConstraintRows], first: int, near: float) -> tuple[str, ...]:
    """Rows on obstacles that are within a distance of their bounds in half of the samples from one on, also in turn.

    Args:
        log: The closed loop.
        constraints: Constraints at the samples of its motion.
        first: Number of the first sample.
        near: The distance [m].
    """
    rooms = {rows.title(i): (rows.values - rows.lower)[first:-1, i] for rows, i, _ in _distances(log, constraints)}
    if not rooms or not np.median(np.min(list(rooms.values()), axis=0)) <= near:  # nan where a row is missing
        return ()
    shares = {name: float(np.mean(room <= near)) for name, room in rooms.items()}
    most = max(shares.values())
    return tuple(name for name in sorted(shares, key=shares.__getitem__, reverse=True) if shares[name] > 0.5 * most)


def _on_reference(log: ClosedLoop, constraints: Sequence[ConstraintRows], tracked: Tracked) -> tuple[str, ...]:
    """Rows on the distance of a position from circles or balls that would be violated on its reference.

    On the reference y a row is larger by |y - c| - |x - c| than at the position x.
    """
    n, names = len(tracked.actual), log.coordinate_names
    if tracked.frame or tracked.labels != names[: len(tracked.labels)]:
        return ()
    found = dict[str, float]()
    for rows, i, body in _distances(log, constraints):
        if body is not None and body.points.shape[1] == 1:
            centre = body.points[:n, 0, : len(tracked.labels)]
            there, here = (np.linalg.norm(place - centre, axis=1) for place in (tracked.reference, tracked.actual))
            short = rows.lower[:n, i] - (rows.values[:n, i] + there - here)
            if np.nanmax(short, initial=0.0) > 1e-3:
                found[rows.title(i)] = float(np.nanmax(short))
    return tuple(sorted(found, key=found.__getitem__, reverse=True))


def _distances(
    log: ClosedLoop, constraints: Sequence[ConstraintRows]
) -> list[tuple[ConstraintRows, int, Obstacle | None]]:
    """Rows on distances from obstacles: the constraint, the number of the row, and its obstacle if each has a row."""
    assert log.motion is not None
    bodies = {body.name: body for body in log.motion.description.obstacles}
    parts = [re.split(r"[.\[]", name, maxsplit=1) for name in bodies]
    own = {(part[0], part[1]) for part in parts if len(part) > 1}
    found = list[tuple[ConstraintRows, int, Obstacle | None]]()
    for rows in constraints:
        for i, row in enumerate(rows.rows):
            name = rows.name if len(rows.rows) == 1 else f"{rows.name}[{i}]"
            if name in bodies or (rows.name, row.rpartition(" and ")[2]) in own:
                found.append((rows, i, bodies.get(name)))
    return found


def _listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
