"""Distances of a robot's bodies from each other and from obstacles, also between knots."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from trajopt.analysis.body_gaps import geometry_at, without_gaps
from trajopt.analysis.references import distances_of, knot_values
from trajopt.checks import check_count, check_finite, check_text
from trajopt.errors import InvalidArgumentError
from trajopt.residuals import ResidualModelCollisions
from trajopt.robots import Robot, Scene
from trajopt.shooting.collision_slots import BodyDistances
from trajopt.states import StateMultibody
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.solution import Solution

EXACT = 1e-4  # by how much the result may be too large [m]
TURN = 0.2  # motion of a joint beyond which a part of a step is halved in any case [rad, m]
ARC = 1.05  # largest length of the path of a point in such a part, relative to its chord [-]
HALVINGS = 20  # most halvings of a step [-]


@dataclass(frozen=True, kw_only=True)
class Clearance:
    """Least distance of two bodies along a motion.

    Attributes:
        distance: The distance, < 0 in a collision, at most 0.1 mm too large [m].
        bodies: Names of the two bodies.
        knot: Knot after which it occurs.
        share: Fraction of the step after that knot, 0 to 1 [-].
        at_knots: Least distance at the knots alone [m].
    """

    distance: float
    bodies: str
    knot: int
    share: float
    at_knots: float

    def __post_init__(self) -> None:
        for name in ("distance", "share", "at_knots"):
            object.__setattr__(self, name, check_finite(name, getattr(self, name)))
        object.__setattr__(self, "knot", check_count("knot", self.knot))
        check_text("bodies", self.bodies, such_as="hand and table")

    def __float__(self) -> float:
        return self.distance

    def __str__(self) -> str:
        where = (
            f"between knots {self.knot} and {self.knot + 1}"
            if 0.0 < self.share < 1.0
            else f"at knot {self.knot + round(self.share)}"
        )
        return f"{self.distance:.4g} m {where}: {self.bodies}; at knots alone {self.at_knots:.4g} m"


def swept_clearance(solution: Solution, scene: Scene | None = None) -> Clearance:
    """Least distance of the robot's collision shapes along a motion; arguments and errors as in `clearance`."""
    robot = solution.robot
    if robot is None:
        raise InvalidArgumentError("path: expected the solution of a robot's problem, or points (T + 1, 2 or more) [m]")
    if solution.problem is None:
        _check_shapes(robot)
    residual, parameters = _measured(solution, scene)
    values = {} if solution.problem is None else knot_values(solution)
    geometry = geometry_at(residual, values, np.arange(len(solution.xs)))
    return _Sweep(residual, parameters, solution.xs[:, : robot.nq], robot.model, geometry).least()


def _check_shapes(robot: Robot) -> None:
    """Raises InvalidArgumentError if a motion from a file has lost the collision shapes of its robot."""
    try:
        _ = robot.collision_shapes
    except InvalidArgumentError as error:
        raise InvalidArgumentError(
            "path: expected a motion with its problem, got one from a file, which keeps no collision shapes; load it "
            "as Solution.load(path, problem), and measure a closed loop before it is saved"
        ) from error


def _measured(solution: Solution, scene: Scene | None) -> tuple[ResidualModelCollisions, Reals]:
    """Residual of the bodies, and its parameters at all knots (T + 1, size)."""
    items, values = distances_of(solution) if scene is None else ([], {})
    for item in items:
        if isinstance(item.residual, ResidualModelCollisions):
            parameters = item.residual.parameters()
            rows = [np.array([p.flat(row) for row in values[f"{item.name}.{key}"]]) for key, p in parameters.items()]
            return item.residual, without_gaps(np.concatenate(rows, axis=1))
    assert solution.robot is not None
    residual = ResidualModelCollisions(StateMultibody(solution.robot), scene)
    return residual, np.tile(residual.layout.column(), (len(solution.xs), 1))


