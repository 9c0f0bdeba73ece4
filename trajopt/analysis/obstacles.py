"""Obstacles in the distance costs and constraints of a problem at each knot, and those that a caller passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from trajopt.analysis.references import Item, distances_of
from trajopt.residuals import ResidualModelCollisions, ResidualModelObstacleDistance, ResidualModelPairDistance
from trajopt.robots.box import Box
from trajopt.robots.round_bodies import check_round
from trajopt.robots.scene import Body, ObstaclesLike, Scene
from trajopt.robots.triangle_mesh import TriangleMesh
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.simulator.contact import SimulatorContactAbstract
    from trajopt.solution import Solution


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A ball, capsule, box, mesh or upright cylinder, fixed or moving.

    All are points within a radius of a point, axis, box or surface.

    Attributes:
        name: Name of the cost term or constraint, with an index if it has several obstacles.
        points: Centre of a ball or cylinder (T + 1, 1, 3), ends of a capsule (T + 1, 2, 3), corners of a box (T + 1, 8,
            3), whose last coordinate changes first, or origin of a mesh and points 1 m along its axes (T + 1, 4, 3)
            [m]; z is NaN for an upright cylinder. NaN at knots without the obstacle.
        radii: Radius (T + 1,) [m]; that of a box rounds it.
        triangles: Corners of the triangles of a mesh (m, 3, 3), in its axes [m]; None for others.
    """

    name: str
    points: Reals
    radii: Reals
    triangles: Reals | None = None

    @property
    def box(self) -> bool:
        """Whether the obstacle is a box."""
        return self.points.shape[1] == 8

    @property
    def outer(self) -> Reals:
        """The points (T + 1, n, 3); of a mesh those of the box around it [m]."""
        if self.triangles is None:
            return self.points
        corners = self.triangles.reshape(-1, 3)
        box = np.stack(np.meshgrid(*zip(corners.min(axis=0), corners.max(axis=0))), axis=-1).reshape(-1, 3)
        return np.array([placed(box, frame) for frame in self.points])

    @property
    def upright(self) -> bool:
        """Whether the obstacle is an upright cylinder."""
        return bool(np.isnan(self.points[np.isfinite(self.radii)][..., 2]).all())


def obstacles_of(solution: Solution) -> list[Obstacle]:
    """Computes the obstacles in a solution's costs and constraints; `Description.obstacles` has them from files too.

    Args:
        solution: The solution, with its problem.
    """
    return obstacles_in(*distances_of(solution))


def obstacles_in(items: Iterable[Item], values: Mapping[str, Reals]) -> list[Obstacle]:
    """Obstacles in costs and constraints, from the values of their parameters at all knots (T + 1, ...) by name."""
    obstacles: list[Obstacle] = []
    for item in items:
        if isinstance(item.residual, ResidualModelObstacleDistance):
            rows = values[f"{item.name}.{'circles' if item.residual.dim == 2 else 'spheres'}"]
            rows = rows if rows.shape[2] == 4 else np.insert(rows, 2, np.nan, axis=2)
            many = rows.shape[1] > 1
            obstacles += [
                Obstacle(
                    name=f"{item.name}[{i}]" if many else item.name, points=rows[:, i, None, :3], radii=rows[:, i, 3]
                )
                for i in range(rows.shape[1])
            ]
        pair = item.residual.frame_ids if isinstance(item.residual, ResidualModelPairDistance) else []
        for i, (key, frame) in enumerate(zip(("first", "second"), pair)):
            if frame is None:
                size, radii = values.get(f"{item.name}.{key}_size"), values[f"{item.name}.radii"][:, i]
                obstacles.append(_obstacle(item.name, values[f"{item.name}.{key}"], size, radii))
        scene = item.residual.scene if isinstance(item.residual, ResidualModelCollisions) else None
        for name, body in () if scene is None else scene.obstacles.items():
            own = f"{item.name}.{name}"
            places = values[own]
            absent = np.isnan(places.reshape(len(places), -1)[:, 0])
            radii = values.get(f"{own}_radius", np.where(absent, np.nan, 0.0))
            obstacles.append(
                _mesh(own, places, body)
                if isinstance(body, TriangleMesh)
                else _obstacle(own, places, values.get(f"{own}_size"), radii)
            )
    return _without_copies(obstacles)


