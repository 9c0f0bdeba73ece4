"""A car parks sideways in a narrow lane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.checks import check_array, check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.planar import state_of_pose
from trajopt.problems.car import ActionModelCar
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution

GOAL = np.array([0.0, 1.5, 0.0])  # [m, m, rad]
MARGIN = 1e-3  # length of the lane beyond start and goal [m]


def build(
    *, T: int = 100, dt: float = 0.03, start: npt.ArrayLike = (0.0, 0.0, 0.0), lane: float = 0.25, speed: float = 2.0
) -> ProblemCase:
    """minimise Σ dt ½ 1e-2 (|x - goal|² + |u|²) of a car that ends at rest at (0, 1.5 m, 0), within its lane.

    The lane is |x| <= `lane`, and y from -1 mm to 1.501 m. |v| and |ω| are at most `speed`. The integrator is
    Runge-Kutta.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial state (3,) [m, m, rad].
        lane: Half the width of the lane, > 0 [m].
        speed: Largest speed, > 0 [m/s, rad/s].

    Source: Altro.jl, problems/parallel_park.jl.
    """
    state, wide, most = state_of_pose(), check_positive("lane", lane, unit="m"), check_positive("speed", speed)
    rows = ConstraintStack(state).add("speed", ResidualModelControl(state), lower=-most, upper=most)
    lower, upper = [-wide, -MARGIN, -np.inf], [wide, GOAL[1] + MARGIN, np.inf]
    rows.add("lane", ResidualModelState(state), lower=lower, upper=upper)
    model = ActionModelCar(rows, dt=dt, goal=GOAL, weight=1e-2, effort=1e-2)
    count, first = check_count("T", T, least=1), check_array("start", start, (3,))
    return FAMILY.case(
        problem=ShootingProblem(first, [model] * count, ends_at(state, GOAL)),
        xs=np.zeros((count + 1, 3)),
        us=np.full((count, 2), 0.1),
        report=report,
    )


def report(solution: Solution) -> dict[str, str]:
    """Returns texts with the final distance of the car from its goal, and the width of the lane that it uses."""
    distance = np.linalg.norm(solution.xs[-1] - GOAL)
    return {"distance": f"{1e3 * distance:.2g} mm, rad/1000", "lane": f"{np.abs(solution.xs[:, 0]).max():.4g} m used"}


FAMILY = Family(
    name="parking",
    description="A car parks sideways by 1.5 m in a lane of 0.5 m.",
    build=build,
    reference_cost=0.0540669996,
    reference_source="IPOPT and fatrop",
)
