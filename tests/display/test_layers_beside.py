"""What a caller puts beside a motion: uncertainty, a map, scans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.display.recording import Recording
from tests.support.unsolved import arm, solution_of
from trajopt import display, planar, problems
from trajopt.display.layers.kinds import layer_kinds
from trajopt.display.layers.sensed import Map, Scans
from trajopt.display.layers.uncertainty import Uncertainty
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.planar import Lidar, OccupancyGrid
from trajopt.plotting.sensed import rectangles
from trajopt.plotting.spread import ellipsoids_of
from trajopt.solution import Solution


def drive() -> Solution:
    """Two wheels drive along a bow for 2 s."""
    costs = trajopt.CostStack(planar.state_of_pose())
    costs.add("turning", trajopt.ResidualModelControl(costs.state), 1.0)
    model = planar.DifferentialActionModelDiffDrive(costs, radius=0.1, half_track=0.2)
    return planar.rollout(model, [0.6, 0.6, 0.0], np.tile([6.0, 5.0], (20, 1)), 0.1, integrator="euler")


def hall() -> OccupancyGrid:
    """A hall of 3 m x 2 m with a wall around it and a block."""
    cells = np.zeros((20, 30), dtype=bool)
    cells[[0, -1]] = cells[:, [0, -1]] = True
    cells[8:14, 20:24] = True
    return OccupancyGrid(cells, resolution=0.1)


def kinds(solution: Solution, **given: Any) -> list[str]:
    """Labels of the layers that are shown at first for what is given, but for those that all have."""
    nothing: dict[str, Any] = {
        "layers": (),
        "obstacles": (),
        "lines": (),
        "covariance": None,
        "grid": None,
        "scans": (),
    }
    usual = {kind.label for kind in layer_kinds(solution, **nothing) if kind.on}
    return [k.label for k in layer_kinds(solution, **{**nothing, **given}) if k.on and k.label not in usual]


def test_ellipsoids_of_a_vehicle_are_the_ellipses_of_its_place() -> None:
    solution = drive()
    covariance = solution.covariance(np.array([0.01, 0.02, 0.01]), feedback=False)
    found, flat = ellipsoids_of(covariance), covariance.ellipses("x", "y")
    np.testing.assert_allclose(found.centres[0, :, :2], flat.centres, atol=1e-9)
    np.testing.assert_allclose(found.covariances[0, :, :2, :2], flat.covariances, atol=1e-9)
    np.testing.assert_allclose(found.covariances[0, :, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(found.axes[0][0, :, [2, 1]].T, flat.axes[0], atol=1e-9)
    turns = found.axes[1]
    np.testing.assert_allclose(turns @ turns.swapaxes(-1, -2), np.broadcast_to(np.eye(3), turns.shape), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)


def test_ellipsoids_of_a_tool_are_those_of_its_frame() -> None:
    solution = arm()
    covariance = solution.covariance(1e-3, feedback=False)
    found, flat = ellipsoids_of(covariance), covariance.ellipses("x", "z", frame="tool")
    np.testing.assert_allclose(found.centres[0][:, [0, 2]], flat.centres, atol=1e-9)
    inside = found.covariances[0][:, [0, 2]][:, :, [0, 2]]
    np.testing.assert_allclose(inside, flat.covariances, atol=1e-7 * np.abs(flat.covariances).max())


def test_ellipsoids_are_drawn_along_the_motion_and_now() -> None:
    solution = drive()
    covariance = solution.covariance(np.array([0.02, 0.01, 0.0]), feedback=False)
    scene = Recording()
    layer = Uncertainty(scene, solution, "/spread", covariance=covariance)
    now, along = scene.nodes["/spread/now0"], scene.nodes["/spread/along"]
    assert not now.visible  # nothing is uncertain at the start
    layer.at(1.05)  # halfway from knot 10 to 11
    assert now.visible
    lengths = np.sort(now.scale)
    P = covariance.P[10:12, :2, :2].mean(axis=0)
    np.testing.assert_allclose(lengths[1:], 2.0 * np.sqrt(np.linalg.eigvalsh(P)), rtol=1e-6)
    assert 0.0 < lengths[0] < 0.02
    np.testing.assert_allclose(now.position[:2], solution.xs[10:12, :2].mean(axis=0), atol=1e-9)
    last = np.asarray(along.vertices).reshape(-1, len(now.vertices), 3)[-1]
    inverse = np.linalg.inv(covariance.P[-1, :2, :2])
    away = last[:, :2] - solution.xs[-1, :2]
    assert np.einsum("ni,ij,nj->n", away, inverse, away).max() == pytest.approx(4.0, rel=0.05)
    assert layer.note == "2 standard deviations"


def test_rectangles_cover_occupied_cells_once_each() -> None:
    cells = np.random.default_rng(0).random((13, 17)) < 0.4
    grid = OccupancyGrid(cells, resolution=0.5, origin=(-2.0, 1.0))
    count = np.zeros(cells.shape, dtype=int)
    for x, y, right, high in (rectangles(grid) - np.array([-2.0, 1.0, -2.0, 1.0])) / 0.5:
        count[round(y) : round(high), round(x) : round(right)] += 1
    np.testing.assert_array_equal(count, cells)
    assert len(rectangles(hall())) == 5  # four walls, of which two are within the rows of others, and the block


def test_a_map_is_walls_on_the_ground() -> None:
    scene = Recording()
    layer = Map(scene, drive(), "/map", grid=hall())
    walls = np.asarray(scene.nodes["/map/walls"].vertices)
    np.testing.assert_allclose(np.ptp(walls, axis=0)[:2], [3.0, 2.0], atol=1e-6)
    assert walls[:, 2].min() == 0.0
    assert 0.0 < walls[:, 2].max() < 0.5
    assert layer.points().max(axis=0)[0] == pytest.approx(3.0)
    scene = Recording()
    Map(scene, drive(), "/map", grid=OccupancyGrid(np.zeros((3, 3))))
    assert "/map/walls" not in scene.nodes


def test_beams_go_from_the_lidar_to_what_they_met_at_each_knot() -> None:
    solution = drive()
    lidar = Lidar(beams=90, most=3.0)
    scans = [lidar.scan(hall(), x[:3]) for x in solution.xs]
    scene = Recording()
    layer = Scans(scene, solution, "/scans", scans=scans)
    hits, beams, wall = (scene.nodes[f"/scans/{part}"] for part in ("hits", "beams", "wall"))
    for t in (0, 7, 20):
        layer.at(0.1 * t + 1e-9)
        np.testing.assert_allclose(hits.points[:, :2], scans[t].points, atol=1e-6)
        np.testing.assert_allclose(
            beams.points[:, 0, :2], np.tile(solution.xs[t, :2], (len(hits.points), 1)), atol=1e-6
        )
        np.testing.assert_allclose(beams.points[:, 1, :2], scans[t].points, atol=1e-6)
        nearest = scans[t].wall(0.5)
        assert nearest is not None
        np.testing.assert_allclose(wall.points[0].mean(axis=0)[:2], nearest.point, atol=1e-6)
        np.testing.assert_allclose(wall.points[1, 1, :2] - nearest.point, 0.25 * nearest.normal, atol=1e-6)
    before = beams.points
    layer.at(float(solution.times[-1]))  # type: ignore[index]
    assert beams.points is before  # the same scan is not drawn anew
    assert layer.points()[:, 0].max() <= 3.0


def test_a_scan_that_met_nothing_has_no_beams() -> None:
    empty = Lidar(beams=8, most=1.0).scan(OccupancyGrid(np.zeros((4, 4))), [0.0, 0.0, 0.0])
    scene = Recording()
    Scans(scene, drive(), "/scans", scans=[empty])
    assert not any(scene.nodes[f"/scans/{part}"].visible for part in ("hits", "beams", "wall"))


def test_passed_maps_scans_and_covariances_become_layers() -> None:
    solution = drive()
    scan = Lidar(beams=8).scan(hall(), solution.xs[0])
    assert kinds(solution) == []
    assert kinds(solution, grid=hall(), scans=scan) == ["map", "scans"]
    assert kinds(solution, scans=[scan] * 20) == ["scans"]
    assert kinds(solution, covariance=solution.covariance(0.01, feedback=False)) == ["uncertainty"]
    assert kinds(arm(), layers=["margins"]) == ["margins"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("grid", [[1, 0]], "grid: expected an OccupancyGrid, got"),
        ("scans", [1.0], r"scans\[0\]: expected a Scan, got 1.0; Lidar\(\).scan"),
        ("covariance", np.eye(3), "covariance: expected .*Solution.covariance"),
        ("layers", ["margin"], "'margins'"),
    ],
)
def test_wrong_arguments_are_refused(name: str, value: Any, message: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=message):
        kinds(drive(), **{name: value})


def test_scans_and_covariances_are_those_of_the_solution() -> None:
    solution = drive()
    scan = Lidar(beams=8).scan(hall(), solution.xs[0])
    with pytest.raises(InvalidArgumentError, match="scans: expected one, or one for each knot \\(20 or 21\\), got 3"):
        kinds(solution, scans=[scan] * 3)
    with pytest.raises(InvalidArgumentError, match="covariance: expected that of the first displayed solution"):
        kinds(solution, covariance=drive().covariance(0.01, feedback=False))
    case = problems.load("minimum-jerk")
    placeless = solution_of(case.problem, np.zeros((case.problem.T + 1, 3)), np.zeros((case.problem.T, 1)))
    with pytest.raises(InvalidArgumentError, match="covariance: expected states with a position in space"):
        kinds(placeless, covariance=placeless.covariance(0.01, feedback=False))


def test_the_file_contains_the_passed_map_scans_and_covariances(tmp_path: Path) -> None:
    solution = drive()
    plain = display.show(solution, tmp_path / "plain.html")
    scans = [Lidar(beams=90, most=3.0).scan(hall(), x) for x in solution.xs]
    covariance = solution.covariance(0.01, feedback=False)
    full = display.show(solution, tmp_path / "full.html", grid=hall(), scans=scans, covariance=covariance)
    more = full.stat().st_size - plain.stat().st_size
    assert 5e3 < more < 100e3
