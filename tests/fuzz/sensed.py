"""Valid arguments of sensing in the plane, and objects to call methods on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from matplotlib import image

import trajopt
from tests.fuzz.worlds import World, folder
from trajopt.planar import Lidar, OccupancyGrid, Scan, Wall

POSE = (0.5, 0.5, 0.3)


@functools.cache
def _grid() -> OccupancyGrid:
    cells = np.zeros((12, 15))
    cells[0], cells[5:8, 9:12] = 1.0, 1.0
    return OccupancyGrid(cells, resolution=0.1)


def _scan(w: World, rng: Random) -> Scan:
    return Lidar(beams=30, most=rng.choice([1.0, 5.0]), noise=rng.choice([0.0, 0.1])).scan(_grid(), POSE)


def _points(w: World, rng: Random) -> Any:
    return np.array([[rng.uniform(-1, 2), rng.uniform(-1, 2)] for _ in range(3)])


def _circles(w: World, rng: Random) -> Any:
    return rng.choice([[[1.0, 2.0, 0.5]], np.array([[0.1, 0.2, 0.3], [0.5, 0.5, 1.0]])])


def _picture(w: World, rng: Random) -> Any:
    path = folder() / "map.png"
    image.imsave(path, np.eye(5))
    return path


FIXED_SENSED: dict[str, Callable[[World, Random], Any]] = {
    "OccupancyGrid": lambda w, rng: _grid(),
    "Lidar": lambda w, rng: Lidar(beams=rng.choice([1, 30]), noise=0.1),
    "Scan": _scan,
    "ResidualModelObstacleDistance": lambda w, rng: trajopt.ResidualModelObstacleDistance(
        w.robot_state, _circles(w, rng), trajopt.Sphere(0.1, frame=w.frames[-1])
    ),
    "Wall": lambda w, rng: Wall(point=np.zeros(2), normal=np.array([0.0, 1.0]), distance=0.3),
}

SENSED: dict[str, Callable[[World, Random], Any]] = {
    "grid": lambda w, rng: _grid(),
    "scan": _scan,
    "scans": lambda w, rng: rng.choice([_scan(w, rng), [_scan(w, rng)], ()]),
    "hand": lambda w, rng: rng.choice(["right", "left"]),
    "OccupancyGrid.occupied": lambda w, rng: rng.choice([np.eye(4), [[0, 1], [1, 0]]]),
    "OccupancyGrid.origin": lambda w, rng: (rng.uniform(-1, 1), 0.0),
    "OccupancyGrid.from_image.path": _picture,
    "OccupancyGrid.from_image.origin": lambda w, rng: (0.0, 1.0),
    "OccupancyGrid.from_image.threshold": lambda w, rng: rng.uniform(0, 1),
    "OccupancyGrid.distance.points": _points,
    "OccupancyGrid.normals.points": _points,
    "OccupancyGrid.cast.start": lambda w, rng: _points(w, rng)[0],
    "OccupancyGrid.cast.angles": lambda w, rng: np.linspace(0, rng.uniform(1, 7), 5),
    "OccupancyGrid.cast.longest": lambda w, rng: rng.choice([np.inf, 1.0]),
    "Lidar.beams": lambda w, rng: rng.choice([1, 90]),
    "Lidar.field_of_view": lambda w, rng: rng.choice([1.0, 2 * np.pi]),
    "Lidar.least": lambda w, rng: rng.choice([0.0, 0.1]),
    "Lidar.most": lambda w, rng: rng.choice([1.0, 10.0]),
    "Lidar.noise": lambda w, rng: rng.choice([0.0, 0.1]),
    "Lidar.scan.pose": lambda w, rng: POSE,
    "Scan.obstacles.count": lambda w, rng: rng.choice([1, 7]),
    "Scan.obstacles.radius": lambda w, rng: rng.uniform(0.01, 1),
    "Scan.wall.width": lambda w, rng: rng.uniform(0.01, 1),
    "wall_tangent.normal": lambda w, rng: rng.choice([[0.0, 1.0], [[1.0, 1.0], [0.0, 2.0]]]),
    "echo_distance.times": lambda w, rng: [0.1, 0.2],
    "echo_distance.speed": lambda w, rng: rng.uniform(1.0, 3e8),
    "plot_grid.path": lambda w, rng: rng.choice([None, folder() / "grid.png"]),
    "plot_grid.route": _points,
    "plot_grid.obstacles": _circles,
    "plot_grid.title": lambda w, rng: "a room",
    "plot_grid.figure": lambda w, rng: None,
    "lines": lambda w, rng: [[[0.0, 0.0, 0.1], [1.0, rng.uniform(0, 1), 0.1]]],
    "plot_path.reference": _points,
    "plot_motion.reference": _points,
    "clearance.path": _points,
    "clearance.obstacles": _circles,
    "clearance.radius": lambda w, rng: rng.choice([0.0, 0.2]),
    "ResidualModelObstacleDistance.obstacles": lambda w, rng: rng.choice([[[1.0, 2.0, 3.0, 0.5]], [[1.0, 2.0, 0.5]]]),
    "ResidualModelObstacleDistance.body": lambda w, rng: trajopt.Sphere(0.1, frame=w.frames[-1]),
}
