"""Meshes among obstacles: their bodies contain the surface and waste little, by Coal; files, placements, errors."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import coal
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from trajopt.errors import InvalidArgumentError
from trajopt.robots.scene import solid

Reals = npt.NDArray[np.float64]

BOARDS = (
    *(([0.4, 1.0, 0.03], [0.65, 0.0, z]) for z in (0.05, 0.4, 0.75)),
    *(([0.4, 0.03, 1.0], [0.65, y, 0.5]) for y in (-0.5, 0.5)),
)  # sides and centres [m]
PLACED = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.5, 1.1), np.array([0.2, -0.3, 0.5]))


def board(size: list[float], centre: list[float]) -> Reals:
    """Corners of the 12 triangles on a box."""
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * size + centre
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return np.array([corners[list(part)] for a, b, c, d in quads for part in ((a, b, c), (a, c, d))])


def shelf() -> Reals:
    return np.concatenate([board(*each) for each in BOARDS])


@functools.cache
def ring(sides: int = 24, across: int = 12) -> Reals:
    """Triangles of a ring of 0.3 m with a tube of 0.05 m."""
    u, v = np.meshgrid(np.linspace(0.0, 2 * np.pi, sides + 1), np.linspace(0.0, 2 * np.pi, across + 1), indexing="ij")
    way = 0.3 + 0.05 * np.cos(v)
    points = np.stack([way * np.cos(u), way * np.sin(u), 0.05 * np.sin(v)], axis=2)
    a, b, c, d = points[:-1, :-1], points[1:, :-1], points[1:, 1:], points[:-1, 1:]
    return np.concatenate([np.stack(part, axis=2).reshape(-1, 3, 3) for part in ((a, b, c), (a, c, d))])


def model_of(triangles: Reals) -> Any:
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(triangles), 3 * len(triangles))
    for triangle in triangles:
        model.addTriangle(*triangle)
    model.endModel()
    return model


def distances(triangles: Reals, mesh: trajopt.TriangleMesh, count: int = 300) -> tuple[Reals, Reals]:
    """Distances of random balls from the bodies of a mesh, and by Coal from triangles in the world, where apart [m]."""
    rng, ours, theirs = np.random.default_rng(3), [], []
    ball, surface, place = coal.Sphere(0.02), model_of(triangles), coal.Transform3s()
    bodies = [solid(body) for body in mesh.bodies]
    kinds = {"box": coal.Box, "sphere": coal.Sphere, "capsule": coal.Capsule}
    solids = [
        (kinds[each.kind](*np.asarray(each.size)), coal.Transform3s(each.placement[:3, :3], each.placement[:3, 3]))
        for each in bodies
    ]
    for centre in rng.uniform(-0.8, 1.3, (count, 3)):
        at = coal.Transform3s(np.eye(3), centre)
        gap = coal.distance(surface, place, ball, at, coal.DistanceRequest(), coal.DistanceResult())
        if gap > 0.0:
            theirs.append(gap)
            request = coal.DistanceRequest()
            ours.append(min(coal.distance(*each, ball, at, request, coal.DistanceResult()) for each in solids))
    return np.array(ours), np.array(theirs)


def test_boards_become_boxes_that_are_exact() -> None:
    mesh = trajopt.TriangleMesh(shelf())
    assert all(isinstance(body, trajopt.Box) for body in mesh.bodies)
    assert len(mesh.bodies) == len(BOARDS)
    sides = sorted(tuple(np.round(np.sort(np.asarray(body.size)), 6)) for body in mesh.bodies)  # type: ignore[union-attr]
    assert sides == sorted(tuple(sorted(size)) for size, _ in BOARDS)
    ours, theirs = distances(shelf(), mesh)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_ring_keeps_its_hole() -> None:
    mesh = trajopt.TriangleMesh(ring(), waste=0.03)
    assert all(isinstance(body, trajopt.Capsule) for body in mesh.bodies)
    ours, theirs = distances(ring(), mesh)
    assert (ours - theirs).max() < 1e-6
    assert np.percentile(theirs - ours, 95) < 0.05
    through = trajopt.Scene({"ring": mesh})
    gaps = [np.linalg.norm(body.points, axis=1).min() - body.radius for body in through.obstacles.values()]  # type: ignore[union-attr]
    assert min(gaps) > 0.05  # the middle is free


@pytest.mark.parametrize("triangles", [shelf(), ring()], ids=["shelf", "ring"])
def test_bodies_contain_a_turned_surface(triangles: Reals) -> None:
    moved = triangles @ PLACED.rotation.T + PLACED.translation
    for mesh in (trajopt.TriangleMesh(triangles, placement=PLACED), trajopt.TriangleMesh(triangles).at(PLACED)):
        ours, theirs = distances(moved, mesh, 100)
        assert (ours - theirs).max() < 1e-6
    ours, theirs = distances(triangles, trajopt.TriangleMesh(triangles[:, ::-1]), 100)  # inside out
    assert (ours - theirs).max() < 1e-6


def test_a_scene_has_the_bodies_by_name() -> None:
    scene = trajopt.Scene({"shelf": trajopt.TriangleMesh(shelf()), "ball": trajopt.Sphere(0.1)})
    assert list(scene.obstacles) == [f"shelf_{i}" for i in range(5)] + ["ball"]
    with pytest.raises(InvalidArgumentError, match=r"obstacles: expected other names .* got 'shelf_1' twice"):
        trajopt.Scene({"shelf_1": trajopt.Sphere(0.1), "shelf": trajopt.TriangleMesh(shelf())})


def stl(triangles: Reals) -> str:
    corners = [["\n".join(f"vertex {x:.9g} {y:.9g} {z:.9g}" for x, y, z in each)] for each in triangles]
    faces = [f"facet normal 0 0 0\nouter loop\n{each[0]}\nendloop\nendfacet" for each in corners]
    return "\n".join(["solid shelf", *faces, "endsolid shelf"])


def test_a_file_of_a_scene_names_a_mesh_beside_it(tmp_path: Path) -> None:
    (tmp_path / "shelf.stl").write_text(stl(1e3 * shelf()))
    entry = "{type: mesh, file: shelf.stl, scale: 0.001, placement: [0.1, 0.0, 0.2]}"
    (tmp_path / "scene.yaml").write_text(f"shelf: {entry}\n")
    scene = trajopt.Scene.load(tmp_path / "scene.yaml")
    assert len(scene) == len(BOARDS)
    centres = sorted(tuple(np.asarray(body.placement)[:, 3]) for body in scene.obstacles.values())  # type: ignore[union-attr]
    expected = sorted((x + 0.1, y, z + 0.2) for _, (x, y, z) in BOARDS)
    np.testing.assert_allclose(centres, expected, atol=1e-6)
    scene.save(tmp_path / "bodies.yaml")
    assert list(trajopt.Scene.load(tmp_path / "bodies.yaml").obstacles) == list(scene.obstacles)
    (tmp_path / "scene.yaml").write_text("shelf: {type: mesh, file: none.stl}\n")
    with pytest.raises(InvalidArgumentError, match=r"obstacle 'shelf' of .*none.stl' cannot be read: there is no"):
        trajopt.Scene.load(tmp_path / "scene.yaml")


def test_a_flat_mesh_is_a_thin_box() -> None:
    mesh = trajopt.TriangleMesh([[[0, 0, 1], [1, 0, 1], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [0, 1, 1]]])
    (box,) = mesh.bodies
    assert isinstance(box, trajopt.Box)
    np.testing.assert_allclose(np.sort(np.asarray(box.size)), [1e-4, 1.0, 1.0], atol=1e-6)


WRONG: dict[str, tuple[Any, str]] = {
    "millimetres": (1e3 * shelf(), r"expected metres, got a mesh of 1.03e\+03 m, 10.3 times .* pass scale=0.001"),
    "nan": (np.full((2, 3, 3), np.nan), "surface: .*finite"),
    "empty": (np.zeros((0, 3, 3)), r"surface: expected finite corners of triangles \(m, 3, 3\), m >= 1"),
    "points": (np.zeros((4, 3)), r"got shape \(4, 3\)"),
    "a point": (np.ones((2, 3, 3)), "got a single point"),
    "no file": ("none.stl", "'none.stl' cannot be read: there is no such file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_meshes_are_explained(name: str) -> None:
    surface, message = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=message):
        trajopt.TriangleMesh(surface)


def test_a_file_that_is_no_mesh_is_explained(tmp_path: Path) -> None:
    (tmp_path / "wrong.stl").write_text("nothing")
    with pytest.raises(InvalidArgumentError, match="surface: .*wrong.stl"):
        trajopt.TriangleMesh(tmp_path / "wrong.stl")
