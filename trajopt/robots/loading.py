"""Loading of robots: from a file, by name from example-robot-data, or those defined in code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike

from trajopt.checks import check_flag, check_items, check_path, check_text
from trajopt.errors import InvalidArgumentError, shown
from trajopt.robots.builtin import BUILTIN_ROBOTS
from trajopt.robots.example import load_example_robot
from trajopt.robots.files import FILE_SUFFIXES, find_file, load_file
from trajopt.robots.robot import Robot


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
            an MJCF, stay coupled. They then have no coordinate of their own, and no motor; their limits bound the
            joints that they follow. By default they move freely.

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
    if is_path or ("." in text and os.path.isfile(text)):
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
