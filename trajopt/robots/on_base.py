"""Robots whose root link moves in the world by joints of the user's choice."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from trajopt.errors import InvalidArgumentError
from trajopt.robots.bases import floats, with_base
from trajopt.robots.loading import load_robot
from trajopt.robots.robot import Robot


def load_on_base(source: str, base: str | None = None, package_dirs: Sequence[str | PathLike[str]] = ()) -> Robot:
    """Loads a robot by its name or from a .urdf, and returns it on a base, see `trajopt.robots.bases.with_base`.

    Args:
        source: Name of the robot, or its .urdf.
        base: Name of the base. By default a .urdf floats, or is fixed if its root link has no mass; robots with a name
            keep their base.
        package_dirs: Folders in which "package://..." paths are searched.

    Raises:
        InvalidArgumentError: The file does not exist or is no .urdf.
        UnknownNameError: There is no such robot or base.
    """
    if source.lower().endswith((".xml", ".mjcf")):
        raise InvalidArgumentError(
            f"path: expected a .urdf or the name of a robot, got {source!r}; for other files use "
            "Simulator(load_robot(path))"
        )
    robot = load_robot(source, package_dirs=package_dirs)
    if base is None:
        loose = source.lower().endswith(".urdf") and robot.model.inertias[0].mass > 0.0
        base = "free_flyer" if loose or floats(robot.model) else "fixed"
    return Robot(with_base(robot.model, base), name=robot.name)
