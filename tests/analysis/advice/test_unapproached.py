"""Goals in terminal costs that a motion hardly approaches, such as with a mass in grams."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from trajopt import problems
from trajopt.shooting import ShootingProblem
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverSQP


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """A point mass [kg] on a rod of 0.5 m under a torque; q = 0 hangs."""

    def __init__(self, mass: float, costs: trajopt.CostStack, constraints: trajopt.ConstraintStack) -> None:
        super().__init__(costs.state, nu=1, costs=costs, constraints=constraints)
        self.mass = self.parameter("mass", mass)

    def acceleration(self, x: SX, u: SX) -> SX:
        return u / (0.25 * self.mass) - 19.62 * ca.sin(x[0])


def swing(mass: float, *, most: float = 1.5, goal: float = np.pi) -> Solution:
    """A pendulum is to stand upright after 2 s, which is a cost, with a torque of at most `most` N m."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    torque, costs, end = trajopt.ResidualModelControl(state), trajopt.CostStack(state), trajopt.CostStack(state)
    costs.add("effort", torque, weight=1e-2)
    motor = trajopt.ConstraintStack(state).add("motor", torque, lower=-most, upper=most)
    end.add("up", trajopt.ResidualModelState(state, [goal, 0.0]), weight=1e2)
    knot = trajopt.IntegratedActionModelRK4(Pendulum(mass, costs, motor), dt=0.02)
    return SolverSQP(ShootingProblem([0.0, 0.0], [knot] * 100, end)).solve()


def advice(solution: Solution) -> list[str]:
    return [line for line in solution.explain().splitlines() if "hardly approached" in line]


def test_a_mass_in_grams_is_asked_about() -> None:
    heavy = swing(1000.0)
    assert heavy.converged
    (line,) = advice(heavy)
    stays = 0.5 * 1e2 * np.pi**2
    assert line.startswith(
        f"-> term 'up' at the end is {heavy.cost_terms()['up'][-1]:.4g}, and {stays:.4g} if the motion"
    )
    assert "'motor' is at its bounds at 9" in line
    assert line.endswith("of 100 knots; raise these bounds, or check the units of masses, kg, and of lengths, m")


@pytest.mark.parametrize(("mass", "most", "goal"), [(1.0, 1.5, np.pi), (1000.0, 1.5, 0.0)])
def test_nothing_is_said_of_goals_that_are_approached_or_met_at_the_start(
    mass: float, most: float, goal: float
) -> None:
    """With kilograms the pendulum gets to 1.96 rad; it may also stay where it hangs."""
    assert advice(swing(mass, most=most, goal=goal)) == []


def test_a_small_weight_is_to_be_raised_where_no_bound_is_met() -> None:
    heavy = swing(1000.0, most=1e4)
    (line,) = advice(heavy)
    assert "goal is hardly approached; raise its weight, give the motion more time, or start from another guess" in line
    assert heavy.problem is not None
    heavy.problem.set_parameter("up.weight", 1e6)
    assert advice(SolverSQP(heavy.problem).solve()) == []


def test_a_saddle_asks_for_another_guess() -> None:
    """No torque at the hanging pendulum has a gradient of zero for the height of its tip."""
    solver = SolverFDDP(problems.load("pendulum").problem)
    hanging = solver.solve()
    assert hanging.converged
    (line,) = advice(hanging)
    assert line.endswith("start from another guess: solver.solve(starts=8) tries other guesses")
    assert advice(solver.solve(starts=8)) == []


@pytest.mark.parametrize("name", ["pendulum", "cart-pole", "double-pendulum", "parking", "unicycle"])
def test_ready_problems_approach_their_goals(name: str) -> None:
    assert advice(problems.load(name).solve()) == []


def test_a_clock_is_no_goal() -> None:
    """Its time, 3.58258 s in closed form, is the least; where the motion begins it is 0."""
    state = trajopt.StateVector(2, names=["v", "t"], units=["m/s", "s"])

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: SX, u: SX) -> SX:
            return ca.vertcat(u[0], 1.0) / x[0]

    force = trajopt.ResidualModelControl(state)
    rows = trajopt.ConstraintStack(state).add("force", force, lower=-4.0, upper=4.0)
    costs = trajopt.CostStack(state).add("effort", force, weight=1e-6)
    clock = trajopt.ResidualModelSymbolic(state, lambda x: ca.sqrt(2.0 * x[1] + 1e-6))
    speed = trajopt.ConstraintStack(state).add("end", trajopt.ResidualModelState(state, elements=["v"]), equals=2.0)
    end = trajopt.ActionModelTerminal(trajopt.CostStack(state).add("time", clock, weight=1.0), constraints=speed)
    knot = trajopt.IntegratedActionModelRK4(Mass(state, 1, costs, constraints=rows), dt=0.5)
    solution = SolverSQP(trajopt.ShootingProblem([2.0, 0.0], [knot] * 40, end)).solve()
    assert solution.converged
    assert solution.xs[-1, 1] == pytest.approx(3.58258, abs=1e-3)
    assert "hardly approached" not in solution.explain()
