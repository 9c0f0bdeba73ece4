"""An arm reaches for a goal while its tool stays within a box."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_array, check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.dynamics import RobotExpressions
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import (
    ResidualModelControlGrav,
    ResidualModelFrameTranslation,
    ResidualModelState,
    ResidualModelSymbolic,
)
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateMultibody

TOOL = "tool0"
TARGET = (0.4, 0.4, 0.4)  # [m]
LOWER, UPPER = (-1.0, -1.0, -1.0), (1.0, 0.4, 0.4)  # [m]


def gravity(x: SX, robot: RobotExpressions) -> SX:
    """Joint torques that balance gravity (nv,) [N m]."""
    return robot.gravity()


def build(
    *,
    robot: str = "ur5",
    T: int = 40,
    dt: float = 0.05,
    target: npt.ArrayLike = TARGET,
    lower: npt.ArrayLike = LOWER,
    upper: npt.ArrayLike = UPPER,
) -> ProblemCase:
    """minimise ∫ ½ (4 |tool - target|² + 0.1 |x|² + 1e-4 |u - g(q)|²) dt, lower <= tool <= upper.

    The terminal cost is 40 and 0.1 times the same terms, plus 1e-4 times the gravity torques. The arm starts stretched
    out, q = 0, at rest. The target lies on an edge of the box; without the box, the arm would swing through it.

    Args:
        robot: "ur5".
        T: Number of knots [-].
        dt: Time step [s].
        target: Goal of the tool in the world (3,) [m].
        lower: Lower limits of the tool's position (3,), -inf for no limit [m].
        upper: Upper limits of the tool's position (3,), inf for no limit [m].

    Source: mim_solvers, its example ur5.
    """
    arm = load_robot(robot)
    state = StateMultibody(arm)
    x0, goal, actuation = np.zeros(state.nx), check_array("target", target, (3,)), ActuationModelFull(state)
    box = ConstraintStack(state).add(
        "box", ResidualModelFrameTranslation(state, TOOL, np.zeros(3)), lower=lower, upper=upper
    )

    def costs(weight: float) -> CostStack:
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1)
        return stack.add("tool", ResidualModelFrameTranslation(state, TOOL, goal), weight=weight)

    running = costs(4.0).add("gravity", ResidualModelControlGrav(state, actuation), weight=1e-4)
    end = costs(40.0).add("gravity", ResidualModelSymbolic(state, gravity), weight=1e-4)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, actuation, running, constraints=box)
    knot = IntegratedActionModelEuler(dynamics, check_positive("dt", dt, unit="s"))
    count = check_count("T", T, least=1)
    return FAMILY.case(
        problem=ShootingProblem(x0, [knot] * count, ActionModelTerminal(end, constraints=box)),
        xs=np.tile(x0, (count + 1, 1)),
        us=np.zeros((count, state.nv)),
        report=functools.partial(report, arm, goal),
    )


def report(robot: Robot, goal: npt.NDArray[np.float64], solution: Solution) -> dict[str, str]:
    """Returns texts with the final distance of the tool from its goal, and its range along each axis [m]."""
    path = robot.placement(solution.xs[1:, : robot.nq], TOOL)[:, :3, 3]
    ranges = ", ".join(
        f"{a} {low:.4g} ... {high:.4g}" for a, low, high in zip("xyz", path.min(axis=0), path.max(axis=0))
    )
    return {"distance": f"{1e3 * np.linalg.norm(path[-1] - goal):.3g} mm", "tool": f"{ranges} m"}


FAMILY = Family(
    name="arm-limits",
    description="An arm reaches for a goal while its tool stays within a box.",
    build=build,
    robots=("ur5",),
    reference_cost=0.689878879,
    reference_source="mim-solvers 0.3.0",
)
