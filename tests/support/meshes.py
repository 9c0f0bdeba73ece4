"""Closed meshes with known distances, and Coal's distance of points from a mesh."""

from __future__ import annotations

import coal
import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

RING = (0.15, 0.03)
"""Radius of the middle circle of `ring` and of its tube [m]."""


def ring(around: int = 40, across: int = 16, radii: tuple[float, float] = RING) -> Reals:
    """Triangles (m, 3, 3) of a ring about z, whose hole bodies around its parts would close [m]."""
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")

    def corner(i: Reals, j: Reals) -> Reals:
        a, b = 2 * np.pi * (i % around) / around, 2 * np.pi * (j % across) / across
        r = radii[0] + radii[1] * np.cos(b)
        return np.stack([r * np.cos(a), r * np.sin(a), radii[1] * np.sin(b)], axis=-1).reshape(-1, 3)

    a, b, c, d = corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def cube(side: float = 0.2) -> Reals:
    """Triangles (12, 3, 3) of a cube around the origin [m]."""
    quads = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]]) * side / 2
    turns = [np.roll(np.eye(3), k, axis=1) for k in range(3)]
    faces = [quads @ turn for turn in turns] + [(-quads @ turn)[::-1] for turn in turns]
    return np.concatenate([np.array([f[[0, 1, 2]], f[[0, 2, 3]]]) for f in faces])


def coal_distances(triangles: Reals, points: Reals) -> Reals:
    """Unsigned distances (n,) of points (n, 3) from a surface, by Coal [m]."""
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(triangles), 3 * len(triangles))
    for each in triangles:
        mesh.addTriangle(*each)
    mesh.endModel()
    place, found = coal.Transform3s(), []
    for point in points:
        place.setTranslation(point)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        found.append(coal.distance(mesh, coal.Transform3s(), coal.Sphere(0.0), place, request, result))
    return np.array(found)
