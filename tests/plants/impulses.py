"""Largest impulse on Go2's trunk that its trot survives: python -m tests.plants.impulses prints a table.

By bisection to 1 N s in eight directions, from a trot at 0.4 m/s; the robot falls when its trunk is below 0.2 m or
tilted by 60 degrees within 2 s.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from trajopt import mpc
from trajopt.problems import mpc as loops
from trajopt.types import Reals

COMMANDS = ((0.0, 0.0, 0.0, 0.0), (0.4, 0.4, 0.0, 0.0))
TIME, AFTER = 1.0, 2.0  # [s]
MOST = 80.0  # [N s]


def fallen(t: float, x: Reals) -> bool:
    """Whether the trunk is down or tilted by 60 degrees."""
    upright = 1.0 - 2.0 * (x[3] ** 2 + x[4] ** 2)
    return bool(x[2] < 0.2 or upright < 0.5)


def survives(case: loops.MPCCase, direction: float, impulse: float) -> bool:
    """Whether the trot survives an impulse [N s] in a direction [rad] that lasts 50 ms."""
    force = impulse / 0.05 * np.array([np.cos(direction), np.sin(direction), 0.0])
    push = mpc.Push(time=TIME, duration=0.05, value=force, frame="base")
    try:
        log = case.simulate(TIME + AFTER, disturbance=push, until=fallen)
    except mpc.ClosedLoopError:
        return False
    return not log.stopped


def largest(case: loops.MPCCase, direction: float) -> float:
    """Largest impulse that is survived [N s], by bisection."""
    low, high = 0.0, MOST
    while high - low > 1.0:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if survives(case, direction, middle) else (low, middle)
    return low


def table(plants: list[str], **options: Any) -> str:
    """Largest impulses of each plant, and their median."""
    directions = np.arange(8) * np.pi / 4
    lines = ["| plant | " + " | ".join(f"{np.degrees(d):.0f} deg" for d in directions) + " | median |"]
    lines.append("|---|" + "---|" * 9)
    for plant in plants:
        case = loops.load("quadruped-trot-mpc", plant=plant, commands=COMMANDS, pushes=(), **options)
        found = [largest(case, d) for d in directions]
        lines.append(f"| {plant} | " + " | ".join(f"{f:.0f}" for f in found) + f" | {np.median(found):.1f} N s |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1:] or ["simulator", "mujoco"]))
