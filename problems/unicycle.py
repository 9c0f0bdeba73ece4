"""A unicycle drives to the origin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actions import ActionModelUnicycle
from trajopt.checks import check_array, check_count
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution

START = (-1.0, -1.0, 1.0)  # [m, m, rad]
WEIGHTS = (10.0, 1.0)  # of state and control; squared in the cost


def build(
    *, T: int = 20, start: npt.ArrayLike = START, weights: npt.ArrayLike = WEIGHTS, dt: float = 0.1
) -> ProblemCase:
    """minimise Σ ½ |w₀ x|² + ½ |w₁ u|², x = (px, py, θ) [m, m, rad], u = (v, ω) [m/s, rad/s].

    Args:
        T: Number of knots [-].
        start: Initial state (3,) [m, m, rad].
        weights: Weights (w₀, w₁) of state and control [√cost per unit].
        dt: Time step [s].

    Source: Crocoddyl's first notebook.
    """
    model = ActionModelUnicycle(weights=weights, dt=dt)
    first = check_array("start", start, (3,))
    return FAMILY.case(problem=ShootingProblem(first, [model] * check_count("T", T, least=1), model), report=report)


def report(solution: Solution) -> dict[str, str]:
    """Final distance of the unicycle from the origin."""
    x, y, angle = solution.xs[-1]
    return {"distance": f"{np.hypot(x, y):.3g} m", "heading": f"{np.degrees(angle):.3g} deg"}


FAMILY = Family(
    name="unicycle",
    description="A unicycle drives to the origin.",
    build=build,
    reference_cost=249.560897930826,
    reference_source="Crocoddyl 3.2.1, DDP and FDDP",
)
