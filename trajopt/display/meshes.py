"""Triangle meshes with colours, read by trimesh, with sharp edges and a limited number of faces."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trajopt.display.extra import DISPLAY
from trajopt.types import Reals

Faces = npt.NDArray[np.int64]
Color = tuple[int, int, int]

GREY: Color = (150, 156, 166)
SHARP = 0.6  # angle between two faces above which their edge is sharp [rad]
_ROUND = 24  # number of points on a circle


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Triangle mesh of one colour.

    Attributes:
        vertices: Points (n, 3) [m].
        faces: Indices of three points each (m, 3).
        color: Red, green, blue, from 0 to 255; None for the default colour.
        opacity: From 0 to 1 [-].
    """

    vertices: Reals
    faces: Faces
    color: Color | None = None
    opacity: float = 1.0

    def moved(self, placement: Reals, scale: npt.ArrayLike = 1.0) -> Mesh:
        """Returns the mesh after scaling, then moving it by a placement (4, 4)."""
        factors = np.broadcast_to(np.asarray(scale, dtype=float), (3,))
        vertices = (self.vertices * factors) @ placement[:3, :3].T + placement[:3, 3]
        faces = self.faces[:, ::-1] if np.prod(factors) < 0 else self.faces
        return Mesh(vertices=vertices, faces=faces, color=self.color, opacity=self.opacity)


def solid(kind: str, size: npt.ArrayLike, color: Color | None = None, opacity: float = 1.0) -> Mesh:
    """Returns a box (sides), sphere (radius), capsule or cylinder (radius, length along z) about the origin [m]."""
    creation = DISPLAY.load("trimesh").creation
    sides = [float(s) for s in np.atleast_1d(np.asarray(size, dtype=float))]
    if kind == "box":
        shape = creation.box(extents=sides)
    elif kind == "sphere":
        shape = creation.icosphere(subdivisions=2, radius=sides[0])
    elif kind == "capsule":
        shape = creation.capsule(height=sides[1], radius=sides[0], count=[_ROUND, _ROUND])
        shape.apply_translation([0.0, 0.0, -float(shape.bounds.mean(axis=0)[2])])
    else:
        shape = creation.cylinder(radius=sides[0], height=sides[1], sections=_ROUND)
    return _creased(shape.vertices, shape.faces, color, opacity)


def load_mesh(path: Path) -> tuple[Mesh, ...]:
    """Reads the meshes of a file, one for each of its colours.

    Raises:
        ValueError: The file cannot be read.
    """
    return _loaded(str(path), path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _loaded(path: str, _changed: int) -> tuple[Mesh, ...]:
    trimesh = DISPLAY.load("trimesh")
    try:
        parts = trimesh.load_scene(path).dump()
    except Exception as error:  # readers of trimesh raise errors of any type
        raise ValueError(f"{type(error).__name__}: {error}") from error
    solids = [part for part in parts if isinstance(part, trimesh.Trimesh) and len(part.faces)]
    if not solids:
        raise ValueError("expected triangles, got none")
    return tuple(_creased(np.array(part.vertices), np.array(part.faces), *_look(part)) for part in solids)


def _look(part: Any) -> tuple[Color | None, float]:
    """Colour and opacity of a part; a texture is replaced by its mean colour."""
    visual, color = part.visual, None
    if visual.kind == "texture":
        image = getattr(visual.material, "image", None) or getattr(visual.material, "baseColorTexture", None)
        color = visual.material.main_color
        if image is not None:
            color = np.append(np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0), color[3])
    elif visual.kind in ("face", "vertex"):
        color = visual.main_color
    if color is None:
        return None, 1.0
    red, green, blue, alpha = (int(c) for c in color)
    return (red, green, blue), alpha / 255.0 if alpha else 1.0


def _creased(vertices: Reals, faces: Faces, color: Color | None, opacity: float) -> Mesh:
    """Splits points along sharp edges, so that shading is smooth only within smooth parts."""
    trimesh = DISPLAY.load("trimesh")
    whole = trimesh.Trimesh(vertices=vertices, faces=faces, process=False)
    whole.merge_vertices(merge_tex=True, merge_norm=True)
    whole.update_faces(whole.nondegenerate_faces())
    pairs = whole.face_adjacency[whole.face_adjacency_angles < SHARP]
    groups = trimesh.graph.connected_component_labels(pairs, node_count=len(whole.faces))
    corners = np.stack([np.repeat(groups, 3), whole.faces.ravel()], axis=1)
    own, index = np.unique(corners, axis=0, return_inverse=True)
    return Mesh(vertices=np.array(whole.vertices[own[:, 1]]), faces=index.reshape(-1, 3), color=color, opacity=opacity)


def merged(meshes: list[Mesh]) -> list[Mesh]:
    """Returns one mesh for each colour and opacity, with the vertices and faces of all meshes that have it."""
    groups: dict[tuple[Color | None, float], list[Mesh]] = {}
    for mesh in meshes:
        groups.setdefault((mesh.color, round(mesh.opacity, 2)), []).append(mesh)
    joined = []
    for (color, opacity), group in groups.items():
        starts = np.cumsum([0, *(len(mesh.vertices) for mesh in group)])
        faces = np.concatenate([mesh.faces + start for mesh, start in zip(group, starts)])
        vertices = np.concatenate([mesh.vertices for mesh in group])
        joined.append(Mesh(vertices=vertices, faces=faces, color=color, opacity=opacity))
    return joined


def coarsened(mesh: Mesh, most: int) -> Mesh:
    """Reduces a mesh to about `most` faces: points in the same grid cell are merged, collapsed faces removed."""
    while len(mesh.faces) > most:
        a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
        area = float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()) / 2
        cell = np.sqrt(2.0 * area / most)
        cells = np.floor((mesh.vertices - mesh.vertices.min(axis=0)) / cell).astype(np.int64)
        _, first, index = np.unique(cells, axis=0, return_index=True, return_inverse=True)
        faces = index.reshape(-1)[mesh.faces]
        kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        _, unique = np.unique(np.sort(faces[kept], axis=1), axis=0, return_index=True)
        coarse = _creased(mesh.vertices[first], faces[kept][unique], mesh.color, mesh.opacity)
        if len(coarse.faces) >= len(mesh.faces):
            return mesh
        mesh = coarse
    return mesh
