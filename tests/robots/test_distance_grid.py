"""Grids of distances of meshes: Coal's within a cell, derivatives, the end of the grid, wrong meshes, cache, files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support.meshes import RING, coal_distances, cube, ring
from trajopt import cache
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.derivatives import jacobian
from trajopt.kernels.tables import Table
from trajopt.robots.collisions.mesh_distances import signed_distances
from trajopt.robots.distance_grid import DistanceGrid, grid_distance, off

Reals = npt.NDArray[np.float64]
CELL = 0.01
PLACED = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.5, 1.1), np.array([0.2, -0.3, 0.5]))
MESHES = {
    "ring": ring(),
    "cube": cube(),
    "thin ring": ring(radii=(0.15, 0.006)),  # thinner than a cell
    "two parts": np.concatenate([cube(0.1), cube(0.05) + np.array([0.11, 0.0, 0.0])]),
    "hollow": np.concatenate([cube(0.2), cube(0.1)[:, ::-1]]),
}


def functions(mesh: trajopt.TriangleMesh) -> tuple[ca.Function, Reals]:
    """Point -> distance, gradient and Hessian; and the numbers of the mesh."""
    p, numbers = SX.sym("p", 3), SX.sym("numbers", 20)
    distance = grid_distance(p, numbers, Table(mesh.grid.coefficients))
    slope = jacobian(distance, p)
    f = ca.Function("f", [p, numbers], [distance, slope, jacobian(slope.T, p)])
    return f, np.r_[np.ravel(mesh.placement, order="F"), mesh.grid.numbers(0)]


def evaluated(mesh: trajopt.TriangleMesh, points: Reals) -> tuple[Reals, Reals, Reals]:
    """Distances (n,), gradients (n, 3) and Hessians (n, 3, 3) at points (n, 3)."""
    f, numbers = functions(mesh)
    found = [f(point, numbers) for point in points]
    return (
        np.array([float(each[0]) for each in found]),
        np.array([each[1].full().ravel() for each in found]),
        np.array([each[2].full() for each in found]),
    )


def points_near(triangles: Reals, room: float, count: int = 300) -> Reals:
    """Random points in the box around a mesh and beside it."""
    low, high = triangles.min(axis=(0, 1)) - room, triangles.max(axis=(0, 1)) + room
    return np.random.default_rng(0).uniform(low, high, (count, 3))


@pytest.mark.parametrize("name", MESHES)
def test_distances_are_those_of_coal_within_a_cell(name: str) -> None:
    triangles = MESHES[name]
    mesh = trajopt.TriangleMesh(triangles, placement=PLACED, cell=CELL)
    points = points_near(triangles, 0.1)
    found, slopes, _ = evaluated(mesh, points @ PLACED.rotation.T + PLACED.translation)
    errors = np.abs(np.abs(found) - coal_distances(triangles, points)) / CELL
    assert errors.max() < 0.5
    assert np.quantile(errors, 0.95) < 0.1
    assert np.linalg.norm(slopes, axis=1).max() < 1.5


def test_signs_are_those_of_formulas() -> None:
    for name, deep in (
        ("ring", lambda p: np.hypot(np.hypot(p[:, 0], p[:, 1]) - RING[0], p[:, 2]) - RING[1]),
        ("cube", lambda p: np.abs(p).max(axis=1) - 0.1),
        ("hollow", lambda p: np.maximum(np.abs(p).max(axis=1) - 0.1, 0.05 - np.abs(p).max(axis=1))),
    ):
        mesh, points = trajopt.TriangleMesh(MESHES[name], cell=CELL), points_near(MESHES[name], 0.02)
        found, expected = evaluated(mesh, points)[0], deep(points)
        sure = np.abs(expected) > CELL
        np.testing.assert_array_equal(np.sign(found[sure]), np.sign(expected[sure]))
        assert (found[sure] < 0.0).sum() > 10


def test_distances_of_points_are_exact() -> None:
    axes = [np.linspace(-0.21, 0.22, 9), np.linspace(-0.2, 0.23, 8), np.linspace(-0.19, 0.2, 7)]
    found = signed_distances(cube(), axes)
    p = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    beyond = np.abs(p) - 0.1
    expected = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_derivatives_are_those_of_differences() -> None:
    mesh = trajopt.TriangleMesh(MESHES["ring"], placement=PLACED, cell=CELL)
    points = points_near(MESHES["ring"], 0.09, 60) @ PLACED.rotation.T + PLACED.translation
    _, slopes, bends = evaluated(mesh, points)
    step = 1e-6
    ahead, behind = ([evaluated(mesh, points + s * step * e) for e in np.eye(3)] for s in (1.0, -1.0))
    for k in range(3):
        np.testing.assert_allclose((ahead[k][0] - behind[k][0]) / (2 * step), slopes[:, k], atol=1e-6)
        rates = (ahead[k][1] - behind[k][1]) / (2 * step)
        np.testing.assert_allclose(rates, bends[:, k], atol=1e-6 * np.abs(bends).max())


def test_the_distance_is_smooth_at_the_end_of_the_grid_and_exact_enough_beyond() -> None:
    mesh = trajopt.TriangleMesh(cube(), cell=CELL)
    end = mesh.grid.origin[0] + CELL * (mesh.grid.coefficients.shape[0] - 2)
    assert end > 0.1 + 0.1
    for y, z in ((0.0, 0.0), (0.13, 0.08)):
        (before, after), (left, right), _ = evaluated(mesh, np.array([[end + s, y, z] for s in (-1e-9, 1e-9)]))
        assert after - before == pytest.approx(2e-9, rel=0.5)
        np.testing.assert_allclose(left, right, atol=1e-6)
    points = points_near(cube(), 0.4, 400)
    found, slopes, _ = evaluated(mesh, points)
    expected = np.linalg.norm(np.maximum(np.abs(points) - 0.1, 0.0), axis=1)
    far = np.abs(points).max(axis=1) > 0.21
    assert np.all(found[far] > expected[far] - 1e-3)
    assert np.all(found[far] < 1.1 * expected[far])
    step = 1e-6
    rates = [(evaluated(mesh, points[far][:30] + step * e)[0] - found[far][:30]) / step for e in np.eye(3)]
    np.testing.assert_allclose(np.stack(rates, axis=1), slopes[far][:30], atol=1e-4)


def test_a_slot_without_a_grid_has_a_finite_distance() -> None:
    f = ca.Function("f", [], [grid_distance(SX([0.3, -2.0, 1.0]), SX(off()), Table(np.arange(64.0)))])
    assert np.isfinite(float(f()["o0"]))


OPEN = cube()[1:]
PART = np.concatenate([cube(), (cube(0.05) + np.array([0.3, 0.0, 0.0]))[:, ::-1]])
WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "open": (OPEN, {}, "expected a closed mesh for a grid of distances, got one with 3 of 18 edges"),
    "inside out": (cube()[:, ::-1], {}, r"a mesh that is inside out or flat; pass triangles\[:, ::-1\]"),
    "one triangle turned": (np.concatenate([cube()[:1, ::-1], cube()[1:]]), {}, "with 3 of 18 edges"),
    "millimetres": (1e3 * cube(), {}, r"expected metres, got a mesh of 200 m, 2 times .* pass scale=0.001"),
    "small and in millimetres": (200 * cube(), {}, r"a mesh of 40 m; pass about 0.28 m, or scale=0.001 for millim"),
    "nan": (np.full((4, 3, 3), np.nan), {}, "finite"),
    "cell of the mesh": (cube(), {"cell": 0.3}, "cell: expected one smaller than the mesh, .* 0.2 m, got 0.3 m"),
    "too many points": (cube(), {"cell": 1e-3}, r"at most 4,000,000 points .* got 66,\d+,\d+, which take 531 MB"),
    "no number": (cube(), {"cell": "1 cm"}, "cell: expected a number, got"),
    "negative": (cube(), {"cell": -0.01}, "cell: expected a number > 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_grids_are_explained(name: str) -> None:
    triangles, options, message = WRONG[name]
    with pytest.raises(InvalidArgumentError, match=message):
        trajopt.TriangleMesh(triangles, **({"cell": CELL} | options))


def test_a_part_that_is_inside_out_is_explained() -> None:
    with pytest.raises(InvalidArgumentError, match="a mesh with a part that is inside out"):
        _ = trajopt.TriangleMesh(PART, cell=CELL).grid
    with pytest.raises(InvalidArgumentError, match="cell: expected a number > 0 for a grid, got None"):
        _ = trajopt.TriangleMesh(PART).grid


def test_a_grid_comes_from_the_disk_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    triangles = cube(0.1 + 1e-6 * (time.time_ns() % 1000))
    first = DistanceGrid.of(triangles, CELL)
    monkeypatch.setattr("trajopt.robots.collisions.mesh_distances.signed_distances", None)
    again = DistanceGrid.of(triangles, CELL)
    np.testing.assert_array_equal(again.coefficients, first.coefficients)
    monkeypatch.undo()
    monkeypatch.setattr(cache, "load", lambda entry: b"not a grid")
    np.testing.assert_array_equal(DistanceGrid.of(triangles, CELL).coefficients, first.coefficients)


@pytest.mark.slow
def test_scenes_and_files_keep_a_mesh_with_a_grid(tmp_path: Path) -> None:
    mesh = trajopt.TriangleMesh(ring(), placement=PLACED, cell=CELL)
    scene = trajopt.Scene({"ring": mesh, "ball": trajopt.Sphere(0.1)})
    assert list(scene.obstacles) == ["ring", "ball"]
    assert "grid of 0.01 m" in repr(mesh)
    assert {each.kind for each in scene.solids()} <= {"box", "sphere", "capsule"}
    for name in ("scene.json", "scene.yaml"):
        scene.save(tmp_path / name)
        again = trajopt.Scene.load(tmp_path / name)["ring"]
        assert isinstance(again, trajopt.TriangleMesh)
        np.testing.assert_array_equal(again.triangles, mesh.triangles)
        np.testing.assert_allclose(again.placement, mesh.placement, atol=1e-12)
        assert again.cell == CELL
    moved = mesh.at(np.eye(4))
    assert moved.cell == CELL
    np.testing.assert_array_equal(moved.grid.coefficients, mesh.grid.coefficients)
    entry = {"type": "mesh", "triangles": OPEN.tolist(), "cell": CELL}
    (tmp_path / "open.json").write_text(json.dumps({"box": entry}))
    with pytest.raises(InvalidArgumentError, match="obstacle 'box' of .*expected a closed mesh"):
        trajopt.Scene.load(tmp_path / "open.json")
    with pytest.raises(InvalidArgumentError, match=r"obstacles\['ring'\]: expected metres, got a number of 300"):
        trajopt.Scene({"ring": mesh.at([300.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])})
