"""Scenes around an arm, and random pairs of configurations in different parts of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import trajopt
from trajopt.planning.free_space import FreeSpace
from trajopt.types import Ints, Reals

ROBOTS = {"panda": "panda_hand", "ur5": "tool0"}
"""Frame of the hand by robot."""
BLOCK, MARGIN = 2048, 0.012  # configurations drawn at once, and least distance at starts and goals [m]


def arm(name: str) -> trajopt.Robot:
    """The robot without the joints of its fingers."""
    robot = trajopt.load_robot(name)
    return robot.lock_joints([joint for joint in robot.joint_names if "finger" in joint])


def box(size: list[float], at: list[float]) -> trajopt.Box:
    """An upright box."""
    return trajopt.Box(size, placement=[*at, 0.0, 0.0, 0.0, 1.0])


def _shelf() -> trajopt.Scene:
    """Three compartments, open towards the robot."""
    boards = {f"board{i}": box([0.4, 1.0, 0.03], [0.65, 0.0, z]) for i, z in enumerate((0.05, 0.4, 0.75))}
    sides = {name: box([0.4, 0.03, 1.0], [0.65, y, 0.5]) for name, y in (("left", 0.5), ("right", -0.5))}
    return trajopt.Scene({**boards, **sides, "back": box([0.03, 1.0, 1.0], [0.85, 0.0, 0.5])})


def _clutter() -> trajopt.Scene:
    """A table with posts, boxes and balls at random places."""
    rng, obstacles = np.random.default_rng(5), {"table": box([1.8, 1.8, 0.04], [0.0, 0.0, -0.05])}
    for i in range(15):
        angle, way, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.4, 0.75), rng.uniform(0.2, 0.7)
        x, y = way * np.cos(angle), way * np.sin(angle)
        made: tuple[Callable[[], trajopt.Sphere | trajopt.Capsule | trajopt.Box], ...] = (
            lambda x=x, y=y, h=height: trajopt.Capsule(0.04, start=[x, y, 0.0], end=[x, y, h]),
            lambda x=x, y=y, h=height: box([0.12, 0.12, h], [x, y, h / 2.0]),
            lambda x=x, y=y, h=height: trajopt.Sphere(0.1, center=[x, y, h]),
        )
        obstacles[f"thing{i}"] = made[i % 3]()
    return trajopt.Scene(obstacles)


def _slot() -> trajopt.Scene:
    """A wall with a horizontal slot of 30 cm."""
    wall = {"below": box([0.05, 1.6, 0.45], [0.45, 0.0, 0.225]), "above": box([0.05, 1.6, 0.6], [0.45, 0.0, 1.05])}
    return trajopt.Scene({**wall, "floor": box([1.8, 1.8, 0.04], [0.0, 0.0, -0.05])})


def _rooms() -> trajopt.Scene:
    """A wall with a door, 50 cm wide and 70 cm high."""
    sides = {name: box([0.05, 0.8, 1.4], [0.35, y, 0.7]) for name, y in (("left", 0.65), ("right", -0.65))}
    above = box([0.05, 0.5, 0.7], [0.35, 0.0, 1.05])
    return trajopt.Scene({**sides, "above": above, "floor": box([1.8, 1.8, 0.04], [0.0, 0.0, -0.05])})


def _part_of_shelf(p: Reals) -> Ints:
    inside = (p[:, 0] > 0.5) & (p[:, 0] < 0.8) & (np.abs(p[:, 1]) < 0.45)
    floors = np.select([(p[:, 2] > 0.07) & (p[:, 2] < 0.37), (p[:, 2] > 0.43) & (p[:, 2] < 0.72)], [1, 2], -1)
    floors = np.where((p[:, 2] > 0.78) & (p[:, 2] < 1.1), 3, floors)
    return np.where(inside, floors, np.where(p[:, 0] < 0.4, 0, -1))


SCENES: dict[str, tuple[Callable[[], trajopt.Scene], Callable[[Reals], Ints]]] = {
    "shelf": (_shelf, _part_of_shelf),
    "clutter": (_clutter, lambda p: np.where(p[:, 2] > 0.7, -1, (p[:, 1] > 0.0).astype(int))),
    "slot": (_slot, lambda p: np.where(p[:, 0] > 0.52, 1, np.where(p[:, 0] < 0.3, 0, -1))),
    "rooms": (_rooms, lambda p: np.where(p[:, 0] > 0.42, 1, np.where(p[:, 0] < 0.2, 0, -1))),
}
"""Scene, and the part of it (n,) in which positions (n, 3) of the hand lie, or -1, by name."""


def pairs(name: str, scene: str, count: int, seed: int = 7) -> list[tuple[Reals, Reals]]:
    """Random configurations without collision, each with a hand in another part of a scene than its partner's.

    Joints of more than one turn are drawn within -π and π.
    """
    robot, (build, part_of) = arm(name), SCENES[scene]
    space, rng = FreeSpace(robot, build(), MARGIN), np.random.default_rng(seed)
    lower, upper = np.maximum(space.lower, -np.pi), np.minimum(space.upper, np.pi)
    parts: dict[int, list[Reals]] = {}
    while sum(len(each) for part, each in parts.items() if part) < count or min(map(len, parts.values())) < count // 8:
        for q in rng.uniform(lower, upper, (BLOCK, robot.nq)):
            if space.contains(q):
                part = int(part_of(robot.placement(q, ROBOTS[name])[None, :3, 3])[0])
                if part >= 0 and len(parts.setdefault(part, [])) < 4 * count:
                    parts[part].append(q)
    chosen = [rng.choice(sorted(parts), 2, replace=False).tolist() for _ in range(count)]
    return [tuple(parts[part][rng.integers(len(parts[part]))] for part in two) for two in chosen]  # type: ignore[misc]
