"""Ways around obstacles: lengths against closed forms, clearance, maps, and solves that need them as a guess."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.posts import BODY, GOAL, MARGIN, POSTS, drive
from trajopt import planar
from trajopt.errors import InvalidArgumentError
from trajopt.planar.free_plane import FreePlane
from trajopt.solvers import SolverSQP

TIMES = np.linspace(0.0, 5.0, 201)


def test_the_way_around_a_circle_is_two_tangents_and_an_arc() -> None:
    """From 2 m on one side to 2 m on the other of a circle of 0.7 m, margin included."""
    way = planar.around([-2.0, 0.0], [2.0, 0.0], [[0.0, 1e-3, 0.5]], TIMES, margin=0.2)
    points, tangent = way.poses[:, :2], np.sqrt(2.0**2 - 0.7**2)
    shortest = 2.0 * (tangent + 0.7 * (np.pi / 2 - np.arccos(0.7 / 2.0)))
    assert way.length == pytest.approx(shortest, rel=2e-3)
    assert np.linalg.norm(points - [0.0, 1e-3], axis=1).min() > 0.7 - 1e-9
    assert points[100, 1] == pytest.approx(-0.7 + 1e-3, abs=2e-3)  # the shorter side
    np.testing.assert_allclose(points[[0, -1]], [[-2.0, 0.0], [2.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(way.speeds, way.length / 5.0, rtol=1e-2)


def test_a_way_without_obstacles_in_between_is_a_line() -> None:
    far = [[0.0, 3.0, 1.0], [500.0, 500.0, 1.0]]  # the second is where sensors put what they don't see
    way = planar.around([-2.0, 0.0], [2.0, 1.0], far, TIMES, margin=0.2)
    assert way.length == pytest.approx(np.hypot(4.0, 1.0), rel=1e-6)
    assert planar.around([0.0, 0.0], [1.0, 0.0], [], TIMES).length == pytest.approx(1.0, rel=1e-6)


def test_bodies_count_by_their_outline_from_above() -> None:
    """Around the nearer corner of a box whose sides are at 45°, with a rounded corner of the margin."""
    turn = [0.0, 0.0, np.sin(np.pi / 8), np.cos(np.pi / 8)]
    box = trajopt.Box([1.0, 1.0, 0.2], placement=[0.0, -0.2, 0.6, *turn])
    way = planar.around([-2.0, 0.0], [2.0, 0.0], trajopt.Scene({"box": box}), TIMES, margin=0.1)
    corner = np.array([0.0, -0.2 + np.sqrt(0.5)])
    away = np.linalg.norm(way.poses[:, :2] - corner, axis=1)
    assert away.min() == pytest.approx(0.1, abs=2e-3)
    assert way.poses[:, 1].max() == pytest.approx(corner[1] + 0.1, abs=2e-3)
    capsule = trajopt.Capsule(0.2, start=[0.0, -1.0, 0.0], end=[0.0, 1.0, 3.0])
    points = planar.around([-2.0, 0.1], [2.0, 0.1], [capsule], TIMES, margin=0.1).poses[:, :2]
    assert points[:, 1].max() == pytest.approx(1.3, abs=5e-3)


def test_a_way_on_a_map_passes_the_gap_of_a_wall() -> None:
    occupied = np.zeros((60, 80), dtype=bool)
    occupied[:48, 40] = True  # a wall with a gap of 0.6 m at its upper end
    grid = planar.OccupancyGrid(occupied, resolution=0.05, origin=[-2.0, -1.0])
    way = planar.around([-1.5, -0.5], [1.5, -0.5], grid, TIMES, margin=0.2)
    assert grid.distance(way.poses[:, :2]).min() > 0.2 - 1e-4
    assert way.poses[:, 1].max() > 1.4
    with pytest.raises(InvalidArgumentError, match=r"obstacles: expected a way .* keeps 0\.7 m .* smaller margin"):
        planar.around([-1.5, -0.5], [1.5, -0.5], grid, TIMES, margin=0.7)
    with pytest.raises(InvalidArgumentError, match=r"goal: expected a place on the map, x -2 to 2 m"):
        planar.around([-1.5, -0.5], [3.0, 0.0], grid, TIMES)


@pytest.mark.parametrize("heading", [-7.0, 0.0, 3.0, 9.0])
def test_headings_are_nearest_to_that_of_the_start(heading: float) -> None:
    way = planar.around([-2.0, 0.0, heading], [-3.0, 0.1, 8.0], POSTS, TIMES, margin=0.1)
    assert abs(way.poses[0, 2] - heading) <= np.pi
    assert np.cos(way.poses[0, 2]) < -0.9


def test_only_points_of_the_band_that_may_be_too_near_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 195 passes measured all points, and those near a post four times more: 66,000 in 1,013 calls."""
    calls, measured, distance = 0, 0, FreePlane.distance

    def count(plane: FreePlane, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        nonlocal calls, measured
        if len(points) < 1000:  # else cells of the search
            calls, measured = calls + 1, measured + len(points)
        return distance(plane, points)

    monkeypatch.setattr(FreePlane, "distance", count)
    planar.around([0, 0], [6, 0], POSTS, np.linspace(0.0, 8.0, 81), margin=0.35)
    assert calls < 500
    assert measured < 30_000


@pytest.mark.slow
def test_a_solve_that_fails_alone_converges_from_a_way_around() -> None:
    problem = drive()
    assert not SolverSQP(problem).solve(np.tile(problem.x0, (problem.T + 1, 1))).converged
    way = planar.around(problem.x0, GOAL, POSTS, problem.times, margin=BODY + MARGIN)
    apart = np.linalg.norm(way.poses[:, None, :2] - POSTS[:, :2], axis=2) - POSTS[:, 2] - BODY
    assert apart.min() > MARGIN - 1e-3
    solution = SolverSQP(problem).solve(*planar.along(way, problem.running[0].differential))
    assert solution.converged
    assert solution.iterations < 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [0.0, 1.0]}, "times: expected three or more times"),
        ({"start": [0.0]}, r"start: expected a place \(x, y\) or a pose"),
        ({"goal": [1.2, 0.15]}, r"goal: expected a place at least 0\.1 m from obstacles, .* distance is -0\.35 m"),
        ({"goal": [0.0, 0.0]}, "goal: expected another place than the start"),
        ({"margin": -1.0}, "margin"),
        ({"resolution": 1e-4}, "resolution: expected cells of which at most 4,000,000"),
        ({"obstacles": [[1.0, 2.0]]}, "obstacles: expected rows"),
        ({"obstacles": [[0.0, 0.0, 2.0, 0.3]], "start": [0.0, 0.0]}, "start: expected a place at least 0.1 m"),
    ],
)
def test_wrong_inputs(change: dict[str, object], message: str) -> None:
    arguments = {"start": [0.0, 0.0], "goal": [6.0, 0.0], "obstacles": POSTS, "times": TIMES, "margin": 0.1} | change
    with pytest.raises(InvalidArgumentError, match=message):
        planar.around(**arguments)  # type: ignore[arg-type]
