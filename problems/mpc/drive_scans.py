"""A robot with two driven wheels crosses an unknown room with a LIDAR."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.checks import check_count, check_non_negative, check_positive
from trajopt.costs import CostStack
from trajopt.planar import DifferentialActionModelDiffDrive, Lidar, OccupancyGrid, Scan, state_of_wheels
from trajopt.plants.one_knot import OneKnot
from trajopt.problems.family import Family
from trajopt.problems.mpc.case import MPCCase
from trajopt.problems.mpc.drive import BODY_RADIUS, RADIUS, horizon
from trajopt.types import Reals

SIZE, CELL = (8.0, 5.0), 0.05  # of the room [m]
START, GOAL = (0.8, 2.4), (7.2, 2.6)  # [m]
DISCS = ((2.4, 2.3, 0.35), (4.6, 3.3, 0.5), (5.7, 2.3, 0.3), (1.6, 4.0, 0.3))  # x, y, radius [m]
BOXES = ((3.2, 0.0, 3.6, 1.7), (4.2, 1.6, 4.9, 2.0), (6.4, 3.4, 6.8, 5.0))  # two corners [m]


def room() -> OccupancyGrid:
    """Room of 8 m x 5 m with walls, pillars and boxes, in cells of 5 cm."""
    x, y = np.meshgrid(*(np.arange(CELL / 2, size, CELL) for size in SIZE))
    full = (x < CELL) | (x > SIZE[0] - CELL) | (y < CELL) | (y > SIZE[1] - CELL)
    for left, low, right, high in BOXES:
        full |= (left < x) & (x < right) & (low < y) & (y < high)
    for *center, radius in DISCS:
        full |= np.hypot(x - center[0], y - center[1]) < radius
    return OccupancyGrid(full, resolution=CELL)


class ScanningPlant:
    """Plant (x, u, dt) -> x_next of a robot with two driven wheels, with a LIDAR that scans at the current state.

    Args:
        grid: The surroundings.
        lidar: The LIDAR.
        x0: Initial state (5,).
        track: Distance between the wheels [m].
        seed: Seed of the LIDAR's noise.
    """

    def __init__(self, grid: OccupancyGrid, lidar: Lidar, x0: Reals, *, track: float = 0.42, seed: int = 0) -> None:
        self.grid, self.lidar, self.seed = grid, lidar, seed
        self._x0: Reals = x0
        costs = CostStack(state_of_wheels())
        wheels = DifferentialActionModelDiffDrive(costs, radius=RADIUS, half_track=track / 2)
        self._knot = OneKnot(IntegratedActionModelRK4(wheels, 0.01))
        self._scan: Scan | None
        self.restart()

    def restart(self) -> None:
        """Resets the state and the noise to those at the start of a run."""
        self._rng, self._x, self._scan = np.random.default_rng(self.seed), self._x0, None

    @property
    def scan(self) -> Scan:
        """Scan at the current pose."""
        if self._scan is None:
            self._scan = self.lidar.scan(self.grid, self._x[:3], seed=self._rng)
        return self._scan

    def __call__(self, x: Reals, u: Reals, dt: float) -> Reals:
        self._knot.set_time_step(dt)
        self._x, self._scan = self._knot.next_state(x, u).copy(), None
        return self._x.copy()


class Seen:
    """Parameters of the knots over time: a point that moves from start to goal, and the obstacles of the last scan.

    Args:
        plant: Plant with the LIDAR.
        count: Number of circles.
        radius: Radius of the circles [m].
        speed: Speed of the point [m/s].

    Attributes:
        scans: Scans of the last run, in their order.
    """

    def __init__(self, plant: ScanningPlant, count: int, radius: float, speed: float) -> None:
        self.plant, self.count, self.radius, self.speed = plant, count, radius, speed
        self.scans: list[Scan] = []

    def obstacles(self) -> Reals:
        """Circles of the last scan (count, 3) [m]."""
        if not self.scans or self.scans[-1] is not self.plant.scan:
            self.scans.append(self.plant.scan)
        return self.plant.scan.obstacles(self.count, radius=self.radius)

    def __call__(self, times: Reals) -> dict[str, Reals]:
        """Parameters of knots at times (n,) [s]; a new run starts with those from time 0."""
        if times[0] == 0.0:
            self.plant.restart()
            self.scans.clear()
        start, goal, n = np.array(START), np.array(GOAL), len(times)
        length = float(np.linalg.norm(goal - start))
        part = np.minimum(self.speed * times / length, 1.0)[:, None]
        goals = np.zeros((n, 5))
        goals[:, :2], goals[:, 3:] = start + part * (goal - start), np.where(part < 1.0, self.speed / RADIUS, 0.0)
        return {"state.reference": goals, "obstacles.circles": np.tile(self.obstacles(), (n, 1, 1))}


def build(
    *,
    N: int = 40,
    dt: float = 0.1,
    period: float = 0.1,
    beams: int = 360,
    reach: float = 4.0,
    noise: float = 0.01,
    count: int = 36,
    margin: float = 0.05,
    speed: float = 0.6,
    seed: int = 0,
) -> MPCCase:
    """minimise ∫ ½ (10 |p - p_ref|² + |v - v_ref|² + 0.05 |a|²) dt among the obstacles that a LIDAR measures.

    v and a are speeds and accelerations of the wheels along the ground, r φ̇ and r φ̈ with r = 10 cm. p_ref moves
    straight to the goal, through obstacles. At each measurement, a scan of the room gives `count` circles of 5 cm, one
    at the nearest reading of each sector. The body of radius 0.2 m keeps `margin` from them: soft constraints whose
    positions are run-time parameters. The plant's wheels are 2 cm farther apart than in the controller's model.

    Args:
        N: Number of knots [-].
        dt: Time between knots [s].
        period: Time between measurements [s].
        beams: Number of beams of the LIDAR [-].
        reach: Largest measurable distance of the LIDAR, > 0 [m].
        noise: Standard deviation of the readings, >= 0 [m].
        count: Number of circles, at most the number of beams [-].
        margin: Distance of the body from circles, >= 0 [m].
        speed: Speed of p_ref, > 0 [m/s]; the speed limit of the wheels is twice as large.
        seed: Seed of the noise.
    """
    pace, gap = check_positive("speed", speed, unit="m/s"), check_non_negative("margin", margin, unit="m")
    problem = horizon(
        check_count("count", count, least=1),
        radius=BODY_RADIUS + gap,
        N=check_count("N", N, least=1),
        dt=check_positive("dt", dt, unit="s"),
        speed=2.0 * pace,
    )
    x0 = np.array([*START, np.arctan2(GOAL[1] - START[1], GOAL[0] - START[0]), 0.0, 0.0])
    plant = ScanningPlant(room(), Lidar(beams=beams, most=reach, noise=noise), x0, seed=check_count("seed", seed))
    seen = Seen(plant, count, CELL, pace)
    return MPCCase.of(
        FAMILY,
        problem,
        period,
        schedule=seen,
        plant=plant,
        x0=x0,
        duration=float(np.ceil(np.hypot(GOAL[0] - START[0], GOAL[1] - START[1]) / pace + 5.0)),
        dt_plant=0.02,
        report=functools.partial(report, plant.grid),
        grid=plant.grid,
        scanned=seen.scans.copy,
    )


def report(grid: OccupancyGrid, log: Any) -> dict[str, str]:
    """Distance from walls, pillars and boxes by the true map, and final distance from the goal."""
    away = np.linalg.norm(log.xs[-1, :2] - np.array(GOAL))
    return {
        "clearance": f"{1e3 * map_clearance(grid, log.xs):.3g} mm between body and room, by the map",
        "distance": f"{1e3 * away:.3g} mm from the goal",
        "wheels": f"{RADIUS * np.abs(log.xs[:, 3:]).max():.4g} m/s at most",
    }


def map_clearance(grid: OccupancyGrid, xs: Reals) -> float:
    """Smallest distance between the body and occupied cells along the chords of a path, by the grid [m]."""
    part = np.linspace(0.0, 1.0, 11)[:, None, None]
    points = ((1 - part) * xs[:-1, :2] + part * xs[1:, :2]).reshape(-1, 2)
    return float(grid.distance(points).min()) - BODY_RADIUS


FAMILY = Family(
    name="drive-scans",
    description="A robot with two driven wheels crosses an unknown room with a LIDAR.",
    build=build,
)
