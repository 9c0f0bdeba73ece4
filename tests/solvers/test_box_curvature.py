"""Box solvers: exact Hessians, and controls that are held at limits that their gains lead beyond."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

from trajopt.actions import ActionModelTerminal
from trajopt.actions.differential import DifferentialActionModelSymbolic
from trajopt.actions.integrated import IntegratedActionModelRK4
from trajopt.costs import CostStack
from trajopt.residuals import ResidualModelControl, ResidualModelState, ResidualModelTime
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverAbstract, SolverBoxDDP, SolverBoxFDDP, SolverDDP
from trajopt.solvers.ddp.control_limits import ControlLimits
from trajopt.states import StateVector

Solver = type[SolverAbstract[Any]]


class Mass(DifferentialActionModelSymbolic):
    def acceleration(self, x: SX, u: SX) -> SX:
        return u


class PlanarQuadrotor(DifferentialActionModelSymbolic):
    """Two propellers of at most `most` [N] lift .5 kg."""

    def __init__(self, costs: CostStack, most: float) -> None:
        super().__init__(costs.state, 2, costs, lower=[0.0, 0.0], upper=[most, most])

    def acceleration(self, x: SX, u: SX) -> SX:
        lift = (u[0] + u[1]) / 0.5
        return ca.vertcat(-lift * ca.sin(x[2]), lift * ca.cos(x[2]) - 9.81, 0.17 * (u[1] - u[0]) / 0.004)


def flip(most: float) -> tuple[ShootingProblem, npt.NDArray[np.float64]]:
    """A flip to a place 1 m aside in 2 s; and controls that hover."""
    state, hover = StateVector(6), np.full(2, 0.5 * 9.81 / 2)
    running = CostStack(state).add("effort", ResidualModelControl(state, hover), weight=0.1)
    goal = ResidualModelState(state, np.array([1.0, 0.0, 2.0 * np.pi, 0.0, 0.0, 0.0]))
    node = IntegratedActionModelRK4(PlanarQuadrotor(running, most), 0.025)
    end = ActionModelTerminal(CostStack(state).add("goal", goal, weight=1000.0))
    return ShootingProblem(np.zeros(6), [node] * 80, end), np.tile(hover, (80, 1))


@pytest.mark.parametrize("kind", [SolverBoxDDP, SolverBoxFDDP])
@pytest.mark.parametrize("most", [8.0, 4.5])
def test_box_solvers_reach_the_optimum_without_limits_if_it_keeps_them(kind: Solver, most: float) -> None:
    """On the way a flip has controls at 4.5 N. Gauss-Newton ends after 300 iterations, at a cost 5 % higher."""
    problem, us = flip(most)
    free, limited = SolverDDP(problem).solve(us=us), kind(problem).solve(us=us)
    gauss_newton = kind(problem, kind.options_type(hessian="gauss-newton")).solve(us=us)  # type: ignore[call-arg]
    assert free.converged
    assert np.all((free.us > 0.0) & (free.us < most))
    assert limited.converged
    assert limited.cost == pytest.approx(free.cost, rel=1e-8)
    assert max(record.blend for record in limited.history) == 1.0
    assert gauss_newton.cost > 1.03 * free.cost


@pytest.mark.parametrize("kind", [SolverBoxDDP, SolverBoxFDDP])
def test_exact_directions_keep_limits(kind: Solver) -> None:
    """At the optimum of a flip with little thrust the cost falls beyond each limit, and along no other control."""
    problem, us = flip(3.8)
    solution = kind(problem).solve(us=us)
    assert solution.converged
    assert np.all((solution.us >= 0.0) & (solution.us <= 3.8))
    full, low = solution.us == 3.8, solution.us == 0.0
    assert (full | low).any()

    def cost(us: npt.NDArray[np.float64]) -> float:
        return problem.calc(problem.rollout(us), us).cost

    for t, i in [*np.argwhere(full | low), (3, 0), (40, 1), (77, 0)]:
        change = np.zeros_like(us)
        change[t, i] = 1e-5
        slope = (cost(solution.us + change) - cost(solution.us - change)) / 2e-5
        if full[t, i] or low[t, i]:
            assert slope * (1.0 if full[t, i] else -1.0) < -1e-5
        else:
            assert abs(slope) < 1e-6


@pytest.mark.parametrize("kind", [SolverBoxDDP, SolverBoxFDDP])
def test_controls_that_gains_lead_beyond_a_limit_are_held(kind: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without, rollouts clip them at any length, and searches fail: 300 iterations are not enough."""
    problem, us = flip(4.5)
    assert kind(problem).solve(us=us).iterations < 150
    monkeypatch.setattr(ControlLimits, "hold", lambda self, du: False)
    without = kind(problem).solve(us=us)
    assert not without.converged
    assert sum(not record.accepted for record in without.history) > 30


def test_what_held_controls_leave_is_no_end() -> None:
    """A mass that moves 1 m in free time: a pass that holds some of its controls promises nothing before the end."""
    state = StateVector(2)
    running = CostStack(state).add("effort", ResidualModelControl(state), weight=0.01)
    running.add("time", ResidualModelTime(state), weight=1.0)
    end = CostStack(state).add("goal", ResidualModelState(state, [1.0, 0.0]), weight=1e4)
    node = IntegratedActionModelRK4(Mass(state, 1, running, lower=[-2.0], upper=[2.0]), dt=0.05)
    problem = ShootingProblem([0.0, 0.0], [node] * 40, ActionModelTerminal(end))
    problem.free("dt", lower=0.005, upper=0.2)
    one, other = SolverBoxDDP(problem).solve(), SolverBoxFDDP(problem).solve()
    assert one.converged
    assert other.converged
    assert other.cost == pytest.approx(one.cost, rel=1e-9)
    assert 40 * float(other.unknowns["dt"]) == pytest.approx(np.sqrt(2.0), rel=1e-3)  # 2 √(d / a)
