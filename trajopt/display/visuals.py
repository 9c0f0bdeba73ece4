"""Meshes of a robot's joints: from its URDF or MJCF, from its shapes, or otherwise rods and boxes."""

from __future__ import annotations

import functools
import logging
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from trajopt.display.layers.drawing import eight_bit, rgb
from trajopt.display.meshes import Color, Mesh, coarsened, load_mesh, merged, solid
from trajopt.display.rods import link_solids
from trajopt.errors import TrajoptError
from trajopt.robots import Robot
from trajopt.robots.builtin import BUILTIN_GEOMETRIES, BUILTIN_ROBOTS
from trajopt.robots.example import example_robot_files
from trajopt.robots.frame_index import frame_index
from trajopt.robots.payload import payload_shapes
from trajopt.types import Reals

_LOG = logging.getLogger(__name__)
MOST_FACES = 160_000  # largest number of faces of a robot, 5 MB in a file
_COAL = {"Box": "box", "Sphere": "sphere", "Capsule": "capsule", "Cylinder": "cylinder"}


@dataclass(frozen=True, kw_only=True)
class JointMeshes:
    """Meshes that move with a joint.

    Attributes:
        joint: Index of the joint in the model; 0 is the world.
        meshes: The meshes in its frame.
    """

    joint: int
    meshes: tuple[Mesh, ...]


@functools.lru_cache(maxsize=8)
def joint_meshes(robot: Robot) -> tuple[JointMeshes, ...]:
    """Returns the meshes of a robot by joint.

    A warning names meshes that cannot be read. They are replaced by the link's collision shapes that are not meshes,
    or otherwise by a rod or box.
    """
    placed, lacking = _placed_meshes(robot)
    drawn = {joint for joint, _ in placed}
    if not placed or lacking - drawn:
        placed += [(joint, mesh) for joint, mesh in link_solids(robot.model) if not drawn or joint in lacking - drawn]
    placed += [_of_shape(robot.model, shape) for shape in payload_shapes(robot.model)]
    groups: dict[int, list[Mesh]] = {}
    for joint, mesh in placed:
        groups.setdefault(joint, []).append(mesh)
    together = {joint: merged(meshes) for joint, meshes in groups.items()}
    total = sum(len(mesh.faces) for meshes in together.values() for mesh in meshes)
    part = min(MOST_FACES / max(total, 1), 1.0)
    return tuple(
        JointMeshes(joint=joint, meshes=tuple(coarsened(m, max(int(part * len(m.faces)), 200)) for m in meshes))
        for joint, meshes in sorted(together.items())
    )


def _placed_meshes(robot: Robot) -> tuple[list[tuple[int, Mesh]], set[int]]:
    """Meshes with their joints, and the joints of links whose meshes are missing."""
    if robot.shapes:
        return [_of_shape(robot.model, shape) for shape in robot.shapes], set()
    name = robot.source or robot.name
    if name in BUILTIN_ROBOTS:
        build = BUILTIN_GEOMETRIES.get(name)
        return ([] if build is None else _of_geometry(build(robot.model))), set()
    if name.lower().endswith((".xml", ".mjcf")):
        return _of_mjcf(Path(name)), set()
    try:
        if name.lower().endswith(".urdf"):
            path, folders = Path(name), [*robot.package_dirs, str(Path(name).parent)]
        else:
            path, folder = example_robot_files(name)
            folders = [str(folder)]
        return _Urdf(path, folders).meshes(robot.model)
    except (TrajoptError, OSError, ElementTree.ParseError) as error:
        if robot.source is not None:
            _LOG.warning("%s: meshes cannot be read, so its links are drawn as rods: %s", robot.name, error)
        return [], set()


def _of_shape(model: pin.Model, shape: Any) -> tuple[int, Mesh]:
    frame = model.frames[frame_index(model, shape.link)]
    placement = frame.placement.homogeneous @ np.asarray(shape.placement)
    return frame.parentJoint, solid(
        shape.kind, shape.size, rgb(shape.color) if shape.color else eight_bit(0.25, 0.45, 0.7)
    ).moved(placement)


def _of_geometry(geometry: pin.GeometryModel) -> list[tuple[int, Mesh]]:
    """Converts solids and meshes of a Pinocchio geometry model."""
    placed = []
    for entry in geometry.geometryObjects:
        shape, kind = entry.geometry, type(entry.geometry).__name__
        *color, alpha = (float(c) for c in entry.meshColor)
        if kind in _COAL:
            mesh = solid(_COAL[kind], _coal_size(shape), eight_bit(*color), alpha)
        elif hasattr(shape, "vertices") and hasattr(shape, "tri_indices"):
            faces = np.array([[shape.tri_indices(i)[k] for k in range(3)] for i in range(shape.num_tris)])
            mesh = Mesh(vertices=np.array(shape.vertices()), faces=faces, color=eight_bit(*color), opacity=alpha)
        else:
            continue
        placed.append((int(entry.parentJoint), mesh.moved(entry.placement.homogeneous)))
    return placed


