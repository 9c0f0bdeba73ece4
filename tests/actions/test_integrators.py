"""Integrators: order by regression, the slow twin in numpy, and the cost of the end."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX
from scipy.integrate import solve_ivp

import trajopt
from tests.simulator.free_bodies import body, linear_momentum
from tests.support.model_list import (
    ACTIONS,
    Attitude,
    Pendulum,
    VanDerPol,
    costs_of,
    free_dynamics,
    points,
    reference_of,
    small_costs,
    state_of,
)
from tests.support.slow_twin import Twin, assert_close
from trajopt.actions import ActionModelTerminal
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError

Reals = npt.NDArray[np.float64]
Euler, RK4 = trajopt.IntegratedActionModelEuler, trajopt.IntegratedActionModelRK4
RK, TABLES = trajopt.IntegratedActionModelRK, {"EULER": 1, "MIDPOINT": 2, "HEUN": 2, "KUTTA": 3}
Implicit = trajopt.IntegratedActionModelImplicit
INTEGRATED = [name for name in ACTIONS if name.startswith(("euler-", "implicit-", "rk4-", "rk-"))]


def values(model: Any, x: Reals, u: Reals | None) -> tuple[Reals, float]:
    data = model.create_data()
    model.calc(data, x, u)
    return data.xnext.copy(), data.cost


# Order: the error after a fixed time against scipy's integrator on the coordinates, regressed over the number of steps


@cache
def system(name: str) -> tuple[trajopt.DifferentialActionModelAbstract, Reals, Reals]:
    """A model, where it starts, and its constant control."""
    if name == "pendulum":
        return Pendulum(trajopt.CostStack(trajopt.StateVector(2))), np.array([0.5, 1.0]), np.array([0.3])
    if name == "van-der-pol":
        return VanDerPol(trajopt.CostStack(trajopt.StateVector(2))), np.array([0.5, 1.0]), np.array([0.3])
    state = state_of("ball" if name == "attitude" else name)
    x0 = reference_of("ball" if name == "attitude" else name)
    x0[state.nq :] = np.random.default_rng(1).normal(size=state.nv)
    if name == "attitude":
        return Attitude(trajopt.CostStack(state)), x0, np.array([6.0, -4.0, 2.0])
    model = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelMatrix(state, np.eye(state.nv)), trajopt.CostStack(state)
    )
    return model, x0, 0.3 * np.ones(state.nv)


@cache
def exact_end(name: str) -> Reals:
    """State after half a second: quaternions and positions as ordinary differential equations, by Dormand-Prince."""
    model, x0, u = system(name)
    state, data = model.state, model.create_data()

    def slope(_: float, x: Reals) -> Reals:
        if isinstance(state, trajopt.StateMultibody):
            x = state.normalize(x)
        model.calc(data, x, u)
        rate = data.xnext
        step = 1e-6  # of the coordinates by the tangent vector: linear in it, so that central differences are exact
        return (state.integrate(x, step * rate) - state.integrate(x, -step * rate)) / (2 * step)

    solution = solve_ivp(slope, (0, 0.5), x0, method="DOP853", rtol=1e-11, atol=1e-11)
    x = solution.y[:, -1]
    return state.normalize(x)


def error_after(integrator: Any, name: str, steps: int) -> float:
    model, x, u = system(name)
    step = integrator(model, dt=0.5 / steps)
    for _ in range(steps):
        x = model.state.normalize(values(step, x, u)[0])
    return float(np.abs(model.state.difference(exact_end(name), x)).max())


@pytest.mark.parametrize("name", ["pendulum", "van-der-pol", "ball", "drone", "attitude"])
@pytest.mark.parametrize(
    ("integrator", "order"), [(Euler, 1), (RK4, 4), *TABLES.items(), ("midpoint", 2), ("euler", 1)]
)
def test_order(integrator: Any, order: int, name: str) -> None:
    """On curved states too: without the map between tangent spaces RK4 has order 2 there."""
    if integrator in ("midpoint", "euler"):
        integrator = partial(Implicit, method=integrator)
    elif isinstance(integrator, str):
        integrator = partial(RK, tableau=getattr(trajopt.Tableau, integrator))
    steps = np.array([40, 80, 160] if order < 3 else [6, 12, 24])
    errors = [error_after(integrator, name, int(n)) for n in steps]
    measured = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(measured - order) < 0.3, f"order {measured:.2f} from errors {errors}"


# Values and costs, step by step


@pytest.mark.parametrize("name", INTEGRATED)
def test_values_agree_with_the_slow_twin(name: str) -> None:
    model = ACTIONS[name]()
    twin = Twin(model)
    for x in points(model.state)[:2]:
        u = np.random.default_rng(8).normal(size=model.nu)
        xnext, cost = values(model, x, u)
        expected, expected_cost = twin.values(x, u)
        assert_close(model.state.difference(expected, xnext), np.zeros(model.state.ndx), 1e-10)
        assert cost == pytest.approx(expected_cost, rel=1e-11)


def test_symplectic_euler_moves_with_the_new_velocity() -> None:
    model = Euler(Pendulum(trajopt.CostStack(trajopt.StateVector(2)), mass=2.0, damping=0.5), dt=0.1)
    q, v, u = 0.4, -0.7, 0.9
    acceleration = (u - 0.5 * v) / (0.25 * 2.0) - 9.81 / 0.5 * np.sin(q)
    xnext, _ = values(model, np.array([q, v]), np.array([u]))
    assert_close(xnext, [q + 0.1 * (v + 0.1 * acceleration), v + 0.1 * acceleration], 1e-15)


def test_rk4_without_transport_adds_tangent_rates_directly() -> None:
    """The plain formula in numpy, of order 2 on a ball joint; the same as with transport on a pendulum."""
    ball, x, u = system("attitude")
    plain = RK4(ball, dt=0.2, transport=False)
    xnext, _ = values(plain, x, u)
    state, rates, y, data = ball.state, [], x, ball.create_data()
    for node in (0.5, 0.5, 1.0, None):
        ball.calc(data, y, u)
        rates.append(np.array(data.xnext))
        y = state.integrate(x, 0.2 * node * rates[-1]) if node else y
    k1, k2, k3, k4 = rates
    assert_close(xnext, state.integrate(x, 0.2 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)), 1e-13)
    assert np.abs(state.difference(xnext, values(RK4(ball, dt=0.2), x, u)[0])).max() > 1e-4
    flat, x, u = system("pendulum")
    assert_close(values(RK4(flat, dt=0.2, transport=False), x, u)[0], values(RK4(flat, dt=0.2), x, u)[0], 0.0)


def test_first_order_euler_is_explicit() -> None:
    model = Euler(VanDerPol(trajopt.CostStack(trajopt.StateVector(2))), dt=0.1)
    xnext, _ = values(model, np.array([0.4, -0.7]), np.array([0.9]))
    assert_close(xnext, [0.4 - 0.07, -0.7 + 0.1 * (1.3 * (1 - 0.16) * -0.7 - 0.4 + 0.9)], 1e-15)


def test_rk4_integrates_the_cost_with_the_weights_of_the_state() -> None:
    """With the cost rate as a third coordinate, its change in one step is the cost of the step."""

    class Extended(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: SX, u: SX) -> SX:
            cost_rate = 0.5 * (0.5 * x[0] ** 2 + 0.5 * x[1] ** 2)  # x_reg below
            return ca.vertcat(x[1], -(x[0] ** 3) + u, cost_rate)

    class Plain(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: SX, u: SX) -> SX:
            return ca.vertcat(x[1], -(x[0] ** 3) + u)

    state = trajopt.StateVector(2)
    stack = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 0.5)
    _, cost = values(RK4(Plain(state, 1, stack), dt=0.3), np.array([1.0, 0.5]), np.array([0.2]))
    wide = trajopt.StateVector(3)
    xnext, _ = values(
        RK4(Extended(wide, 1, trajopt.CostStack(wide)), dt=0.3), np.array([1.0, 0.5, 0.0]), np.array([0.2])
    )
    assert cost == pytest.approx(xnext[2], rel=1e-14)


def test_rk4_has_mixed_second_derivatives() -> None:
    """Lxu of a residual of x and u; the battery holds its value, this that it is not zero and not Euler's."""
    x, u = np.array([0.4, -0.7]), np.array([0.9])
    found = []
    for integrator in (RK4, Euler):
        model = integrator(Pendulum(small_costs(trajopt.StateVector(2))), dt=0.2)
        data = model.create_data()
        model.calc_diff(data, x, u)
        expected = Twin(model).gauss_newton(x, u)
        assert_close(data.Lxu, expected[:2, 2:])
        found.append(data.Lxu)
    assert np.abs(found[0]).min() > 1e-3
    assert np.abs(found[0] - found[1]).max() > 1e-3


