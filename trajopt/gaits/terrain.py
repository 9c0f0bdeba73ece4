"""Terrain of a gait: the ground that planes, height fields and boxes form together."""

from __future__ import annotations

import functools
from typing import Any, Self

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.analysis.relief import Relief
from trajopt.checks import as_numbers, check_array, check_count, check_finite, check_non_negative, check_positive
from trajopt.errors import InvalidArgumentError, shown
from trajopt.gaits.foothold import Foothold, as_point, between_vectors
from trajopt.objects.immutable import Immutable
from trajopt.robots import Box
from trajopt.simulator import HeightField, Plane
from trajopt.simulator.box_surface import BoxSurface
from trajopt.simulator.union_surface import UnionSurface
from trajopt.types import Reals

Ground = Plane | HeightField | BoxSurface

_PARTS = 32  # number of parts in which places for a foothold are tried, the nearest ones first [-]
_AROUND = 16  # number of directions in which the ground around a foothold is compared with its tangent plane [-]
_ROUGH = 0.3  # largest difference between the ground and its tangent plane, relative to the distance [-]
_GRID, _LEAST = 81, 1.0  # points along a side of the hills in pictures [-], and least extent of a motion there [m]
_FAR, _STEP = 0.3, 0.01  # largest shift of a foothold, and distance between the places that are tried [m]