def _coal_size(shape: Any) -> list[float]:
    if hasattr(shape, "halfSide"):
        return [2.0 * float(side) for side in shape.halfSide]
    return [float(shape.radius), *([2.0 * float(shape.halfLength)] if hasattr(shape, "halfLength") else [])]


def _of_mjcf(path: Path) -> list[tuple[int, Mesh]]:
    model = pin.buildModelFromMJCF(str(path))
    try:
        return _of_geometry(pin.buildGeomFromMJCF(model, str(path), pin.GeometryType.VISUAL))
    except (ValueError, RuntimeError, TypeError) as error:
        _LOG.warning("%s: meshes cannot be read, so its links are drawn as rods: %s", path.name, error)
        return []


class _Urdf:
    """Shapes of the links in a URDF file.

    Args:
        path: The file.
        folders: Folders that "package://" may refer to.
    """

    def __init__(self, path: Path, folders: Sequence[str]) -> None:
        self._root = ElementTree.parse(path).getroot()
        self._folders = [Path(folder) for folder in folders]
        named = {material.get("name", ""): _color(material) for material in self._root.findall("material")}
        self._materials = {name: color for name, color in named.items() if color is not None}
        self._missing: list[str] = []

    def meshes(self, model: pin.Model) -> tuple[list[tuple[int, Mesh]], set[int]]:
        """Returns meshes with their joints, and the joints of links whose meshes are missing."""
        placed, lacking = [], set()
        for link in self._root.findall("link"):
            name = link.get("name", "")
            if not model.existFrame(name, pin.FrameType.BODY):
                continue
            frame = model.frames[model.getFrameId(name, pin.FrameType.BODY)]
            for visual in link.findall("visual"):
                meshes = self._of(visual)
                if meshes is None:
                    meshes = [
                        m for shape in link.findall("collision") if not _is_mesh(shape) for m in self._of(shape) or ()
                    ]
                    lacking.add(int(frame.parentJoint))
                placed += [(int(frame.parentJoint), mesh.moved(frame.placement.homogeneous)) for mesh in meshes]
        if self._missing:
            names = ", ".join(dict.fromkeys(self._missing))
            _LOG.warning("%s: meshes that cannot be read are replaced by simple shapes: %s", model.name, names)
        return placed, lacking

    def _of(self, shape: ElementTree.Element) -> list[Mesh] | None:
        """Meshes of a shape in its link's frame; None if its file cannot be read."""
        origin, geometry = shape.find("origin"), shape.find("geometry")
        entry = None if geometry is None else next(iter(geometry), None)
        if entry is None:
            return []
        xyz, rpy = (_numbers(origin, key, "0 0 0") for key in ("xyz", "rpy"))
        placement = pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz).homogeneous
        color, opacity = self._look(shape)
        if entry.tag != "mesh":
            size = _numbers(entry, "size", "") if entry.tag == "box" else _round(entry)
            return [solid(entry.tag, size, color, opacity).moved(placement)]
        name = entry.get("filename", "")
        try:
            read = load_mesh(self._file(name))
        except (OSError, ValueError) as error:
            self._missing.append(f"{name} ({error})")
            return None
        scale = _numbers(entry, "scale", "1 1 1")
        own = [Mesh(vertices=m.vertices, faces=m.faces, color=m.color or color, opacity=m.opacity) for m in read]
        return [mesh.moved(placement, scale) for mesh in own]

    def _file(self, name: str) -> Path:
        relative = name.removeprefix("package://").removeprefix("file://")
        for folder in (*self._folders, *(above for own in self._folders for above in own.parents)):
            if (folder / relative).is_file():
                return folder / relative
        raise FileNotFoundError("no such file")

    def _look(self, shape: ElementTree.Element) -> tuple[Color | None, float]:
        material = shape.find("material")
        look = None if material is None else _color(material) or self._materials.get(material.get("name", ""))
        return (None, 1.0) if look is None else look


def _is_mesh(shape: ElementTree.Element) -> bool:
    return shape.find("geometry/mesh") is not None


def _color(material: ElementTree.Element) -> tuple[Color, float] | None:
    entry = material.find("color")
    if entry is None:
        return None
    *color, alpha = _numbers(entry, "rgba", "0.6 0.6 0.6 1").tolist()
    return eight_bit(*color), alpha


def _numbers(entry: ElementTree.Element | None, key: str, default: str) -> Reals:
    return np.array([float(part) for part in (default if entry is None else entry.get(key, default)).split()])


def _round(entry: ElementTree.Element) -> Reals:
    return np.concatenate([_numbers(entry, "radius", "0.05"), _numbers(entry, "length", "")])
