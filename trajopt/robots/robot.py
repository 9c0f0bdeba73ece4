"""Robot: a Pinocchio model with its name and reference configurations, from a file, a name or code.

Only kinematics and inertias are read. No computation needs the meshes, which take a hundred times longer to load
(Talos: 1.2 s instead of 5 ms).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import check_instance, check_items, check_known, check_mapping, check_path, check_text, check_texts
from trajopt.errors import InvalidArgumentError
from trajopt.objects.immutable import Immutable
from trajopt.objects.lazy import above
from trajopt.robots.bases import floats, without_joints
from trajopt.robots.configurations import reference_configurations
from trajopt.robots.distance_bounds import checked_distances
from trajopt.robots.frame_index import frame_index
from trajopt.robots.mimic import has_mimic
from trajopt.robots.mimic_files import MimicFile, mimic_file
from trajopt.robots.parameters import PREFIX, RobotParameter, check_inertias, robot_parameters, with_numbers
from trajopt.robots.payload import with_payload
from trajopt.robots.placements import Workspace, check_configuration, check_configurations
from trajopt.robots.shapes import Shape
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.robots.collisions import CollisionShapes
    from trajopt.robots.round_bodies import Capsule, Sphere

GRAVITY = 9.81  # [m/s²], as in Pinocchio


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

    _parameters: Mapping[str, RobotParameter] = {}  # set in robots with parameters only: others keep their content

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
        for key, q in {**reference_configurations(model), **own}.items():
            checked = check_configuration(self.model, f"configurations[{key!r}]", q)
            self.model.referenceConfigurations[key] = checked
        self.shapes = tuple(check_items("shapes", shapes, "shapes", cure="ArticulationBuilder creates them"))
        for shape in self.shapes:
            self.frame_id(check_instance("shapes", shape, Shape, "ArticulationBuilder creates them").link)
        self._distances = checked_distances(self, {} if distances is None else distances)
        self.source = None if source is None else str(check_path("source", source))
        folders = check_items("package_dirs", package_dirs, "folders")
        self.package_dirs = tuple(str(check_path("package_dirs", folder)) for folder in folders)
        self._collision_shapes: CollisionShapes | None = None
        self._declared = False  # whether the collision shapes are those of `with_collision_shapes`

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
    def gravity(self) -> float:
        """Strength of gravity [m/s²]; 9.81 if the model has none, as a scale of forces and times."""
        return float(np.linalg.norm(self.model.gravity.linear)) or GRAVITY

    @property
    def weight(self) -> float:
        """Weight of all bodies, `mass` times `gravity` [N]."""
        return self.mass * self.gravity

    @property
    def floating_base(self) -> bool:
        """True if the first joint is a free flyer."""
        return floats(self.model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints except the universe, parents before children."""
        return tuple(self.model.names)[1:]

    @functools.cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames, in the order of the model."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def configurations(self) -> dict[str, Reals]:
        """Copies of the reference configurations by name, each of shape (nq,)."""
        return reference_configurations(self.model)

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
                whose pairs are found as in `robots.fit_collision_shapes`, without an SRDF. Pairs of the robot's own
                shapes stay, if these come first: `[*robot.collision_shapes.bodies, Sphere(0.1, frame="tool0")]`.

        Raises:
            InvalidArgumentError: A shape is of another type or on no frame, or a file cannot be read.
            UnknownNameError: The robot has no such frame.
        """
        robot = _rebuild(*self.__reduce__()[1])
        robot._collision_shapes = above("robots.collisions.declared.declared_shapes")(
            self, shapes, self._collision_shapes
        )
        robot._declared = True
        return robot

    @property
    def parameters(self) -> dict[str, RobotParameter]:
        """Its run-time parameters by name, such as "forearm.mass"."""
        return dict(self._parameters)

    def with_parameters(self, names: str | Iterable[str]) -> Robot:
        """Returns the robot with further run-time parameters; problems name them "robot.forearm.mass" and so on.

        | name | value |
        |---|---|
        | FRAME.mass | mass of the rigid body with this frame, > 0 [kg]; without FRAME.inertia, it scales the inertia |
        | FRAME.com | centre of mass of the body in the frame (3,) [m] |
        | FRAME.inertia | (xx, xy, xz, yy, yz, zz) about the centre of mass in the frame's axes [kg m²] |
        | JOINT.damping, JOINT.friction | torque per velocity [N m s/rad, N s/m], and dry friction [N m, N], >= 0 |
        | JOINT.armature | inertia of the rotor, >= 0 [kg m², kg] |
        | JOINT.translation | position of the joint, or of another FRAME alone, in that of its parent joint (3,) [m] |
        | JOINT.rotation | turn of the joint, or of another FRAME, from the model's: a rotation vector (3,) [rad] |

        Friction acts in models with `friction="smooth"`. Numbers of several velocities are arrays (nv,). Welded links
        form one body. Methods of the robot, such as `com`, use the numbers of `model`.

        Args:
            names: Names of the parameters.

        Raises:
            UnknownNameError: A frame, joint or quantity does not exist.
            InvalidArgumentError: Two frames are on one body, a body is fixed or has no mass, or a joint mimics another.
        """
        more = (names,) if isinstance(names, str) else check_texts("names", names)
        robot = _rebuild(*self.__reduce__()[1])
        if parameters := robot_parameters(self, (*self._parameters, *more)):
            robot._parameters = parameters
        return robot

    def with_payload(
        self, frame: str, mass: float, com: npt.ArrayLike = (0, 0, 0), inertia: Any = None, *, name: str = "payload"
    ) -> Robot:
        """Returns the robot with a body fixed to a frame, and a new frame of its name there.

        `with_parameters("payload.mass")` makes its mass a parameter, > 0 [kg], with which its inertia scales.

        Args:
            frame: Name of the frame that carries it.
            mass: Mass, > 0 [kg].
            com: Centre of mass in the frame (3,) [m].
            inertia: (xx, xy, xz, yy, yz, zz) about the centre of mass in the frame's axes [kg m²]; None for a point.
            name: Name of the new frame.
        Raises: InvalidArgumentError or DuplicateNameError for a fixed frame, invalid numbers or a name in use.
        """
        _, (_, *more) = self.__reduce__()
        return _rebuild(with_payload(self.model, self.frame_id(frame), mass, com, inertia, name), *more)

    def with_values(self, values: Mapping[str, npt.ArrayLike]) -> Robot:
        """Returns the robot with other masses, inertias, placements or friction, in its model.

        Args:
            values: Values by name as in `with_parameters`, or with "robot." in front, as in `solution.unknowns`.
        Raises: As in `with_parameters`, or a value has a wrong size or sign.
        """
        passed = check_mapping("values", values, 'write {"forearm.mass": 2.0}')
        given = {check_text("values", name).removeprefix(PREFIX): value for name, value in passed.items()}
        known = robot_parameters(self, (*self._parameters, *given))
        checked = {name: known[name].parameter.check(name, value) for name, value in given.items()}
        check_inertias(checked)
        _, (model, *more) = self.__reduce__()
        return _rebuild(with_numbers(model, known, checked), *more)

    def joint_id(self, name: str) -> int:
        """Index of a joint in the model; the universe is 0.

        Raises:
            UnknownNameError: The robot has no such joint.
        """
        check_known(f"{self.name}: joint", name, self.joint_names)
        return int(self.model.getJointId(name))

    def frame_id(self, name: str) -> int:
        """Index of a frame in the model; the first one if several coinciding frames have this name.

        A name that a joint and a link share, in different places, is that of the link.

        Raises:
            UnknownNameError: The robot has no such frame.
            InvalidArgumentError: Several frames with different placements, besides joints, have this name.
        """
        if not isinstance(name, str) or name not in self._frames:
            self._frames[name] = frame_index(self.model, check_known(f"{self.name}: frame", name, self.frame_names))
        return self._frames[name]

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
        rows, data, index = check_configurations(self.model, q), self._workspace.data, self.frame_id(frame)
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
        rows, data, index = check_configurations(self.model, q), self._workspace.data, self.frame_id(frame)
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
        rows, data = check_configurations(self.model, q), self._workspace.data
        points = np.array([pin.centerOfMass(self.model, data, row) for row in rows]).reshape(-1, 3)
        return points if np.ndim(q) == 2 else points[0]

    _workspace = functools.cached_property(lambda self: Workspace(self.model))
    _frames = functools.cached_property(lambda _: dict[str, int]())

    def lock_joints(self, names: str | Iterable[str], configuration: str | npt.ArrayLike | None = None) -> Robot:
        """Returns a robot with some joints locked; their coordinates are removed from the reference configurations.

        Shapes of `with_collision_shapes` stay, without pairs that no longer move relative to each other.

        Args:
            names: Names of the joints to lock.
            configuration: Configuration at which they are locked, shape (nq,), or the name of a reference
                configuration; by default the neutral one.

        Raises:
            UnknownNameError: A joint or the configuration does not exist.
            InvalidArgumentError: The configuration has a wrong size or a rotation that is not normalised.
        """
        if self._parameters:
            raise InvalidArgumentError(
                "lock_joints: expected a robot without parameters, as locked links become one body; lock joints first, "
                "then call with_parameters"
            )
        given = [names] if isinstance(names, str) else check_texts("names", names, values="configuration=")
        locked = [self.joint_id(name) for name in given]
        q = pin.neutral(self.model) if configuration is None else configuration
        q = self.configuration(q) if isinstance(q, str) else check_configuration(self.model, "configuration", q)
        model = without_joints(self.model, locked, q)
        left = {joint: bounds for joint, bounds in self._distances.items() if model.existJointName(joint)}
        robot = _rebuild(model, self.name, self.shapes, left, self.source, self.package_dirs)
        if self._declared:
            robot._collision_shapes = above("robots.collisions.declared.moving_apart")(robot, self._collision_shapes)
            robot._declared = True
        return robot

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not has_mimic(self.model):
            return super().__reduce_ex__(protocol)
        _, (model, *more) = self.__reduce__()
        return _rebuild, (mimic_file(model, self.name, self.source), *more)

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[Any, ...]]:
        own = (self._collision_shapes, self._declared)
        more = (self.shapes, self._distances, self.source, self.package_dirs, own)
        names = (tuple(self._parameters),) if self._parameters else ()
        return _rebuild, (self.model, self.name, *more, *names)

    def __repr__(self) -> str:
        base = "floating base" if self.floating_base else "fixed base"
        joints = self.joint_names
        listed = ", ".join(joints[:12]) + (f", ... ({len(joints)})" if len(joints) > 12 else "")
        configurations = ", ".join(self.configurations) or "none"
        parameters = f"; parameters: {', '.join(self._parameters)}" if self._parameters else ""
        return (
            f"Robot({self.name!r}, nq={self.nq}, nv={self.nv}, {base}, joints: {listed}; "
            f"configurations: {configurations}{parameters})"
        )

    def _repr_html_(self) -> str:
        return above("plotting.notebook.html_of_robot")(self)


def _rebuild(source: pin.Model | MimicFile, name: str, *more: Any) -> Robot:
    model = source.model() if isinstance(source, MimicFile) else source
    robot = Robot(model, name=name, **dict(zip(("shapes", "distances", "source", "package_dirs"), more)))
    robot._collision_shapes, robot._declared = more[4] if len(more) > 4 else (None, False)
    return robot.with_parameters(more[5]) if len(more) > 5 else robot
