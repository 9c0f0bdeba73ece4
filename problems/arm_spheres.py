"""An arm moves between spheres, within the limits of its joints and motors."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from trajopt.actions.differential import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFull
from trajopt.checks import check_array, check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import Capsule, ResidualModelControl, ResidualModelObstacleDistance, ResidualModelState, Sphere
from trajopt.robots import Robot, load_robot
from trajopt.robots.round_bodies import check_round
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateMultibody
from trajopt.types import Reals

START = (0.0, -1.5, 1.0, -1.0, -1.5, 0.0)  # [rad]
GOAL = (1.6, -1.0, 1.5, -2.0, -1.2, 0.5)  # [rad]
SPHERES = ((0.5, 0.3, 0.33, 0.12), (0.25, 0.4, 0.65, 0.12), (0.1, 0.55, 0.1, 0.1))  # [m]

LINKS: dict[str, Capsule | Sphere] = {
    "upper_arm": Capsule(0.06, start=(0.0, 0.0, 0.0), end=(0.0, 0.0, 0.425), frame="shoulder_lift_joint"),
    "forearm": Capsule(0.05, start=(0.0, 0.0, 0.0), end=(0.0, 0.0, 0.392), frame="elbow_joint"),
    "wrist": Capsule(0.05, start=(0.0, 0.0, 0.0), end=(0.0, 0.0, 0.095), frame="wrist_2_joint"),
    "tool": Sphere(0.05, frame="tool0"),
}
"""Collision shapes of UR5's links, in the axes of its joints."""


def build(
    *,
    robot: str = "ur5",
    T: int = 40,
    dt: float = 0.045,
    spheres: npt.ArrayLike = SPHERES,
    margin: float = 0.01,
    goal: npt.ArrayLike = GOAL,
) -> ProblemCase:
    """minimise ∫ ½ (|v|² + 1e-4 |u|²) dt, from rest to rest, every link `margin` away from every sphere at the knots.

    The final state is a hard constraint, and so are the robot's limits of positions, velocities and torques. Links are
    capsules, and the tool is a sphere.

    Args:
        robot: "ur5".
        T: Number of knots [-].
        dt: Time step [s].
        spheres: Rows (x, y, z, radius), shape (n, 4) [m].
        margin: Smallest distance at the knots, >= 0 [m]; the report has the distance between knots.
        goal: Final joint angles (6,) [rad].
    """
    state = StateMultibody(load_robot(robot))
    start, end = (np.concatenate([check_array("goal", q, (state.nq,)), np.zeros(state.nv)]) for q in (START, goal))
    balls, least = check_round("spheres", spheres, dim=3), check_non_negative("margin", margin, unit="m")
    actuation = ActuationModelFull(state)
    limits = ConstraintStack.of_robot(state, actuation)
    for name, link in LINKS.items() if len(balls) else ():
        limits.add(name, ResidualModelObstacleDistance(state, balls, link), lower=least)
    costs = CostStack(state).add("torque", ResidualModelControl(state), weight=1e-4)
    still = ActivationModelWeightedQuad(np.repeat([0.0, 1.0], state.nv))
    costs.add("velocity", ResidualModelState(state), weight=1.0, activation=still)
    dynamics = DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    knot = IntegratedActionModelEuler(dynamics, check_positive("dt", dt, unit="s"))
    count = check_count("T", T, least=1)
    return FAMILY.case(
        problem=ShootingProblem(start, [knot] * count, ends_at(state, end)),
        xs=np.linspace(start, end, count + 1),
        report=functools.partial(report, state.robot, balls),
        obstacles=balls,
    )


def clearance(robot: Robot, qs: Reals, spheres: Reals) -> float:
    """Smallest distance between links and spheres, along straight lines between configurations (T + 1, nq) [m].

    It uses Pinocchio's placements and points along the capsules, so it does not depend on the problem's residual.
    """
    model, least = robot.model, np.inf
    data = model.createData()
    part = np.linspace(0.0, 1.0, 50)[:, None]
    for q in (pin.interpolate(model, a, b, s) for a, b in itertools.pairwise(qs) for s in np.linspace(0.0, 1.0, 6)):
        pin.framesForwardKinematics(model, data, q)
        for link in LINKS.values():
            placement = data.oMf[robot.frame_id(str(link.frame))]
            ends = link.points @ placement.rotation.T + placement.translation
            points = (1 - part) * ends[0] + part * ends[-1]
            away = np.linalg.norm(points[:, None] - spheres[:, :3], axis=2) - spheres[:, 3] - link.radius
            least = min(least, float(away.min()))
    return least


def report(robot: Robot, spheres: Reals, solution: Solution) -> dict[str, str]:
    """Distance between the links and the spheres, also between knots."""
    if not len(spheres):
        return {"spheres": "none"}
    return {"clearance": f"{1e3 * clearance(robot, solution.xs[:, : robot.nq], spheres):.3g} mm"}


FAMILY = Family(
    name="arm-spheres",
    description="An arm moves between spheres, within the limits of its joints and motors.",
    build=build,
    robots=("ur5",),
    reference_cost=1.383032428,
    reference_source="IPOPT",
)