class Terrain(Immutable):
    """Ground of a gait, the highest of its surfaces at each point of the plane.

    `ContactSchedule.on(terrain)` puts a gait on it, and `MDPContact(foot, surface=terrain)` is a contact with it.

    Args:
        *surfaces: Planes with normals that point up, height fields, and a trajopt.Box along the axes of the world.

    Attributes:
        surfaces: The surfaces.

    Raises:
        InvalidArgumentError: There are no surfaces, one has another type, belongs to a body, or is a wall or ceiling.
    """

    def __init__(self, *surfaces: Ground | Box) -> None:
        if not surfaces:
            raise InvalidArgumentError("surfaces: expected at least one, got none; a floor is Plane((0, 0, 1, 0))")
        grounds = list[Ground]()
        for i, surface in enumerate(surfaces):
            here = f"surfaces[{i}]"
            surface = _upright(here, surface) if isinstance(surface, Box) else surface
            if not isinstance(surface, Ground):
                raise InvalidArgumentError(f"{here}: expected a Plane, HeightField or Box, got {surface!r}")
            if surface.body is not None:
                raise InvalidArgumentError(f"{here}: expected a surface of the world, got one of {surface.body!r}")
            if isinstance(surface, Plane) and not surface.coefficients[2] > 0:
                raise InvalidArgumentError(f"{here}: expected a plane whose normal points up, c > 0, got {surface!r}")
            grounds.append(surface)
        self.surfaces = tuple(grounds)

    @classmethod
    def stairs(
        cls, count: int, *, rise: float, depth: float, start: float = 0.5, width: float = 2.0, landing: float = 2.0
    ) -> Self:
        """Builds stairs along the x axis on the floor z = 0, with a landing at their top.

        Args:
            count: Number of steps [-].
            rise: Height of a step, > 0 [m].
            depth: Depth of a step, > 0 [m].
            start: Coordinate x of the first edge [m].
            width: Width of the steps, > 0; their middle is at y = 0 [m].
            landing: Length of the landing, > 0 [m].
        """
        number = check_count("count", count, least=1, most=1000)
        rise, depth = check_positive("rise", rise, unit="m"), check_positive("depth", depth, unit="m")
        half, first = check_positive("width", width, unit="m") / 2, check_finite("start", start)
        end = first + (number - 1) * depth + check_positive("landing", landing, unit="m")
        boxes = [BoxSurface((first + i * depth, -half, 0.0), (end, half, (i + 1) * rise)) for i in range(number)]
        return cls(Plane((0.0, 0.0, 1.0, 0.0)), *boxes)

    @property
    def surface(self) -> UnionSurface:
        """The ground as one surface of contacts, φ(p) = `distances(p)` [m]."""
        return UnionSurface(self.surfaces)

    @property
    def boxes(self) -> Reals:
        """Lowest and highest corners of the boxes (n, 2, 3) [m]."""
        return np.reshape([(box.low, box.high) for box in self.surfaces if isinstance(box, BoxSurface)], (-1, 2, 3))

    def heights(self, points: npt.ArrayLike) -> Reals:
        """Heights (n,) of the ground at points of the plane (n, 2 or more) [m]; -inf where there is none."""
        return self._tops(_checked(points, 2)).max(axis=0)

    def normals(self, points: npt.ArrayLike) -> Reals:
        """Unit normals (n, 3) of the ground at points of the plane (n, 2 or more) [-]; up beside all surfaces."""
        xy = _checked(points, 2)[:, :2]
        tops = self._tops(xy)
        places = np.column_stack([xy, np.where(np.isfinite(tops.max(axis=0)), tops.max(axis=0), 0.0)])
        every = np.reshape([np.array(normal(places.T)).T for normal in self._functions[2]], (len(tops), -1, 3))
        level = np.array([isinstance(surface, BoxSurface) for surface in self.surfaces])
        every[level] = (0.0, 0.0, 1.0)  # also on the rim of a box
        return np.asarray(every[tops.argmax(axis=0), np.arange(len(xy))])

    def distances(self, points: npt.ArrayLike) -> Reals:
        """Signed distances (n,) of points (n, 3) from the ground, < 0 below it [m].

        They are exact for planes and for boxes that stand on one another; see HeightField for hills.
        """
        places = _checked(points, 3).T
        return np.asarray(np.min([np.array(distance(places)).ravel() for distance in self._functions[1]], axis=0))

    def relief(self, low: npt.ArrayLike, high: npt.ArrayLike) -> Relief:
        """Ground around a motion between two corners (3,) as numbers, for pictures [m]."""
        ends = np.stack([check_array("low", low, (3,))[:2], check_array("high", high, (3,))[:2]])
        room = max(float(np.ptp(ends, axis=0).max()), _LEAST) / 2
        x, y = (np.linspace(a - room, b + room, _GRID) for a, b in ends.T)
        grid = np.stack([each.ravel() for each in np.meshgrid(x, y, indexing="ij")], axis=1)
        tops, kinds = self._tops(grid), [type(surface) for surface in self.surfaces]
        hills = [np.column_stack([grid, top]) for top, kind in zip(tops, kinds) if kind is HeightField]
        planes = [surface.coefficients for surface in self.surfaces if isinstance(surface, Plane)]
        return Relief(
            planes=np.reshape(planes, (-1, 4)), boxes=self.boxes, hills=np.reshape(hills, (-1, _GRID, _GRID, 3))
        )

    def place(self, foothold: Foothold, lift: float = 0.0, *, edge: float = 0.0) -> Foothold:
        """Moves a foothold up or down onto the ground, and away from edges; a sole turns with the ground.

        Args:
            foothold: The foothold.
            lift: Distance of the foot's frame from the ground, such as the radius of a round foot [m].
            edge: Distance from the foothold up to which the ground must not have a step, >= 0 [m].

        Raises:
            InvalidArgumentError: There is no ground below the foothold, or no place away from edges within 0.3 m.
        """
        foothold, lift = Foothold.of(foothold), check_finite("lift", lift)
        xy = self._away(np.array(foothold.position[:2]), check_non_negative("edge", edge, unit="m"))
        normal = self.normals(xy[None])[0]
        position = np.array([*xy, float(self.heights(xy[None])[0])]) + lift * normal
        point = as_point("position", position)
        if foothold.quaternion is None:
            return Foothold(point, normal=as_point("normal", normal), heading=foothold.heading)
        turn = between_vectors(foothold.rotation[:, 2], normal)
        return Foothold.of(np.column_stack([turn @ foothold.rotation, point]))

    def _away(self, place: Reals, edge: float) -> Reals:
        """Nearest place (2,) of the plane without a step of the ground within a distance [m]."""
        if self._even(place[None], edge)[0]:
            return place
        count = int(_FAR / _STEP)
        grid = _STEP * np.mgrid[-count : count + 1, -count : count + 1].reshape(2, -1).T
        places = place + grid[np.argsort(np.hypot(*grid.T), kind="stable")]
        for some in np.array_split(places, _PARTS) if edge else ():
            even = np.flatnonzero(self._even(some, edge))
            if len(even):
                return np.asarray(some[even[0]])
        raise InvalidArgumentError(
            f"foothold: expected ground without a step within {edge:g} m near {np.round(place, 3).tolist()}, got none; "
            "change the lengths of the gait's steps, or edge"
        )

    def _even(self, places: Reals, edge: float) -> Reals:
        """Whether there is ground at places (n, 2), without a step within a distance [m]."""
        angles = np.linspace(0.0, 2 * np.pi, _AROUND, endpoint=False)
        ring = edge * np.column_stack([np.cos(angles), np.sin(angles)])
        heights, normals = self.heights(places), self.normals(places)
        around = self.heights((places[:, None] + ring).reshape(-1, 2)).reshape(-1, _AROUND)
        there = np.isfinite(heights)
        tangent = np.where(there, heights, 0.0)[:, None] - normals[:, :2] @ ring.T / normals[:, 2:]
        return there & np.all(np.abs(around - tangent) <= _ROUGH * edge + 1e-9, axis=1)

    def _tops(self, points: Reals) -> Reals:
        """Height of each surface at points (surfaces, n) [m]."""
        return np.array([np.array(height(points[:, 0], points[:, 1])).ravel() for height in self._functions[0]])

    @functools.cached_property
    def _functions(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Functions of each surface: height of (x, y), signed distance and normal of a point."""
        p = SX.sym("p", 3)
        heights = [ca.Function("height", [p[0], p[1]], [s.height(p[0], p[1])]) for s in self.surfaces]
        distances = [ca.Function("distance", [p], [s.distance(p)]) for s in self.surfaces]
        normals = [ca.Function("normal", [p], [s.normal(p)]) for s in self.surfaces]
        every = (heights, distances, normals)  # as partials they can be pickled
        return tuple([functools.partial(_evaluate, f) for f in each] for each in every)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Terrain({', '.join(map(repr, self.surfaces))})"


def _checked(points: npt.ArrayLike, least: int) -> Reals:
    """Points (n, 3), or (n, 2) if `least` is 2, as an array of finite numbers."""
    array = as_numbers("points", points, f"points (n, {least}) [m]")
    if array.ndim != 2 or array.shape[1] not in range(least, 4) or not np.all(np.isfinite(array)):
        raise InvalidArgumentError(f"points: expected finite numbers of shape (n, {least}) [m], got {shown(points)}")
    return array


def _evaluate(function: ca.Function, *columns: Reals) -> Any:
    """Evaluates a function of columns at many of them at once."""
    rows = [np.atleast_2d(column) for column in columns]
    return function(*rows).full() if rows[0].shape[1] else np.zeros((1, 0))


def _upright(argument: str, box: Box) -> BoxSurface:
    """A box of the world as ground; raises InvalidArgumentError if it is turned."""
    rotation, centre = box.placement[:, :3], box.placement[:, 3]
    if not np.array_equal(rotation, np.eye(3)):
        raise InvalidArgumentError(f"{argument}: expected a box along the axes of the world, got {box!r}")
    return BoxSurface(centre - np.asarray(box.size) / 2.0, centre + np.asarray(box.size) / 2.0, box.frame)