class _Sweep:
    """Search for the least distance: parts of steps that may contain a lesser one than the least so far are halved.

    Between two times at which two bodies are d₀ and d₁ apart, they come no nearer than (d₀ + d₁ - m) / 2, with the sum
    m of the lengths of both paths.

    Args:
        residual: Residual of the bodies.
        parameters: Its parameters (T + 1, size), which change linearly between knots.
        qs: Configurations (T + 1, nq).
        model: Model of the robot.
        geometry: Values of the residual's `geometry` (T + 1, k), which change linearly between knots.
    """

    def __init__(
        self, residual: ResidualModelCollisions, parameters: Reals, qs: Reals, model: pin.Model, geometry: Reals
    ) -> None:
        self._parameters, self._qs, self._model = parameters[:, : residual.obstacle_size], qs, model
        self._geometry = geometry
        self._labels, self._indices = residual.labels(), residual.indices()
        self._distances = BodyDistances(residual)

    def least(self) -> Clearance:
        """The least distance of all pairs."""
        knots = np.arange(len(self._qs), dtype=float)
        gaps, points = self._at(knots)
        row, pair = (int(i) for i in np.unravel_index(gaps.argmin(), gaps.shape))
        time, at_knots = float(row), float(gaps.min())
        starts, ends, known = knots[:-1], knots[1:], [(gaps[:-1], points[:-1]), (gaps[1:], points[1:])]
        least = at_knots
        for _ in range(HALVINGS):
            bound = self._bounds(starts, ends, known).min(axis=1, initial=np.inf)
            left = bound < least - EXACT
            if not left.any():
                break
            starts, ends = starts[left], ends[left]
            (first, before), (last, after) = ([each[left] for each in some] for some in known)
            middle = (starts + ends) / 2.0
            gaps, points = self._at(middle)
            if gaps.min() < least:
                row, pair = (int(i) for i in np.unravel_index(gaps.argmin(), gaps.shape))
                least, time = float(gaps[row, pair]), float(middle[row])
            starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
            known = [
                (np.concatenate([first, gaps]), np.concatenate([before, points])),
                (np.concatenate([gaps, last]), np.concatenate([points, after])),
            ]
        knot = min(int(time), max(len(self._qs) - 2, 0))
        return Clearance(distance=least, bodies=self._labels[pair], knot=knot, share=time - knot, at_knots=at_knots)

    def _bounds(self, starts: Reals, ends: Reals, known: list[tuple[Reals, Reals]]) -> Reals:
        """Lower bounds (n, pairs) of distances between two times (n,), from distances and points there."""
        (first, before), (last, after) = known
        moved = ARC * np.linalg.norm(after - before, axis=3).max(axis=2)  # of the ends of each axis
        moved = np.concatenate([moved, np.zeros((len(moved), 1))], axis=1)
        lengths = moved[:, self._indices[:, 0]] + moved[:, self._indices[:, 1]]
        rate = np.abs(np.diff(self._parameters, axis=0)).sum(axis=1)
        obstacle = np.where(self._indices[:, 1] < 0, 1.0, 0.0)
        steps = np.minimum(starts.astype(int), len(self._qs) - 2)
        lengths += np.sqrt(3.0) * obstacle * ((ends - starts) * rate[steps])[:, None]
        turned = self._turns[steps] * (ends - starts) > TURN
        return np.asarray(np.where(turned[:, None], -np.inf, (first + last - lengths) / 2.0))

    @functools.cached_property
    def _turns(self) -> Reals:
        """Largest motion of a joint in each step (T,) [rad, m]."""
        pairs = zip(self._qs[:-1], self._qs[1:])
        return np.array([np.abs(pin.difference(self._model, a, b)).max() for a, b in pairs])

    def _at(self, times: Reals) -> tuple[Reals, Reals]:
        """Distances (n, pairs) and ends of axes (n, bodies, 2, 3) at times (n,) in knots."""
        first = np.minimum(times.astype(int), max(len(self._qs) - 2, 0))
        after, share = np.minimum(first + 1, len(self._qs) - 1), times - first
        ends = zip(self._qs[first], self._qs[after], share.tolist())
        q = np.array([pin.interpolate(self._model, a, b, s) for a, b, s in ends])
        both = (self._parameters, self._geometry)
        own, places = (rows[first] + share[:, None] * (rows[after] - rows[first]) for rows in both)
        gaps, points = self._distances.with_points(q, own, places)
        return np.concatenate(gaps, axis=1), points
