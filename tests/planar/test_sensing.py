"""Occupancy grids, rays, LIDAR, walls and obstacles from scans, against closed forms and brute force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib import image

from tests.support.texts import check_texts
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.planar import Lidar, OccupancyGrid, Scan, echo_distance, wall_tangent
from trajopt.plotting import plot_grid

Reals = npt.NDArray[np.float64]


def disc(radius: float, resolution: float = 0.02, half: float = 2.0) -> OccupancyGrid:
    """A disc of a radius around the origin."""
    at = np.arange(-half + resolution / 2, half, resolution)
    return OccupancyGrid(np.hypot(*np.meshgrid(at, at)) <= radius, resolution=resolution, origin=(-half, -half))


def scattered(seed: int, shape: tuple[int, int] = (14, 11), part: float = 0.1) -> OccupancyGrid:
    rng = np.random.default_rng(seed)
    return OccupancyGrid(rng.random(shape) < part, resolution=0.25, origin=rng.normal(size=2))


# Rays


def circle_ahead(start: Reals, angles: Reals, radius: float) -> Reals:
    """Distance to a circle around the origin in closed form; inf where a ray passes it."""
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    middle, across = -ways @ start, ways[:, 0] * start[1] - ways[:, 1] * start[0]
    with np.errstate(invalid="ignore"):
        near = middle - np.sqrt(radius**2 - across**2)
    return np.where((np.abs(across) < radius) & (near > 0), near, np.inf)


def test_lidar_measures_a_circle_to_a_cell() -> None:
    """LIDAR of the robotics notebook: readings are right to a cell, but for beams that graze; all points lie on it."""
    grid, cell, angles = disc(0.7), 0.02, np.linspace(-np.pi, np.pi, 721)
    for start in np.array([[1.5, 0.3], [-1.2, -1.4], [0.02, 1.9], [1.0, 0.0]]):
        expected, found = circle_ahead(start, angles, 0.7), grid.cast(start, angles)
        across = np.abs(start[0] * np.sin(angles) - start[1] * np.cos(angles))  # least distance of a beam's line
        clear = np.abs(across - 0.7) > cell
        np.testing.assert_array_equal(np.isfinite(expected[clear]), np.isfinite(found[clear]))
        steep = np.isfinite(expected) & (across < 0.7 * np.sin(np.radians(45.0)))
        assert steep.sum() > 50
        assert 0.2 * cell < np.abs(expected[steep] - found[steep]).max() < cell
        met = np.isfinite(found)
        ends = start + found[met, None] * np.column_stack([np.cos(angles[met]), np.sin(angles[met])])
        assert np.abs(np.linalg.norm(ends, axis=1) - 0.7).max() < cell


def test_a_ring_around_the_lidar() -> None:
    ring = OccupancyGrid(~disc(1.5).occupied, resolution=0.02, origin=(-2, -2))
    found = ring.cast([0.0, 0.0], np.linspace(0.0, 2 * np.pi, 500))
    assert np.abs(found - 1.5).max() < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_rays_are_exact(seed: int) -> None:
    """Against all cells one by one, from inside and outside of the grid, along the axes too."""
    grid, rng = scattered(seed), np.random.default_rng(seed)
    left, right, low, high = grid.extent
    places = np.argwhere(grid.occupied)[:, ::-1] * 0.25 + grid.origin
    angles = np.concatenate([rng.uniform(-7, 7, 60), np.arange(-4, 5) * np.pi / 2, np.arange(4) * np.pi / 4])
    for start in rng.uniform([left - 1, low - 1], [right + 1, high + 1], size=(8, 2)):
        expected = np.full(len(angles), np.inf)
        for corner in places:
            ways = np.column_stack([np.cos(angles), np.sin(angles)])
            with np.errstate(divide="ignore"):
                sides = np.stack([(corner - start) / ways, (corner + 0.25 - start) / ways])
            enter, leave = sides.min(axis=0).max(axis=1), sides.max(axis=0).min(axis=1)
            expected = np.where((enter <= leave) & (leave >= 0), np.minimum(expected, np.maximum(enter, 0)), expected)
        np.testing.assert_allclose(grid.cast(start, angles), expected, atol=1e-12)
        short = grid.cast(start, angles, longest=1.3)
        np.testing.assert_allclose(short[expected < 1.299], expected[expected < 1.299], atol=1e-12)
        assert np.all(np.isinf(short[expected > 1.301]))


def test_rays_from_an_occupied_cell_and_past_the_grid() -> None:
    grid = OccupancyGrid([[0, 1], [0, 0]], resolution=1.0)
    np.testing.assert_array_equal(grid.cast([1.5, 0.5], [0.0, 1.0]), [0.0, 0.0])
    np.testing.assert_array_equal(grid.cast([0.5, 0.5], [0.0, np.pi / 2, np.pi]), [0.5, np.inf, np.inf])
    np.testing.assert_array_equal(grid.cast([-1.0, 0.5], [0.0, np.pi]), [2.0, np.inf])
    np.testing.assert_array_equal(grid.cast([-1.0, 5.0], [0.0]), [np.inf])
    np.testing.assert_array_equal(OccupancyGrid([[0, 1]], resolution=1.0).cast([-1.0, 0.0], [0.0]), [2.0])
    np.testing.assert_array_equal(OccupancyGrid([[0, 1]], resolution=1.0).cast([-1.0, 1.0], [0.0]), [np.inf])


# Grids


@pytest.mark.parametrize("seed", range(3))
def test_distances_against_all_cells(seed: int) -> None:
    grid = scattered(seed, part=0.3)
    rows, columns = np.indices(grid.occupied.shape)
    centres = 0.25 * np.column_stack([columns.ravel() + 0.5, rows.ravel() + 0.5]) + grid.origin
    full = grid.occupied.ravel()
    away = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    expected = np.where(full, 0.125 - away[:, ~full].min(axis=1), away[:, full].min(axis=1) - 0.125)
    np.testing.assert_allclose(grid.distance(centres), expected, atol=1e-12)
    between = (centres[0] + centres[1]) / 2
    assert grid.distance(between[None])[0] == pytest.approx((expected[0] + expected[1]) / 2)
    assert grid.distance(centres[:1] - 50.0)[0] == pytest.approx(expected[0])


def test_a_grid_of_one_row() -> None:
    grid = OccupancyGrid([[0, 0, 1]], resolution=1.0)
    np.testing.assert_allclose(grid.distance([[0.5, 0.5], [1.0, 9.0], [2.9, 0.0]]), [1.5, 1.0, -0.5])
    np.testing.assert_array_equal(grid.normals([[1.0, 0.5]]), [[0.0, 0.0]])


def test_normals_of_a_disc_and_tangents() -> None:
    """Collision sensing of the robotics notebook: T = ±(n2, -n1) is orthogonal to n, the wall on the right hand."""
    grid, angles = disc(0.7), np.linspace(0.1, 6.2, 40)
    out = np.column_stack([np.cos(angles), np.sin(angles)])
    normals = grid.normals(0.95 * out)
    assert np.arccos((normals * out).sum(axis=1).clip(-1, 1)).max() < 0.12  # a cell at that distance
    tangents = wall_tangent(normals)
    np.testing.assert_allclose((tangents * normals).sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(tangents, axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(tangents, np.column_stack([normals[:, 1], -normals[:, 0]]), atol=1e-15)
    right = np.column_stack([tangents[:, 1], -tangents[:, 0]])  # of who goes along T
    np.testing.assert_allclose(right, -normals, atol=1e-15)
    np.testing.assert_array_equal(wall_tangent(normals, "left"), -tangents)
    np.testing.assert_array_equal(wall_tangent([0.0, 2.0]), [1.0, 0.0])
    assert np.abs(grid.distance(0.95 * out) - 0.25).max() < 0.02


def test_nothing_and_everything_occupied() -> None:
    for value, distance in ((0, np.inf), (1, -np.inf)):
        grid = OccupancyGrid(np.full((3, 4), value))
        np.testing.assert_array_equal(grid.distance([[0.1, 0.1]]), [distance])
        np.testing.assert_array_equal(grid.normals([[0.1, 0.1]]), [[0.0, 0.0]])


def test_a_grid_is_read_from_a_picture(tmp_path: Path) -> None:
    """White is free, black or red is occupied; the top row has the largest y."""
    pixels = np.ones((3, 4, 3))
    pixels[0, 1], pixels[2, 3] = 0.0, (1.0, 0.0, 0.0)
    image.imsave(tmp_path / "map.png", pixels)
    grid = OccupancyGrid.from_image(tmp_path / "map.png", resolution=0.5, origin=(1.0, 2.0))
    expected = np.zeros((3, 4), dtype=bool)
    expected[2, 1] = expected[0, 3] = True
    np.testing.assert_array_equal(grid.occupied, expected)
    np.testing.assert_array_equal(OccupancyGrid.from_image(tmp_path / "map.png", threshold=0.0).occupied, expected)
    assert grid.extent == (1.0, 3.0, 2.0, 3.5)
    assert repr(grid) == "OccupancyGrid(4 x 3 cells of 0.5 m, 17 % occupied)"
    (tmp_path / "none.png").write_text("no picture")
    for name in ("none.png", "missing.png"):
        with pytest.raises(InvalidArgumentError, match=r"path: expected an image such as a .png"):
            OccupancyGrid.from_image(tmp_path / name)


# LIDAR


def test_times_of_echoes() -> None:
    """LIDAR of the robotics notebook: D = R T / 2, as its prose has it; its formula lacks the half."""
    np.testing.assert_allclose(echo_distance([2e-8, 0.0]), [2.99792458, 0.0])
    assert echo_distance(0.01, speed=343.0) == pytest.approx(1.715)


def test_ranges_noise_and_angles() -> None:
    grid, pose = disc(0.7), np.array([1.5, 0.0, np.pi])
    exact = Lidar(beams=181, field_of_view=np.pi, most=1.2).scan(grid, pose)
    assert exact.ranges[90] == pytest.approx(0.8)  # ahead
    assert exact.angles[[0, 90, 180]] == pytest.approx([-np.pi / 2, 0.0, np.pi / 2])
    assert np.isposinf(exact.ranges[~exact.hits]).all()
    assert exact.ranges[exact.hits].max() <= 1.2
    assert np.abs(np.linalg.norm(exact.points, axis=1) - 0.7).max() < 0.03
    near = Lidar(beams=181, field_of_view=np.pi, least=0.9, most=1.2).scan(grid, pose)
    assert np.isneginf(near.ranges[90])
    assert len(Lidar(beams=8).angles) == 8
    assert np.diff(Lidar(beams=8).angles) == pytest.approx(np.pi / 4)  # the first beam is not there twice
    noisy = Lidar(beams=181, field_of_view=np.pi, most=1.2, noise=0.01)
    one, two, other = (noisy.scan(grid, pose, seed=seed).ranges for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    hit = exact.hits
    loud = Lidar(beams=181, field_of_view=np.pi, least=0.7, most=1.2, noise=0.5).scan(grid, pose).ranges[hit]
    assert (loud.min(), loud.max()) == (0.7, 1.2)
    assert 0.007 < np.std(one[hit] - exact.ranges[hit]) < 0.013
    assert not np.array_equal(one, other)
    rng = np.random.default_rng(0)
    assert not np.array_equal(noisy.scan(grid, pose, seed=rng).ranges, noisy.scan(grid, pose, seed=rng).ranges)


def test_a_scan_can_be_built_from_lists() -> None:
    scan = Scan(pose=[1.0, 2.0, np.pi / 2], angles=[-np.pi / 2, 0.0, 0.1], ranges=[2.0, 3.0, np.inf], most=5.0)
    np.testing.assert_allclose(scan.points, [[3.0, 2.0], [1.0, 5.0]], atol=1e-12)
    np.testing.assert_allclose(scan.obstacles(2, radius=0.1)[:, 2], 0.1)


def test_obstacles_of_a_scan_have_a_fixed_number() -> None:
    """The nearest point of each sector; sectors that see nothing have a circle far away."""
    grid, pose = disc(0.7), [1.5, 0.0, 0.3]
    scan = Lidar(beams=100, most=1.2).scan(grid, pose)
    rows = scan.obstacles(20, radius=0.05)
    assert rows.shape == (20, 3)
    assert np.all(rows[:, 2] == 0.05)
    away = np.linalg.norm(rows[:, :2] - pose[:2], axis=1)
    by_sector = np.where(scan.hits, scan.ranges, np.inf).reshape(20, 5).min(axis=1)
    seen = np.isfinite(by_sector)
    np.testing.assert_allclose(away[seen], by_sector[seen])
    assert 0 < seen.sum() < 20
    assert away[~seen].min() > 10.0
    assert Lidar(beams=40, most=0.5).scan(grid, pose).obstacles(3, radius=0.1).shape == (3, 3)


def test_the_nearest_wall() -> None:
    """A straight wall at an angle, with noise: normal towards the sensor, and its distance."""
    at, angle = np.arange(0.025, 6.0, 0.05), 0.4
    x, y = np.meshgrid(at, at)
    grid = OccupancyGrid(x * np.sin(angle) - y * np.cos(angle) > 0.5, resolution=0.05)
    scan = Lidar(beams=720, most=4.0, noise=0.005).scan(grid, [2.0, 2.5, 1.0])
    wall = scan.wall(0.5)
    assert wall is not None
    normal = np.array([-np.sin(angle), np.cos(angle)])
    assert wall.normal @ normal > np.cos(0.05)
    assert wall.distance == pytest.approx(2.5 * np.cos(angle) - 2.0 * np.sin(angle) + 0.5, abs=0.08)
    assert wall.tangent() @ wall.normal == pytest.approx(0.0, abs=1e-12)
    assert Lidar(most=0.5).scan(grid, [1.0, 5.0, 0.0]).wall() is None
    corner = OccupancyGrid((x < 0.5) | (y < 0.5), resolution=0.05)
    wall = Lidar(most=4.0).scan(corner, [1.5, 2.0, 0.0]).wall(0.5)
    assert wall is not None
    np.testing.assert_allclose(wall.normal, [1.0, 0.0], atol=1e-9)
    assert wall.distance == pytest.approx(1.0, abs=1e-3)


def test_pictures_show_grid_scan_route_and_obstacles(tmp_path: Path) -> None:
    grid = disc(0.7, 0.1)
    scan = Lidar(beams=60, most=3.0).scan(grid, [1.5, 0.0, 0.0])
    figure = plot_grid(
        grid, tmp_path / "grid.png", scan=scan, route=[[1.5, 0, 0], [1.5, 1.0, 0]],
        obstacles=scan.obstacles(12, radius=0.1), title="A disc",
    )  # fmt: skip
    (axes,) = figure.axes
    check_texts(figure)
    assert (tmp_path / "grid.png").exists()
    assert axes.get_title(loc="left") == "A disc"
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"readings", "LIDAR", "route"}
    assert 1 <= len(axes.patches) < 12
    assert plot_grid(grid).axes[0].get_legend() is None


def readings(**changed: Any) -> Scan:
    """Two readings of somebody else's LIDAR."""
    return Scan(**({"pose": [1.0, 2.0, 0.0], "angles": [0.0, 1.0], "ranges": [0.5, np.inf], "most": 4.0} | changed))


