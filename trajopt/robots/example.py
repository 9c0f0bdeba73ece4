"""Robots of the optional package example-robot-data, loaded without their meshes.

The package's own `load` reads all meshes (1.2 s for Talos). Here the model is built by the same steps from the files
that the package's loader classes name, without meshes (5 ms); a test compares the two.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError, MissingDependencyError
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.names import unknown_robot

_OWN_STEPS = {"talos_legs", "human"}
"""Loaders that are repeated here since they do more than read files; the package loads other such robots itself."""

PLACEHOLDER = 1000.0
"""Torque limit in files that leave it open [N m]."""

MOTOR_TORQUES = {"solo8": 2.7, "solo12": 2.7}
"""Largest torque of each motor, where the package's files have 1000 N m as a placeholder [N m].

The modules of Solo have 0.025 N m/A, 12 A and a ratio of 9 (Grimminger et al., An Open Torque-Controlled Modular Robot
Architecture for Legged Locomotion Research, 2020).
"""

_FIRST_ARM_OR_TORSO_JOINT = 14
"""Index of a joint of Talos, after the universe, the free flyer and the twelve joints of the legs."""


def load_example_robot(name: str, floating_base: bool | None = None) -> pin.Model:
    """Builds the same model as `example_robot_data.load(name).model`, but for the torque limits `MOTOR_TORQUES`.

    Args:
        name: Name of a robot in example-robot-data.
        floating_base: Whether to add a free flyer above the root link; by default as in the package.

    Raises:
        UnknownNameError: The package has no robot of this name.
        MissingDependencyError: The package is not installed.
        InvalidArgumentError: The robot cannot have the base that `floating_base` selects.
    """
    loaders, loader = _loader(name)
    free_flyer = loader.free_flyer if floating_base is None else floating_base
    steps_in_constructor = loader.__init__ is not loaders.RobotLoader.__init__
    if free_flyer != loader.free_flyer and (steps_in_constructor or loader.sdf_filename):
        raise InvalidArgumentError(
            f"floating_base: expected None or {loader.free_flyer} for {name!r}, got {floating_base}; "
            "example-robot-data builds this robot with one base only"
        )
    if loader.sdf_filename or (steps_in_constructor and name not in _OWN_STEPS):
        return _load_with_meshes(loaders, name)
    folder = _folder(loaders, loader)
    root = (pin.JointModelFreeFlyer(),) if free_flyer else ()
    model = pin.buildModelFromUrdf(str(folder / loader.urdf_subpath / loader.urdf_filename), *root)
    if name == "talos_legs":
        model = _talos_legs(model)
    if loader.srdf_filename:
        _read_srdf(model, str(folder / loader.srdf_subpath / loader.srdf_filename), loader.has_rotor_parameters)
    if name == "human":
        model.jointPlacements[1].rotation = loader.freeflyer_ori
    if name in MOTOR_TORQUES:
        model.effortLimit = np.where(model.effortLimit == PLACEHOLDER, MOTOR_TORQUES[name], model.effortLimit)
    if free_flyer:
        # The range for random configurations, as in the package
        model.lowerPositionLimit[:7], model.upperPositionLimit[:7] = -1.0, 1.0
    return model


def example_robot_files(name: str) -> tuple[Path, Path]:
    """URDF of a robot of example-robot-data, and the folder that replaces "package://" in it.

    Raises:
        UnknownNameError: The package has no robot of this name.
        MissingDependencyError: The package is not installed.
        InvalidArgumentError: The robot has no URDF.
    """
    loaders, loader = _loader(name)
    if loader.sdf_filename:
        raise InvalidArgumentError(
            f"robot: expected one with a URDF, got {name!r}, which has an SDF; choose another robot"
        )
    folder = _folder(loaders, loader)
    return folder / loader.urdf_subpath / loader.urdf_filename, folder.parent.parent.parent


def robot_names() -> tuple[str, ...]:
    """Names that `load_robot` knows: of robots in code, and of example-robot-data if it is installed."""
    try:
        return (*BUILTIN_ROBOTS, *sorted(_import_loaders("").ROBOTS))
    except MissingDependencyError:
        return tuple(BUILTIN_ROBOTS)


def _loader(name: str) -> tuple[Any, Any]:
    """The package's module of loaders, and the loader of a robot."""
    loaders = _import_loaders(name)
    if name not in loaders.ROBOTS:
        raise unknown_robot("robot", name, [*BUILTIN_ROBOTS, *loaders.ROBOTS])
    return loaders, loaders.ROBOTS[name]


def _folder(loaders: Any, loader: Any) -> Path:
    path = loaders.getModelPath(f"{loader.path}/{loader.urdf_subpath}/{loader.urdf_filename}")
    return Path(path) / loader.path


def _import_loaders(name: str) -> ModuleType:
    try:
        return importlib.import_module("example_robot_data.robots_loader")
    except ImportError as error:
        raise MissingDependencyError(
            f"robot {name!r} is not built in ({', '.join(BUILTIN_ROBOTS)}), and the robots of example-robot-data "
            "need an optional package: pip install example-robot-data-loaders (extra 'robots')"
        ) from error


def _load_with_meshes(loaders: Any, name: str) -> pin.Model:
    try:
        return loaders.load(name).model
    except (ImportError, ValueError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"source: expected a robot that example-robot-data can load, got {name!r}: {error}"
        ) from error


def _read_srdf(model: pin.Model, path: str, has_rotor_parameters: bool) -> None:
    """Reads rotors and reference configurations; armature = rotor inertia x gear ratio² [kg m²]."""
    if has_rotor_parameters:
        pin.loadRotorParameters(model, path, False)
    model.armature = model.rotorInertia * model.rotorGearRatio**2
    pin.loadReferenceConfigurations(model, path, False)


def _talos_legs(talos: pin.Model) -> pin.Model:
    """Model of Talos without torso, head and arms; their masses are omitted rather than lumped into the base.

    As in the package, a link on a fixed joint counts twice (10 g at each foot): its inertia is added with the joint and
    again with its frame. Published results for the legs use this model.
    """
    legs = pin.Model()
    for i in range(1, _FIRST_ARM_OR_TORSO_JOINT):
        joint = talos.joints[i]
        kind = getattr(pin, joint.shortname())
        index = legs.addJoint(talos.parents[i], kind(), talos.jointPlacements[i], talos.names[i])
        positions = slice(joint.idx_q, joint.idx_q + joint.nq)
        velocities = slice(joint.idx_v, joint.idx_v + joint.nv)
        legs.lowerPositionLimit[positions] = talos.lowerPositionLimit[positions]
        legs.upperPositionLimit[positions] = talos.upperPositionLimit[positions]
        legs.velocityLimit[velocities] = talos.velocityLimit[velocities]
        legs.effortLimit[velocities] = talos.effortLimit[velocities]
        legs.appendBodyToJoint(index, talos.inertias[i], pin.SE3.Identity())
    legs.effortLimit[:6] = np.inf
    for frame in talos.frames:
        if frame.parentJoint < _FIRST_ARM_OR_TORSO_JOINT:
            legs.addFrame(frame)
    return legs
