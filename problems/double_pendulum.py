"""A double pendulum swings up by the torque of its first joint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelMatrix
from trajopt.checks import check_array, check_count
from trajopt.costs import CostStack
from trajopt.problems.case import TRAJOPT, ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.upright import upright_cost
from trajopt.residuals import ResidualModelControl
from trajopt.robots import load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateMultibody

STEP = 1e-2  # [s]
WEIGHTS = (1.0, 1.0, 0.1, 0.1)  # of q1, q2 [cost], v1, v2 [cost s²/rad²]
START = (3.14, 0.0, 0.0, 0.0)  # [rad, rad, rad/s, rad/s]


def build(*, T: int = 100, start: npt.ArrayLike = START, hessian: str = "gauss-newton") -> ProblemCase:
    """minimise ∫ 1e-3 G(x) + ½ 1e-2 u² dt + 100 G(x_T), G = (1 - cos q1) + (1 - cos q2) + 0.05 (v1² + v2²).

    The robot is `double_pendulum` of example-robot-data without damping. q = 0 is upright, u is the torque of the
    first joint, and the time step is 10 ms. With the exact Hessian and a guess of zeros, which is the goal at every
    knot, Crocoddyl ends in a minimum of 2.0588e-2. The default guess, x0 at every knot, leads to a better one.

    Args:
        T: Number of knots [-].
        start: Initial state (4,) [rad, rad, rad/s, rad/s].
        hessian: Hessian of G: "gauss-newton", or "exact", which is indefinite beyond 90 degrees.

    Source: Crocoddyl's example double_pendulum_fwddyn.
    """
    state = StateMultibody(load_robot("double_pendulum"))
    residual, upright = upright_cost(state, WEIGHTS, (0, 1), hessian)
    running = CostStack(state)
    running.add("upright", residual, weight=1e-3, activation=upright)
    running.add("torque", ResidualModelControl(state), weight=1e-2)
    terminal = CostStack(state).add("upright", residual, weight=100.0, activation=upright)
    actuation = ActuationModelMatrix(state, [[1.0], [0.0]])
    knot = IntegratedActionModelEuler(DifferentialActionModelFreeFwdDynamics(state, actuation, running), dt=STEP)
    first = check_array("start", start, (4,))
    return FAMILY.case(problem=ShootingProblem(first, [knot] * check_count("T", T, least=1), terminal), report=report)


def report(solution: Solution) -> dict[str, str]:
    """Returns text with the final angles from upright [deg]."""
    angles = np.degrees(np.angle(np.exp(1j * solution.xs[-1, :2])))
    return {"angles": f"{angles[0]:.3g} and {angles[1]:.3g} deg from upright"}


FAMILY = Family(
    name="double-pendulum",
    description="A double pendulum swings up by the torque of its first joint.",
    build=build,
    reference_cost=3.68196894e-3,
    reference_source=f"{TRAJOPT}; Crocoddyl 3.2.1 ends at 2.0588e-2 from its own guess",
)
