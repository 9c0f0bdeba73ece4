"""A point mass with linear dynamics and a quadratic cost, limited by two walls."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from trajopt.actions import ActionModelDiscrete
from trajopt.checks import check_count, check_positive
from trajopt.constraints import ConstraintStack
from trajopt.errors import InvalidArgumentError
from trajopt.problems.case import ProblemCase
from trajopt.problems.family import Family
from trajopt.residuals import ResidualModelState
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.states import StateVector

GRAVITY = 9.81  # [m/s²]
GOAL = np.array([1.0, 0.0, 0.0, 0.0])  # [m, m, m/s, m/s]
END = np.array([100.0, 100.0, 5.0, 5.0])  # weights of the last state


class ActionModelPointMass(ActionModelDiscrete):
    """Point mass v⁺ = v + dt (u - g e_y), p⁺ = p + dt v⁺; cost dt ½ (|x - goal|² + |u|²), at the end Σ w (x - goal)².

    The state is (p, v) in a vertical plane, and the control is an acceleration.

    Args:
        constraints: Constraints of the knot.
        dt: Time step, > 0 [s]. Run-time parameter `dt`.
    """

    def __init__(self, constraints: ConstraintStack, dt: float) -> None:
        names = {"control_names": ["ax", "ay"], "control_units": ["m/s²", "m/s²"]}
        super().__init__(constraints.state, 2, constraints=constraints, **names)
        self.dt = self.parameter("dt", check_positive("dt", dt, unit="s"), unit="s")

    def next_state(self, x: SX, u: SX) -> SX:
        v = x[2:] + self.dt * (u - ca.DM([0.0, GRAVITY]))
        return SX(ca.vertcat(x[:2] + self.dt * v, v))

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(self.dt / 2 * (ca.sumsqr(x - ca.DM(GOAL)) + ca.sumsqr(u)))

    def terminal_cost(self, x: SX) -> SX:
        return SX(ca.dot(ca.DM(END), (x - ca.DM(GOAL)) ** 2))


def build(*, T: int = 20, dt: float = 0.5, wall: float = 0.4, ceiling: float = 0.2) -> ProblemCase:
    """minimise Σ dt ½ (|x - goal|² + |u|²) + Σ wᵢ (x_T - goal)ᵢ² of a point mass, px <= `wall`, py <= `ceiling`.

    The goal, (1 m, 0) at rest, lies behind the wall. The whole problem is one quadratic program.

    Args:
        T: Number of knots [-].
        dt: Time step [s].
        wall: Largest px [m].
        ceiling: Largest py [m].

    Source: mim_solvers, its test of a constrained LQR.
    """
    for name, value in (("wall", wall), ("ceiling", ceiling)):
        if not np.isfinite(value) or value < 0.0:
            raise InvalidArgumentError(
                f"{name}: expected a number >= 0 [m], because the mass starts at 0, got {value!r}"
            )
    state = StateVector(4, names=["x", "y", "vx", "vy"], units=["m", "m", "m/s", "m/s"])
    walls = ConstraintStack(state).add("walls", ResidualModelState(state), upper=[wall, ceiling, np.inf, np.inf])
    model = ActionModelPointMass(walls, dt)
    return FAMILY.case(
        problem=ShootingProblem(np.zeros(4), [model] * check_count("T", T, least=1), model), report=report
    )


def report(solution: Solution) -> dict[str, str]:
    """Returns texts with the largest x and y that the mass reaches, and its final position [m]."""
    far, high = solution.xs[1:, :2].max(axis=0)
    x, y = solution.xs[-1, :2]
    return {"positions": f"x at most {far:.6g} m, y at most {high:.6g} m", "end": f"({x:.4g}, {y:.4g}) m"}


FAMILY = Family(
    name="lqr-bounds",
    description="Linear dynamics, quadratic cost, and two walls: one quadratic program solves it.",
    build=build,
    reference_cost=516.3142133,
    reference_source="mim-solvers 0.3.0",
)
