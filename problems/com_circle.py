"""A standing quadruped moves its centre of mass along a circle, with contact forces within friction cones."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelContactFwdDynamics
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.actuation import ActuationModelFloatingBase
from trajopt.checks import check_count, check_flag, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.contacts import ContactModel3D, ContactStack
from trajopt.costs import CostStack
from trajopt.gaits import holding_gains
from trajopt.instant import Instant
from trajopt.problems.case import TRAJOPT_SQP, ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import (
    ResidualModelAbstract,
    ResidualModelCoMPosition,
    ResidualModelControl,
    ResidualModelState,
)
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SQPOptions
from trajopt.states import StateAbstract, StateMultibody
from trajopt.types import Reals

FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
POSTURE = (0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 1.0, *(0.0, 0.8, -1.6) * 2, *(0.0, -0.8, 1.6) * 2)
RATE = 0.2  # of the circle [1/s]
EPSILON = 1e-20  # keeps the derivative finite at the tip of the cone [N²]


class ResidualModelRoundCone(ResidualModelAbstract):
    """Distance of a contact force from its round friction cone, r = μ f_z - |f_xy|, shape (1,) [N]; >= 0 inside.

    Args:
        state: State of the robot.
        contact: Name of the contact.
        mu: Friction coefficient μ, > 0 [-]. Run-time parameter `mu`.
    """

    uses_solution = True

    def __init__(self, state: StateAbstract, contact: str, mu: float) -> None:
        super().__init__(state, 1, unit="N")
        self.contact = contact
        self.mu = self.parameter("mu", check_positive("mu", mu))

    def evaluate(self, instant: Instant) -> SX:
        force = instant.force(self.contact)
        return SX(self.mu * force[2] - ca.sqrt(force[0] ** 2 + force[1] ** 2 + EPSILON))


def build(
    *,
    robot: str = "solo12",
    T: int = 250,
    dt: float = 0.02,
    mu: float = 0.8,
    radius: float = 0.065,
    holding: bool = True,
) -> ProblemCase:
    """minimise ∫ ½ (1e5 |com - path|² + 0.1 |W (x ⊖ x₀)|² + 1e-3 |u|²) dt, feet within round friction cones.

    W = (0, 500, 0.01, 10, 1) for position and rotation of the base, joints, velocities of the base and of the joints.
    The path is a circle at constant height, completed once in 5 s. It begins at the centre of the feet at full speed.
    The robot starts at rest, so its centre of mass must catch up.

    Args:
        robot: "solo12".
        T: Number of knots [-].
        dt: Time step [s].
        mu: Friction coefficient, > 0 [-].
        radius: Radius of the circle, >= 0 [m].
        holding: Whether contacts pull the feet to their initial positions. If not, as in mim_solvers, only their
            accelerations are zero; feet then drift by 2 mm, and the cost is 0.4463326572.

    Source: mim_solvers, its example solo12.
    """
    quadruped = load_robot(robot)
    state, x0 = StateMultibody(quadruped), np.concatenate([POSTURE, np.zeros(18)])
    actuation = ActuationModelFloatingBase(state)
    count, step = check_count("T", T, least=1), check_positive("dt", dt, unit="s")
    times = np.asarray(step * np.arange(count + 1), dtype=np.float64)
    path = circle(quadruped, check_non_negative("radius", radius, unit="m"), times)
    weights = np.repeat([0.0, 500.0, 0.01, 10.0, 1.0], [3, 3, 12, 6, 12]) ** 2

    def costs(factor: float) -> CostStack:
        posture = ActivationModelWeightedQuad(weights)
        stack = CostStack(state).add("posture", ResidualModelState(state, x0), weight=0.1 * factor, activation=posture)
        return stack.add("com", ResidualModelCoMPosition(state, path[-1]), weight=1e5)

    contacts, rows = ContactStack(state), ConstraintStack(state)
    for foot in FEET:
        place = quadruped.placement(POSTURE, foot)[:3, 3]
        gains = holding_gains(step, 0.1) if check_flag("holding", holding) else (0.0, 0.0)
        contacts.add(foot, ContactModel3D(state, foot, reference=place, gains=gains))
        rows.add(f"cone_{foot}", ResidualModelRoundCone(state, foot, mu), lower=0.0)
    running = costs(1.0).add("effort", ResidualModelControl(state), weight=1e-3)
    model = DifferentialActionModelContactFwdDynamics(state, actuation, contacts, running, constraints=rows)
    problem = ShootingProblem(x0, [IntegratedActionModelEuler(model, step)] * count, ActionModelTerminal(costs(step)))
    for t in range(count):
        problem.set_parameter("com.reference", path[t], knots=t)
    return FAMILY.case(
        problem=problem,
        options=SQPOptions(tolerance=1e-5, feasibility=1e-6),
        report=functools.partial(report, quadruped, path, mu),
    )


def circle(robot: Robot, radius: float, times: Reals) -> Reals:
    """References of the centre of mass (n, 3) at times (n,) [m]; the circle passes through the centre of the feet."""
    centre = np.mean([robot.placement(POSTURE, foot)[:3, 3] for foot in FEET], axis=0)
    centre[2] = robot.com(POSTURE)[2]
    angles = 2 * np.pi * RATE * times
    return np.asarray(centre + radius * np.c_[np.sin(angles), np.cos(angles) - 1.0, 0.0 * angles])


def report(robot: Robot, path: Reals, mu: float, solution: Solution) -> dict[str, str]:
    """Returns texts with the distance of the centre of mass from its path, and the use of the friction cones."""
    away = np.linalg.norm(robot.com(solution.xs[:, : robot.nq]) - path, axis=1)
    forces = np.concatenate(list(solution.contact_forces().values()))
    used = float((np.hypot(forces[:, 0], forces[:, 1]) / (mu * forces[:, 2])).max())
    return {
        "path": f"at most {1e3 * away.max():.3g} mm away, {1e3 * away[-1]:.3g} mm at the end",
        "friction": f"at most {100 * used:.4g} % of the cones, normal forces from {forces[:, 2].min():.3g} N",
    }


FAMILY = Family(
    name="com-circle",
    description="A standing quadruped moves its centre of mass along a circle, with forces within friction cones.",
    build=build,
    robots=("solo12",),
    reference_cost=0.4447511833,
    reference_source=TRAJOPT_SQP,
)
