"""Collision shapes of a robot, fitted to its file once and kept in the disk cache."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

import numpy as np

from trajopt import cache, source
from trajopt.checks import check_instance, check_path, check_positive
from trajopt.errors import InvalidArgumentError
from trajopt.robots.collisions.coarse import without_coarse_pairs
from trajopt.robots.collisions.collision_shapes import CollisionShapes
from trajopt.robots.collisions.cover import cover
from trajopt.robots.collisions.fit import Fit
from trajopt.robots.collisions.pairs import disabled_pairs, with_pairs
from trajopt.robots.collisions.surfaces import Surface, collision_geometry, srdf_path, surfaces
from trajopt.robots.robot import Robot
from trajopt.robots.round_bodies import Capsule, Sphere

WASTE, COARSE_WASTE = 0.02, 0.04  # of robots with few and with many links [m]
MANY_LINKS = 30  # Talos has 52: 184 shapes with 2 cm


def fit_collision_shapes(
    robot: Robot, *, waste: float | None = None, srdf: str | PathLike[str] | None = None
) -> CollisionShapes:
    """Fits spheres and capsules around the collision geometry of a robot's links.

    Spheres and capsules of the file stay as they are. The union of a link's shapes contains its boxes, cylinders and
    meshes, so a distance between links is never larger than that of the file's geometry. The result is kept in the disk
    cache; fitting takes 0.2 to 0.4 s for each mesh.

    Args:
        robot: A robot from a file or a name, or one with `shapes`.
        waste: A link gets more shapes, up to six, while the 95th percentile of the gaps between them and its surface
            exceeds this, > 0 [m]; one of several boxes, cylinders and meshes up to five more than it has of these. By
            default 2 cm, or 4 cm for a robot with more than 30 links with geometry.
        srdf: File with pairs of links whose collisions are disabled; by default NAME.srdf beside NAME.urdf or in the
            folder "srdf" beside its folder, if there is one.

    Raises:
        InvalidArgumentError: The robot has no collision geometry, or a file cannot be read.
    """
    check_instance("robot", robot, Robot, "use load_robot")
    if waste is not None:
        waste = check_positive("waste", waste, unit="m")
    path = srdf_path(robot) if srdf is None else check_path("srdf", srdf)
    disabled = dict[frozenset[str], str]() if path is None else disabled_pairs(Path(path))
    links = surfaces(robot)
    if waste is None:
        waste = COARSE_WASTE if len(links) > MANY_LINKS else WASTE
    entry = _key(robot, links, waste, disabled)
    stored = cache.load(entry)
    if stored is not None:
        try:
            return CollisionShapes.from_json(stored.decode())
        except (InvalidArgumentError, UnicodeDecodeError):  # by another version: fit again
            pass
    solids = {link: surface.triangles for link, surface in links.items() if surface.triangles}
    fits = dict(zip(solids, cover(list(solids.values()), waste), strict=True))
    bodies = [body for link, surface in links.items() for body in _bodies(link, surface, fits.get(link, []))]
    shapes = without_coarse_pairs(robot.model, collision_geometry(robot), with_pairs(robot.model, bodies, disabled))
    cache.store(entry, shapes.to_json().encode(), f"collision shapes of {robot.name}")
    return shapes


def _bodies(link: str, surface: Surface, fits: list[Fit]) -> list[Sphere | Capsule]:
    """Spheres and capsules of a link: those of its file, and those around its triangles."""
    bodies = list(surface.bodies)
    for fit in fits:
        if np.array_equal(fit.start, fit.end):
            bodies.append(Sphere(fit.radius, frame=link, center=fit.start))
        else:
            bodies.append(Capsule(fit.radius, start=fit.start, end=fit.end, frame=link))
    return bodies


def _key(robot: Robot, links: dict[str, Surface], waste: float, disabled: dict[frozenset[str], str]) -> str:
    """Key in the disk cache: everything that the shapes depend on."""
    digest = hashlib.sha256(source.digest(Path(__file__).parent))
    digest.update(robot.model.saveToString().encode())
    for link, surface in links.items():
        digest.update(link.encode())
        for body in surface.bodies:
            digest.update(np.array([body.radius, *body.points.ravel()]).tobytes())
        for triangles in surface.triangles:
            digest.update(triangles.tobytes())
    pairs = sorted((sorted(pair), reason) for pair, reason in disabled.items())
    return cache.key("collision shapes", digest.hexdigest(), repr(waste), repr(pairs))
