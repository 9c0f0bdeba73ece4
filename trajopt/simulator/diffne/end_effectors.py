"""End effectors: a sphere at the end of a link, fitted to its shape."""

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
    """A sphere that is fixed to a frame of the robot.

    Attributes:
        frame: Name of the frame.
        offset: Centre of the sphere in the frame's axes, shape (3,) [m].
        radius: Radius of the sphere, ≥ 0 [m].
    """

    frame: str
    offset: tuple[float, float, float]
    radius: float


class EndEffectorBounds(Immutable):
    """Sphere of radius phi0 around localPos in the axes of a joint: what may touch the floor.

    Args:
        i: Index of the joint in the body.
        localPos: Centre of the sphere in the joint's axes, shape (3,) [m]; by default `detectEndEffector` finds it.
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
                f"zRange) first, or give it: EndEffectorBounds({self._index}, localPos=(x, y, z), phi0=radius)"
            )
        return self._position.copy()

    @property
    def phi0(self) -> float:
        """Radius of the sphere [m]."""
        return self._radius

    def detectEndEffector(self, body: ArticulatedBody, zRange: npt.ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Fits the sphere to the shapes of the joint's link: those for collisions, or else those for the eye.

        Spheres, and the ends of capsules, are taken as they are: the one farthest from the joint. Other shapes are sets
        of vertices p. Without a `zRange` all of them count, else those in a slab of thickness ‖zRange‖ at the end of
        the link against zRange, where all joints are at zero: zᵀp ≤ min zᵀp + ‖zRange‖ with z = zRange / ‖zRange‖. The
        centre is their mean and the radius their mean distance from it.

        Args:
            body: The body of the robot, `m.body`.
            zRange: Direction from the end towards the joint, and thickness of the slab, in world axes, shape (3,) [m].

        Raises:
            InvalidArgumentError: The joint has no shape, or one without vertices.
        """
        body = check_instance("body", body, ArticulatedBody, "pass m.body of a DiffNERobotModel")
        along = check_array("zRange", zRange, (3,))
        joint = body.joint(self._index)
        shapes = body.shapes(joint.id, "collision") or body.shapes(joint.id, "visual")
        if not shapes:
            raise InvalidArgumentError(
                f"EndEffectorBounds({joint.id}): expected a link with a collision or visual shape, got {joint.link!r} "
                f"without any; give the sphere: EndEffectorBounds({joint.id}, localPos=(x, y, z), phi0=radius)"
            )
        spheres = [sphere for shape in shapes for sphere in _spheres(shape)]
        if spheres:
            self._position, self._radius = max(spheres, key=lambda sphere: float(np.linalg.norm(sphere[0])))
        else:
            points = np.concatenate([_vertices(shape, joint.link) for shape in shapes])
            self._position, self._radius = fit_sphere(points, body.rotation_at_zero(joint.id).T @ along)
        self._joint = joint.name

    def on(self, body: ArticulatedBody) -> EndEffector:
        """The sphere on the robot, whose body may have lost joints since the sphere was fitted.

        Raises:
            InvalidArgumentError: There is no sphere yet.
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
    """Mean of the points at one end, shape (3,) [m], and their mean distance from it [m].

    Args:
        points: Points, shape (n, 3) [m].
        slab: Vector z whose length is the thickness of a slab at the end against z; zero takes all points, (3,) [m].
    """
    thickness = float(np.linalg.norm(slab))
    if thickness > 0.0:
        heights = points @ (slab / thickness)
        points = points[heights <= heights.min() + thickness]
    centre = points.mean(axis=0)
    return centre, float(np.linalg.norm(points - centre, axis=1).mean())


def _spheres(shape: pin.GeometryObject) -> list[tuple[Reals, float]]:
    """Centres in the joint's axes (3,) [m] and radii [m] of a sphere, or of both ends of a capsule."""
    geometry, placement = shape.geometry, shape.placement
    if isinstance(geometry, coal.Sphere):
        return [(np.array(placement.translation), float(geometry.radius))]
    if isinstance(geometry, coal.Capsule):
        ends = (geometry.halfLength, -geometry.halfLength)
        return [(np.array(placement.act(np.array([0.0, 0.0, z]))), float(geometry.radius)) for z in ends]
    return []


def _vertices(shape: pin.GeometryObject, link: str) -> Reals:
    """Vertices in the joint's axes, shape (n, 3) [m]."""
    points = _own_vertices(shape.geometry, link)
    return np.asarray(points @ shape.placement.rotation.T + shape.placement.translation)


def _own_vertices(geometry: coal.CollisionGeometry, link: str) -> Reals:
    """Vertices in the shape's axes: of a mesh, the corners of a box, the rims of a cylinder, rim and tip of a cone."""
    # coal joins the vertices that a file repeats in each of its triangles
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
        f"{type(geometry).__name__}; give the sphere: EndEffectorBounds(i, localPos=(x, y, z), phi0=radius)"
    )


def _rim(radius: float, z: float) -> Reals:
    angles = 2.0 * np.pi * np.arange(_AROUND) / _AROUND
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(_AROUND, z)])
