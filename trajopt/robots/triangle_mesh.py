"""Meshes among the obstacles of a scene."""

from __future__ import annotations

import functools
import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt import cache, source
from trajopt.checks import as_numbers, check_path, check_positive
from trajopt.errors import InvalidArgumentError, TrajoptError
from trajopt.files import MALFORMED
from trajopt.objects.immutable import Immutable
from trajopt.robots.body_entries import body_of, entry_of
from trajopt.robots.box import Box
from trajopt.robots.distance_grid import DistanceGrid, check_grid
from trajopt.robots.placements import check_placement
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.types import Reals

LARGEST = 100.0  # side of a mesh beyond which it counts as one in millimetres [m]


class TriangleMesh(Immutable):
    """A surface of triangles among the obstacles of a Scene: bodies around its parts, or a grid of its distances.

    Without `cell`, triangles with common corners are one part, which becomes a box, or up to six capsules and spheres.
    They contain the whole surface, so distances are never larger than those of the mesh.

    With `cell`, a closed mesh keeps its shape: its signed distances at the points of a grid, between which cubic
    B-splines interpolate, are exact within a cell (measured: 0.3 cells at edges, 0.1 elsewhere) up to 10 cm from the
    box around the mesh. Beyond, distances are up to an eighth larger. Bodies and grids are kept in the disk cache.

    Args:
        surface: A file that Coal reads, such as .stl, .obj or .dae; or corners of triangles (m, 3, 3), m >= 1, in the
            axes of the mesh [m].
        placement: Placement of the mesh in the world. A pinocchio.SE3, a homogeneous matrix (4, 4), or position and
            quaternion xyzw (7,); identity by default.
        scale: Factor of all coordinates, > 0; 0.001 for a file in millimetres [-].
        waste: A part gets capsules instead of a box only if the 95th percentile of the gaps between the box and the
            part exceeds this, and up to six while theirs does, > 0 [m].
        cell: Distance of neighbouring points of the grid, > 0; None for bodies. A mesh has at most 4,000,000 points,
            which take 32 MB and half a minute [m].

    Attributes:
        triangles: Corners of the triangles (m, 3, 3), in the axes of the mesh [m].
        placement: Placement in the world (3, 4): rotation and position [m].
        cell: Cell of the grid; None without a grid [m].

    Raises:
        InvalidArgumentError: The file cannot be read, there is no triangle, or the mesh is not in metres. For a grid,
            the mesh is not closed or inside out, or there would be too many points or less than one cell.
    """

    def __init__(
        self,
        surface: str | PathLike[str] | npt.ArrayLike,
        *,
        placement: Any = None,
        scale: float = 1.0,
        waste: float = 0.02,
        cell: float | None = None,
    ) -> None:
        factor, self._waste = check_positive("scale", scale), check_positive("waste", waste, unit="m")
        self.placement = check_placement("placement", np.eye(4) if placement is None else placement)
        self.triangles = factor * _triangles(surface)
        self.triangles.setflags(write=False)
        largest = float(np.ptp(self.triangles.reshape(-1, 3), axis=0).max())
        if largest > LARGEST:
            raise InvalidArgumentError(
                f"surface: expected metres, got a mesh of {largest:.3g} m, {largest / LARGEST:.3g} times the largest "
                "allowed; pass scale=0.001 for millimetres"
            )
        self.cell = None if cell is None else check_positive("cell", cell, unit="m")
        if self.cell is not None:
            check_grid(self.triangles, self.cell)

    @functools.cached_property
    def grid(self) -> DistanceGrid:
        """The distances, in the axes of the mesh; see `cell`.

        Raises:
            InvalidArgumentError: The mesh has no `cell`, or a part of it is inside out.
        """
        if self.cell is None:
            raise InvalidArgumentError(
                "cell: expected a number > 0 for a grid, got None; pass TriangleMesh(..., cell=0.01)"
            )
        return DistanceGrid.of(self.triangles, self.cell)

    @functools.cached_property
    def bodies(self) -> tuple[Box | Capsule | Sphere, ...]:
        """The bodies, at the placement of the mesh."""
        turn, place = self.placement[:, :3], self.placement[:, 3]
        placed: list[Box | Capsule | Sphere] = []
        for body in _fitted(self.triangles, self._waste):
            if isinstance(body, Box):
                own = np.asarray(body.placement)
                own = np.column_stack([turn @ own[:, :3], turn @ own[:, 3] + place])
                placed.append(Box(body.size, placement=np.vstack([own, [0.0, 0.0, 0.0, 1.0]])))
            elif isinstance(body, Capsule):
                start, end = body.points @ turn.T + place
                placed.append(Capsule(body.radius, start=start, end=end))
            else:
                placed.append(Sphere(body.radius, center=turn @ body.points[0] + place))
        return tuple(placed)

    def at(self, placement: Any) -> TriangleMesh:
        """The same mesh at another placement in the world, for obstacles that move.

        Raises:
            InvalidArgumentError: It is no placement.
        """
        return TriangleMesh(self.triangles, placement=placement, waste=self._waste, cell=self.cell)

    def __repr__(self) -> str:
        how = f"{len(self.bodies)} bodies" if self.cell is None else f"grid of {self.cell:g} m"
        return f"TriangleMesh({len(self.triangles)} triangles, {how})"


def _triangles(surface: Any) -> Reals:
    """Corners (m, 3, 3) from a file or an array."""
    if isinstance(surface, (str, PathLike)):
        corners = _read(check_path("surface", surface))
    else:
        corners = as_numbers("surface", surface, "a file, or corners of triangles (m, 3, 3)")
    if corners.ndim != 3 or corners.shape[1:] != (3, 3) or not len(corners) or not np.all(np.isfinite(corners)):
        raise InvalidArgumentError(
            f"surface: expected finite corners of triangles (m, 3, 3), m >= 1, got shape {corners.shape}"
        )
    if not np.ptp(corners.reshape(-1, 3), axis=0).any():
        raise InvalidArgumentError("surface: expected triangles with an extent, got a single point")
    return corners


def _read(path: Path) -> Reals:
    import coal

    from trajopt.robots.collisions.surfaces import triangles_of

    if not path.is_file():
        raise InvalidArgumentError(f"surface: {str(path)!r} cannot be read: there is no such file")
    try:
        return triangles_of(path.name, coal.MeshLoader().load(str(path), np.ones(3)))
    except (ValueError, RuntimeError) as error:
        raise InvalidArgumentError(f"surface: {str(path)!r} cannot be read: {error}") from error


def _fitted(triangles: Reals, waste: float) -> list[Box | Capsule | Sphere]:
    """Bodies in the axes of the mesh, from the disk cache or fitted."""
    digest = hashlib.sha256(source.digest(Path(__file__).parent / "collisions"))
    digest.update(triangles.tobytes())
    entry = cache.key("bodies of a mesh", digest.hexdigest(), repr(waste))
    stored = cache.load(entry)
    if stored is not None:
        try:
            return [body_of(each) for each in json.loads(stored)]
        except (TrajoptError, *MALFORMED):  # by another version: fit again
            pass
    from trajopt.robots.collisions.part_bodies import part_bodies

    entries = [entry_of(body) for body in part_bodies(triangles, waste)]
    cache.store(entry, json.dumps(entries).encode(), "bodies of a mesh")
    return [body_of(each) for each in entries]
