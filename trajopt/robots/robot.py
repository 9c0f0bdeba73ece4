"""Robot: a Pinocchio model with its name and reference configurations, from a file, a name or code.

Only kinematics and inertias are read. No formula needs the meshes, which take a hundred times longer to load
(Talos: 1.2 s instead of 5 ms).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.checks import (
    check_array,
    check_flag,
    check_items,
    check_known,
    check_mapping,
    check_path,
    check_text,
    check_texts,
)
from trajopt.errors import InvalidArgumentError, shown, unknown_name
from trajopt.model.immutable import Immutable
from trajopt.robots.bases import floats, without_joints
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.example import load_example_robot
from trajopt.robots.placements import NORM_TOLERANCE
from trajopt.types import Reals

_FILE_SUFFIXES = (".urdf", ".xml", ".mjcf")


class _Configurations(dict[str, Reals]):
    """Configurations by name, whose unknown names are told with the known ones."""

    def __missing__(self, name: str) -> Reals:
        raise unknown_name("configuration", name, self)


class Robot(Immutable):
    """A robot: kinematics, inertias, limits and reference configurations; fixed after construction.

    Args:
        model: The Pinocchio model, which is copied with its reference configurations.
        name: Name of the robot; by default the model's name.
        configurations: Further reference configurations by name, each of shape (nq,).

    Raises:
        InvalidArgumentError: A configuration has a wrong size, is not finite, or has a rotation that is not normalised.
    """

    def __init__(
        self, model: pin.Model, *, name: str | None = None, configurations: Mapping[str, npt.ArrayLike] | None = None
    ) -> None:
        if not isinstance(model, pin.Model):
            raise InvalidArgumentError(
                f"model: expected a pinocchio.Model, got {type(model).__name__}; load_robot reads files and names"
            )
        self._model = model.copy()
        self._name = (name is not None and check_text("name", name)) or model.name or "robot"
        given = {} if configurations is None else check_mapping("configurations", configurations, "write {name: q}")
        check_texts("configurations", list(given))
        for key, q in {**_reference_configurations(model), **given}.items():
            checked = _check_configuration(self._model, f"configurations[{key!r}]", q)
            self._model.referenceConfigurations[key] = checked

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self._name

    @property
    def model(self) -> pin.Model:
        """The Pinocchio model, for reading only; to change it, copy it and build another Robot."""
        return self._model

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return int(self._model.nq)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return int(self._model.nv)

    @property
    def floating_base(self) -> bool:
        """Whether the first joint is a free flyer."""
        return floats(self._model)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints without the universe, parents before children."""
        return tuple(self._model.names)[1:]

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames, in the model's order."""
        return tuple(frame.name for frame in self._model.frames)

    @property
    def configurations(self) -> dict[str, Reals]:
        """Copies of the reference configurations by name, each of shape (nq,)."""
        return _reference_configurations(self._model)

    def configuration(self, name: str) -> Reals:
        """A copy of a reference configuration, shape (nq,).

        Raises:
            UnknownNameError: There is no such configuration.
        """
        configurations = self.configurations
        return configurations[check_known(f"{self._name}: configuration", name, configurations)]

    def joint_id(self, name: str) -> int:
        """Index of a joint in the model (the universe is 0).

        Raises:
            UnknownNameError: There is no such joint.
        """
        check_known(f"{self._name}: joint", name, self.joint_names)
        return int(self._model.getJointId(name))

    def frame_id(self, name: str) -> int:
        """Index of a frame in the model; the first one if several coinciding frames have this name.

        Raises:
            UnknownNameError: There is no such frame.
            InvalidArgumentError: Several frames with different placements have this name.
        """
        check_known(f"{self._name}: frame", name, self.frame_names)
        found = [i for i, frame in enumerate(self._model.frames) if frame.name == name]
        first = self._model.frames[found[0]]
        for i in found[1:]:
            other = self._model.frames[i]
            if other.parentJoint != first.parentJoint or other.placement != first.placement:
                raise InvalidArgumentError(
                    f"frame {name!r}: expected one placement, got frames {found} of {self._name} with this name; "
                    "give them different names in the robot's file"
                )
        return found[0]

    def placement(self, q: npt.ArrayLike, frame: str) -> Reals:
        """Placement T_world_frame of a frame as a homogeneous matrix, shape (4, 4) [-, m].

        Args:
            q: Configuration (nq,), or several, such as the configurations xs[:, :nq] of a trajectory (n, nq).
            frame: Name of the frame.

        Returns:
            Shape (4, 4), or (n, 4, 4) for several configurations.

        Raises:
            UnknownNameError: There is no such frame.
            InvalidArgumentError: `q` has a wrong size, is not finite, or has a rotation that is not normalised.
        """
        rows, data, index = self._rows(q), self._model.createData(), self.frame_id(frame)
        placements = np.empty((len(rows), 4, 4))
        for i, row in enumerate(rows):
            pin.forwardKinematics(self._model, data, row)
            placements[i] = pin.updateFramePlacement(self._model, data, index).homogeneous
        return placements if np.ndim(q) == 2 else placements[0]

    def com(self, q: npt.ArrayLike) -> Reals:
        """Centre of mass in the world, shape (3,) [m], or (n, 3) for several configurations.

        Args:
            q: Configuration (nq,), or several (n, nq).

        Raises:
            InvalidArgumentError: As in `placement`.
        """
        rows, data = self._rows(q), self._model.createData()
        points = np.array([pin.centerOfMass(self._model, data, row) for row in rows]).reshape(-1, 3)
        return points if np.ndim(q) == 2 else points[0]

    def _rows(self, q: npt.ArrayLike) -> Reals:
        """Checked configurations, shape (n, nq)."""
        given = np.asarray(q, dtype=object)
        if given.ndim != 2:
            return _check_configuration(self._model, "q", q)[None]
        rows = [_check_configuration(self._model, f"q[{i}]", row) for i, row in enumerate(given)]
        return np.array(rows).reshape(-1, self.nq)

    def lock_joints(self, names: str | Iterable[str], configuration: str | npt.ArrayLike | None = None) -> Robot:
        """A robot with some joints locked; their coordinates are removed from the reference configurations.

        Args:
            names: Joints to lock.
            configuration: Configuration in which they are locked, shape (nq,), or the name of a reference
                configuration; by default the neutral one.

        Raises:
            UnknownNameError: There is no such joint or configuration.
            InvalidArgumentError: The configuration has a wrong size or a rotation that is not normalised.
        """
        locked = [self.joint_id(name) for name in ([names] if isinstance(names, str) else check_texts("names", names))]
        if configuration is None:
            q = pin.neutral(self._model)
        elif isinstance(configuration, str):
            q = self.configuration(configuration)
        else:
            q = _check_configuration(self._model, "configuration", configuration)
        return Robot(without_joints(self._model, locked, q), name=self._name)

    def __reduce__(self) -> tuple[Callable[..., Robot], tuple[pin.Model, str]]:
        return _rebuild, (self._model, self._name)

    def __repr__(self) -> str:
        base = "floating base" if self.floating_base else "fixed base"
        joints = self.joint_names
        listed = ", ".join(joints[:12]) + (f", ... ({len(joints)})" if len(joints) > 12 else "")
        configurations = ", ".join(self.configurations) or "none"
        return (
            f"Robot({self._name!r}, nq={self.nq}, nv={self.nv}, {base}, joints: {listed}; "
            f"configurations: {configurations})"
        )


