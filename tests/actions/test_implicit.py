"""Implicit steps: closed forms on linear systems, energy over many steps, stiff systems, and where no step exists."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import DIFFERENTIALS
from tests.support.slow_twin import assert_close
from trajopt.errors import TrajoptError, UnknownNameError, UnsupportedOperationError
from trajopt.robots import load_robot
from trajopt.shooting.inspection import cost_terms
from trajopt.solvers import SolverFDDP, SolverSQP, SQPOptions

Implicit = trajopt.IntegratedActionModelImplicit
SYSTEM = np.array([[0.0, 1.0, 0.0], [-1.625, -0.125, 0.375], [0.625, 0.0, 0.25]])


class Linear(trajopt.DifferentialActionModelSymbolic):
    """ẋ = A x + (0, 1, 0) u."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return ca.SX(SYSTEM) @ x + ca.SX([0.0, 1.0, 0.0]) * u


class Oscillator(trajopt.DifferentialActionModelSymbolic):
    """Mass on a spring of 10,000 N/m, 100 rad/s."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u - 1e4 * x[0]


def evaluated(model: Any, x: Any, u: Any) -> Any:
    data = model.create_data()
    model.calc(data, np.array(x), np.array(u))
    model.calc_diff(data, np.array(x), np.array(u))
    return data


@pytest.mark.parametrize(("method", "c"), [("midpoint", 0.5), ("euler", 1.0)])
def test_a_step_of_a_linear_system_is_a_rational_function(method: str, c: float) -> None:
    """x⁺ = (1 - c dt A)⁻¹ (1 + (1 - c) dt A) x, the cost is that at (1 - c) x + c x⁺."""
    state, dt, x = trajopt.StateVector(3), 0.25, np.array([0.3, -0.7, 1.1])
    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), 2.0)
    data = evaluated(Implicit(Linear(state, 1, costs), dt, method=method), x, [0.0])
    expected = np.linalg.solve(np.eye(3) - c * dt * SYSTEM, np.eye(3) + (1 - c) * dt * SYSTEM)
    assert_close(data.xnext, expected @ x, 1e-15)
    assert_close(data.Fx, expected, 1e-15)
    y = (1 - c) * x + c * data.xnext
    assert data.cost == pytest.approx(dt * y @ y, rel=1e-14)


def test_the_energy_of_a_free_double_pendulum_stays_bounded() -> None:
    """Over 100,000 steps of 10 ms the midpoint rule is off by 53 µJ of 12 J, as in the first tenth; RK4 drifts."""
    state = trajopt.StateMultibody(load_robot("double-pendulum"))
    costs = trajopt.CostStack(state)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    data = state.model.createData()

    def errors(model: Any) -> Any:
        problem = trajopt.ShootingProblem(np.array([0.5, 0.5, 0.0, 0.0]), [model] * 1000, costs)
        energy = []
        for _ in range(100):
            xs = problem.rollout([np.zeros(2)] * 1000)
            energy.append([pin.computeMechanicalEnergy(state.model, data, y[:2], y[2:]) for y in xs[::10]])
            problem.x0 = xs[-1]
        return np.abs(np.array(energy) - energy[0][0]).reshape(10, -1).max(axis=1)

    midpoint, rk4 = errors(Implicit(d, 0.01)), errors(trajopt.IntegratedActionModelRK4(d, 0.01))
    assert midpoint.max() < 1.01 * midpoint[0] < 6e-5
    assert rk4[-1] > 9 * rk4[0] > midpoint.max()


def test_backward_euler_damps_a_stiff_system_and_the_midpoint_rule_keeps_its_energy() -> None:
    """20 steps of 0.1 s, over each of which the phase grows by 10 rad; the explicit step diverges."""
    state = trajopt.StateVector(2)
    d, ends = Oscillator(state, 1, trajopt.CostStack(state)), {}
    for name, model in (
        ("euler", Implicit(d, 0.1, method="euler")),
        ("midpoint", Implicit(d, 0.1)),
        ("explicit", trajopt.IntegratedActionModelRK4(d, 0.1)),
    ):
        problem = trajopt.ShootingProblem(np.array([1.0, 0.0]), [model] * 20, trajopt.CostStack(state))
        q, v = problem.rollout([np.zeros(1)] * 20)[-1]
        ends[name] = q**2 + (v / 100.0) ** 2
    assert ends["euler"] == pytest.approx(101.0**-20, rel=1e-9)  # 1 / (1 + (ω dt)²) for each step
    assert ends["midpoint"] == pytest.approx(1.0, rel=1e-12)
    assert ends["explicit"] > 1e10


def test_solvers_take_implicit_steps() -> None:
    """SolverFDDP and SolverSQP reach one optimum, close to that of RK4; cost terms add up to the cost."""
    state = trajopt.StateMultibody(load_robot("double-pendulum"))
    costs, end = trajopt.CostStack(state), trajopt.CostStack(state)
    costs.add("effort", trajopt.ResidualModelControl(state), 1e-2)
    costs.add("rest", trajopt.ResidualModelState(state), 1e-2)
    end.add("goal", trajopt.ResidualModelState(state, [1.0, 0.5, 0.0, 0.0]), 50.0)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), costs)
    problem = trajopt.ShootingProblem(np.zeros(4), [Implicit(d, 0.02)] * 40, end)
    one, two = SolverFDDP(problem).solve(), SolverSQP(problem).solve()
    assert one.converged
    assert two.converged
    gauss_newton = SolverSQP(problem, SQPOptions(hessian="gauss-newton")).solve()
    assert two.iterations < gauss_newton.iterations
    assert gauss_newton.cost == pytest.approx(two.cost, rel=1e-6)
    assert one.cost == pytest.approx(two.cost, rel=1e-6)
    rk4 = trajopt.ShootingProblem(np.zeros(4), [trajopt.IntegratedActionModelRK4(d, 0.02)] * 40, end)
    assert one.cost == pytest.approx(SolverFDDP(rk4).solve().cost, rel=2e-2)
    terms = cost_terms(problem, one.xs, one.us)
    assert sum(float(np.nansum(each)) for each in terms.values()) == pytest.approx(one.cost, rel=1e-10)


class Rootless(trajopt.DifferentialActionModelSymbolic):
    """k = 1 + k² has no real root with a step of 1 s."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return 1.0 + x**2 + u


