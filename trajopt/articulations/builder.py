"""Builder of robots that are declared in code, link by link and joint by joint.

This file is longer than others because each kind of joint documents its own arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.articulations.assembly import WORLD, assembled
from trajopt.articulations.axes import Axis, check_limit, sliding_axes, turning_axes
from trajopt.articulations.declared import DeclaredJoint, DeclaredLink
from trajopt.checks import (
    check_array,
    check_bounds,
    check_known,
    check_mapping,
    check_non_negative,
    check_positive,
    check_text,
    shape_of,
)
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.robots import Robot, Shape
from trajopt.robots.parameters import are_moments
from trajopt.robots.placements import check_placement
from trajopt.robots.robot import GRAVITY
from trajopt.types import Reals

WATER = 1000.0  # density of solids [kg/m³]
SHORTEST, LARGEST = 1e-6, 1e6  # axis of a capsule or cylinder [m]


class ArticulationBuilder(Immutable):
    """Declares a robot in code: links, joints between them, solids and frames; `build` returns the Robot.

    A joint with coordinates q places its child by x_wc = x_wp X_p x_j(q) X_c⁻¹. X_p and X_c are the placements of the
    joint on the parent and on the child, each a pinocchio.SE3, a matrix (4, 4), position and quaternion xyzw (7,), or a
    position (3,). Axes are in the joint's frame. The parent "world" is the world. Joints appear in q in depth-first
    order, siblings as declared; therefore declare a floating base first.

    Example:
        >>> robot = ArticulationBuilder()
        >>> robot.add_link("pole")
        >>> robot.add_capsule("pole", 0.02, end=(0, 0, 0.5))
        >>> robot.add_revolute("world", "pole", axis="y", effort=5.0)
        >>> robot.build("pendulum")

    Source: Newton (newton-physics), its ModelBuilder.
    """

    def __init__(self) -> None:
        self._links: dict[str, DeclaredLink] = {}
        self._joints: dict[str, DeclaredJoint] = {}
        self._frames: dict[str, tuple[str, pin.SE3]] = {}

    def add_link(
        self,
        name: str,
        *,
        mass: float | None = None,
        com: npt.ArrayLike | None = None,
        inertia: npt.ArrayLike | None = None,
    ) -> str:
        """Adds a link and returns its name.

        Args:
            name: Name of the link and of its frame.
            mass: Mass, >= 0 [kg]; by default that of its solids. Without `inertia`, its solids are scaled to this mass;
                without solids the link is a point mass.
            com: Centre of mass (3,) in the link's frame [m]; requires `mass`. By default that of its solids.
            inertia: Inertia about the centre of mass in the link's axes, (3, 3) or its diagonal (3,) [kg m²]; requires
                `mass`.

        Raises:
            InvalidArgumentError: A value is invalid, or the inertia is physically impossible.
            DuplicateNameError: The name is already used.
        """
        if mass is None and (com is not None or inertia is not None):
            raise InvalidArgumentError("mass: expected a mass [kg] with com or inertia, got None; pass mass as well")
        mass = None if mass is None else check_non_negative("mass", mass, unit="kg")
        point = None if com is None else check_array("com", com, (3,), cure="a point in the link's frame [m]")
        link = DeclaredLink(self._new(name), mass, point, None if inertia is None else _moments(inertia))
        self._links[name] = link
        return name

    def add_box(
        self, link: str, size: npt.ArrayLike, *, placement: Any = None, density: float = WATER, color: str | None = None
    ) -> None:
        """Adds a box to a link.

        Args:
            link: Name of the link.
            size: Sides (3,), > 0 [m].
            placement: Placement of the centre on the link.
            density: Density [kg/m³]; 0 for a box that is only visual.
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: The link does not exist.
            InvalidArgumentError: A value is invalid.
        """
        sides = check_array("size", size, (3,), cure="the three sides [m]")
        for i, side in enumerate(sides):
            check_positive(f"size[{i}]", side, unit="m")
        self._add_shape(link, "box", sides, _placement("placement", placement), density, color)

    def add_sphere(
        self,
        link: str,
        radius: float,
        *,
        center: npt.ArrayLike = (0.0, 0.0, 0.0),
        density: float = WATER,
        color: str | None = None,
    ) -> None:
        """Adds a ball to a link.

        Args:
            link: Name of the link.
            radius: Radius, > 0 [m].
            center: Centre in the link's frame (3,) [m].
            density: Density [kg/m³]; 0 for a ball that is only visual.
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: The link does not exist.
            InvalidArgumentError: A value is invalid.
        """
        size = np.array([check_positive("radius", radius, unit="m")])
        self._add_shape(link, "sphere", size, _placement("center", center, only=(3,)), density, color)

    def add_capsule(
        self,
        link: str,
        radius: float,
        *,
        end: npt.ArrayLike,
        start: npt.ArrayLike = (0.0, 0.0, 0.0),
        density: float = WATER,
        color: str | None = None,
    ) -> None:
        """Adds a capsule to a link: all points within `radius` of a segment.

        Args:
            link: Name of the link.
            radius: Radius, > 0 [m].
            end: One end of the segment in the link's frame (3,) [m].
            start: The other end (3,) [m].
            density: Density [kg/m³]; 0 for a capsule that is only visual.
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: The link does not exist.
            InvalidArgumentError: A value is invalid.
        """
        self._add_shape(link, "capsule", *_rod(radius, start, end), density, color)

    def add_cylinder(
        self,
        link: str,
        radius: float,
        *,
        end: npt.ArrayLike,
        start: npt.ArrayLike = (0.0, 0.0, 0.0),
        density: float = WATER,
        color: str | None = None,
    ) -> None:
        """Adds a cylinder to a link.

        Args:
            link: Name of the link.
            radius: Radius, > 0 [m].
            end: One end of its axis in the link's frame (3,) [m].
            start: The other end (3,) [m].
            density: Density [kg/m³]; 0 for a cylinder that is only visual.
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: The link does not exist.
            InvalidArgumentError: A value is invalid.
        """
        self._add_shape(link, "cylinder", *_rod(radius, start, end), density, color)

    def add_frame(self, name: str, link: str, placement: Any = None) -> str:
        """Adds a frame on a link, such as a tool or a foot, and returns its name.

        Raises:
            UnknownNameError: The link does not exist.
            DuplicateNameError: The name is already used.
            InvalidArgumentError: `placement` is not a placement.
        """
        check_known("link", link, self._links)
        self._frames[self._new(name)] = (link, _placement("placement", placement))
        return name

    def add_revolute(
        self, parent: str, child: str, *, axis: str | npt.ArrayLike = "z", X_p: Any = None, X_c: Any = None,
        lower: float = -np.inf, upper: float = np.inf, velocity: float = np.inf, effort: float = np.inf,
        armature: float = 0.0, damping: float = 0.0, target: float = 0.0, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a revolute joint about an axis and returns its name.

        Args:
            parent: Name of the parent link, or "world".
            child: Name of the link that it moves.
            axis: Axis: "x", "y", "z", "-x", "-y", "-z" or a vector (3,) [-].
            X_p: Placement of the joint on the parent.
            X_c: Placement of the joint on the child.
            lower: Lower limit [rad].
            upper: Upper limit [rad].
            velocity: Largest speed, > 0 [rad/s].
            effort: Largest torque, > 0 [N m].
            armature: Inertia of the motor at the joint [kg m²].
            damping: Torque per speed [N m s/rad].
            target: Angle that a controller aims for [rad]; the robot's configuration "target" has it.
            name: Name of the joint; by default "child_joint".

        Raises:
            UnknownNameError: A link does not exist.
            DuplicateNameError: The name is already used.
            InvalidArgumentError: A value is invalid, or the child already has a joint.
        """
        limits = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        only = Axis(axis, **limits, armature=armature, damping=damping, target=target)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, angular=(only,))

    def add_prismatic(
        self, parent: str, child: str, *, axis: str | npt.ArrayLike = "z", X_p: Any = None, X_c: Any = None,
        lower: float = -np.inf, upper: float = np.inf, velocity: float = np.inf, effort: float = np.inf,
        armature: float = 0.0, damping: float = 0.0, target: float = 0.0, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a prismatic joint along an axis and returns its name.

        Arguments and errors are those of `add_revolute`, with limits [m, m/s, N], armature [kg] and damping [N s/m].
        """
        limits = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        only = Axis(axis, **limits, armature=armature, damping=damping, target=target)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=(only,))

    def add_d6(
        self, parent: str, child: str, *, linear: Sequence[Any] = (), angular: Sequence[Any] = (), X_p: Any = None,
        X_c: Any = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a D6 joint with up to six axes and returns its name: linear axes slide first, then angular ones rotate.

        p = Σ a_i q_i and R = R(b_0, q_0) R(b_1, q_1) R(b_2, q_2). The second of two angular axes is made perpendicular
        to the first; of three, each must be perpendicular to the previous one.

        Args:
            parent: Name of the parent link, or "world".
            child: Name of the link that it moves.
            linear: Up to three axes, each an `Axis` with limits, "x", "y", "z", "-x", ..., or a vector (3,).
            angular: Up to three more axes.
            X_p: Placement of the joint on the parent.
            X_c: Placement of the joint on the child.
            name: Name of the joint; by default "child_joint".

        Raises:
            UnknownNameError: A link does not exist.
            DuplicateNameError: The name is already used.
            InvalidArgumentError: Axes are not independent, a value is invalid, or the child already has a joint.
        """
        slides, turns = sliding_axes("linear", linear), turning_axes("angular", angular)
        if not slides and not turns:
            raise InvalidArgumentError("linear, angular: expected at least one axis, got none; add_fixed needs none")
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=tuple(slides), angular=tuple(turns))

    def add_universal(
        self, parent: str, child: str, *, axes: Sequence[Any] = ("x", "y"), X_p: Any = None, X_c: Any = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a universal joint, which rotates about two axes in turn, and returns its name.

        It is a D6 joint without linear axes. Arguments and errors are those of `add_d6`.
        """
        turns = turning_axes("axes", axes)
        _check_number_of("axes", turns, 2)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, angular=tuple(turns))

    def add_planar(
        self, parent: str, child: str, *, linear: Sequence[Any] = ("x", "y"), angular: Any = "z", X_p: Any = None,
        X_c: Any = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that slides along two axes and rotates about a third one, and returns its name.

        It is a D6 joint whose angle is one coordinate. Arguments and errors are those of `add_d6`, with a single axis
        in `angular`.
        """
        slides, turns = sliding_axes("linear", linear), turning_axes("angular", [angular])
        _check_number_of("linear", slides, 2)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=tuple(slides), angular=tuple(turns))

    def add_ball(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, velocity: float = np.inf,
        effort: float = np.inf, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a spherical joint and returns its name; q is a quaternion xyzw, v is in the child's axes [rad/s].

        Arguments and errors are those of `add_revolute`; the limits apply to each of the three axes.
        """
        limits = {"velocity": check_limit("velocity", velocity), "effort": check_limit("effort", effort)}
        return self._add_joint(name, "ball", parent, child, X_p, X_c, **limits)

    def add_free(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, pose: Any = None, name: str | None = None
    ) -> str:  # fmt: skip
        """Adds a free joint, which allows all motions, and returns its name.

        q is position and quaternion xyzw, v the twist of the joint's frame on the child in its own axes. `pose` is its
        placement at first, which is in the robot's configurations "initial" and "target". Other arguments and errors
        are those of `add_revolute`.
        """
        return self._add_joint(
            name, "free", parent, child, X_p, X_c, pose=_placement("pose", pose) if pose is not None else None
        )

    def add_distance(
        self, parent: str, child: str, *, lower: float = 0.0, upper: float = np.inf, X_p: Any = None, X_c: Any = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that bounds the distance of its two placements, lower <= |x_j| <= upper, and returns its name.

        It has the coordinates of a free joint. `ResidualModelJointDistance` computes |x_j|, and
        `ConstraintStack.of_robot` enforces the bounds. The simulator keeps them by forces that rest 1 mm beyond them.

        Args:
            parent: Name of the parent link, or "world".
            child: Name of the link that it moves.
            lower: Smallest distance, >= 0 [m].
            upper: Largest distance [m].
            X_p: Placement of the joint on the parent.
            X_c: Placement of the joint on the child.
            name: Name of the joint; by default "child_joint".

        Raises:
            UnknownNameError: A link does not exist.
            DuplicateNameError: The name is already used.
            InvalidArgumentError: A value is invalid, or the child already has a joint.
        """
        least, most = check_bounds("lower, upper", [lower, upper], 2)
        if not (0.0 <= least <= most and most > 0.0):
            raise InvalidArgumentError(
                f"lower, upper: expected 0 <= lower <= upper, upper > 0 [m], got {least:g}, {most:g}"
            )
        return self._add_joint(name, "distance", parent, child, X_p, X_c, distance=(float(least), float(most)))

    def add_fixed(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, name: str | None = None
    ) -> str:  # fmt: skip
        """Adds a fixed joint and returns its name. Arguments and errors are those of `add_revolute`."""
        return self._add_joint(name, "fixed", parent, child, X_p, X_c)

    def build(
        self,
        name: str,
        configurations: Mapping[str, Any] | None = None,
        *,
        gravity: npt.ArrayLike = (0.0, 0.0, -GRAVITY),
    ) -> Robot:
        """Builds the Robot; the builder remains usable and may build further robots.

        Args:
            name: Name of the robot.
            configurations: Reference configurations by name, each (nq,) or a mapping from some joints to their
                coordinates: {"home": {"elbow": 0.3}}.
            gravity: Acceleration of gravity (3,) [m/s²]; zeros for a robot in orbit.

        Raises:
            InvalidArgumentError: A link has no joint or is not connected to the world, no joint moves, a joint moves
                no mass, or a configuration or gravity does not fit.
            UnknownNameError: A configuration names a joint that does not exist.

        Poses of free joints are in the configuration "initial", targets of axes in "target".
        """
        frames = [(frame, link, placement) for frame, (link, placement) in self._frames.items()]
        model = assembled(check_text("name", name), self._links, self._joints.values(), frames)
        model.gravity.linear = check_array("gravity", gravity, (3,), cure="its acceleration along x, y, z [m/s²]")
        named = {} if configurations is None else check_mapping("configurations", configurations, "write {name: q}")
        return Robot(
            model,
            name=name,
            configurations=self._declared(model)
            | {key: _configuration(model, f"configurations[{key!r}]", q) for key, q in named.items()},
            shapes=[shape for link in self._links.values() for shape, _ in link.shapes],
            distances={joint.name: joint.distance for joint in self._joints.values() if joint.distance is not None},
        )

    def _declared(self, model: pin.Model) -> dict[str, Reals]:
        """Configurations "initial" with the poses of free joints, and "target" with the targets too, if declared."""
        found = {}
        for key, targets in (("initial", False), ("target", True)):
            q, any_declared = np.asarray(pin.neutral(model)), False
            for joint in self._joints.values():
                own = joint.coordinates(targets)
                if own is not None:
                    place = model.idx_qs[model.getJointId(joint.name)]
                    q[place : place + len(own)], any_declared = own, True
            if any_declared:
                found[key] = q
        return found

    def __repr__(self) -> str:
        joints = ", ".join(f"{joint.name} ({joint.kind})" for joint in self._joints.values())
        return f"ArticulationBuilder(links: {', '.join(self._links) or 'none'}; joints: {joints or 'none'})"

    def _new(self, name: str) -> str:
        """Returns the name after checking that it is not used yet."""
        if not check_text("name", name, such_as="upper_arm"):
            raise InvalidArgumentError("name: expected a string that is not empty, got ''")
        if name in (WORLD, "universe", *self._links, *self._joints, *self._frames):
            raise DuplicateNameError(
                f"name: expected a new one, got {name!r}, which the world, a link, a joint or a frame already has"
            )
        return name

    def _add_shape(
        self, link: str, kind: str, size: Reals, placement: pin.SE3, density: float, color: str | None
    ) -> None:
        check_known("link", link, self._links)
        heavy = check_non_negative("density", density, unit="kg/m³")
        colour = None if color is None else _colour(color)
        shape = Shape(link=link, kind=kind, size=size, placement=placement.homogeneous, color=colour)
        self._links[link].shapes.append((shape, heavy))

    def _add_joint(self, name: str | None, kind: str, parent: str, child: str, X_p: Any, X_c: Any, **more: Any) -> str:
        check_known("parent: link", parent, (WORLD, *self._links))
        check_known("child: link", child, self._links)
        if parent == child:
            raise InvalidArgumentError(f"child: expected a link other than the parent, got {child!r} for both")
        for joint in self._joints.values():
            if joint.child == child:
                raise InvalidArgumentError(
                    f"child: expected a link without a joint, got {child!r}, which joint {joint.name!r} moves; close a "
                    "loop with a ContactModelLoop"
                )
        own = self._new(f"{child}_joint" if name is None else name)
        places = {"X_p": _placement("X_p", X_p), "X_c": _placement("X_c", X_c)}
        self._joints[own] = DeclaredJoint(name=own, kind=kind, parent=parent, child=child, **places, **more)
        return own


def _colour(color: Any) -> str:
    from matplotlib.colors import is_color_like

    name = check_text("color", color, such_as="tab:blue")
    if not is_color_like(name):
        raise InvalidArgumentError(f"color: expected a colour of Matplotlib such as 'tab:blue', got {name!r}")
    return name


def _placement(argument: str, value: Any, only: tuple[int, ...] | None = None) -> pin.SE3:
    """Returns a placement; a position (3,) has no rotation, and None is the identity."""
    if value is None:
        return pin.SE3.Identity()
    if only is not None or shape_of(value) == (3,):
        return pin.SE3(np.eye(3), check_array(argument, value, (3,), cure="a point (x, y, z) [m]"))
    placed = check_placement(argument, value)
    return pin.SE3(np.array(placed[:, :3]), np.array(placed[:, 3]))


def _rod(radius: float, start: npt.ArrayLike, end: npt.ArrayLike) -> tuple[Reals, pin.SE3]:
    """Radius and length of a rod, and the placement of its middle, with z from start to end."""
    first, last = check_array("start", start, (3,)), check_array("end", end, (3,))
    along = last - first
    length = float(np.linalg.norm(along)) if np.abs(along).max() < LARGEST else np.inf
    if not SHORTEST <= length < LARGEST:
        raise InvalidArgumentError(
            f"end: expected a point other than the start, within {LARGEST:g} m, got {first} and {last}; use add_sphere "
            "for a capsule without length"
        )
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along / length).matrix()
    return np.array([check_positive("radius", radius, unit="m"), length]), pin.SE3(turn, (first + last) / 2)


