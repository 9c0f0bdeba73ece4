"""Shortest ways around obstacles in the plane, as guesses for solvers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from trajopt.checks import as_numbers, check_array, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.planar.free_plane import FreePlane
from trajopt.planar.grid import OccupancyGrid
from trajopt.planar.path import PlanarPath, check_times
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots.scene import ObstaclesLike

CELLS = 200
"""Number of cells along the longer side of the searched region, without a resolution [-]."""
MOST_CELLS = 4_000_000
"""Largest number of cells [-]; the search then takes about 20 s."""
STEPS = ((0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (1, -2), (2, -1))
"""Neighbours of a cell, each for both directions: lengths along them are at most 2.7 % above those of lines [-]."""


def around(
    start: npt.ArrayLike,
    goal: npt.ArrayLike,
    obstacles: ObstaclesLike | OccupancyGrid,
    times: npt.ArrayLike,
    *,
    margin: float = 0.0,
    resolution: float | None = None,
) -> PlanarPath:
    """Searches a short way around obstacles, and returns it at constant speed: a guess where the straight line is none.

    ```python
    path = planar.around(problem.x0, goal, circles, problem.times, margin=body_radius + 0.1)
    xs, us = planar.along(path, model)
    ```

    Dijkstra's algorithm finds the shortest way along cells. Corners that see each other are joined, and an elastic band
    with constant distance from obstacles rounds the rest. Each cell keeps the margin, so a gap is found if it is a
    few cells wider.

    Args:
        start: Place (x, y), or pose (x, y, θ), to whose heading the path's θ is nearest, by whole turns [m, m, rad].
        goal: Place (x, y), or pose (x, y, θ), of which only the place counts [m].
        obstacles: Map; or Scene, one or several bodies (Box, Sphere, Capsule), of which the outline from above counts;
            or circles (x, y, radius), shape (n, 3) [m]. A way on a map stays on it.
        times: Times of the path (n,), n >= 3, ascending, such as `problem.times` [s].
        margin: Least distance of the path from obstacles, such as the radius of the robot and some room, >= 0 [m].
        resolution: Side length of a cell of the search, > 0 [m]; by default that of the map, or a 200th of the region
            that the way may need.

    Raises:
        InvalidArgumentError: An argument has another form; start or goal is nearer to an obstacle than the margin, or
            outside of the map; or no way keeps the margin.

    Sources: Dijkstra, A note on two problems in connexion with graphs, 1959; Quinlan and Khatib, Elastic bands, 1993.
    """
    t, far = check_times("times", times), check_non_negative("margin", margin, unit="m")
    if len(t) < 3:
        raise InvalidArgumentError(f"times: expected three or more times (n,) [s], got {len(t)}; pass problem.times")
    plane = FreePlane(obstacles)
    ends = np.array([_place(plane, name, value, far) for name, value in (("start", start), ("goal", goal))])
    if np.array_equal(ends[0], ends[1]):
        raise InvalidArgumentError("goal: expected another place than the start; stay there without a path")
    box = plane.region(ends, far)
    default = plane.map.resolution if plane.map is not None else float(np.ptp(box, axis=0).max()) / CELLS
    cell = default if resolution is None else check_positive("resolution", resolution, unit="m")
    band = _tightened(plane, _straightened(plane, _along_cells(plane, ends, box, cell, far), cell, far), cell, far)
    points = _at_equal_steps(band, (t - t[0]) / (t[-1] - t[0]))
    _push_out(plane, points[1:-1], plane.distance(points[1:-1]) - far, cell)  # lines between points cut corners
    velocities = np.gradient(points, t, axis=0)
    path = PlanarPath.of_derivatives(t, points, velocities, np.gradient(velocities, t, axis=0))
    heading = np.ravel(as_numbers("start", start))[2:]
    whole = 2.0 * np.pi * np.round((heading - path.poses[0, 2]) / (2.0 * np.pi)).sum()
    return dataclasses.replace(path, poses=path.poses + np.array([0.0, 0.0, whole]))


def _place(plane: FreePlane, name: str, value: npt.ArrayLike, margin: float) -> Reals:
    """Place (2,) of a start or goal [m].

    Raises:
        InvalidArgumentError: It has another form, is outside of the map, or is nearer to an obstacle than the margin.
    """
    numbers = as_numbers(name, value, "a place (x, y) or a pose (x, y, theta)")
    if numbers.shape not in ((2,), (3,)):
        raise InvalidArgumentError(
            f"{name}: expected a place (x, y) or a pose (x, y, theta), got shape {numbers.shape}; of a longer state "
            "pass the first three numbers"
        )
    place = check_array(name, numbers, numbers.shape)[:2]
    if plane.map is not None:
        low, high = plane.region(place[None], margin)
        if not np.all((place >= low) & (place <= high)):
            raise InvalidArgumentError(
                f"{name}: expected a place on the map, x {low[0]:g} to {high[0]:g} m, y {low[1]:g} to {high[1]:g} m, "
                f"got ({place[0]:g}, {place[1]:g})"
            )
    if (distance := float(plane.distance(place[None])[0])) < margin:
        raise InvalidArgumentError(
            f"{name}: expected a place at least {margin:g} m from obstacles, got ({place[0]:g}, {place[1]:g}), whose "
            f"distance is {distance:.3g} m; take a smaller margin or another place"
        )
    return place


def _along_cells(plane: FreePlane, ends: Reals, box: Reals, cell: float, margin: float) -> Reals:
    """Shortest way from start to goal (2, 2) along centres of cells that keep the margin (n, 2) [m].

    Raises:
        InvalidArgumentError: There is none, or there are too many cells.
    """
    before, after = np.ceil((ends[0] - box[0]) / cell) + 2, np.ceil((box[1] - ends[0]) / cell) + 2
    if plane.map is not None:
        before, after = np.floor((ends[0] - box[0]) / cell), np.floor((box[1] - ends[0]) / cell)
    size = (before + after + 1).astype(int)
    if np.prod(size.astype(float)) > MOST_CELLS:
        raise InvalidArgumentError(
            f"resolution: expected cells of which at most {MOST_CELLS:,} cover the region, got {cell:g} m for "
            f"{np.ptp(box, axis=0)[0]:.3g} m x {np.ptp(box, axis=0)[1]:.3g} m; take larger ones"
        )
    places = np.stack(np.meshgrid(*(np.arange(n) for n in size), indexing="ij"), axis=-1)
    centres = (ends[0] + cell * (places - before)).reshape(-1, 2)
    free = (plane.distance(centres) >= margin) | (np.linalg.norm(centres - ends[1], axis=1) <= cell)
    number, open_cells = np.arange(len(centres)).reshape(size), free.reshape(size)
    froms, tos, lengths = list[npt.NDArray[np.intp]](), list[npt.NDArray[np.intp]](), list[Reals]()
    for i, j in STEPS:
        here = (slice(0, size[0] - i), slice(max(0, -j), size[1] - max(0, j)))
        there = (slice(i, size[0]), slice(max(0, j), size[1] + min(0, j)))
        both = open_cells[here] & open_cells[there]
        froms.append(number[here][both])
        tos.append(number[there][both])
        lengths.append(np.full(int(both.sum()), cell * np.hypot(i, j)))
    edges = (np.concatenate(lengths), (np.concatenate(froms), np.concatenate(tos)))
    first, last = (int(np.linalg.norm(centres - end, axis=1).argmin()) for end in ends)
    graph = coo_array(edges, shape=(len(centres), len(centres))).tocsr()
    away, previous = dijkstra(graph, directed=False, indices=first, return_predecessors=True)
    if not np.isfinite(away[last]):
        raise InvalidArgumentError(
            f"obstacles: expected a way from start to goal that keeps {margin:g} m from them, got none along cells of "
            f"{cell:.3g} m; take a smaller margin, or a smaller resolution if there is a narrow gap"
        )
    way = [last]
    while way[-1] != first:
        way.append(int(previous[way[-1]]))
    return np.vstack([centres[way[::-1]], ends[1]])


def _straightened(plane: FreePlane, way: Reals, cell: float, margin: float) -> Reals:
    """Corners (m, 2) of a way (n, 2): from each the line to about the last point of the way that it sees [m].

    Points before one that it sees on a shortest way are beside the line, so it sees them, too: steps ahead double until
    it sees no more, then halve.
    """
    kept = [0]
    while (here := kept[-1]) < len(way) - 1:
        seen, step, grows = here + 1, 1, True
        while step:
            ahead = min(seen + step, len(way) - 1)
            if ahead > seen and _sees(plane, way[here], way[ahead], cell, margin):
                seen = ahead
            else:
                grows = False
            step = 2 * step if grows else step // 2
        kept.append(seen)
    return way[kept]


def _sees(plane: FreePlane, first: Reals, last: Reals, cell: float, margin: float) -> bool:
    """Whether points a quarter of a cell apart on the line between two points (2,) keep the margin."""
    count = max(2, int(4.0 * np.linalg.norm(last - first) / cell))
    shares = np.linspace(0.0, 1.0, count + 1)[1:-1, None]
    return bool(np.all(plane.distance(first + shares * (last - first)) >= margin))


def _tightened(plane: FreePlane, corners: Reals, cell: float, margin: float) -> Reals:
    """An elastic band (n, 2) along corners: each point moves to the middle of its neighbours, and out of the margin.

    A point is as far from the margin as it was, less its way since then: its distance is computed again at 0.
    """
    length = np.linalg.norm(np.diff(corners, axis=0), axis=1).sum()
    band = _at_equal_steps(corners, np.linspace(0.0, 1.0, max(3, int(np.ceil(length / cell)) + 1)))
    inner, room = band[1:-1], np.zeros(len(band) - 2)
    for _ in range(min(len(band), CELLS)):
        middle = 0.5 * (band[:-2] + band[2:])
        room -= np.hypot(*(middle - inner).T)
        inner[:] = middle
        unknown = np.flatnonzero(room <= 0.0)
        room[unknown] = plane.distance(inner[unknown]) - margin
        _push_out(plane, inner, room, cell)
    return band


def _push_out(plane: FreePlane, points: Reals, room: Reals, cell: float) -> None:
    """Moves those points (n, 2) out of the margin whose distance from it (n,) is negative, both in place [m]."""
    near = np.flatnonzero(room < 0.0)
    if near.size:
        points[near] -= room[near, None] * plane.slope(points[near], 1e-3 * cell)
        room[near] = 0.0


def _at_equal_steps(corners: Reals, shares: Reals) -> Reals:
    """Points (m, 2) at shares (m,) of the length of a polyline with corners (n, 2) [m]."""
    travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    return np.column_stack([np.interp(shares, travelled / travelled[-1], column) for column in corners.T])
