"""Spheres at the ends of a robot's links, fitted to the shapes of the links."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots import Robot
from trajopt.robots.geometry import load_geometry
from trajopt.types import Reals

_AROUND = 32  # points on the rim of a cylinder or a cone [-]
SOLE = 0.005  # thickness of the lowest part of a foot that counts as its sole [m]
_SLAB = 0.02  # thickness of the end of a link to which a sphere is fitted [m]


@dataclass(frozen=True, kw_only=True)
class EndEffector:
    """Sphere that is fixed to a frame of the robot.

    Attributes:
        frame: Name of the frame.
        offset: Centre of the sphere in the frame's axes, shape (3,) [m].
        radius: Radius of the sphere, ≥ 0 [m].
    """

    frame: str
    offset: tuple[float, float, float]
    radius: float


def ends_of(robot: Robot, source: str) -> list[EndEffector]:
    """Sphere at the end of each joint without children: fitted to its shapes, or else a point at its last frame.

    Args:
        robot: The robot.
        source: Name or file of the robot, from which its shapes are read.
    """
    model = robot.model
    load = functools.cache(functools.partial(load_geometry, source, model))
    ends = []
    for joint in sorted(set(range(1, model.njoints)) - set(model.parents)):
        shapes = shapes_on(joint, load("collision")) or shapes_on(joint, load("visual"))
        name = model.names[joint]
        if shapes:
            centre, radius = sphere_of(shapes, np.zeros(3), name)
            distance = float(np.linalg.norm(centre))
            if distance > 0:
                centre, radius = sphere_of(shapes, -_SLAB / distance * centre, name)
        else:
            points = [np.array(frame.placement.translation) for frame in model.frames if frame.parentJoint == joint]
            centre, radius = max(points, key=lambda point: float(np.linalg.norm(point)), default=np.zeros(3)), 0.0
        x, y, z = centre.tolist()
        ends.append(EndEffector(frame=name, offset=(x, y, z), radius=radius))
    return ends


def corners_of_sole(robot: Robot, source: str, frame: str) -> Reals:
    """Corners (4, 3) of the sole at a frame, in its axes [m]: the rectangle around the lowest points of its shapes.

    Without shapes there are none, (0, 3).

    Args:
        robot: The robot.
        source: Name or file of the robot, from which its shapes are read.
        frame: Frame on the sole, z up.
    """
    placed = robot.model.frames[robot.frame_id(frame)]
    shapes = shapes_on(placed.parentJoint, load_geometry(source, robot.model, "collision"))
    if not shapes:
        return np.zeros((0, 3))
    points = np.concatenate([_vertices(shape, frame) for shape in shapes])
    own = (points - placed.placement.translation) @ placed.placement.rotation
    low = own[own[:, 2] < own[:, 2].min() + SOLE]
    (x0, y0), (x1, y1) = low[:, :2].min(axis=0), low[:, :2].max(axis=0)
    return np.array([[x, y, 0.0] for x in (x0, x1) for y in (y0, y1)])


def shapes_on(joint: int, geometry: pin.GeometryModel) -> list[pin.GeometryObject]:
    """Shapes on a joint; their placements are in the joint's axes."""
    return [shape for shape in geometry.geometryObjects if shape.parentJoint == joint]


def sphere_of(shapes: Sequence[pin.GeometryObject], slab: Reals, link: str) -> tuple[Reals, float]:
    """Centre (3,) in the joint's axes and radius of the sphere at the end of a link's shapes [m].

    Of spheres, and of the ends of capsules, it is the one farthest from the joint; for other shapes see `fit_sphere`.

    Args:
        shapes: Shapes on the joint, at least one.
        slab: Vector (3,) from the end of the link towards the joint, in the joint's axes [m], see `fit_sphere`.
        link: Name of the link, for messages.

    Raises:
        InvalidArgumentError: A shape has no vertices.
    """
    spheres = [sphere for shape in shapes for sphere in _spheres(shape)]
    if spheres:
        return max(spheres, key=lambda sphere: float(np.linalg.norm(sphere[0])))
    return fit_sphere(np.concatenate([_vertices(shape, link) for shape in shapes]), slab)


def fit_sphere(points: Reals, slab: Reals) -> tuple[Reals, float]:
    """Mean of the points in a slab at one end (3,) [m], and their mean distance from it [m].

    Args:
        points: Points (n, 3) [m].
        slab: Vector (3,) [m] from the end into the slab; its length is the thickness. Zero takes all points.
    """
    thickness = float(np.linalg.norm(slab))
    if thickness > 0.0:
        heights = points @ (slab / thickness)
        points = points[heights <= heights.min() + thickness]
    centre = points.mean(axis=0)
    return centre, float(np.linalg.norm(points - centre, axis=1).mean())


def _spheres(shape: pin.GeometryObject) -> list[tuple[Reals, float]]:
    """Centres (3,) in the joint's axes and radii of a sphere, or of both ends of a capsule [m]."""
    geometry, placement = shape.geometry, shape.placement
    if isinstance(geometry, coal.Sphere):
        return [(np.array(placement.translation), float(geometry.radius))]
    if isinstance(geometry, coal.Capsule):
        ends = (geometry.halfLength, -geometry.halfLength)
        return [(np.array(placement.act(np.array([0.0, 0.0, z]))), float(geometry.radius)) for z in ends]
    return []


def _vertices(shape: pin.GeometryObject, link: str) -> Reals:
    """Vertices in the joint's axes (n, 3) [m]."""
    points = _own_vertices(shape.geometry, link)
    return np.asarray(points @ shape.placement.rotation.T + shape.placement.translation)


def _own_vertices(geometry: coal.CollisionGeometry, link: str) -> Reals:
    """Vertices in the shape's axes: of a mesh, corners of a box, rims of a cylinder, rim and tip of a cone."""
    # coal merges the vertices that a file repeats for each triangle
    if isinstance(geometry, coal.BVHModelBase) and geometry.num_vertices > 0:
        return np.array(geometry.vertices())
    if isinstance(geometry, coal.ConvexBase):
        return np.array(geometry.points())
    if isinstance(geometry, coal.Box):
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return np.asarray(signs * geometry.halfSide)
    if isinstance(geometry, coal.Cylinder):
        return np.concatenate([_rim(geometry.radius, z) for z in (-geometry.halfLength, geometry.halfLength)])
    if isinstance(geometry, coal.Cone):
        return np.concatenate([_rim(geometry.radius, -geometry.halfLength), [[0.0, 0.0, geometry.halfLength]]])
    raise InvalidArgumentError(
        f"body: expected meshes, boxes, cylinders, cones, capsules or spheres on {link!r}, got "
        f"{type(geometry).__name__}; pass the sphere: EndEffectorBounds(i, localPos=(x, y, z), phi0=radius)"
    )


def _rim(radius: float, z: float) -> Reals:
    angles = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(_AROUND, z)])
