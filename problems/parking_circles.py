"""A car drives to its goal between circles."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.analysis import clearance
from trajopt.checks import check_array, check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.planar import state_of_pose
from trajopt.problems.car import ActionModelCar
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelSymbolic
from trajopt.robots.round_bodies import check_round
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.types import Reals

GOAL = np.array([3.0, 3.0, 0.0])  # [m, m, rad]
CIRCLES = ((0.75, 0.75, 0.425), (1.5, 1.5, 0.425), (2.25, 2.25, 0.425))  # [m, m, m]


def build(
    *,
    T: int = 100,
    dt: float = 0.05,
    start: npt.ArrayLike = (0.0, 0.0, 0.0),
    circles: npt.ArrayLike = CIRCLES,
    speed: float = 3.0,
) -> ProblemCase:
    """minimise Σ dt ½ (|x - goal|² + ½ |u|²) of a car that ends at (3 m, 3 m, 0), without backing, outside of circles.

    The limits are 0 <= v <= `speed` and |ω| <= `speed`. The integrator is Runge-Kutta. The circles are on the straight
    way; the car can pass each on either side, so there are several local optima. With the default options, SolverSQP
    finds the best known one, and IPOPT one with a cost of 12.04.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial state (3,) [m, m, rad].
        circles: Rows (x, y, radius), shape (n, 3) [m]. Knots are up to 15 cm apart, so the car may cut a circle by a
            few millimetres between them; see the report.
        speed: Largest speed, > 0 [m/s, rad/s].

    Source: Altro.jl, problems/3obs.jl.
    """
    state, most, bodies = state_of_pose(), check_positive("speed", speed), check_round("circles", circles, dim=2)
    rows = ConstraintStack(state).add("speed", ResidualModelControl(state), lower=[0.0, -most], upper=most)
    if len(bodies):
        rows.add("circles", ResidualModelSymbolic(state, outside, parameters={"circles": bodies}, unit="m²"), lower=0.0)
    model = ActionModelCar(rows, dt=dt, goal=GOAL, weight=1.0, effort=0.5)
    count, first = check_count("T", T, least=1), check_array("start", start, (3,))
    return FAMILY.case(
        problem=ShootingProblem(first, [model] * count, ends_at(state, GOAL)),
        xs=np.zeros((count + 1, 3)),
        us=np.full((count, 2), 0.01),
        report=functools.partial(report, bodies),
        obstacles=bodies,
    )


def outside(x: SX, circles: SX) -> SX:
    """Constraint |(x, y) - centre|² - radius² of each circle (n,) [m²], as in Altro.jl.

    With distances, as in ResidualModelObstacleDistance, SolverSQP needs 268 iterations from this guess instead of 19.
    """
    return SX((x[0] - circles[:, 0]) ** 2 + (x[1] - circles[:, 1]) ** 2 - circles[:, 2] ** 2)


def report(circles: Reals, solution: Solution) -> dict[str, str]:
    """Returns texts with the final distance of the car from its goal, and its clearance, also between knots."""
    words = {"distance": f"{1e3 * np.linalg.norm(solution.xs[-1] - GOAL):.2g} mm, rad/1000"}
    return words | ({"clearance": f"{1e3 * clearance(solution.xs, circles):.3g} mm"} if len(circles) else {})


FAMILY = Family(
    name="parking-circles",
    description="A car drives to its goal between three circles.",
    build=build,
    reference_cost=9.4337504,
    reference_source="IPOPT, warm-started",
)
