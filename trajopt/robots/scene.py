"""Obstacles in the world by name, for collisions, pictures and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_mapping, check_text
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.files import check_output_path, output_file
from trajopt.objects.immutable import Immutable
from trajopt.robots.box import Box
from trajopt.robots.round_bodies import Capsule, Sphere, round_solid
from trajopt.robots.scene_file import obstacles_as_text, read_obstacles
from trajopt.robots.shapes import Shape
from trajopt.robots.triangle_mesh import TriangleMesh

Body = Sphere | Capsule | Box | TriangleMesh
FAR = 100.0  # coordinate beyond which an obstacle counts as one in millimetres [m]


class Scene(Immutable):
    """Spheres, capsules, boxes and meshes that are fixed in the world.

    In a problem, placements and sizes are run-time parameters that may differ between knots, so that obstacles that
    move, come or go compile nothing; see `ResidualModelCollisions`.

    Args:
        obstacles: Obstacles by name, each an identifier such as "table". A TriangleMesh "shelf" without a grid becomes
            its bodies, as "shelf_0", "shelf_1" and so on.

    Raises:
        InvalidArgumentError: There is no obstacle, a name is not an identifier, an obstacle is on a frame or of
            another type, or it is so large or far away that it is not in metres.
    """

    def __init__(self, obstacles: Mapping[str, Body]) -> None:
        given = check_mapping("obstacles", obstacles, 'write {"table": Box([1.0, 0.6, 0.05])}')
        checked = bodies_of(given, lambda each: isinstance(each, TriangleMesh) and each.cell is None)
        if not checked:
            raise InvalidArgumentError(
                "obstacles: expected at least one obstacle, got none; pass collisions=True for the robot alone"
            )
        for name, obstacle in checked.items():
            _check(name, obstacle)
        self._obstacles = checked

    @property
    def obstacles(self) -> Mapping[str, Body]:
        """The obstacles by name, read-only; those of a mesh without a grid are its bodies."""
        return MappingProxyType(self._obstacles)

    def __getitem__(self, name: str) -> Body:
        if name not in self._obstacles:
            raise unknown_name("obstacle", name, self._obstacles)
        return self._obstacles[name]

    def __len__(self) -> int:
        return len(self._obstacles)

    def solids(self) -> tuple[Shape, ...]:
        """The obstacles as solids on the frame "universe"; those of a mesh are its bodies."""
        return tuple(solid(body) for body in bodies_of(self._obstacles).values())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Reads a .json or .yaml file of obstacles by name, each with its type and the arguments of its class.

        ```yaml
        table: {type: box, size: [1.0, 0.6, 0.05], placement: [0.5, 0.0, 0.2]}
        ball: {type: sphere, radius: 0.1, center: [0.4, 0.0, 0.5]}
        post: {type: capsule, radius: 0.03, start: [0.3, 0.3, 0.0], end: [0.3, 0.3, 0.6]}
        shelf: {type: mesh, file: shelf.stl, scale: 0.001, placement: [0.7, 0.0, 0.0], cell: 0.01}
        ```

        The placement of a box or mesh is its position, or position and quaternion xyzw. The file of a mesh is relative
        to the folder of this one; instead of `file` it may have `triangles`.

        Args:
            path: The file.

        Raises:
            InvalidArgumentError: The file cannot be read, or contains no obstacles.
            MissingDependencyError: A .yaml file needs PyYAML.
        """
        return cls(read_obstacles(path))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a .json or .yaml file that `load` reads; of a mesh it has the bodies, or the triangles and the cell.

        Raises:
            InvalidArgumentError: The file cannot be written.
        """
        with output_file(check_output_path(path, "path", (".json", ".yaml", ".yml"))) as file:
            file.write(obstacles_as_text(self._obstacles).encode())

    def __repr__(self) -> str:
        return f"Scene({', '.join(f'{name}: {type(each).__name__}' for name, each in self._obstacles.items())})"


ObstaclesLike = npt.ArrayLike | Scene | Body | Sequence[Body]
"""Obstacles of a picture: a scene, bodies, or rows (x, y, radius) or (x, y, z, radius) [m]."""


def solid(obstacle: Sphere | Capsule | Box) -> Shape:
    """An obstacle as a solid on the frame "universe"."""
    link = "universe" if obstacle.frame is None else obstacle.frame
    if isinstance(obstacle, Box):
        placement = np.vstack([obstacle.placement, [0.0, 0.0, 0.0, 1.0]])
        return Shape(link=link, kind="box", size=np.asarray(obstacle.size), placement=placement)
    return round_solid(obstacle, link)


def bodies_of(obstacles: Mapping[Any, Any], replaced: Callable[[Any], bool] | None = None) -> dict[Any, Any]:
    """The obstacles, with the bodies of each mesh in its place.

    Args:
        obstacles: The obstacles by name.
        replaced: Whether an obstacle is a mesh to replace; all meshes by default.
    """
    found = dict[Any, Any]()
    for name, obstacle in obstacles.items():
        bodies = {name: obstacle}
        if isinstance(obstacle, TriangleMesh) if replaced is None else replaced(obstacle):
            bodies = {f"{name}_{i}": body for i, body in enumerate(obstacle.bodies)}
        twice = sorted(set(found) & set(bodies))
        if twice:
            raise InvalidArgumentError(
                f"obstacles: expected other names than those of the bodies of a mesh, got {twice[0]!r} twice"
            )
        found |= bodies
    return found


def _check(name: Any, obstacle: Any) -> None:
    """Raises InvalidArgumentError unless an obstacle is one of the world, in metres."""
    if not check_text("obstacles", name, such_as="table").isidentifier():
        raise InvalidArgumentError(f"obstacles: expected identifiers such as 'table' as names, got {name!r}")
    where = f"obstacles[{name!r}]"
    if not isinstance(obstacle, Body):
        raise InvalidArgumentError(
            f"{where}: expected a Sphere, a Capsule, a Box or a TriangleMesh, got {shown(obstacle)}"
        )
    if not isinstance(obstacle, TriangleMesh) and obstacle.frame is not None:
        raise InvalidArgumentError(
            f"{where}: expected an obstacle that is fixed in the world, got one on frame {obstacle.frame!r}; add it to "
            "the robot with with_collision_shapes"
        )
    names = ("size", "placement", "radius", "points")
    numbers = [np.ravel(getattr(obstacle, each)) for each in names if hasattr(obstacle, each)]
    largest = float(np.abs(np.concatenate(numbers)).max())
    if largest > FAR:
        raise InvalidArgumentError(
            f"{where}: expected metres, got a number of {largest:g}, {largest / FAR:.3g} times the largest allowed; "
            "divide numbers in millimetres by 1000"
        )
