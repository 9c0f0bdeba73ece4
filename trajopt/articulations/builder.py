"""Builder of robots that are declared in code, link by link and joint by joint.

Longer than other files, because every kind of joint has its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.articulations.assembly import WORLD, assembled
from trajopt.articulations.axes import Axis, check_limit, sliding_axes, turning_axes
from trajopt.articulations.declared import DeclaredJoint, DeclaredLink, are_moments
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
from trajopt.robots.placements import check_placement
from trajopt.types import Reals

WATER = 1000.0  # density of solids [kg/m³]
SHORTEST, LARGEST = 1e-6, 1e6  # axis of a capsule or cylinder [m]


class ArticulationBuilder(Immutable):
    """Declares a robot in code: links, the joints between them, solids, frames; `build` makes the Robot.

    A joint with coordinates q places its child by x_wc = x_wp X_p x_j(q) X_c⁻¹: X_p and X_c are its placements on the
    parent and on the child, a pinocchio.SE3, a matrix (4, 4), position and quaternion xyzw (7,), or a position (3,).
    Axes are in the joint's frame. The world is the parent "world". Joints are in q depth first, each followed by those
    behind it, in the order of their declaration; declare a floating base first.

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
        """Adds a link; returns its name.

        Args:
            name: Its name, which its frame has too.
            mass: Its mass, >= 0; by default that of its solids. Without an inertia, solids are made lighter or heavier
                to have it in sum; without solids it is a point [kg].
            com: Centre of mass (3,) in the link's frame, with `mass` only; by default that of its solids [m].
            inertia: Inertia about the centre of mass in the link's axes, (3, 3) or its diagonal (3,), with `mass` only
                [kg m²].

        Raises:
            InvalidArgumentError: A value is wrong, or no body has such an inertia.
            DuplicateNameError: The name is taken.
        """
        if mass is None and (com is not None or inertia is not None):
            raise InvalidArgumentError("mass: expected one beside com or inertia, got none; pass it [kg]")
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
            link: The link.
            size: Its sides (3,), > 0 [m].
            placement: Placement of its centre on the link.
            density: Its density; 0 for a box that is only seen [kg/m³].
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: There is no such link.
            InvalidArgumentError: A value is wrong.
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
            link: The link.
            radius: Its radius, > 0 [m].
            center: Its centre in the link's frame (3,) [m].
            density: Its density; 0 for a ball that is only seen [kg/m³].
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: There is no such link.
            InvalidArgumentError: A value is wrong.
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
        """Adds a capsule to a link: all points within a distance of a segment.

        Args:
            link: The link.
            radius: The distance, > 0 [m].
            end: One end of the segment in the link's frame (3,) [m].
            start: The other one (3,) [m].
            density: Its density; 0 for one that is only seen [kg/m³].
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: There is no such link.
            InvalidArgumentError: A value is wrong.
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
            link: The link.
            radius: Its radius, > 0 [m].
            end: One end of its axis in the link's frame (3,) [m].
            start: The other one (3,) [m].
            density: Its density; 0 for one that is only seen [kg/m³].
            color: A colour of Matplotlib for pictures.

        Raises:
            UnknownNameError: There is no such link.
            InvalidArgumentError: A value is wrong.
        """
        self._add_shape(link, "cylinder", *_rod(radius, start, end), density, color)

    def add_frame(self, name: str, link: str, placement: Any = None) -> str:
        """Adds a frame on a link, such as a tool or a foot; returns its name.

        Raises:
            UnknownNameError: There is no such link.
            DuplicateNameError: The name is taken.
            InvalidArgumentError: The placement is none.
        """
        check_known("link", link, self._links)
        self._frames[self._new(name)] = (link, _placement("placement", placement))
        return name

    def add_revolute(
        self, parent: str, child: str, *, axis: str | npt.ArrayLike = "z", X_p: Any = None, X_c: Any = None,
        lower: float = -np.inf, upper: float = np.inf, velocity: float = np.inf, effort: float = np.inf,
        armature: float = 0.0, damping: float = 0.0, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that turns about an axis; returns its name.

        Args:
            parent: Link that it hangs on, or "world".
            child: Link that it moves.
            axis: Its axis: "x", "y", "z", "-x", "-y", "-z" or a vector (3,) [-].
            X_p: Its placement on the parent.
            X_c: Its placement on the child.
            lower: Lower limit [rad].
            upper: Upper limit [rad].
            velocity: Largest speed, > 0 [rad/s].
            effort: Largest torque, > 0 [N m].
            armature: Inertia of the motor at the joint [kg m²].
            damping: Torque per speed [N m s/rad].
            name: Its name; by default "child_joint".

        Raises:
            UnknownNameError: There is no such link.
            DuplicateNameError: The name is taken.
            InvalidArgumentError: A value is wrong, or the child has a joint already.
        """
        limits = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        only = Axis(axis, **limits, armature=armature, damping=damping)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, angular=(only,))

    def add_prismatic(
        self, parent: str, child: str, *, axis: str | npt.ArrayLike = "z", X_p: Any = None, X_c: Any = None,
        lower: float = -np.inf, upper: float = np.inf, velocity: float = np.inf, effort: float = np.inf,
        armature: float = 0.0, damping: float = 0.0, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that slides along an axis; returns its name.

        Arguments and errors are those of `add_revolute`, with limits [m, m/s, N], armature [kg] and damping [N s/m].
        """
        limits = {"lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        only = Axis(axis, **limits, armature=armature, damping=damping)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=(only,))

    def add_d6(
        self, parent: str, child: str, *, linear: Sequence[Any] = (), angular: Sequence[Any] = (), X_p: Any = None,
        X_c: Any = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint with up to six axes: it slides along the linear ones, then turns about the angular ones.

        p = Σ a_i q_i and R = R(b_0, q_0) R(b_1, q_1) R(b_2, q_2). Of two turning axes the second one is made
        perpendicular to the first; of three each has to be perpendicular to the one before.

        Args:
            parent: Link that it hangs on, or "world".
            child: Link that it moves.
            linear: Up to three axes, each an `Axis` with limits, "x", "y", "z", "-x", ..., or a vector (3,).
            angular: Up to three more.
            X_p: Its placement on the parent.
            X_c: Its placement on the child.
            name: Its name; by default "child_joint".

        Raises:
            UnknownNameError: There is no such link.
            DuplicateNameError: The name is taken.
            InvalidArgumentError: Axes do not fit each other, a value is wrong, or the child has a joint already.
        """
        slides, turns = sliding_axes("linear", linear), turning_axes("angular", angular)
        if not slides and not turns:
            raise InvalidArgumentError("linear, angular: expected at least one axis, got none; add_fixed has none")
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=tuple(slides), angular=tuple(turns))

    def add_universal(
        self, parent: str, child: str, *, axes: Sequence[Any] = ("x", "y"), X_p: Any = None, X_c: Any = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that turns about two axes, one after the other: a D6 joint without linear axes.

        Arguments and errors are those of `add_d6`.
        """
        turns = turning_axes("axes", axes)
        _check_number_of("axes", turns, 2)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, angular=tuple(turns))

    def add_planar(
        self, parent: str, child: str, *, linear: Sequence[Any] = ("x", "y"), angular: Any = "z", X_p: Any = None,
        X_c: Any = None, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that slides along two axes and turns about a third one: a D6 joint.

        Arguments and errors are those of `add_d6`, with one axis in `angular`. Its angle is one coordinate.
        """
        slides, turns = sliding_axes("linear", linear), turning_axes("angular", [angular])
        _check_number_of("linear", slides, 2)
        return self._add_joint(name, "axes", parent, child, X_p, X_c, linear=tuple(slides), angular=tuple(turns))

    def add_ball(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, velocity: float = np.inf,
        effort: float = np.inf, name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint that turns in any direction; returns its name. q is a quaternion xyzw, v in the child's axes.

        Arguments and errors are those of `add_revolute`; limits are those of each of the three axes.
        """
        limits = {"velocity": check_limit("velocity", velocity), "effort": check_limit("effort", effort)}
        return self._add_joint(name, "ball", parent, child, X_p, X_c, **limits)

    def add_free(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, name: str | None = None
    ) -> str:  # fmt: skip
        """Adds a joint that leaves all motions free; returns its name.

        q is position and quaternion xyzw, v the twist of the joint's frame on the child in its own axes. Arguments and
        errors are those of `add_revolute`.
        """
        return self._add_joint(name, "free", parent, child, X_p, X_c)

    def add_distance(
        self, parent: str, child: str, *, lower: float = 0.0, upper: float = np.inf, X_p: Any = None, X_c: Any = None,
        name: str | None = None,
    ) -> str:  # fmt: skip
        """Adds a joint whose two placements stay within a distance: lower <= |x_j| <= upper; returns its name.

        Its coordinates are those of a free joint. `ResidualModelJointDistance` is |x_j|, and
        `ConstraintStack.of_robot` has the bounds; the simulator does not know them.

        Args:
            parent: Link that it hangs on, or "world".
            child: Link that it moves.
            lower: Least distance, >= 0 [m].
            upper: Largest one [m].
            X_p: Its placement on the parent.
            X_c: Its placement on the child.
            name: Its name; by default "child_joint".

        Raises:
            UnknownNameError: There is no such link.
            DuplicateNameError: The name is taken.
            InvalidArgumentError: A value is wrong, or the child has a joint already.
        """
        least, most = check_bounds("lower, upper", [lower, upper], 2)
        if not (0.0 <= least <= most and most > 0.0):
            raise InvalidArgumentError(f"lower, upper: expected 0 <= lower <= upper [m], got {least:g} and {most:g}")
        return self._add_joint(name, "distance", parent, child, X_p, X_c, distance=(float(least), float(most)))

    def add_fixed(
        self, parent: str, child: str, *, X_p: Any = None, X_c: Any = None, name: str | None = None
    ) -> str:  # fmt: skip
        """Adds a joint that holds its child; returns its name. Arguments and errors are those of `add_revolute`."""
        return self._add_joint(name, "fixed", parent, child, X_p, X_c)

    def build(self, name: str, configurations: Mapping[str, Any] | None = None) -> Robot:
        """The robot; the builder may go on, and build more robots.

        Args:
            name: Its name.
            configurations: Reference configurations by name, each (nq,), or the coordinates of some joints by their
                names: {"home": {"elbow": 0.3}}.

        Raises:
            InvalidArgumentError: A link has no joint, or no way to the world, or no joint moves, or one moves no mass,
                or a configuration does not fit.
            UnknownNameError: A configuration names a joint that there is not.
        """
        frames = [(frame, link, placement) for frame, (link, placement) in self._frames.items()]
        model = assembled(check_text("name", name), self._links, self._joints.values(), frames)
        given = {} if configurations is None else check_mapping("configurations", configurations, "write {name: q}")
        return Robot(
            model,
            name=name,
            configurations={key: _configuration(model, f"configurations[{key!r}]", q) for key, q in given.items()},
            shapes=[shape for link in self._links.values() for shape, _ in link.shapes],
            distances={joint.name: joint.distance for joint in self._joints.values() if joint.distance is not None},
        )

    def __repr__(self) -> str:
        joints = ", ".join(f"{joint.name} ({joint.kind})" for joint in self._joints.values())
        return f"ArticulationBuilder(links: {', '.join(self._links) or 'none'}; joints: {joints or 'none'})"

    def _new(self, name: str) -> str:
        """A name that nothing has yet."""
        if not check_text("name", name, such_as="upper_arm"):
            raise InvalidArgumentError("name: expected a text that is not empty, got ''")
        if name in (WORLD, "universe", *self._links, *self._joints, *self._frames):
            raise DuplicateNameError(
                f"name: expected a new one, got {name!r}, which the world, a link, a joint or a frame has already"
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
            raise InvalidArgumentError(f"child: expected another link than the parent, got {child!r} for both")
        for joint in self._joints.values():
            if joint.child == child:
                raise InvalidArgumentError(
                    f"child: expected a link without a joint, got {child!r}, which joint {joint.name!r} moves; a loop "
                    "is closed by a ContactModelLoop"
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
    """A placement, or a position (3,) without a turn; None is the identity."""
    if value is None:
        return pin.SE3.Identity()
    if only is not None or shape_of(value) == (3,):
        return pin.SE3(np.eye(3), check_array(argument, value, (3,), cure="a point (x, y, z) [m]"))
    placed = check_placement(argument, value)
    return pin.SE3(np.array(placed[:, :3]), np.array(placed[:, 3]))


def _rod(radius: float, start: npt.ArrayLike, end: npt.ArrayLike) -> tuple[Reals, pin.SE3]:
    """Radius and length, and the placement of the middle with z from start to end."""
    first, last = check_array("start", start, (3,)), check_array("end", end, (3,))
    along = last - first
    length = float(np.linalg.norm(along)) if np.abs(along).max() < LARGEST else np.inf
    if not SHORTEST <= length < LARGEST:
        raise InvalidArgumentError(
            f"end: expected another point than the start, within {LARGEST:g} m, got {first} and {last}; a capsule "
            "without length is an add_sphere"
        )
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), along / length).matrix()
    return np.array([check_positive("radius", radius, unit="m"), length]), pin.SE3(turn, (first + last) / 2)


def _moments(inertia: npt.ArrayLike) -> Reals:
    diagonal = shape_of(inertia) == (3,)
    given = check_array("inertia", inertia, (3,) if diagonal else (3, 3), cure="the matrix (3, 3) or its diagonal (3,)")
    moments = np.diag(given) if diagonal else given
    if not are_moments(moments):
        raise InvalidArgumentError(
            f"inertia: expected that of a body, symmetric and with no moment larger than the other two together, got "
            f"{moments.tolist()}; a solid such as add_box(link, size) has one"
        )
    return np.asarray(moments)


def _check_number_of(argument: str, axes: Sequence[Axis], number: int) -> None:
    if len(axes) != number:
        raise InvalidArgumentError(f"{argument}: expected {number} axes, got {len(axes)}; add_d6 takes any number")


def _configuration(model: pin.Model, argument: str, q: Any) -> Any:
    """A configuration, with the coordinates of the joints that a mapping names."""
    if not isinstance(q, Mapping):
        return q
    found = pin.neutral(model)
    for joint, value in q.items():
        check_known(f"{argument}: joint", joint, list(model.names)[1:])
        own = model.joints[model.getJointId(joint)]
        found[own.idx_q : own.idx_q + own.nq] = check_array(
            f"{argument}[{joint!r}]", np.atleast_1d(value) if own.nq == 1 else value, (own.nq,)
        )
    return found
