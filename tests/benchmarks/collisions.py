"""Distances of collision shapes against Coal on the meshes: `python -m tests.benchmarks.collisions [SHARE] [ROBOT...]`.

Random configurations; pairs of links that Coal finds apart. Bars: no distance is more than 1 mm larger; of pairs below
20 cm 95 % are at most 30 mm smaller (Panda), 40 (UR5, Go2), 60 (Talos; median 25). SHARE of the configurations is 1 by
default.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import trajopt
from tests.support.link_distances import LinkDistances, link_distances
from trajopt.robots.collisions.samples import random_configurations

BARS = {"panda": (10_000, 30.0, np.inf), "ur5": (10_000, 40.0, np.inf), "go2": (10_000, 40.0, np.inf)}
BARS["talos"] = (1_000, 60.0, 25.0)
"""Configurations, and bars of the 95th percentile and the median of what is wasted [mm]."""
LARGER = 1.0  # [mm]
BLOCK = 500  # configurations at once


def compared(name: str, count: int, seed: int = 1) -> tuple[float, np.ndarray]:
    """By how much a distance is larger at most, and by how much those below 20 cm are smaller (k,) [mm]."""
    robot = trajopt.load_robot(name)
    configurations = random_configurations(robot.model, count, seed)
    parts: list[LinkDistances] = [
        link_distances(robot, robot.collision_shapes, configurations[first : first + BLOCK])
        for first in range(0, count, BLOCK)
    ]
    return 1e3 * max(part.excess for part in parts), 1e3 * np.concatenate([part.waste() for part in parts])


def main(share: float = 1.0, names: list[str] | None = None) -> bool:
    """Prints a table; returns whether all bars hold."""
    good = True
    print(
        f"{'robot':<8}{'shapes':>7}{'pairs':>7}{'larger':>9}{'median':>8}{'95 %':>7}{'bar':>6}  [mm]  fit or cache [s]"
    )
    for name in names or BARS:
        count, most, median = BARS[name]
        start = time.perf_counter()
        shapes = trajopt.load_robot(name).collision_shapes
        fitted = time.perf_counter() - start
        larger, waste = compared(name, max(int(share * count), 1))
        middle, often = np.percentile(waste, [50, 95])
        holds = larger <= LARGER and often <= most and middle <= median
        good &= bool(holds)
        print(
            f"{name:<8}{len(shapes.bodies):>7}{len(shapes.pairs):>7}{larger:>9.3f}{middle:>8.1f}{often:>7.1f}{most:>6.0f}"
            f"   {'holds' if holds else 'FAILS'}  {fitted:.1f}",
            flush=True,
        )
    return good


if __name__ == "__main__":
    arguments = sys.argv[1:]
    first = float(arguments.pop(0)) if arguments and arguments[0].replace(".", "").isdigit() else 1.0
    sys.exit(not main(first, arguments or None))
