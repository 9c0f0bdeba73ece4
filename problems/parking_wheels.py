"""A robot with two driven wheels parks sideways in a narrow lane, from rest to rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.checks import check_array, check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.planar import DifferentialActionModelDiffDrive, limit_wheels, state_of_wheels
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution

GOAL = (0.0, 1.5, 0.0)  # [m, m, rad]
WEIGHTS = (1.0, 1.0, 1.0, 0.01, 0.01)  # of the distance from the goal at rest


def build(
    *,
    T: int = 100,
    dt: float = 0.03,
    start: npt.ArrayLike = (0.0, 0.0, 0.0),
    goal: npt.ArrayLike = GOAL,
    lane: float = 0.25,
    rate: float = 12.0,
    acceleration: float = 40.0,
    radius: float = 0.1,
    half_track: float = 0.15,
) -> ProblemCase:
    """minimise ∫ ½ 1e-2 (|p - goal|² + 1e-2 |φ̇|² + 1e-3 |φ̈|²) dt, at rest at both ends, within the lane |x| <= `lane`.

    The state is (x, y, θ, φ̇1, φ̇2), and the controls are the accelerations φ̈ of the wheels. |φ̇| <= `rate` and |φ̈|
    <= `acceleration` are hard limits. The integrator is Runge-Kutta. `parking` is the same problem for a car that
    changes its speed at once.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        start: Initial pose (3,), at rest [m, m, rad].
        goal: Final pose (3,), at rest [m, m, rad].
        lane: Half the width of the lane, > 0 [m].
        rate: Largest rate of a wheel, > 0 [rad/s].
        acceleration: Largest acceleration of a wheel, > 0 [rad/s²].
        radius: Radius of the wheels, > 0 [m].
        half_track: Half of the distance between the wheels, > 0 [m].
    """
    state, wide = state_of_wheels(), check_positive("lane", lane, unit="m")
    end = np.concatenate([check_array("goal", goal, (3,)), np.zeros(2)])
    first = np.concatenate([check_array("start", start, (3,)), np.zeros(2)])
    costs = CostStack(state).add("goal", ResidualModelState(state, end), 1e-2, ActivationModelWeightedQuad(WEIGHTS))
    costs.add("effort", ResidualModelControl(state), weight=1e-5)
    rows = limit_wheels(ConstraintStack(state), rate, acceleration=acceleration)
    rows.add("lane", ResidualModelState(state, elements=["x"]), lower=-wide, upper=wide)
    model = DifferentialActionModelDiffDrive(costs, constraints=rows, radius=radius, half_track=half_track)
    knot, count = IntegratedActionModelRK4(model, dt), check_count("T", T, least=1)
    return FAMILY.case(
        problem=ShootingProblem(first, [knot] * count, ends_at(state, end)), us=np.full((count, 2), 0.1), report=report
    )


def report(solution: Solution) -> dict[str, str]:
    """Used width of the lane, and largest rates of the wheels."""
    return {
        "lane": f"{np.abs(solution.xs[:, 0]).max():.4g} m used",
        "wheels": f"{np.abs(solution.xs[:, 3:]).max():.4g} rad/s, {np.abs(solution.us).max():.4g} rad/s² at most",
    }


FAMILY = Family(
    name="parking-wheels",
    description="A robot with two driven wheels parks sideways by 1.5 m in a lane of 0.5 m, from rest to rest.",
    build=build,
    reference_cost=0.0498695098,
    reference_source="IPOPT",
)
