"""Collision geometry of a robot by link: spheres and capsules as they are, everything else as triangles."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.geometry import load_geometry
from trajopt.robots.robot import Robot
from trajopt.robots.round_bodies import Capsule, Sphere
from trajopt.types import Reals

SIDES = 32  # of the prism around a cylinder, whose corners are 0.5 % of the radius outside


@dataclass(eq=False)
class Surface:
    """Collision geometry of a link.

    Attributes:
        bodies: Its spheres and capsules.
        triangles: Corners of the triangles of its other shapes, arrays (m, 3, 3) in the frame of the link [m].
    """

    bodies: list[Sphere | Capsule] = field(default_factory=list)
    triangles: list[Reals] = field(default_factory=list)


def surfaces(robot: Robot) -> dict[str, Surface]:
    """Collision geometry by name of the link, in the order of the robot's geometry model; planes are left out.

    Raises:
        InvalidArgumentError: The robot has no collision geometry, or its file or a mesh cannot be read.
        UnknownNameError: The robot's source is the name of no robot.
    """
    found: dict[str, Surface] = {}
    for entry in collision_geometry(robot).geometryObjects:
        frame = robot.model.frames[entry.parentFrame]
        surface = found.setdefault(frame.name, Surface())
        _add(surface, frame.name, entry, frame.placement.actInv(entry.placement))
    found = {link: surface for link, surface in found.items() if surface.bodies or surface.triangles}
    if not found:
        raise InvalidArgumentError(
            f"robot: expected collision geometry in the file of {robot.name}, got none; declare shapes with "
            "robot.with_collision_shapes([...])"
        )
    return found


def collision_geometry(robot: Robot) -> pin.GeometryModel:
    """Pinocchio's model of the collision geometry of a robot, or of the shapes that its code declares."""
    name = robot.source or robot.name
    if robot.shapes:
        return load_geometry(robot, robot.model, "collision")
    if robot.source is None and name not in BUILTIN_ROBOTS:
        raise InvalidArgumentError(
            f"robot: expected one from a file or with shapes, got {robot.name!r}, built from a model; declare shapes "
            "with robot.with_collision_shapes([...])"
        )
    return load_geometry(name, robot.model, "collision", robot.package_dirs)


def _add(surface: Surface, link: str, entry: Any, placement: pin.SE3) -> None:
    """Adds a shape of a geometry model, at a placement in the frame of its link."""
    shape = entry.geometry
    if isinstance(shape, coal.Sphere):
        surface.bodies.append(Sphere(shape.radius, frame=link, center=placement.translation))
    elif isinstance(shape, coal.Capsule):
        ends = [placement.act(np.array([0.0, 0.0, side * shape.halfLength])) for side in (-1.0, 1.0)]
        surface.bodies.append(Capsule(shape.radius, start=ends[0], end=ends[1], frame=link))
    elif not isinstance(shape, (coal.Plane, coal.Halfspace)):
        corners = triangles_of(entry.name, shape)
        surface.triangles.append(corners @ placement.rotation.T + placement.translation)


def triangles_of(name: str, shape: Any) -> Reals:
    """Corners (m, 3, 3) of triangles on a shape of Coal, or around it if it is round."""
    if isinstance(shape, coal.BVHModelBase):
        vertices = np.array(shape.vertices()).reshape(-1, 3)
        faces = np.array([[shape.tri_indices(i)[k] for k in range(3)] for i in range(shape.num_tris)], dtype=int)
        if not len(faces) or not np.all(np.isfinite(vertices)):
            raise InvalidArgumentError(f"robot: expected triangles with finite corners, got none in the mesh {name!r}")
        return np.asarray(vertices[faces.reshape(-1, 3)])
    if isinstance(shape, coal.Box):
        points = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T * shape.halfSide
    elif isinstance(shape, coal.Cylinder):
        angle = np.linspace(0.0, 2 * np.pi, SIDES, endpoint=False)
        radius = shape.radius / np.cos(np.pi / SIDES)
        rims = [
            np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(SIDES, side * shape.halfLength)], axis=1)
            for side in (-1.0, 1.0)
        ]
        points = np.concatenate(rims)
    else:  # the box around it
        shape.computeLocalAABB()
        box = shape.aabb_local
        points = np.array(np.meshgrid(*zip(np.array(box.min_), np.array(box.max_)))).reshape(3, -1).T
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).simplices])


def srdf_path(robot: Robot) -> Path | None:
    """The SRDF of a robot: beside its URDF, or in a folder "srdf" beside that of the URDF; None if there is none."""
    from trajopt.robots.example import example_robot_files

    if robot.source is None or robot.source.lower().endswith((".xml", ".mjcf")):
        return None
    is_file = robot.source.lower().endswith(".urdf")
    urdf = Path(robot.source).expanduser() if is_file else example_robot_files(robot.source)[0]
    folders = [urdf.parent, urdf.parent.parent / "srdf"]
    names = [urdf.stem, *([] if is_file else [robot.source])]
    return next((path for folder in folders for stem in names if (path := folder / f"{stem}.srdf").is_file()), None)
