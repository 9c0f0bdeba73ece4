"""Links and joints as declared in code, with their inertias and Pinocchio joints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from trajopt.articulations.axes import Axis
from trajopt.robots import Shape
from trajopt.types import Reals


@dataclass
class DeclaredLink:
    """A declared link.

    Attributes:
        name: Name of the link.
        mass: Mass [kg]; None for that of its shapes.
        com: Centre of mass (3,) [m]; None for that of its shapes.
        moments: Inertia (3, 3) about the centre of mass [kg m²]; None for that of its shapes.
        shapes: Solids, each with its density [kg/m³].
    """

    name: str
    mass: float | None
    com: Reals | None
    moments: Reals | None
    shapes: list[tuple[Shape, float]] = field(default_factory=list)

    def inertia(self) -> pin.Inertia:
        """Inertia about the origin of the link's frame, in its axes."""
        total = pin.Inertia.Zero()
        for shape, density in self.shapes:
            total += shape.inertia(density=density)
        if self.mass is None:
            return total
        com = (total.lever if total.mass > 0 else np.zeros(3)) if self.com is None else self.com
        moments = total.inertia * (self.mass / total.mass) if total.mass > 0 else np.zeros((3, 3))
        return pin.Inertia(self.mass, com, moments if self.moments is None else self.moments)


@dataclass(frozen=True, kw_only=True, eq=False)
class DeclaredJoint:
    """A declared joint.

    Attributes:
        name: Name of the joint.
        kind: "axes", "ball", "free", "distance" or "fixed".
        parent: Name of the parent link, or "world".
        child: Name of the link that it moves.
        X_p: Placement of the joint on the parent.
        X_c: Placement of the joint on the child.
        linear: Axes along which it slides.
        angular: Axes about which it rotates, after the linear ones.
        velocity: Largest speeds of a joint without axes, inf for no limit [m/s, rad/s].
        effort: Largest forces and torques of a joint without axes, inf for no limit [N, N m].
        distance: Bounds of the distance of a distance joint [m].
        pose: Placement of the joint's frame on the child in that on the parent, at first, of a free joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    X_p: pin.SE3
    X_c: pin.SE3
    linear: tuple[Axis, ...] = ()
    angular: tuple[Axis, ...] = ()
    velocity: float = np.inf
    effort: float = np.inf
    distance: tuple[float, float] | None = None
    pose: pin.SE3 | None = None

    def coordinates(self, targets: bool) -> Reals | None:
        """Coordinates (nq,) at first, or those that a controller aims for; None where none are declared."""
        if self.pose is not None:
            return np.asarray(pin.SE3ToXYZQUAT(self.pose))
        axes = (*self.linear, *self.angular)
        return np.array([axis.target for axis in axes]) if targets and any(axis.target for axis in axes) else None

    def model(self) -> pin.JointModel:
        """The Pinocchio joint; several axes give a composite of prismatic joints followed by revolute ones."""
        if self.kind == "ball":
            return pin.JointModelSpherical()
        if self.kind != "axes":
            return pin.JointModelFreeFlyer()
        parts = [_single("P", axis.vector) for axis in self.linear] + [
            _single("R", axis.vector) for axis in self.angular
        ]
        if len(parts) == 1:
            return parts[0]
        whole = pin.JointModelComposite()
        for part in parts:
            whole.addJoint(part)
        return whole

    def limits(self) -> tuple[Reals, Reals, Reals, Reals]:
        """Efforts and velocities (nv,), lower and upper limits (nq,), in the form that Pinocchio expects."""
        if self.kind == "axes":
            axes = (*self.linear, *self.angular)
            rows = np.array([[a.effort, a.velocity, a.lower, a.upper] for a in axes]).T
            return rows[0], rows[1], rows[2], rows[3]
        nq, nv = (4, 3) if self.kind == "ball" else (7, 6)  # ±1 is the range of pin.randomConfiguration
        return np.full(nv, self.effort), np.full(nv, self.velocity), np.full(nq, -1.0), np.full(nq, 1.0)


def _single(letter: str, direction: Reals) -> pin.JointModel:
    """A joint with one axis; it has Pinocchio's short type if the axis is x, y or z."""
    for i, name in enumerate("XYZ"):
        if np.array_equal(direction, np.eye(3)[i]):
            return getattr(pin, f"JointModel{letter}{name}")()
    kind = {"P": pin.JointModelPrismaticUnaligned, "R": pin.JointModelRevoluteUnaligned}[letter]
    return kind(np.array(direction))
