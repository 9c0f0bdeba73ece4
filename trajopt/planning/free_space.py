"""Configurations of a robot without collisions, and curves through them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trajopt.residuals import ResidualModelCollisions
from trajopt.residuals.collisions import own_margin
from trajopt.robots import Robot, Scene
from trajopt.shooting.collision_slots import BodyDistances
from trajopt.states import StateMultibody
from trajopt.types import Reals

STEP = 5e-3  # motion of a body between two checks below which nothing is checked between them [m]
TURN = 0.6  # sum of the motions of all joints in a part, beyond which it is halved in any case [rad, m]
ARC = 1.05  # largest length of the path of a point in such a part, relative to its chord [-]
OUTSIDE = 1e-4  # distance beyond a joint limit that counts as none [rad, m]
ROUNDED = 1e-6  # by which less than a margin between links counts as kept, as inverse kinematics does to rounding [m]
FIRST = 8  # least number of parts of a curve [-]


class FreeSpace:
    """Configurations in which all links are a margin apart from each other and from obstacles, within joint limits.

    A part of a curve between two configurations is free if no body can reach the margin in it: two bodies that are d₀
    and d₁ apart at its ends come no nearer than (d₀ + d₁ - m) / 2, with the sum m of the lengths of both paths. Other
    parts are halved until no body moves further than 5 mm.

    Args:
        robot: The robot, whose joints have one coordinate each.
        scene: Obstacles; None for none.
        margin: Least distance from obstacles [m]; that of links from each other is `own_margin` of it.

    Attributes:
        robot: The robot.
        lower: Lower joint limits (nq,) [rad, m].
        upper: Upper joint limits.
        checked: Number of configurations whose distances were computed [-].
    """

    def __init__(self, robot: Robot, scene: Scene | None, margin: float) -> None:
        self.robot, self.checked = robot, 0
        state = StateMultibody(robot)
        self.lower, self.upper = state.lower[: robot.nv], state.upper[: robot.nv]
        residual = ResidualModelCollisions(state, scene)
        self._distances, self._labels = BodyDistances(residual), residual.labels()
        self._first, self._second = residual.indices().T
        self._margins = np.where(self._second < 0, margin, own_margin(margin, scene) - ROUNDED)
        self._own = residual.layout.column()[None, : residual.obstacle_size]

    def nearest(self, q: Reals) -> tuple[float, str, float]:
        """Distance of the bodies that are least beyond their margin at a configuration (nq,), names, and margin [m]."""
        gaps = np.concatenate(self._at(q[None])[0], axis=1)[0]
        worst = int((gaps - self._margins).argmin())
        return float(gaps[worst]), self._labels[worst], float(self._margins[worst])

    def lacks(self, q: Reals) -> Reals:
        """By how much bodies are nearer than their margin, at most, at configurations (n, nq), shape (n,) [m]."""
        return self._lacks(np.concatenate(self._at(q)[0], axis=1))

    def _lacks(self, gaps: Reals) -> Reals:
        """The same for distances (n, pairs); negative where all are farther."""
        return np.asarray((self._margins - gaps).max(axis=1))

    def points(self, q: Reals) -> Reals:
        """Ends (n, bodies, 2, 3) of the axes of all bodies at configurations (n, nq) [m]."""
        return self._at(q)[1]

    def contains(self, q: Reals) -> bool:
        """Whether a configuration (nq,) is free."""
        return bool(self._within(q[None]).all()) and bool(self.lacks(q[None])[0] <= 0.0)

    def connects(self, start: Reals, end: Reals) -> bool:
        """Whether all configurations of a straight line from a free configuration are free."""
        along = end - start
        parts = -(-max(int(np.abs(along).sum() / TURN) + 1, FIRST) // FIRST) * FIRST
        return not len(self.hits(lambda s: start + s[:, None] * along, np.linspace(0.0, 1.0, parts + 1)))

    def hits(self, curve: Callable[[Reals], Reals], parameters: Reals) -> Reals:
        """Parameters (k,) at which a curve is not free, none if it is; the first ones that show.

        Args:
            curve: Returns configurations (n, nq) at parameters (n,).
            parameters: Ends (n + 1,) of the parts at first, in order.
        """
        q = curve(parameters)
        gaps, points = self._at(q)
        ends = [parameters, q, np.concatenate(gaps, axis=1), points]
        bad = (self._lacks(ends[2]) > 0.0) | ~self._within(q)
        if bad.any():
            return parameters[bad]
        before, after = [each[:-1] for each in ends], [each[1:] for each in ends]
        while (left := self._unsure(before, after)).any():
            before, after = ([each[left] for each in some] for some in (before, after))
            middle = 0.5 * (before[0] + after[0])
            q = curve(middle)
            gaps, points = self._at(q)
            ends = [middle, q, np.concatenate(gaps, axis=1), points]
            bad = (self._lacks(ends[2]) > 0.0) | ~self._within(q)
            if bad.any():
                return np.asarray(middle[bad])
            before, after = (
                [np.concatenate(pair) for pair in zip(before, ends)],
                [np.concatenate(pair) for pair in zip(ends, after)],
            )
        return np.zeros(0)

    def _unsure(self, before: list[Reals], after: list[Reals]) -> np.ndarray:
        """Mask (n,) of parts that may contain a collision, from parameters, configurations, distances and points."""
        moved = ARC * np.sqrt(((after[3] - before[3]) ** 2).sum(axis=3).max(axis=2))  # of the ends of each axis
        own = np.concatenate([moved, np.zeros((len(moved), 1))], axis=1)  # obstacles have the index -1
        lengths = own[:, self._first] + own[:, self._second]
        reached = self._lacks(0.5 * (before[2] + after[2] - lengths)) > 0.0
        turned = np.abs(after[1] - before[1]).sum(axis=1) > TURN
        return turned | (reached & (moved.max(axis=1) > STEP))

    def _within(self, q: Reals) -> np.ndarray:
        return np.asarray(((q >= self.lower - OUTSIDE) & (q <= self.upper + OUTSIDE)).all(axis=1))

    def _at(self, q: Reals) -> tuple[list[Reals], Reals]:
        """Distances of all pairs, by kind, and ends of axes (n, bodies, 2, 3) [m]."""
        self.checked += len(q)
        return self._distances.with_points(q, np.broadcast_to(self._own, (len(q), self._own.shape[1])))