def _obstacle(name: str, places: Reals, size: Reals | None, radii: Reals) -> Obstacle:
    """An obstacle from its parameters at all knots: centre, ends, or placement and sides."""
    if size is None:
        return Obstacle(name=name, points=places[:, None] if places.ndim == 2 else places, radii=radii)
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij")).reshape(3, 8).T
    corners = (signs * size[:, None]) @ places[:, :, :3].swapaxes(1, 2) + places[:, None, :, 3]
    return Obstacle(name=name, points=corners, radii=radii)


def _mesh(name: str, places: Reals, mesh: TriangleMesh) -> Obstacle:
    """A mesh from its placements (T + 1, 3, 4)."""
    turns, origins = places[:, :, :3].swapaxes(1, 2), places[:, None, :, 3]
    points = np.concatenate([origins, origins + turns], axis=1)
    radii = np.where(np.isnan(places[:, 0, 0]), np.nan, 0.0)
    return Obstacle(name=name, points=points, radii=radii, triangles=mesh.triangles)


def placed(points: Reals, frame: Reals) -> Reals:
    """Points (..., 3) of a mesh in the world, from its origin and points 1 m along its axes (4, 3) [m]."""
    return np.asarray(frame[0] + points @ (frame[1:] - frame[0]))


def as_obstacles(obstacles: ObstaclesLike) -> list[Obstacle]:
    """Converts obstacles that a caller passes, with points and radii of one knot.

    Args:
        obstacles: A Scene, one or several bodies (Box, Sphere, Capsule), or rows: upright cylinders (x, y, radius),
            shape (n, 3), or balls (x, y, z, radius), shape (n, 4) [m].

    Raises:
        InvalidArgumentError: A row has another form, or a body is on a frame of a robot.
    """
    if isinstance(obstacles, Body):
        obstacles = [obstacles]
    if isinstance(obstacles, (list, tuple)) and any(isinstance(each, Body) for each in obstacles):
        obstacles = Scene({f"body{i}": each for i, each in enumerate(obstacles)})
    if isinstance(obstacles, Scene):
        return [_fixed(name, body) for name, body in obstacles.obstacles.items()]
    rows = check_round("obstacles", cast(npt.ArrayLike, obstacles))
    rows = rows if rows.shape[1] == 4 else np.insert(rows, 2, np.nan, axis=1)
    return [Obstacle(name=f"obstacles[{i}]", points=row[None, None, :3], radii=row[3:]) for i, row in enumerate(rows)]


def _fixed(name: str, body: Body) -> Obstacle:
    """A body of the world as an obstacle at one knot."""
    if isinstance(body, TriangleMesh):
        return _mesh(name, body.placement[None], body)
    if isinstance(body, Box):
        return _obstacle(name, np.asarray(body.placement)[None], np.asarray(body.size)[None], np.zeros(1))
    return Obstacle(name=name, points=body.points[None], radii=np.array([body.radius]))


def planes_of(contacts: Iterable[SimulatorContactAbstract]) -> tuple[tuple[float, ...], ...]:
    """Coefficients (a, b, c, d) of the planes in the world that contacts of a simulator may touch, sorted."""
    from trajopt.simulator import Plane

    surfaces = [contact.surface for contact in contacts if hasattr(contact, "surface")]
    planes = [s for s in surfaces if isinstance(s, Plane) and s.body is None]
    return tuple(sorted({tuple(np.ravel(plane.coefficients).tolist()) for plane in planes}))


def _without_copies(obstacles: list[Obstacle]) -> list[Obstacle]:
    """Removes obstacles that equal an earlier one at all knots, since each limb has its own term for them."""
    kept: dict[bytes, Obstacle] = {}
    for each in obstacles:
        here = np.flatnonzero(np.isfinite(each.radii))[:1]
        key = each.points[here].tobytes() + each.radii[here].tobytes() + np.ptp(each.points, axis=0).tobytes()
        key += b"" if each.triangles is None else each.triangles.tobytes()
        kept.setdefault(key, each)
    return list(kept.values())
