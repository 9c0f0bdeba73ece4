"""Robot: a Pinocchio model with its name and reference configurations, from a file, a name or code.

Only kinematics and inertias are read. No computation needs the meshes, which take a hundred times longer to load
(Talos: 1.2 s instead of 5 ms).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import (
    check_bounds,
    check_flag,
    check_instance,
    check_items,
    check_known,
    check_mapping,
    check_path,
    check_text,
    check_texts,
)
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.objects.immutable import Immutable
from trajopt.objects.lazy import above
from trajopt.robots.bases import floats, without_joints
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.example import load_example_robot
from trajopt.robots.files import FILE_SUFFIXES, find_file, load_file
from trajopt.robots.mimic import check_picklable
from trajopt.robots.placements import check_configuration
from trajopt.robots.shapes import Shape
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots.collisions import CollisionShapes
    from trajopt.robots.round_bodies import Capsule, Sphere


class _Configurations(dict[str, Reals]):
    """Configurations by name; the error for an unknown name lists the valid names."""

    def __missing__(self, name: str) -> Reals:
        raise unknown_name("configuration", name, self)


class Robot(Immutable):
    """A robot: kinematics, inertias, limits and reference configurations; immutable after construction.

    Args:
        model: The Pinocchio model; it is copied with its reference configurations.
        name: Name of the robot; by default the model's name.
        configurations: Further reference configurations by name, each of shape (nq,).
        shapes: Solids on its links, for pictures; `ArticulationBuilder` creates them.
        distances: Bounds (lower, upper) of the distances of joints [m], by joint name; each joint is a free flyer.
        source: File of the robot, or its name in example-robot-data; viewers find meshes with it. `load_robot` sets it.
        package_dirs: Folders in which meshes of the file are searched.

    Attributes:
        name: Name of the robot.
        model: The Pinocchio model; do not modify it. To change it, modify a copy and construct another Robot.
        shapes: Solids on its links, for pictures; empty for a robot from a file.
        source: File of the robot, or its name in example-robot-data, used to find meshes; None if unknown.
        package_dirs: Folders in which meshes of the robot's file are searched.

    Raises:
        InvalidArgumentError: A configuration has a wrong size, is not finite, or has a rotation that is not normalised;
            or shapes or distances do not fit the model.
        UnknownNameError: A frame or joint does not exist.
    """

    not_content = ("shapes", "source", "package_dirs", "_collision_shapes")  # used for pictures and rows of residuals

    def __init__(
        self,
        model: pin.Model,
        *,
        name: str | None = None,
        configurations: Mapping[str, npt.ArrayLike] | None = None,
        shapes: Sequence[Shape] = (),
        distances: Mapping[str, npt.ArrayLike] | None = None,
        source: str | PathLike[str] | None = None,
        package_dirs: Sequence[str | PathLike[str]] = (),
    ) -> None:
        if not isinstance(model, pin.Model):
            raise InvalidArgumentError(
                f"model: expected a pinocchio.Model, got {type(model).__name__}; for a file or a name use load_robot"
            )
        self.model = model.copy()
        self.name = (name is not None and check_text("name", name)) or model.name or "robot"
        own = {} if configurations is None else check_mapping("configurations", configurations, "write {name: q}")
        check_texts("configurations", list(own))
        for key, q in {**_reference_configurations(model), **own}.items():
            checked = check_configuration(self.model, f"configurations[{key!r}]", q)
            self.model.referenceConfigurations[key] = checked
        self.shapes = tuple(check_items("shapes", shapes, "shapes", cure="ArticulationBuilder creates them"))
        for shape in self.shapes:
            self.frame_id(check_instance("shapes", shape, Shape, "ArticulationBuilder creates them").link)
        self._distances = self._checked_distances({} if distances is None else distances)
        self.source = None if source is None else str(check_path("source", source))
        folders = check_items("package_dirs", package_dirs, "folders")
        self.package_dirs = tuple(str(check_path("package_dirs", folder)) for folder in folders)
        self._collision_shapes: CollisionShapes | None = None

    @property
    def nq(self) -> int:
        """Number of configuration coordinates [-]."""
        return int(self.model.nq)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates [-]."""
        return int(self.model.nv)

    @property
    def mass(self) -> float:
        """Total mass of all bodies, including that of a fixed base [kg]."""
        return float(sum(inertia.mass for inertia in self.model.inertias))

    @property
    def floating_base(self) -> bool:
        """True if the first joint is a free flyer."""
        return floats(self.model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints except the universe, parents before children."""
        return tuple(self.model.names)[1:]

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames, in the order of the model."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def configurations(self) -> dict[str, Reals]:
        """Copies of the reference configurations by name, each of shape (nq,)."""
        return _reference_configurations(self.model)

    def configuration(self, name: str) -> Reals:
        """Returns a copy of a reference configuration, shape (nq,).

        Raises:
            UnknownNameError: The robot has no such configuration.
        """
        configurations = self.configurations
        return configurations[check_known(f"{self.name}: configuration", name, configurations)]

    @property
    def distances(self) -> dict[str, tuple[float, float]]:
        """Bounds (lower, upper) of the lengths of its distance joints [m], by joint name."""
        return dict(self._distances)

    @property
    def collision_shapes(self) -> CollisionShapes:
        """Spheres and capsules around its collision geometry, fitted when first used by `fit_collision_shapes`.

        Raises:
            InvalidArgumentError: The robot has no collision geometry, or a file cannot be read.
        """
        if self._collision_shapes is None:
            self._collision_shapes = above("robots.collisions.fit_collision_shapes")(self)
        return self._collision_shapes

    def with_collision_shapes(
        self, shapes: CollisionShapes | str | PathLike[str] | Iterable[Sphere | Capsule | Shape]
    ) -> Robot:
        """Returns the robot with other collision shapes.

        Args:
            shapes: Collision shapes, a file of `CollisionShapes.save`, or spheres and capsules on frames of the robot,
                whose pairs are found as in `robots.fit_collision_shapes`, without an SRDF.

        Raises:
            InvalidArgumentError: A shape is of another type or on no frame, or a file cannot be read.
            UnknownNameError: The robot has no such frame.
        """
        robot = _rebuild(*self.__reduce__()[1])
        robot._collision_shapes = above("robots.collisions.declared.declared_shapes")(self, shapes)
        return robot

    def joint_id(self, name: str) -> int:
        """Index of a joint in the model; the universe is 0.

        Raises:
            UnknownNameError: The robot has no such joint.
        """
        check_known(f"{self.name}: joint", name, self.joint_names)
        return int(self.model.getJointId(name))

    def frame_id(self, name: str) -> int:
        """Index of a frame in the model; the first one if several coinciding frames have this name.

        Raises:
            UnknownNameError: The robot has no such frame.
            InvalidArgumentError: Several frames with different placements have this name.
        """
        check_known(f"{self.name}: frame", name, self.frame_names)
        indices = [i for i, frame in enumerate(self.model.frames) if frame.name == name]
        first = self.model.frames[indices[0]]
        for i in indices[1:]:
            other = self.model.frames[i]
            if other.parentJoint != first.parentJoint or other.placement != first.placement:
                raise InvalidArgumentError(
                    f"frame {name!r}: expected one placement, got frames {indices} of {self.name} with this name; "
                    "give them different names in the robot's file"
                )
        return indices[0]

    def placement(self, q: npt.ArrayLike, frame: str) -> Reals:
        """Placement T_world_frame of a frame as a homogeneous matrix [-, m].

        Args:
            q: Configuration (nq,), or several (n, nq), such as xs[:, :nq] of a trajectory.
            frame: Name of the frame.

        Returns:
            Shape (4, 4), or (n, 4, 4) for several configurations.

        Raises:
            UnknownNameError: The robot has no such frame.
            InvalidArgumentError: `q` has a wrong size, is not finite, or has a rotation that is not normalised.
        """
        rows, data, index = self._rows(q), self.model.createData(), self.frame_id(frame)
        placements = np.empty((len(rows), 4, 4))
        for i, row in enumerate(rows):
            pin.forwardKinematics(self.model, data, row)
            placements[i] = pin.updateFramePlacement(self.model, data, index).homogeneous
        return placements if np.ndim(q) == 2 else placements[0]

    def jacobian(self, q: npt.ArrayLike, frame: str) -> Reals:
        """Jacobian J(q) of a frame in world axes: J v is the linear velocity of its origin, then its angular velocity.

        Args:
            q: Configuration (nq,), or several (n, nq).
            frame: Name of the frame.

        Returns:
            Shape (6, nv), or (n, 6, nv) for several configurations [m/s, rad/s per rad/s or m/s].

        Raises:
            UnknownNameError: The robot has no such frame.
            InvalidArgumentError: As in `placement`.
        """
        rows, data, index = self._rows(q), self.model.createData(), self.frame_id(frame)
        matrices = [pin.computeFrameJacobian(self.model, data, row, index, pin.LOCAL_WORLD_ALIGNED) for row in rows]
        jacobians = np.array(matrices).reshape(-1, 6, self.nv)
        return jacobians if np.ndim(q) == 2 else jacobians[0]

    def com(self, q: npt.ArrayLike) -> Reals:
        """Centre of mass in the world frame, shape (3,) [m], or (n, 3) for several configurations.

        Args:
            q: Configuration (nq,), or several (n, nq).

        Raises:
            InvalidArgumentError: As in `placement`.
        """
        rows, data = self._rows(q), self.model.createData()
        points = np.array([pin.centerOfMass(self.model, data, row) for row in rows]).reshape(-1, 3)
        return points if np.ndim(q) == 2 else points[0]

    def _rows(self, q: npt.ArrayLike) -> Reals:
        """Returns checked configurations, shape (n, nq)."""
        rows_of_q = np.asarray(q, dtype=object)
        if rows_of_q.ndim != 2:
            return check_configuration(self.model, "q", q)[None]
        rows = [check_configuration(self.model, f"q[{i}]", row) for i, row in enumerate(rows_of_q)]
        return np.array(rows).reshape(-1, self.nq)

    def lock_joints(self, names: str | Iterable[str], configuration: str | npt.ArrayLike | None = None) -> Robot:
        """Returns a robot with some joints locked; their coordinates are removed from the reference configurations.

        Args:
            names: Names of the joints to lock.
            configuration: Configuration at which they are locked, shape (nq,), or the name of a reference
                configuration; by default the neutral one.

        Raises:
            UnknownNameError: A joint or the configuration does not exist.
            InvalidArgumentError: The configuration has a wrong size or a rotation that is not normalised.
        """
        locked = [self.joint_id(name) for name in ([names] if isinstance(names, str) else check_texts("names", names))]
        if configuration is None:
            q = pin.neutral(self.model)
        elif isinstance(configuration, str):
            q = self.configuration(configuration)
        else:
            q = check_configuration(self.model, "configuration", configuration)
        model = without_joints(self.model, locked, q)
        left = {joint: bounds for joint, bounds in self._distances.items() if model.existJointName(joint)}
        return _rebuild(model, self.name, self.shapes, left, self.source, self.package_dirs)

    def _checked_distances(self, distances: Mapping[str, npt.ArrayLike]) -> dict[str, tuple[float, float]]:
        checked = {}
        for joint, bounds in check_mapping("distances", distances, "write {joint: (lower, upper)}").items():
            kind = self.model.joints[self.joint_id(joint)].shortname()
            if kind != "JointModelFreeFlyer":
                raise InvalidArgumentError(f"distances: expected names of free flyers, got {joint!r}, a {kind}")
            lower, upper = check_bounds(f"distances[{joint!r}]", bounds, 2)
            if not 0.0 <= lower <= upper:
                raise InvalidArgumentError(
                    f"distances[{joint!r}]: expected 0 <= lower <= upper [m], got {lower:g} and {upper:g}"
                )
            checked[joint] = (float(lower), float(upper))
        return checked

    def __reduce_ex__(self, protocol: Any) -> Any:
        check_picklable(self.model, self.name)
        return super().__reduce_ex__(protocol)

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[Any, ...]]:
        more = (self.shapes, self._distances, self.source, self.package_dirs, self._collision_shapes)
        return _rebuild, (self.model, self.name, *more)

    def __repr__(self) -> str:
        base = "floating base" if self.floating_base else "fixed base"
        joints = self.joint_names
        listed = ", ".join(joints[:12]) + (f", ... ({len(joints)})" if len(joints) > 12 else "")
        configurations = ", ".join(self.configurations) or "none"
        return (
            f"Robot({self.name!r}, nq={self.nq}, nv={self.nv}, {base}, joints: {listed}; "
            f"configurations: {configurations})"
        )


def load_robot(
    source: str | PathLike[str],
    *,
    floating_base: bool | None = None,
    package_dirs: Sequence[str | PathLike[str]] = (),
    name: str | None = None,
    mimic: bool = False,
) -> Robot:
    """Loads a robot from a file or by name.

    Args:
        source: Path of a URDF (.urdf) or MJCF (.xml, .mjcf) file, or a name: one of the robots defined in code
            ("planar-2r", "planar-3r", "double-pendulum", "cart-pole", "small-quadruped", "small-biped", "four-limbs"),
            or one of example-robot-data ("talos_arm", "talos_legs", "anymal", "hyq", "solo12", "kinova", ...) if that
            package is installed.
        floating_base: True adds a free flyer named "root_joint" above the root link; False keeps the root link fixed.
            By default a robot from a file has the base of that file (fixed for a URDF), and an example robot has the
            base of example-robot-data (floating for legged and flying robots).
        package_dirs: Folders in which "package://..." and relative paths are searched.
        name: Name of the robot; by default the name in `source` or in the file.
        mimic: Whether joints of a file that follow others, by <mimic> of a URDF or a linear equality of two joints in
            an MJCF, stay coupled. They then have no coordinate of their own, and no motor. By default they move freely.

    Raises:
        UnknownNameError: No robot has this name; the message lists the valid names.
        MissingDependencyError: The robot is not defined in code, and example-robot-data is not installed.
        InvalidArgumentError: The file does not exist or cannot be read; one of its numbers is none, not finite or
            impossible; or the robot cannot have the base that `floating_base` selects.
    """
    if not isinstance(source, (str, PathLike)):
        raise InvalidArgumentError(
            f"source: expected the name of a robot such as 'ur5', or the path of a .urdf or .xml, got {shown(source)}"
        )
    text = source if isinstance(source, str) else str(check_path("source", source))
    name = None if name is None else check_text("name", name)
    floating_base = None if floating_base is None else check_flag("floating_base", floating_base)
    mimic = check_flag("mimic", mimic)
    package_dirs = [
        check_path("package_dirs", folder) for folder in check_items("package_dirs", package_dirs, "folders")
    ]
    is_path = not isinstance(source, str) or "/" in text or "\\" in text or text.lower().endswith(FILE_SUFFIXES)
    if is_path:
        path = find_file(text, package_dirs)
        model = load_file(path, floating_base, mimic=mimic)
        return Robot(model, name=name, source=path, package_dirs=package_dirs)
    if mimic:
        raise InvalidArgumentError(f"mimic: expected False for {text!r}, got True; pass the path of the robot's file")
    if text in BUILTIN_ROBOTS:
        if floating_base:
            raise InvalidArgumentError(
                f"floating_base: expected None or False for {text!r}, got True; this robot has a fixed base only"
            )
        return Robot(BUILTIN_ROBOTS[text](), name=name or text)
    return Robot(load_example_robot(text, floating_base), name=name or text, source=text)


def _reference_configurations(model: pin.Model) -> dict[str, Reals]:
    return _Configurations({entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations})


def _rebuild(model: pin.Model, name: str, *more: Any) -> Robot:
    robot = Robot(model, name=name, **dict(zip(("shapes", "distances", "source", "package_dirs"), more)))
    robot._collision_shapes = more[4] if len(more) > 4 else None
    return robot
