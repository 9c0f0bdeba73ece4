"""A body moves from rest to rest with minimum jerk."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions import ActionModelDiscrete
from trajopt.checks import check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.problems.runge_kutta import ends_at
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SQPOptions
from trajopt.states import StateVector
from trajopt.types import Reals


class ActionModelTripleIntegrator(ActionModelDiscrete):
    """Triple integrator d³p/dt³ = u, discretised exactly for constant u within a step; cost dt ½ u².

    Args:
        state: State of position, velocity and acceleration.
        dt: Time step, > 0 [s]. Run-time parameter `dt`.
    """

    def __init__(self, state: StateVector, dt: float) -> None:
        super().__init__(state, 1, constraints=ConstraintStack(state), control_names=["jerk"], control_units=["m/s³"])
        self.dt = self.parameter("dt", check_positive("dt", dt, unit="s"), unit="s")

    def next_state(self, x: SX, u: SX) -> SX:
        dt, (p, v, a) = self.dt, (x[0], x[1], x[2])
        return SX(ca.vertcat(p + dt * v + dt**2 / 2 * a + dt**3 / 6 * u, v + dt * a + dt**2 / 2 * u, a + dt * u))

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(self.dt / 2 * u**2)

    def terminal_cost(self, x: SX) -> SX:
        return SX(0)


def build(*, T: int = 50, dt: float = 0.02, distance: float = 1.0) -> ProblemCase:
    """minimise Σ dt ½ (d³p/dt³)² from rest at 0 to rest at `distance`, a terminal equality of position and two rates.

    For dt -> 0, the motion becomes that of Flash and Hogan, p = d (10 s³ - 15 s⁴ + 6 s⁵) with s = t / τ and τ = T dt,
    and the cost becomes 360 d² / τ⁵. The reference cost is that for finite time steps in closed form, so it is valid
    for all options.

    Args:
        T: Number of knots, >= 3 [-].
        dt: Time step [s].
        distance: Distance d, > 0 [m].

    Source: Flash, Hogan, The coordination of arm movements, 1985.
    """
    count, step, way = check_count("T", T, least=3), check_positive("dt", dt), check_positive("distance", distance)
    state = StateVector(3, names=["p", "v", "a"], units=["m", "m/s", "m/s²"])
    goal = np.array([way, 0.0, 0.0])
    problem = ShootingProblem(np.zeros(3), [ActionModelTripleIntegrator(state, step)] * count, ends_at(state, goal))
    return FAMILY.case(
        problem=problem,
        options=SQPOptions(feasibility=1e-10),
        reference_cost=least_cost(count, step, way),
        reference_source="closed form",
        report=functools.partial(report, goal),
    )


def least_cost(T: int, dt: float, distance: float) -> float:
    """Least cost ½ dt |u|², where u is the smallest vector of jerks with M u = (distance, 0, 0) [m²/s⁵].

    A column of M (3, T) is the final state for a jerk of 1 m/s³ in a single time step.
    """
    left = dt * np.arange(T)[::-1]  # time between the end of a jerk and the final time [s]
    M = np.array([((left + dt) ** 3 - left**3) / 6, ((left + dt) ** 2 - left**2) / 2, np.full(T, dt)])
    scale = np.array([(T * dt) ** 3, (T * dt) ** 2, T * dt])
    M, goal = M / scale[:, None], np.array([distance, 0.0, 0.0]) / scale
    return float(0.5 * dt * goal @ np.linalg.solve(M @ M.T, goal))


def report(goal: Reals, solution: Solution) -> dict[str, str]:
    """Returns texts with the error of the final state, and the largest jerk."""
    off = np.abs(solution.xs[-1] - goal).max()
    return {"end": f"off by at most {off:.2g}", "jerk": f"at most {np.abs(solution.us).max():.4g} m/s³"}


FAMILY = Family(
    name="minimum-jerk",
    description="A body moves from rest to rest by 1 m in 1 s with minimum jerk.",
    build=build,
    reference_cost=least_cost(50, 0.02, 1.0),
    reference_source="closed form",
    reference_holds=True,
)
