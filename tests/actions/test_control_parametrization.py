"""Controls that change within a step: polynomials through their values at nodes of the step."""

from __future__ import annotations

import pickle
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import ACTIONS, DIFFERENTIALS
from tests.support.slow_twin import assert_close
from tests.support.ur5_reach import solved_reach
from trajopt.errors import InvalidArgumentError
from trajopt.mpc import MPCController
from trajopt.solvers import FDDPOptions, SolverFDDP

KINDS = [trajopt.ControlParametrizationPolyOne, trajopt.ControlParametrizationPolyTwoRK]


def rk4(differential: Any, control: Any, **options: Any) -> trajopt.IntegratedActionModelRK4:
    return trajopt.IntegratedActionModelRK4(differential, dt=0.05, control=control, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ball", "constrained-pendulum"])
def test_a_control_without_slope_is_a_constant_control(kind: Any, name: str) -> None:
    d = DIFFERENTIALS[name]()
    constant, model = rk4(d, None), rk4(d, kind(d.nu))
    assert isinstance(constant.control, trajopt.ControlParametrizationPolyZero)
    x, u = d.state.rand(1), np.random.default_rng(0).normal(size=d.nu)
    one, two = constant.create_data(), model.create_data()
    w = model.control.constant(u)
    for each, data, control in ((constant, one, u), (model, two, w)):
        each.calc(data, x, control)
        each.calc_diff(data, x, control)
    assert_close(two.xnext, one.xnext, 1e-14)
    assert two.cost == pytest.approx(one.cost, rel=1e-14)
    assert_close(two.Fx, one.Fx, 1e-13)
    spread = np.tile(np.eye(d.nu), (model.nu // d.nu, 1))  # dw/du
    assert_close(two.Fu @ spread, one.Fu, 1e-13)
    assert_close(spread.T @ two.Luu @ spread, one.Luu, 1e-13)
    assert model.nc == constant.nc


class Point(trajopt.DifferentialActionModelSymbolic):
    """A point whose speed is the control."""

    def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


@pytest.mark.parametrize(("kind", "tableau"), [(KINDS[0], "HEUN"), (KINDS[1], "KUTTA"), (KINDS[1], "CLASSICAL")])
def test_the_integral_of_a_polynomial_is_exact(kind: Any, tableau: str) -> None:
    """x' = u, ∫ u² dt: a mass-free point moves by the integral of its speed."""
    state = trajopt.StateVector(1)
    costs = trajopt.CostStack(state)
    costs.add("effort", trajopt.ResidualModelControl(state), weight=2.0)
    point = Point(state, 1, costs)
    method = getattr(trajopt.Tableau, tableau)
    control = kind(1) if kind is KINDS[0] else kind(1, method)
    model = trajopt.IntegratedActionModelRK(point, dt=0.2, tableau=method, control=control)
    w, data = np.array([0.3, -1.0, 2.0])[: model.nu], model.create_data()
    model.calc(data, np.zeros(1), w)
    times = np.polynomial.legendre.leggauss(4)
    c, weights = (times[0] + 1) / 2, times[1] / 2
    u = np.array([model.control.at(w, each)[0] for each in c])
    assert data.xnext[0] == pytest.approx(0.2 * weights @ u, rel=1e-12)
    stages = np.array([model.control.at(w, each)[0] for each in method.c])
    assert data.cost == pytest.approx(0.2 * np.array(method.b) @ stages**2, rel=1e-12)


def test_values_at_nodes_and_between() -> None:
    one, two = (kind(2) for kind in KINDS)
    np.testing.assert_allclose(one.at([0.0, 1.0, 2.0, 5.0], 0.25), [0.5, 2.0], rtol=1e-15)
    w = np.array([1.0, -1.0, 3.0, 0.0, 2.0, 4.0])
    for k, c in enumerate((0.0, 0.5, 1.0)):
        np.testing.assert_array_equal(two.at(w, c), w[2 * k : 2 * k + 2])
    assert two.at(w, 0.25)[0] == pytest.approx(np.polyval(np.polyfit([0.0, 0.5, 1.0], w[::2], 2), 0.25), rel=1e-12)
    symbol = ca.SX.sym("w", 6)
    by_w = np.array(ca.DM(ca.jacobian(two.expression(symbol, 0.3), symbol)))
    np.testing.assert_allclose(np.array(ca.DM(two.derivative(0.3))), by_w, rtol=1e-14)
    assert trajopt.ControlParametrizationPolyTwoRK(1, trajopt.Tableau(((), (1 / 3,), (0.0, 2 / 3)), (0.25, 0.0, 0.75)))


CROCODDYL = [
    (None, "MIDPOINT", 66, 6.54841071516792),
    (KINDS[0], "MIDPOINT", 18, 0.8722847051474817),
    (None, "CLASSICAL", 23, 5.302881295178281),
    (KINDS[0], "CLASSICAL", 25, 5.273339811108298),
    (KINDS[1], "CLASSICAL", 25, 5.271385545400979),
]
"""Iterations and final cost, printed by tests/data/make_crocoddyl_controls.py."""


@pytest.mark.parametrize(("kind", "tableau", "iterations", "cost"), CROCODDYL)
def test_a_reach_takes_the_iterations_of_crocoddyl(kind: Any, tableau: str, iterations: int, cost: float) -> None:
    method = getattr(trajopt.Tableau, tableau)

    def model(arm: trajopt.DifferentialActionModelFreeFwdDynamics) -> trajopt.IntegratedActionModelRK:
        control = kind(arm.nu) if kind else None
        return trajopt.IntegratedActionModelRK(arm, dt=0.05, tableau=method, transport=False, control=control)

    solution = solved_reach(model)
    assert solution.converged
    assert solution.iterations == iterations
    assert solution.cost == pytest.approx(cost, rel=1e-9)


def turn(kind: Any) -> trajopt.Solution:
    """A pendulum turns to the other side within one second."""
    d = DIFFERENTIALS["pendulum"]()
    end = trajopt.CostStack(d.state)
    end.add("goal", trajopt.ResidualModelState(d.state, np.array([np.pi, 0.0])), weight=100.0)
    problem = trajopt.ShootingProblem(np.zeros(2), [rk4(d, kind(d.nu) if kind else None)] * 20, end)
    return SolverFDDP(problem, FDDPOptions(max_iterations=200)).solve()


def test_more_freedom_makes_a_motion_cheaper() -> None:
    zero, one, two = (turn(kind) for kind in (None, *KINDS))
    assert zero.converged
    assert one.converged
    assert two.converged
    assert two.us.shape == (20, 3)
    assert one.cost < zero.cost * (1 - 1e-5)


@pytest.mark.parametrize("name", ["rk4-linear-contact-hopper", "rk4-parabola-planar-2r"])
def test_forces_and_torques_are_those_at_the_start_of_a_step(name: str) -> None:
    model: Any = ACTIONS[name]()
    constant = rk4(model.differential, None)
    x, w = model.state.rand(2), np.random.default_rng(2).normal(size=model.nu)
    row = {m: m.layout.column().reshape(1, -1) for m in (model, constant)}
    u = w[: constant.nu]
    for read in ("force_values", "torque_values"):
        found = getattr(model, read)(x[None], w[None], row[model])
        wanted = getattr(constant, read)(x[None], u[None], row[constant])
        assert found.keys() == wanted.keys()
        assert any(found) or read == "force_values"
        for key, value in wanted.items():
            np.testing.assert_allclose(found[key], value, rtol=1e-12, atol=1e-12)


def test_quasi_static_controls_do_not_change_within_a_step() -> None:
    d = DIFFERENTIALS["talos_arm"]()
    x = d.state.at_rest(np.full(d.state.nq, 0.4))
    still = d.quasi_static(x)
    assert np.abs(still).max() > 1.0  # [N m]
    np.testing.assert_allclose(rk4(d, KINDS[1](d.nu)).quasi_static(x), np.tile(still, 3), rtol=1e-12)


def test_limits_names_and_copies() -> None:
    d: Any = DIFFERENTIALS["contact-hopper"]()
    model = rk4(d, KINDS[0](d.nu))
    np.testing.assert_array_equal(model.lower, np.tile(d.lower, 2))
    assert model.control_names == [f"{n} at {place}" for place in ("0", "dt") for n in d.control_names]
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model.clone()) == repr(model)
    assert "control=ControlParametrizationPolyOne(" in repr(model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda d: rk4(d, KINDS[0](2)),
            r"control: .* has nu = 1, got ControlParametrizationPolyOne\(2: .*\); use",
        ),
        (lambda d: rk4(d, KINDS[0]), "control: expected a ControlParametrization.*PolyOne"),
        (
            lambda d: trajopt.IntegratedActionModelRK(d, tableau=trajopt.Tableau.EULER, control=KINDS[0](1)),
            "control: .* has values at 2 times of a step, and the tableau has stages at 1; use a tableau with more",
        ),
        (lambda d: KINDS[1](1, trajopt.Tableau.HEUN), "tableau: expected stages at three times, got 0, 1; use"),
        (lambda d: KINDS[0](1).at([1.0], 0.5), r"w: expected shape \(2,\), got \(1,\)"),
        (lambda d: KINDS[0](1).at([1.0, 2.0], "half"), "c: expected a number, got 'half'"),
    ],
)
def test_wrong_parametrizations_name_the_cure(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make(DIFFERENTIALS["pendulum"]())


def test_a_control_that_no_cost_sees_is_told(caplog: pytest.LogCaptureFixture) -> None:
    d = DIFFERENTIALS["pendulum"]()
    for tableau, told in ((trajopt.Tableau.HEUN, ""), (trajopt.Tableau.MIDPOINT, "use a tableau without weights of 0")):
        caplog.clear()
        trajopt.IntegratedActionModelRK(d, 0.05, tableau=tableau, control=KINDS[0](1))
        assert told in caplog.text
        assert bool(told) == bool(caplog.text)


def test_rows_of_controls_that_hold_at_the_start_alone_are_told(caplog: pytest.LogCaptureFixture) -> None:
    d, control = DIFFERENTIALS["pendulum"](), KINDS[0](1)
    for residual, told in ((trajopt.ResidualModelState(d.state), False), (trajopt.ResidualModelControl(d.state), True)):
        rows = trajopt.ConstraintStack(d.state).add("limit", residual, lower=-1.0, upper=1.0)
        caplog.clear()
        model = rk4(type(d)(d.costs, constraints=rows), control)
        assert ("do not limit u0 at dt; use rows='stages', or" in caplog.text) == told == bool(caplog.text)
        assert model.nc == (1 if told else 2)


def test_controllers_refuse_them() -> None:
    d = DIFFERENTIALS["pendulum"]()
    problem = trajopt.ShootingProblem(np.zeros(2), [rk4(d, KINDS[0](1))] * 3, trajopt.CostStack(d.state))
    with pytest.raises(InvalidArgumentError, match="problem: expected controls that are constant during a step"):
        MPCController(problem)


def test_inverse_dynamics_keep_their_equations_at_the_start_alone() -> None:
    d = DIFFERENTIALS["inverse-cart-pole"]()
    with pytest.raises(InvalidArgumentError, match="keeps its equations at the start of a step alone"):
        rk4(d, KINDS[0](d.nu))
