"""Models from URDF and MJCF files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pinocchio as pin

from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import floats
from trajopt.robots.file_checks import broken, check_file
from trajopt.robots.mimic import limit_leaders, with_equalities
from trajopt.robots.mjcf_joints import file_joints, limit_positions, warn_of_forces
from trajopt.robots.mjcf_motors import limit_efforts
from trajopt.robots.xml_elements import XmlElement

FILE_SUFFIXES = (".urdf", ".xml", ".mjcf")


def find_file(source: str, package_dirs: Sequence[str | PathLike[str]]) -> Path:
    """Path of an existing file; `source` may be relative to one of the folders.

    Raises:
        InvalidArgumentError: The file does not exist.
    """
    relative = source.removeprefix("package://")
    candidates = [Path(folder) / relative for folder in package_dirs]
    if relative == source:
        candidates.insert(0, Path(source).expanduser())
    for candidate in candidates:
        if os.path.isfile(candidate):  # Path.is_file raises for names that are too long
            return candidate
    looked = ", ".join(str(c) for c in candidates) or "nowhere"
    raise InvalidArgumentError(
        f"source: expected an existing file, got {source!r} (looked for {looked}); check the path, or list the "
        "folder that it is relative to in package_dirs"
    )


def load_file(path: Path, floating_base: bool | None, *, mimic: bool = False) -> pin.Model:
    """Reads the model from a file, with a fixed or floating base and mimic joints as in `load_robot`.

    Raises:
        InvalidArgumentError: The file cannot be read, a number in it is wrong, or its robot cannot have this base.
    """
    suffix = path.suffix.lower()
    if suffix not in FILE_SUFFIXES:
        raise InvalidArgumentError(f"source: expected a file {', '.join(FILE_SUFFIXES)}, got {str(path)!r}")
    try:
        root = check_file(path)
    except OSError as error:
        raise InvalidArgumentError(f"source: expected a file that can be read, got {str(path)!r}: {error}") from error
    try:
        if suffix == ".urdf":
            base = (pin.JointModelFreeFlyer(),) if floating_base else ()
            model = pin.buildModelFromUrdf(str(path), *base, mimic)
            if mimic:
                limit_leaders(model, pin.buildModelFromUrdf(str(path), *base))
            return model
        model = pin.buildModelFromMJCF(str(path))
        has_floating_base = floats(model)
        if floating_base and not has_floating_base:
            model = _load_floating_mjcf(str(path))
        if root is not None:
            _complete(model, root)
    except InvalidArgumentError:
        raise
    except (ValueError, RuntimeError) as error:
        why = broken(path) or str(error)
        raise InvalidArgumentError(f"source: expected a valid robot in {str(path)!r}, got: {why}") from error
    if floating_base and not floats(model):
        raise InvalidArgumentError(
            f"floating_base: expected None or False, got True; the first body in {str(path)!r} already has the joint "
            f"{model.names[1]!r}; replace it by a <freejoint/> in the file"
        )
    if floating_base is False and has_floating_base:
        raise InvalidArgumentError(
            f"floating_base: expected None or True, got False; {str(path)!r} has the free joint {model.names[1]!r}, "
            "which Robot.lock_joints can lock"
        )
    try:
        return with_equalities(model, path) if mimic else model
    except ValueError as error:
        raise InvalidArgumentError(f"source: expected a valid robot in {str(path)!r}, got: {error}") from error


def _complete(model: pin.Model, root: XmlElement) -> None:
    """Sets limits and gravity of a model to those of its MJCF file, of which it has all joints, or is refused."""
    compiler, option = root.section("compiler"), root.section("option")
    degrees, automatic = compiler.get("angle", "degree") == "degree", compiler.get("autolimits", "true") == "true"
    joints = file_joints(root, model)
    warn_of_forces(root, joints)
    limit_positions(model, joints, degrees=degrees, automatic=automatic)
    limit_efforts(model, root, joints, automatic=automatic)
    if "gravity" in option:
        model.gravity.linear = np.array([float(word) for word in option["gravity"].split()])
    flags = [
        flag.attributes["gravity"]
        for part in root.all("option")
        for flag in part.all("flag")
        if "gravity" in flag.attributes
    ]
    if flags[-1:] == ["disable"]:
        model.gravity.linear = np.zeros(3)


def _load_floating_mjcf(path: str) -> pin.Model:
    if hasattr(pin, "buildModelFromMJCFAndRootJoint"):  # Pinocchio >= 4.1, where the older function warns
        return pin.buildModelFromMJCFAndRootJoint(path, pin.JointModelFreeFlyer())
    model, _constraints = pin.buildModelFromMJCF(path, pin.JointModelFreeFlyer(), "root_joint")
    return model
