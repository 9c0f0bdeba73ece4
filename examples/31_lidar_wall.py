"""A robot with two driven wheels follows a wall on its right side, with LIDAR only.

At each measurement a scan of the room gives the nearest wall: its normal n, which points to the robot, and the tangent
T = (n2, -n1), which keeps the wall on the right. The reference of the next 2 s is the line at 0.5 m along T at 0.4 m/s,

    p_ref(t + τ) = p_wall + 0.5 m n + 0.4 m/s τ T,    θ free,

and a model-predictive controller tracks it; circles at the readings of the scan are constraints.

Look at: the first scan in the picture, and the path around the block and the pillar.
Expected distance in mm: above 20.
"""

from __future__ import annotations

import numpy as np

from trajopt import mpc
from trajopt.planar import Lidar, OccupancyGrid
from trajopt.plotting import plot_grid
from trajopt.problems.mpc.drive import BODY_RADIUS, RADIUS, horizon
from trajopt.problems.mpc.drive_scans import ScanningPlant, map_clearance

AWAY, SPEED = 0.5, 0.4  # distance from the wall [m], speed along it [m/s]
X0 = np.array([1.0, 0.8, 0.0, 0.0, 0.0])  # x, y, θ, rates of the wheels [m, m, rad, rad/s, rad/s]
COUNT = 24  # circles of a scan


def hall() -> OccupancyGrid:
    """A hall of 6 m x 4.5 m with a block at one wall and a round pillar, in cells of 5 cm."""
    x, y = np.meshgrid(np.arange(0.025, 6.0, 0.05), np.arange(0.025, 4.5, 0.05))
    walls = (np.minimum(x, 6.0 - x) < 0.1) | (np.minimum(y, 4.5 - y) < 0.1)
    block = (x > 2.4) & (x < 3.6) & (y < 1.5)
    return OccupancyGrid(walls | block | (np.hypot(x - 6.0, y - 2.5) < 0.8), resolution=0.05)


class AlongTheWall:
    """Parameters of the knots, from the last scan."""

    def __init__(self, plant: ScanningPlant) -> None:
        self.plant = plant

    def __call__(self, times: np.ndarray) -> dict[str, np.ndarray]:
        scan, ahead = self.plant.scan, (times - times[0])[:, None]
        wall = scan.wall(width=0.3)
        goals = np.zeros((len(times), 5))
        if wall is not None:
            goals[:, :2] = wall.point + AWAY * wall.normal + SPEED * ahead * wall.tangent("right")
            goals[:, 3:] = SPEED / RADIUS
        return {
            "state.reference": goals,
            "obstacles.circles": np.tile(scan.obstacles(COUNT, radius=0.05), (len(times), 1, 1)),
        }


def main(plot: bool = False) -> mpc.ClosedLoop:
    """Runs 40 s and returns the closed loop; `plot` writes lidar_scan.png and wall.png."""
    plant = ScanningPlant(hall(), Lidar(beams=240, most=4.0, noise=0.01), X0)
    first = plant.scan
    controller = mpc.MPCController(horizon(COUNT, radius=BODY_RADIUS + 0.05, N=20), options=mpc.MPCOptions(dt=0.1))
    controller.schedule(AlongTheWall(plant))
    log = mpc.simulate(controller, plant, X0, 40.0, dt_plant=0.05)
    away = 1e3 * map_clearance(plant.grid, log.xs)
    print(f"{len(first.points)} of {len(first.ranges)} beams hit something at the start")
    print(f"distance in mm: {away:.1f} from the walls at least")
    if plot:
        plot_grid(plant.grid, "lidar_scan.png", scan=first, title="The first scan, with 1 cm of noise")
        plot_grid(plant.grid, "wall.png", route=log.xs, title=f"{away:.1f} mm from the walls at least")
    return log


if __name__ == "__main__":
    main(plot=True)
