"""A quadrotor flies between pillars."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.activations import ActivationModelWeightedQuad
from trajopt.analysis import clearance
from trajopt.checks import check_count, check_non_negative, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.quadrotor import GRAVITY, DifferentialActionModelQuadrotor, hovering, state_of_quadrotor
from trajopt.problems.runge_kutta import ends_at
from trajopt.residuals import ResidualModelControl, ResidualModelObstacleDistance, ResidualModelState
from trajopt.robots.round_bodies import check_round
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.types import Reals

START, GOAL = (0.0, 0.0, 1.0), (4.0, 0.0, 1.5)  # [m]
PILLARS = ((1.0, 0.15, 0.3), (2.0, -0.4, 0.3), (3.0, 0.2, 0.3), (2.0, -1.8, 0.3))  # [m]
BODY_RADIUS = 0.3  # of the arms with their rotors [m]
BOW = 1.0  # largest distance of the guess from the straight line [m]


def build(
    *,
    T: int = 40,
    dt: float = 0.05,
    pillars: npt.ArrayLike = PILLARS,
    margin: float = 0.05,
    thrust: float = 4.0,
) -> ProblemCase:
    """minimise Σ dt ½ (|u - m g / 4|² + 1e-1 |(v, ω)|²), from hovering to hovering between pillars, on SE(3).

    Each thrust is between 0 and `thrust`; hovering takes 2.45 N. The centre stays 0.3 m, the radius of the body, plus
    `margin` away from the pillars. The final state is a hard constraint. The integrator is symplectic Euler. The guess
    passes beside the pillars. From hovering at the start, SolverSQP finds the same optimum, and IPOPT ends inside a
    pillar.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        pillars: Rows (x, y, radius), shape (n, 3) [m].
        margin: Distance of the body from pillars at the knots, >= 0 [m]; the report has the distance between knots.
        thrust: Largest thrust of a rotor, > 0 [N].
    """
    state, most = state_of_quadrotor(), check_positive("thrust", thrust, unit="N")
    bodies, size = check_round("pillars", pillars, dim=2), BODY_RADIUS + check_non_negative("margin", margin, unit="m")
    costs = CostStack(state).add("thrust", ResidualModelControl(state, [GRAVITY / 4] * 4), weight=1.0)
    twist = ActivationModelWeightedQuad(np.repeat([0.0, 1.0], 6))
    costs.add("twist", ResidualModelState(state), weight=0.1, activation=twist)
    rows = ConstraintStack(state).add("rotors", ResidualModelControl(state), lower=0.0, upper=most)
    if len(bodies):
        rows.add("pillars", ResidualModelObstacleDistance(state, bodies, size))
    knot = IntegratedActionModelEuler(DifferentialActionModelQuadrotor(costs, constraints=rows), dt=dt)
    count = check_count("T", T, least=1)
    return FAMILY.case(
        problem=ShootingProblem(hovering(START), [knot] * count, ends_at(state, hovering(GOAL))),
        xs=bow(count),
        report=functools.partial(report, bodies),
        obstacles=bodies,
    )


def bow(T: int) -> Reals:
    """Guess of the states (T + 1, 13): at rest and level along a bow from start to goal."""
    part = np.linspace(0.0, 1.0, T + 1)[:, None]
    way = (1 - part) * START + part * GOAL - BOW * np.sin(np.pi * part) * np.array([0.0, 1.0, 0.0])
    return np.array([hovering(position) for position in way])


def report(pillars: Reals, solution: Solution) -> dict[str, str]:
    """Distance from the goal, thrusts, and distance of the body from pillars between knots."""
    us, words = solution.us, {"distance": f"{1e3 * np.linalg.norm(solution.xs[-1, :3] - GOAL):.2g} mm"}
    words["thrusts"] = f"{us.min():.4g} ... {us.max():.4g} N"
    if len(pillars):
        words["clearance"] = f"{1e3 * clearance(solution.xs, pillars, BODY_RADIUS):.3g} mm"
    return words


FAMILY = Family(
    name="quadrotor-obstacles",
    description="A quadrotor flies between pillars and hovers at its goal.",
    build=build,
    reference_cost=2.557339038,
    reference_source="IPOPT and fatrop",
)