# The end of the horizon


@pytest.mark.parametrize("integrator", [Euler, RK4])
@pytest.mark.parametrize("dt", [0.0, 1e-3, 0.7])
def test_terminal_cost_knows_no_time_step(integrator: Any, dt: float) -> None:
    """The same as of the stack alone, whatever the integrator and its time step."""
    stack = ActionModelTerminal(costs_of("ball", controlled=False))
    model = integrator(free_dynamics("ball", controlled=False), dt=dt)
    for x in points(model.state)[:3]:
        a, b = model.create_data(), stack.create_data()
        for m, data in ((model, a), (stack, b)):
            m.calc(data, x, None)
            m.calc_diff(data, x, None)
        assert a.cost == pytest.approx(b.cost, rel=1e-14)
        assert_close(a.Lx, b.Lx, 1e-13)
        assert_close(a.Lxx, b.Lxx, 1e-13)


def test_terminal_refuses_terms_that_need_a_control() -> None:
    state = state_of("ball")
    with pytest.raises(
        InvalidArgumentError, match="terminal: cost terms u_reg, power depend on a control.*without them"
    ):
        ActionModelTerminal(costs_of("ball"))
    model = Euler(free_dynamics("ball"), dt=0.1)
    with pytest.raises(InvalidArgumentError, match="u_reg, power depend on a control.*pass a CostStack"):
        values(model, state.zero(), None)