def load_robot(
    source: str | PathLike[str],
    *,
    floating_base: bool | None = None,
    package_dirs: Sequence[str | PathLike[str]] = (),
    name: str | None = None,
) -> Robot:
    """Loads a robot from a file or by its name.

    Args:
        source: Path of a URDF (.urdf) or MJCF (.xml, .mjcf) file, or a name: one of the robots defined in code
            ("planar-2r", "planar-3r", "double-pendulum", "cart-pole", "small-quadruped", "small-biped", "four-limbs"),
            or one of example-robot-data ("talos_arm", "talos_legs", "anymal", "hyq", "solo12", "kinova", ...) if that
            package is installed.
        floating_base: True adds a free flyer named "root_joint" above the root link, False leaves the root link
            fixed. By default the base of a robot from a file is that of the file (fixed for a URDF), and the base of an
            example robot is that of example-robot-data (floating for legged and flying robots).
        package_dirs: Folders in which "package://..." and relative paths are searched.
        name: Name of the robot; by default the name in `source` or in the file.

    Raises:
        UnknownNameError: There is no robot of this name; the message lists the known ones.
        MissingDependencyError: The robot is not defined in code, and example-robot-data is not installed.
        InvalidArgumentError: The file does not exist or cannot be read, or the robot cannot have the base that
            `floating_base` asks for.
    """
    if not isinstance(source, (str, PathLike)):
        raise InvalidArgumentError(
            f"source: expected the name of a robot such as 'ur5', or the path of a .urdf or .xml, got {shown(source)}"
        )
    text = source if isinstance(source, str) else str(check_path("source", source))
    if name is not None:
        check_text("name", name)
    if floating_base is not None:
        floating_base = check_flag("floating_base", floating_base)
    package_dirs = [
        check_path("package_dirs", folder) for folder in check_items("package_dirs", package_dirs, "folders")
    ]
    is_path = not isinstance(source, str) or "/" in text or "\\" in text or text.lower().endswith(_FILE_SUFFIXES)
    if is_path:
        path = _find_file(text, package_dirs)
        return Robot(_load_file(path, floating_base), name=name)
    if text in BUILTIN_ROBOTS:
        if floating_base:
            raise InvalidArgumentError(
                f"floating_base: expected None or False for {text!r}, got True; its base is part of its definition"
            )
        return Robot(BUILTIN_ROBOTS[text](), name=name or text)
    return Robot(load_example_robot(text, floating_base), name=name or text)


