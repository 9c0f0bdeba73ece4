"""Collision and visual shapes of a robot, from its file or from the code that defines it.

Pinocchio reads the URDF; coal, which comes with it, reads the meshes named there.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from trajopt.checks import check_instance, check_items, check_known, check_path
from trajopt.errors import InvalidArgumentError
from trajopt.robots.bodies import add_solid
from trajopt.robots.builtin import BUILTIN_GEOMETRIES, BUILTIN_ROBOTS
from trajopt.robots.example import example_robot_files
from trajopt.robots.robot import Robot

KINDS = {"collision": pin.GeometryType.COLLISION, "visual": pin.GeometryType.VISUAL}
"""Kinds of shapes in a URDF."""
_COAL = {"box": coal.Box, "sphere": coal.Sphere, "capsule": coal.Capsule, "cylinder": coal.Cylinder}


def load_geometry(
    source: str | PathLike[str] | Robot, model: pin.Model, kind: str, package_dirs: Sequence[str | PathLike[str]] = ()
) -> pin.GeometryModel:
    """Loads the shapes of a robot onto the joints of a model; empty if a robot defined in code has no shapes.

    Args:
        source: URDF of the robot, its name as in `load_robot`, or a Robot with solids (used for both kinds).
        model: Model of the robot, possibly with another base, locked joints or only some links; shapes are matched by
            the names of links.
        kind: "collision" or "visual".
        package_dirs: Folders in which "package://..." paths are searched.

    Raises:
        UnknownNameError: The robot or the kind does not exist.
        InvalidArgumentError: The file does not exist, no link of the model has a shape, or a mesh cannot be read.
    """
    check_instance("model", model, pin.Model, "that of a Robot is robot.model")
    check_known("kind", kind, KINDS)
    if isinstance(source, Robot):
        return _solids(source, model)
    name = source if isinstance(source, str) else str(check_path("source", source))
    folders = [str(check_path("package_dirs", f)) for f in check_items("package_dirs", package_dirs, "folders")]
    if name in BUILTIN_ROBOTS:
        geometry = BUILTIN_GEOMETRIES.get(name)
        return pin.GeometryModel() if geometry is None else geometry(model)
    if not name.lower().endswith(".urdf"):
        path, folder = example_robot_files(name)
        folders.append(str(folder))
    else:
        path = Path(name).expanduser()
        folders.append(str(path.parent))
    try:
        whole = pin.buildModelFromUrdf(str(path))
        return _on(model, whole, pin.buildGeomFromUrdf(whole, str(path), KINDS[kind], package_dirs=folders))
    except (ValueError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"source: expected {kind} meshes that can be read in {str(path)!r}, got: {error}; list the folder that "
            '"package://" refers to in package_dirs'
        ) from error


def _solids(robot: Robot, model: pin.Model) -> pin.GeometryModel:
    """Solids of a robot declared in code, on those of its links that the model has."""
    geometry = pin.GeometryModel()
    for number, shape in enumerate(robot.shapes):
        if model.existFrame(shape.link, pin.FrameType.BODY):
            solid = _COAL[shape.kind](*np.asarray(shape.size).tolist())
            add_solid(geometry, model, shape.link, number, pin.SE3(np.array(shape.placement)), solid)
    return geometry


def _on(model: pin.Model, whole: pin.Model, shapes: pin.GeometryModel) -> pin.GeometryModel:
    """Shapes of the whole robot, on those of its links that the model has."""
    geometry = pin.GeometryModel()
    for shape in shapes.geometryObjects:
        link = whole.frames[shape.parentFrame]
        if not model.existFrame(link.name, pin.FrameType.BODY):
            continue
        index = model.getFrameId(link.name, pin.FrameType.BODY)
        own = model.frames[index]
        shape.placement = own.placement * (link.placement.inverse() * shape.placement)
        shape.parentJoint, shape.parentFrame = own.parentJoint, index
        geometry.addGeometryObject(shape)
    if shapes.ngeoms and not geometry.ngeoms:
        links = ", ".join(list(dict.fromkeys(whole.frames[s.parentFrame].name for s in shapes.geometryObjects))[:5])
        raise InvalidArgumentError(f"model: expected a robot with links such as {links}, got {model.name!r} with none")
    return geometry