def _moments(inertia: npt.ArrayLike) -> Reals:
    diagonal = shape_of(inertia) == (3,)
    array = check_array("inertia", inertia, (3,) if diagonal else (3, 3), cure="the matrix (3, 3) or its diagonal (3,)")
    moments = np.diag(array) if diagonal else array
    if not are_moments(moments):
        raise InvalidArgumentError(
            f"inertia: expected a symmetric matrix with no moment larger than the sum of the other two, got "
            f"{moments.tolist()}; a solid such as add_box(link, size) gives a valid one"
        )
    return np.asarray(moments)


def _check_number_of(argument: str, axes: Sequence[Axis], number: int) -> None:
    if len(axes) != number:
        raise InvalidArgumentError(f"{argument}: expected {number} axes, got {len(axes)}; add_d6 takes any number")


def _configuration(model: pin.Model, argument: str, q: Any) -> Any:
    """Returns a configuration; a mapping from joints to coordinates is filled up with neutral ones."""
    if not isinstance(q, Mapping):
        return q
    configuration = pin.neutral(model)
    for joint, value in q.items():
        check_known(f"{argument}: joint", joint, list(model.names)[1:])
        own = model.joints[model.getJointId(joint)]
        configuration[own.idx_q : own.idx_q + own.nq] = check_array(
            f"{argument}[{joint!r}]", np.atleast_1d(value) if own.nq == 1 else value, (own.nq,)
        )
    return configuration