def _find_file(source: str, package_dirs: Sequence[str | PathLike[str]]) -> Path:
    relative = source.removeprefix("package://")
    candidates = [Path(folder) / relative for folder in package_dirs]
    if relative == source:
        candidates.insert(0, Path(source).expanduser())
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(str(c) for c in candidates) or "nowhere"
    raise InvalidArgumentError(
        f"source: expected an existing file, got {source!r} (looked for {looked}); check the path, or name the "
        "folder that it is relative to in package_dirs"
    )


def _load_file(path: Path, floating_base: bool | None) -> pin.Model:
    suffix = path.suffix.lower()
    if suffix not in _FILE_SUFFIXES:
        raise InvalidArgumentError(f"source: expected a file {', '.join(_FILE_SUFFIXES)}, got {str(path)!r}")
    try:
        if suffix == ".urdf":
            root = (pin.JointModelFreeFlyer(),) if floating_base else ()
            return pin.buildModelFromUrdf(str(path), *root)
        model = pin.buildModelFromMJCF(str(path))
        has_floating_base = floats(model)
        if floating_base and not has_floating_base:
            model = _load_floating_mjcf(str(path))
    except (ValueError, RuntimeError) as error:
        raise InvalidArgumentError(f"source: expected a valid robot in {str(path)!r}, got: {error}") from error
    if floating_base and not floats(model):
        raise InvalidArgumentError(
            f"floating_base: expected None or False, got True; the first body in {str(path)!r} already has the joint "
            f"{model.names[1]!r}, replace it by a <freejoint/> in the file"
        )
    if floating_base is False and has_floating_base:
        raise InvalidArgumentError(
            f"floating_base: expected None or True, got False; {str(path)!r} has the free joint {model.names[1]!r}, "
            "lock it with Robot.lock_joints"
        )
    return model


def _load_floating_mjcf(path: str) -> pin.Model:
    if hasattr(pin, "buildModelFromMJCFAndRootJoint"):  # Pinocchio >= 4.1; there the older way warns
        return pin.buildModelFromMJCFAndRootJoint(path, pin.JointModelFreeFlyer())
    model, _constraints = pin.buildModelFromMJCF(path, pin.JointModelFreeFlyer(), "root_joint")
    return model


def _reference_configurations(model: pin.Model) -> dict[str, Reals]:
    return _Configurations({entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations})


def _check_configuration(model: pin.Model, argument: str, q: npt.ArrayLike) -> Reals:
    cure = f"a configuration of {model.name} is x[:{model.nq}] of a state x"
    checked = check_array(argument, q, (model.nq,), cure=cure)
    if not pin.isNormalized(model, checked, NORM_TOLERANCE):
        raise InvalidArgumentError(
            f"{argument}: expected rotations with coordinates of norm 1 (within {NORM_TOLERANCE}), got {checked}; "
            "use pinocchio.normalize(robot.model, q)"
        )
    return checked


def _rebuild(model: pin.Model, name: str) -> Robot:
    return Robot(model, name=name)
