"""End effectors: spheres at the ends of links, fitted to their shapes."""

from __future__ import annotations

from dataclasses import dataclass

import coal
import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_array, check_count, check_instance, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.simulator.diffne.body import ArticulatedBody
from trajopt.types import Reals

_AROUND = 32  # points on the rim of a cylinder or a cone [-]


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


class EndEffectorBounds(Immutable):
    """End effector: a sphere of radius phi0 at localPos in the axes of a joint, which may touch the floor.

    Args:
        i: Index of the joint in the body.
        localPos: Centre of the sphere in the joint's axes (3,) [m]; None if `detectEndEffector` will fit it.
        phi0: Radius of the sphere, ≥ 0 [m].

    Raises:
        InvalidArgumentError: A number is missing, negative or not finite.
    """

    def __init__(self, i: int, localPos: npt.ArrayLike | None = None, phi0: float = 0.0) -> None:
        self._index = check_count("i", i, least=1)
        self._joint: str | None = None
        self._position = None if localPos is None else check_array("localPos", localPos, (3,))
        self._radius = check_non_negative("phi0", phi0, unit="m")

    @property
    def localPos(self) -> Reals:
        """Centre of the sphere in the joint's axes, shape (3,) [m]."""
        if self._position is None:
            raise InvalidArgumentError(
                f"EndEffectorBounds({self._index}): expected a sphere, got none; call detectEndEffector(m.body, "
                f"zRange) first, or pass it: EndEffectorBounds({self._index}, localPos=(x, y, z), phi0=radius)"
            )
        return self._position.copy()

    @property
    def phi0(self) -> float:
        """Radius of the sphere [m]."""
        return self._radius

    def detectEndEffector(self, body: ArticulatedBody, zRange: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Fits the sphere to the collision shapes of the joint's link, or to the visual ones if it has no others.

        Of spheres, and of the ends of capsules, it takes the one farthest from the joint. Other shapes are sets of
        vertices p. With `zRange` = 0 all of them count. Otherwise those count that lie in a slab of thickness ‖zRange‖
        at the end of the link, with all joints at zero: zᵀp ≤ min zᵀp + ‖zRange‖ with z = zRange / ‖zRange‖. The
        centre is their mean, and the radius is their mean distance from it.

        Args:
            body: Body of the robot, `m.body`.
            zRange: Direction from the end towards the joint, whose length is the thickness of the slab, in world axes
                (3,) [m].

        Raises:
            InvalidArgumentError: The link has no shape, or one without vertices.
        """
        body = check_instance("body", body, ArticulatedBody, "pass m.body of a DiffNERobotModel")
        along = check_array("zRange", zRange, (3,))
        joint = body.joint(self._index)
        shapes = body.shapes(joint.id, "collision") or body.shapes(joint.id, "visual")
        if not shapes:
            raise InvalidArgumentError(
                f"EndEffectorBounds({joint.id}): expected a link with a collision or visual shape, got {joint.link!r} "
                f"without any; pass the sphere: EndEffectorBounds({joint.id}, localPos=(x, y, z), phi0=radius)"
            )
        spheres = [sphere for shape in shapes for sphere in _spheres(shape)]
        if spheres:
            self._position, self._radius = max(spheres, key=lambda sphere: float(np.linalg.norm(sphere[0])))
        else:
            points = np.concatenate([_vertices(shape, joint.link) for shape in shapes])
            self._position, self._radius = fit_sphere(points, body.rotation_at_zero(joint.id).T @ along)
        self._joint = joint.name

    def on(self, body: ArticulatedBody) -> EndEffector:
        """The sphere on the current body, which may have lost joints since the sphere was fitted.

        Raises:
            InvalidArgumentError: The sphere is not defined yet.
        """
        body = check_instance("body", body, ArticulatedBody, "pass m.body of a DiffNERobotModel")
        x, y, z = self.localPos.tolist()
        name = body.joint(self._index).name if self._joint is None else self._joint
        return EndEffector(frame=name, offset=(x, y, z), radius=self._radius)

    def __repr__(self) -> str:
        if self._position is None:
            return f"EndEffectorBounds({self._index})"
        where = ", ".join(f"{value:.4g}" for value in self._position)
        return f"EndEffectorBounds({self._index}, localPos=({where}), phi0={self._radius:.4g})"


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