def test_in_world_axes_a_spinning_body_keeps_its_momentum() -> None:
    """2 m/s at 20 rad/s for 1 s, to 1e-12; in the body's axes, speed grows by e^{ω² dt t / 2} = 1.2214."""
    model = body(inertia=(0.004, 0.005, 0.007), gravity=False)
    state = trajopt.StateMultibody(trajopt.Robot(model))
    actuation = trajopt.ActuationModelFull(state)
    differential = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, trajopt.CostStack(state))
    twist, ends = [2.0, 0.0, 0.0, 0.0, 0.0, 20.0], {}
    for base in ("world", "body"):
        running = [Euler(differential, 1e-3, base=base)] * 1000
        problem = trajopt.ShootingProblem(np.r_[state.zero()[:7], twist], running, trajopt.CostStack(state))
        ends[base] = linear_momentum(model, problem.rollout(np.zeros((1000, 6)))[-1])
    np.testing.assert_allclose(ends["world"], [2.0, 0.0, 0.0], rtol=0, atol=1e-12)
    assert np.linalg.norm(ends["body"]) == pytest.approx(2.0 * np.exp(0.2), rel=1e-3)


def test_world_axes_need_a_robot() -> None:
    with pytest.raises(InvalidArgumentError, match="base: expected 'body' for Pendulum, got 'world', which needs"):
        Euler(Pendulum(trajopt.CostStack(trajopt.StateVector(2))), 0.1, base="world")
    with pytest.raises(UnknownNameError, match="base"):
        Euler(free_dynamics("ball"), 0.1, base="wrold")


@pytest.mark.parametrize("integrator", [Euler, RK4])
def test_time_steps_that_are_refused(integrator: Any) -> None:
    differential = Pendulum(trajopt.CostStack(trajopt.StateVector(2)))
    for dt, message in (
        (-0.1, "dt: expected a number > 0 .s., got -0.1"),
        (np.nan, "finite"),
        ("a", "expected a number"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            integrator(differential, dt=dt)
    with pytest.raises(InvalidArgumentError, match="differential: expected a differential action model"):
        integrator(trajopt.ActionModelUnicycle(), dt=0.1)


def test_a_time_step_of_a_robot_beyond_a_second_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    differential = free_dynamics("ball")
    Euler(differential, dt=1.0)
    assert not caplog.records
    model = Euler(differential, dt=20.0)
    assert "dt: 20 s is long for a time step of a robot; the unit is seconds, so try 0.01" in caplog.text
    caplog.clear()
    model.parameters()["dt"].check("dt", 30.0)
    assert "dt: 30 s is long" in caplog.text
    caplog.clear()
    end = trajopt.CostStack(model.state)
    trajopt.ShootingProblem(model.state.zero(), [model] * 2, end).set_parameter("dt", 40.0)
    assert [text.partition(" is long")[0] for text in caplog.messages] == ["dt: 40 s"]  # trials of the value are silent
    caplog.clear()
    Euler(Pendulum(trajopt.CostStack(trajopt.StateVector(2))), dt=20.0)  # of no robot: its unit of time may be any
    assert not caplog.records


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, r"expected acceleration\(x, u\) or xdot\(x, u\), got neither"),
        ({"acceleration": lambda self, x, u: x}, r"Wrong.acceleration: expected shape \(1, 1\), got \(2, 1\)"),
        ({"xdot": lambda self, x, u: u}, r"Wrong.xdot: expected shape \(2, 1\), got \(1, 1\)"),
        (
            {"xdot": lambda self, x, u: x * SX.sym("drag")},
            "Wrong: expected only x, u and parameters .*, got the symbols drag; declare",
        ),
    ],
)
def test_symbolic_models_refuse(body: dict[str, Any], message: str) -> None:
    cls = type("Wrong", (trajopt.DifferentialActionModelSymbolic,), body)
    state = trajopt.StateVector(2)
    for integrator in (Euler, RK4):
        with pytest.raises(InvalidArgumentError, match=message):
            values(integrator(cls(state, 1, trajopt.CostStack(state)), dt=0.1), np.zeros(2), np.zeros(1))


