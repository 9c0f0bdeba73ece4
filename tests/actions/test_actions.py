"""Action models one by one: closed forms, black boxes, differences, what they print and what they refuse.

What all of them share is in test_models.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.actions.test_models import FIELDS, action, evaluated, samples, terminal, values
from tests.support.model_list import ACTIONS, BlackBox, Pendulum, ValuesOnly, free_dynamics, points, state_of
from tests.support.slow_twin import assert_close
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnsupportedOperationError

Reals = npt.NDArray[np.float64]
X0 = [0.0, 0.0]


def test_lqr_has_its_closed_form() -> None:
    model = action("lqr")
    A, B, Q, R, N, f, q, r = (p.default for p in model.parameters().values())
    (x, u), *_ = samples(model)
    data = evaluated(model, x, u)
    assert_close(data.xnext, A @ x + B @ u + f, 1e-14)
    assert data.cost == pytest.approx(0.5 * x @ Q @ x + 0.5 * u @ R @ u + x @ N @ u + q @ x + r @ u, rel=1e-13)
    for field, expected in {"Fx": A, "Fu": B, "Lxx": Q, "Lxu": N, "Luu": R, "Lx": Q @ x + N @ u + q}.items():
        assert_close(getattr(data, field), expected, 1e-13, field)
    assert values(model, x, None)[1] == pytest.approx(0.5 * x @ Q @ x + q @ x, rel=1e-13)


def test_unicycle_has_its_closed_form() -> None:
    model = trajopt.ActionModelUnicycle((2.0, 0.5), dt=0.2)
    xnext, cost = values(model, np.array([1.0, -1.0, 0.3]), np.array([0.7, -0.4]))
    assert_close(xnext, [1 + 0.14 * np.cos(0.3), -1 + 0.14 * np.sin(0.3), 0.3 - 0.08], 1e-15)
    assert cost == pytest.approx(0.5 * (4 * 2.09 + 0.25 * 0.65))


@pytest.mark.parametrize("name", ["unicycle", "discrete-attitude", "lqr"])
def test_num_diff_agrees_with_exact_derivatives(name: str) -> None:
    model = action(name)
    wrapped = trajopt.ActionModelNumDiff(model)
    for x, u in samples(model)[:3]:
        exact, differences = evaluated(model, x, u), evaluated(wrapped, x, u)
        for field in FIELDS:
            assert_close(getattr(differences, field), getattr(exact, field), 1e-6, field)
    assert wrapped.time_step() == model.time_step()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (trajopt.ActionModelUnicycle(), trajopt.ActionModelUnicycle(dt=0.2)),
        (trajopt.ActionModelUnicycle((1, 2)), trajopt.ActionModelUnicycle((1, 3))),
        (trajopt.ActionModelLQR(np.eye(3), np.eye(3), np.eye(3), np.eye(3)),) * 1
        + (trajopt.ActionModelLQR(np.eye(3), np.eye(3), np.eye(3), 2 * np.eye(3)),),
        (ACTIONS["euler-pendulum"](), ACTIONS["rk4-pendulum"]()),
    ],
)
def test_repr_shows_what_differs(a: trajopt.ActionModelAbstract, b: trajopt.ActionModelAbstract) -> None:
    assert repr(a) != repr(b)


def test_repr_of_an_integrated_model_shows_every_part() -> None:
    text = repr(action("euler-talos_arm"))
    for part in ("talos_arm", "goal: 2 · ResidualModelFramePlacement(frame=", "frame='gripper_left_joint'"):
        assert part in text
    for part in ("weights=[ 1., 2., 3.", "ActivationModelQuadraticBarrier(lower=", "scale", "power", "dt=0.02"):
        assert part in text


def test_a_clone_has_a_time_step_of_its_own() -> None:
    model = action("euler-pendulum")
    assert model.dt.element_hash() != model.clone().dt.element_hash()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: trajopt.ActionModelUnicycle(dt=0.0), InvalidArgumentError, r"dt: expected a number > 0 \[s\], got 0"),
        (lambda: trajopt.ActionModelUnicycle([1.0]), InvalidArgumentError, r"weights: expected shape \(2,\)"),
        (
            lambda: trajopt.ActionModelLQR(np.eye(2), np.ones(2), np.eye(2), np.eye(1)),
            InvalidArgumentError,
            r"B: .* \(nx, nu\)",
        ),
        (
            lambda: trajopt.ActionModelLQR(np.eye(3), np.eye(2), np.eye(2), np.eye(2)),
            InvalidArgumentError,
            r"A: expected .*2, 2",
        ),
        (
            lambda: trajopt.ActionModelLQR(np.eye(2), np.eye(2), [[1, 2], [0, 1]], np.eye(2)),
            InvalidArgumentError,
            "Q: expected a symmetric matrix",
        ),
        (
            lambda: trajopt.ActionModelNumDiff(free_dynamics("ball")),
            InvalidArgumentError,
            "wrap a differential model in an integrator first",
        ),
        (
            lambda: evaluated(ValuesOnly(), points(state_of("ball"))[0], np.zeros(3)),
            UnsupportedOperationError,
            "ActionModelNumDiff",
        ),
        (
            lambda: values(action("lqr"), np.zeros(3), np.zeros(2)),
            InvalidArgumentError,
            r"x: expected shape \(4,\), got \(3,\)",
        ),
        (
            lambda: values(action("lqr"), np.zeros(4), np.zeros(3)),
            InvalidArgumentError,
            r"u: expected shape \(2,\), got \(3,\)",
        ),
        (
            lambda: values(terminal("stack-ball"), points(state_of("ball"))[0], np.zeros(0)),
            InvalidArgumentError,
            "without u",
        ),
    ],
)
def test_models_refuse(build: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_data_refuses_what_does_not_fit() -> None:
    data = action("lqr").create_data()
    with pytest.raises(InvalidArgumentError, match=r"data.Fx: expected shape \(4, 4\), got \(4,\)"):
        data.Fx = np.zeros(4)
    with pytest.raises(AttributeError, match="data: it has no field 'fx'; its fields are Fu, Fx"):
        data.fx = np.zeros((4, 4))
    with pytest.raises(InvalidArgumentError, match="data.cost: expected one number"):
        data.cost = np.zeros(2)


def test_abstract_models_cannot_be_built() -> None:
    for cls in (trajopt.ActionModelAbstract, trajopt.ResidualModelAbstract, trajopt.DifferentialActionModelAbstract):
        with pytest.raises(TypeError, match="abstract"):
            cls(trajopt.StateVector(1), 1)  # type: ignore[abstract]


# Black boxes


def beside(model: trajopt.ActionModelAbstract) -> trajopt.ShootingProblem:
    """A problem with the model between two compiled knots."""
    stack = trajopt.CostStack(model.state).add("u_reg", trajopt.ResidualModelControl(model.state), 0.1)
    node = trajopt.IntegratedActionModelEuler(Pendulum(stack), dt=0.05)
    end = trajopt.CostStack(model.state).add("x_reg", trajopt.ResidualModelState(model.state), 1.0)
    return trajopt.ShootingProblem(X0, [node, model, node], end)


@pytest.mark.parametrize(
    ("method", "fault", "message"),
    [
        ("calc", lambda data: 1 / 0, "knot 1: Faulty.calc raised ZeroDivisionError"),
        (
            "calc",
            lambda data: setattr(data, "xnext", np.zeros(3)),
            r"knot 1: Faulty.calc raised .*data.xnext: expected shape \(2,\)",
        ),
        (
            "calc",
            lambda data: setattr(data, "xnext", [np.nan, 0]),
            "knot 1: Faulty.calc set data.xnext to a value that is not",
        ),
        (
            "calc_diff",
            lambda data: setattr(data, "Fx", np.full((2, 2), np.inf)),
            "knot 1: Faulty.calc_diff set data.Fx",
        ),
        (
            "calc_diff",
            lambda data: setattr(data, "Luu", [[np.nan]]),
            "knot 1: Faulty.calc_diff set data.Luu to a value",
        ),
    ],
)
def test_black_boxes_that_fail_name_their_knot(method: str, fault: Callable[[Any], Any], message: str) -> None:
    def override(self: Any, data: Any, x: Any, u: Any = None) -> None:
        getattr(BlackBox, method)(self, data, x, u)
        fault(data)

    faulty = type("Faulty", (BlackBox,), {method: override})()
    problem = beside(faulty)
    with pytest.raises(ModelEvaluationError, match=message):
        problem.calc_diff(np.zeros((4, 2)), np.zeros((3, 1)))
    if "raised" in message:
        with pytest.raises(ModelEvaluationError, match=message):
            problem.rollout(np.zeros((3, 1)))
    at_end = trajopt.ShootingProblem(X0, [BlackBox()], faulty)
    if "Zero" in message:
        with pytest.raises(ModelEvaluationError, match=message):
            at_end.calc_diff(np.zeros((2, 2)), np.zeros((1, 1)))


def test_data_that_is_none_and_states_without_numbers_are_refused() -> None:
    model = trajopt.problems.load("pendulum").problem.running[0]
    with pytest.raises(InvalidArgumentError, match="nx: expected an integer >= 0, got 'a'"):
        trajopt.ActionData("a", 1, 1)  # type: ignore[arg-type]
    for call in (model.calc, model.calc_diff):
        with pytest.raises(
            InvalidArgumentError, match="data: expected an ActionData, got 'junk'; use model.create_data"
        ):
            call("junk", np.zeros(2), np.zeros(1))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"x: expected numbers of shape \(2,\), got 'x'"):
        model.quasi_static("x")  # type: ignore[arg-type]


def test_the_control_at_rest_needs_no_costs_that_are_defined_at_zero() -> None:
    """A fuel cost sqrt(2 u)²/2 has no derivative at u = 0, where the iteration starts: no warning, the true control."""
    state = trajopt.StateVector(2)

    class Rocket(trajopt.DifferentialActionModelSymbolic):
        def xdot(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return ca.vertcat(x[1], u[0] - 9.81)

    fuel = trajopt.ResidualModelSymbolic(state, lambda x, u: ca.sqrt(2 * u[0]))
    model = Rocket(state, 1, trajopt.CostStack(state).add("fuel", fuel, weight=1.0))
    knot = trajopt.IntegratedActionModelRK4(model, dt=0.1)
    assert_close(knot.quasi_static(np.zeros(2)), [9.81], 1e-9)
    problem = trajopt.ShootingProblem(np.zeros(2), [knot] * 3, trajopt.CostStack(state))
    assert_close(problem.quasi_static(np.zeros((3, 2))), np.full((3, 1), 9.81), 1e-9)
