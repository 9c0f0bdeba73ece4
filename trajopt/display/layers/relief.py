"""Terrain of a gait: boxes, hills and tilted planes."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.analysis.legs import has_contacts, legged_motion
from trajopt.display.layers.base import Layer
from trajopt.display.layers.drawing import cuboid, fan, merged, net
from trajopt.display.layers.films import film, size_of
from trajopt.display.layers.obstacles import EARTH, corners_of_plane
from trajopt.solution import Solution

_FLOOR = (0.0, 0.0, 1.0, 0.0)


class TerrainLayer(Layer):
    """Terrain that a gait is on."""

    def __init__(self, scene: Any, solution: Solution, name: str) -> None:
        super().__init__(scene, solution, name)
        relief = legged_motion(solution).relief
        assert relief is not None
        points = film(solution).skeleton.points[:, 1:].reshape(-1, 3)
        tilted = [row / np.linalg.norm(row[:3]) for row in relief.planes if not np.array_equal(row, _FLOOR)]
        size = size_of(film(solution))
        meshes = [cuboid(low, high) for low, high in relief.boxes]
        meshes += [net(hill) for hill in relief.hills]
        meshes += [fan(corners_of_plane(points, row[:3], float(row[3]), size)) for row in tilted]
        look: dict[str, Any] = {"side": "double", "flat_shading": True, "cast_shadow": False}
        if meshes:
            scene.add_mesh_simple(f"{name}/ground", *merged(meshes), color=EARTH, **look)


def has_terrain(solution: Solution) -> bool:
    """Whether a solution is the motion of a gait on terrain."""
    return has_contacts(solution) and legged_motion(solution).relief is not None