def test_xdot_may_return_a_list() -> None:
    state = trajopt.StateVector(2)
    listed = type("Listed", (trajopt.DifferentialActionModelSymbolic,), {"xdot": lambda _, x, u: [x[1], u]})
    xnext, _ = values(Euler(listed(state, 1, trajopt.CostStack(state)), dt=0.1), np.array([1.0, 2.0]), np.array([3.0]))
    assert_close(xnext, [1.2, 2.3], 1e-15)


def _with_dt(self: Any, costs: trajopt.CostStack) -> None:
    Pendulum.__init__(self, costs)
    self.parameter("dt", 1.0)


def test_differential_models_refuse() -> None:
    state = trajopt.StateVector(2)
    stack = trajopt.CostStack(state)
    with pytest.raises(InvalidArgumentError, match="nu: expected an integer >= 0, got -1"):
        Pendulum.__mro__[1](state, -1, stack)
    with pytest.raises(InvalidArgumentError, match="costs: expected a CostStack, got None"):
        Pendulum(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="use one state"):
        Pendulum(trajopt.CostStack(trajopt.StateVector(3)))
    odd = trajopt.StateVector(3)
    cls = type("Odd", (trajopt.DifferentialActionModelSymbolic,), {"acceleration": lambda _, x, u: u})
    with pytest.raises(InvalidArgumentError, match="acceleration needs a state"):
        values(Euler(cls(odd, 1, trajopt.CostStack(odd)), dt=0.1), np.zeros(3), np.zeros(1))
    clash = type("Clash", (Pendulum,), {"__init__": _with_dt})
    with pytest.raises(DuplicateNameError, match="Clash has a parameter 'dt', which is the time step's name"):
        Euler(clash(stack), dt=0.1)
    arm, ball = state_of("planar-2r"), state_of("ball")
    with pytest.raises(InvalidArgumentError, match="actuation: expected an actuation of .*, got one of .*ball"):
        trajopt.DifferentialActionModelFreeFwdDynamics(arm, trajopt.ActuationModelFull(ball), trajopt.CostStack(arm))


def test_joint_armature_is_part_of_the_dynamics() -> None:
    """Talos' arm has one; Pinocchio's aba adds it too."""
    model = free_dynamics("talos_arm")
    assert model.state.model.armature.any()
    x, data = points(model.state)[0], model.create_data()
    model.calc(data, x, np.zeros(model.nu))
    pinocchio = model.state.model
    a = pin.aba(pinocchio, pinocchio.createData(), x[:7], x[7:], np.zeros(7))
    assert_close(data.xnext[7:], a, 1e-11)


def test_joint_friction_is_added_on_request() -> None:
    """Damping and smoothed dry friction of the file, as torques against the motion."""
    plain, model = free_dynamics("talos_arm"), free_dynamics("talos_arm", friction="smooth")
    pinocchio, x = plain.state.model, points(plain.state)[0]
    assert pinocchio.damping.any()
    assert pinocchio.friction.any()
    v, data = x[7:], model.create_data()
    torque = -pinocchio.damping * v - pinocchio.friction * np.tanh(v / 1e-2)
    model.calc(data, x, np.zeros(7))
    plain_data = plain.create_data()
    plain.calc(plain_data, x, torque)
    assert_close(data.xnext, plain_data.xnext, 1e-11)
    assert repr(model) != repr(plain)
    with pytest.raises(
        InvalidArgumentError, match="friction: expected None, 'smooth' or a SmoothFriction, got 'rough'"
    ):
        free_dynamics("talos_arm", friction="rough")


def test_a_model_with_both_kinds_of_dynamics_is_refused() -> None:
    class Both(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: SX, u: SX) -> SX:
            return u

        def xdot(self, x: SX, u: SX) -> SX:
            return ca.vertcat(x[1], u - 5.0)

    state = trajopt.StateVector(2)
    with pytest.raises(InvalidArgumentError, match=r"Both: expected acceleration\(x, u\) or xdot\(x, u\), got both"):
        trajopt.IntegratedActionModelEuler(Both(state, 1, trajopt.CostStack(state)), 0.1)