def test_a_scan_takes_lists() -> None:
    scan = readings()
    np.testing.assert_allclose(scan.points, [[1.5, 2.0]])
    np.testing.assert_allclose(scan.obstacles(2, radius=0.1)[0], [1.5, 2.0, 0.1])


def test_bad_arguments(tmp_path: Path) -> None:
    grid = disc(0.7, 0.2)
    wrong: list[tuple[Any, str]] = [
        (
            lambda: OccupancyGrid([1, 0]),
            r"occupied: expected cells \(rows, columns\), True if occupied, got shape \(2,\)",
        ),
        (lambda: OccupancyGrid([[1]], resolution=0.0), "resolution: expected a number > 0"),
        (lambda: OccupancyGrid([[1]], origin=[0.0]), r"origin: expected shape \(2,\)"),
        (lambda: grid.cast([0, 0], [np.nan]), "angles: expected finite numbers, got nan"),
        (lambda: Lidar(beams=0), "beams: expected an integer >= 1"),
        (lambda: Lidar(field_of_view=7.0), "field_of_view: expected at most 2π"),
        (lambda: Lidar(least=2.0, most=1.0), "most: expected more than least = 2 m, got 1 m"),
        (lambda: Scan(pose=[0, 0], angles=[0], ranges=[1], most=2), r"pose: expected shape \(3,\)"),
        (lambda: Scan(pose=[0, 0, 0], angles=[0, 1], ranges=[1], most=2), r"angles: expected shape \(1,\), got \(2,\)"),
        (lambda: Scan(pose=[0, 0, 0], angles=[0], ranges=[-1.0], most=2), r"ranges: expected .* got \[-1.0\]"),
        (lambda: Scan(pose=[0, 0, 0], angles=[0], ranges=[1], most=0), "most: expected a number > 0"),
        (lambda: Lidar().scan(grid, [0.0, 0.0]), r"pose: expected shape \(3,\).*heading"),
        (lambda: Lidar().scan(grid.occupied, [0, 0, 0]), "grid: expected an OccupancyGrid"),  # type: ignore[arg-type]
        (lambda: Lidar(beams=5).scan(grid, [1.5, 0, 0]).obstacles(6, radius=0.1), "count: expected at most 5"),
        (lambda: wall_tangent([0.0, 0.0]), "normal: expected finite nonzero directions"),
        (lambda: wall_tangent([1.0, 0.0, 0.0]), r"normal: expected a direction \(2,\)"),
        (lambda: echo_distance(1.0, speed=-1.0), "speed: expected a number > 0"),
        (lambda: plot_grid(grid, route=[1.0, 2.0]), "route: expected points"),
        (lambda: grid.cast([0.0, 0.0], [0.0], longest=-1.0), "longest: expected a length >= 0"),
        (
            lambda: grid.distance([0.0, 0.0]),
            r"points: expected points .* got shape \(2,\); for one point pass \[point\]",
        ),
        (lambda: grid.normals([[0.0, np.nan]]), r"points: expected finite numbers, got nan at index \(0, 1\)"),
        (lambda: OccupancyGrid([[np.nan]]), "occupied: expected cells .* got NaN or inf in cells"),
        (lambda: OccupancyGrid.from_image("none.png", threshold=128), "threshold: expected a fraction of white"),
        (lambda: echo_distance([-1.0]), "times: expected finite times >= 0"),
        (lambda: readings(ranges=[1.0, np.nan]), "ranges: expected distances >= 0 .* inf if nothing is in range"),
        (lambda: readings(angles=[0.0]), r"angles: expected shape \(2,\), got \(1,\); one for each distance"),
        (lambda: readings(pose=[0.0, 0.0]), r"pose: expected shape \(3,\)"),
        (lambda: readings(most=0.0), "most: expected a number > 0"),
    ]
    for call, words in wrong:
        with pytest.raises(InvalidArgumentError, match=words):
            call()
    with pytest.raises(UnknownNameError, match="hand 'up' not found"):
        wall_tangent([1.0, 0.0], "up")
    assert isinstance(Lidar().scan(grid, [1.5, 0, 0]), Scan)
