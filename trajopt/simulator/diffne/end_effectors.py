"""End effectors: spheres at the ends of links, fitted to their shapes."""

from __future__ import annotations

import numpy.typing as npt

from trajopt.checks import check_array, check_count, check_instance, check_non_negative
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.simulator.diffne.body import ArticulatedBody
from trajopt.simulator.end_spheres import EndEffector, sphere_of
from trajopt.types import Reals


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
        slab = body.rotation_at_zero(joint.id).T @ along
        self._position, self._radius = sphere_of(shapes, slab, joint.link)
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