def test_a_step_without_a_root_is_told() -> None:
    state = trajopt.StateVector(1)
    model = Implicit(Rootless(state, 1, trajopt.CostStack(state)), 1.0, method="euler")
    problem = trajopt.ShootingProblem(np.zeros(1), [model], trajopt.CostStack(state))
    with pytest.raises(TrajoptError, match="knot 0"):
        problem.rollout([np.zeros(1)])


def test_doors() -> None:
    state = trajopt.StateVector(1)
    d = Rootless(state, 1, trajopt.CostStack(state))
    with pytest.raises(UnknownNameError, match="method 'trapezoid' not found. Known: euler, midpoint"):
        Implicit(d, 0.1, method="trapezoid")
    model = Implicit(d, 0.1)
    assert "midpoint" in repr(model)
    with pytest.raises(UnsupportedOperationError, match="an implicit step is not a single expression.*SolverSQP"):
        model.knot_expressions(terminal=False)


def test_rows_hold_at_the_knot() -> None:
    """Rows, and their derivatives, are those of an Euler step."""
    d = DIFFERENTIALS["constrained-pendulum"]()
    models = [Implicit(d, 0.1), trajopt.IntegratedActionModelEuler(d, 0.1)]
    x, u, p = np.array([0.4, -0.7]), np.array([0.9]), models[0].layout.column()
    for name, count in (("calc", 1), ("calc_diff", 2)):  # rows, then C, come last besides the status of the iteration
        one, two = (model.program(name).evaluate(x, u, p) for model in models)
        for own, expected in zip(one[-1 - count : -1], two[-count:], strict=True):
            assert own.shape[0] == models[0].nc > 0
            np.testing.assert_array_equal(own, expected)
