"""Cost stacks: values per term, names, sizes, parameters of each term, and when a stack is fixed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.model_list import Pendulum, costs_of, power, state_of, swing
from tests.support.slow_twin import assert_close, central_differences, first_values
from trajopt.actions import ActionModelTerminal
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError
from trajopt.instant import Instant
from trajopt.model import ParameterLayout
from trajopt.shooting import cost_terms

Reals = npt.NDArray[np.float64]


def vector_stack() -> trajopt.CostStack:
    return trajopt.CostStack(trajopt.StateVector(2))


def state_residual(stack: trajopt.CostStack, reference: Any = None) -> trajopt.ResidualModelState:
    return trajopt.ResidualModelState(stack.state, reference)


def term_values(stack: trajopt.CostStack, x: Any, u: Any) -> dict[str, float]:
    instant, named = Instant(stack.state, len(u)), stack.parameters(len(u))
    values = stack.values(instant)
    symbols = [instant.x, instant.u, ParameterLayout(named).symbols]
    results = ca.Function("values", symbols, [*values.values(), stack.value(instant)])(x, u, first_values(named))
    return dict(zip([*values, "total"], (float(r) for r in results)))


def test_values_by_term_in_closed_form() -> None:
    stack = vector_stack()
    stack.add("near", state_residual(stack, [1.0, 2.0]), 3.0)
    stack.add("scaled", state_residual(stack), 0.5, trajopt.ActivationModelWeightedQuad([1.0, 4.0]))
    stack.add("bounds", state_residual(stack), 10.0, trajopt.ActivationModelQuadraticBarrier([-1, -np.inf], [1, 1]))
    stack.add("u_reg", trajopt.ResidualModelControl(stack.state), 0.1)
    stack.add("off", trajopt.ResidualModelControl(stack.state), 0.0)
    found = term_values(stack, [3.0, -1.0], [2.0, 1.0, 0.5])
    expected = {"near": 3 * 0.5 * (4 + 9), "scaled": 0.5 * 0.5 * (9 + 4), "bounds": 10 * 0.5 * 4, "u_reg": 0.05 * 5.25}
    expected |= {"off": 0.0}
    assert found == pytest.approx({**expected, "total": sum(expected.values())}, rel=1e-14)


def test_the_stack_lists_its_terms() -> None:
    stack = costs_of("ball")
    assert [t.name for t in stack.terms] == ["goal", "x_reg", "limits", "speed", "u_reg", "power"]
    assert stack.controlled() == ["u_reg", "power"]
    assert stack["goal"].residual.frame == "tip"
    with pytest.raises(UnknownNameError, match="cost term 'gaol' not found; did you mean 'goal'"):
        stack["gaol"]
    names = list(stack.parameters(3))
    for name in ("goal.weight", "goal.reference", "x_reg.weights", "limits.lower", "u_reg.reference", "power.scale"):
        assert name in names


def test_quadratic_expansion_is_symmetric_and_gauss_newton() -> None:
    """Of a curved residual: with the exact Hessian of ½ |r|², r·d²r would be added."""
    stack = vector_stack().add("swing", trajopt.ResidualModelSymbolic(trajopt.StateVector(2), swing), 2.0)
    instant, named = Instant(stack.state, 1), stack.parameters(1)
    q = stack.quadratic(instant)
    function = ca.Function("q", [instant.x, instant.u, ParameterLayout(named).symbols], [q.cost, q.Ly, q.Lyy])
    x = np.array([0.7, -0.4])
    cost, Ly, Lyy = (r.full() for r in function(x, 0.0, first_values(named)))
    R = np.array([[np.cos(x[0]), 0], [x[1], x[0]]])
    r = np.array([np.sin(x[0]), x[1] * x[0]])
    assert cost == pytest.approx(r @ r)
    assert_close(Ly[:2].ravel(), 2 * R.T @ r, 1e-14)
    assert_close(Lyy[:2, :2], 2 * R.T @ R, 1e-14)
    assert not Ly[2:].any()
    assert not Lyy[:, 2:].any()
    assert not Lyy[2:, :].any()


def test_a_residual_used_twice_gets_parameters_of_its_own() -> None:
    stack = vector_stack()
    residual, barrier = state_residual(stack, [1.0, 0.0]), trajopt.ActivationModelWeightedQuad([1.0, 2.0])
    stack.add("a", residual, 1.0, barrier).add("b", residual, 1.0, barrier)
    problem = trajopt.ShootingProblem(
        [0, 0], [trajopt.IntegratedActionModelEuler(Pendulum(stack_with_control(stack)), dt=0.1)], vector_stack()
    )
    problem.set_parameter("b.reference", [5.0, 5.0])
    problem.set_parameter("b.weights", [3.0, 4.0])
    np.testing.assert_array_equal(problem.get_parameter("a.reference"), [1.0, 0.0])
    np.testing.assert_array_equal(problem.get_parameter("a.weights"), [1.0, 2.0])
    terms = cost_terms(problem, np.zeros((2, 2)), np.zeros((1, 1)))
    assert terms["a"][0] == pytest.approx(0.1 * 0.5)
    assert terms["b"][0] == pytest.approx(0.1 * 0.5 * 25 * 7)


def stack_with_control(stack: trajopt.CostStack) -> trajopt.CostStack:
    return stack.add("u_reg", trajopt.ResidualModelControl(stack.state), 1.0)


def test_a_stack_is_fixed_once_a_model_uses_it() -> None:
    for use in (lambda s: ActionModelTerminal(s), lambda s: Pendulum(s)):
        stack = vector_stack().add("a", trajopt.ResidualModelState(trajopt.StateVector(2)), 1.0)
        use(stack)
        with pytest.raises(
            InvalidArgumentError, match="expected a stack that no model uses, but .* uses it; add all cost terms before"
        ):
            stack.add("b", state_residual(stack), 1.0)
        use(stack)  # several models may use one


def test_one_stack_in_two_models() -> None:
    stack = stack_with_control(vector_stack())
    a, b = (trajopt.IntegratedActionModelEuler(Pendulum(stack, mass=m), dt=0.1) for m in (1.0, 2.0))
    problem = trajopt.ShootingProblem([0.1, 0], [a, b], vector_stack())
    problem.set_parameter("u_reg.weight", 7.0, knots=1)
    assert [float(problem.get_parameter("u_reg.weight", t)) for t in (0, 1)] == [1.0, 7.0]


@pytest.mark.parametrize(
    ("add", "error", "message"),
    [
        (lambda s: s.add("b", state_residual(s), [1, 2]), InvalidArgumentError, "use ActivationModelWeightedQuad"),
        (
            lambda s: s.add("a", state_residual(s), 1.0),
            DuplicateNameError,
            "'a' is in the stack already; choose a name other than a",
        ),
        (lambda s: s.add("b", state_residual(s), -1.0), InvalidArgumentError, "weight: expected a number >= 0, got -1"),
        (
            lambda s: s.add("b", state_residual(s), np.nan),
            InvalidArgumentError,
            "weight: expected a finite number, got nan",
        ),
        (lambda s: s.add("b", state_residual(s), "x"), InvalidArgumentError, "weight: expected a number, got 'x'"),
        (
            lambda s: s.add("b c", state_residual(s), 1.0),
            InvalidArgumentError,
            "name: expected an identifier .* got 'b c'",
        ),
        (lambda s: s.add(3, state_residual(s), 1.0), InvalidArgumentError, "name: expected an identifier .* got 3"),
        (
            lambda s: s.add("b", swing, 1.0),
            InvalidArgumentError,
            r"turn a function into one with ResidualModelSymbolic\(state, function\)",
        ),
        (
            lambda s: s.add("b", state_residual(s), 1.0, 2.0),
            InvalidArgumentError,
            "activation: expected an activation model",
        ),
        (
            lambda s: s.add("b", state_residual(s), 1.0, trajopt.ActivationModelWeightedQuad([1.0])),
            InvalidArgumentError,
            "cost term 'b': weights: expected 2 weights, one for each element of the residual, got 1",
        ),
        (
            lambda s: s.add("b", state_residual(s), 1.0, trajopt.ActivationModelQuadraticBarrier([0, 0, 0], [1, 1, 1])),
            InvalidArgumentError,
            "cost term 'b': lower: expected 2 bounds, one for each element of the residual, got 3",
        ),
        (
            lambda s: s.add("b", trajopt.ResidualModelSymbolic(s.state, weighted, parameters={"weight": 1.0}), 1.0),
            DuplicateNameError,
            "cost term 'b': two of its parameters have the name 'weight'",
        ),
        (
            lambda s: s.add("b", trajopt.ResidualModelState(trajopt.StateVector(3)), 1.0),
            InvalidArgumentError,
            r"residual: expected a residual of StateVector\(2\), got one of StateVector\(3\)",
        ),
    ],
)
def test_add_refuses(add: Callable[[trajopt.CostStack], Any], error: type[Exception], message: str) -> None:
    stack = vector_stack()
    stack.add("a", state_residual(stack), 1.0)
    with pytest.raises(error, match=message):
        add(stack)
    assert [t.name for t in stack.terms] == ["a"]


@pytest.mark.parametrize(
    "residual", [trajopt.ResidualModelControl, lambda s: trajopt.ResidualModelSymbolic(s, control_pair)]
)
def test_sizes_that_depend_on_the_control_are_checked_by_the_model(residual: Callable[[Any], Any]) -> None:
    state = trajopt.StateVector(2)
    stack = trajopt.CostStack(state)
    stack.add("u_reg", residual(state), 1.0, trajopt.ActivationModelWeightedQuad([1.0, 2.0, 3.0]))
    with pytest.raises(InvalidArgumentError, match="cost term 'u_reg': weights: expected .* weights?, one for each"):
        Pendulum(stack)


def control_pair(x: SX, u: SX) -> SX:
    return ca.vertcat(u, x[0])


def weighted(x: SX, weight: SX) -> SX:
    return weight * x


def test_a_stack_needs_a_state() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"state: expected StateVector\(nx\) or StateMultibody\(robot\), got 2"
    ):
        trajopt.CostStack(2)  # type: ignore[arg-type]


def test_pickle_and_repr() -> None:
    stack = costs_of("ball")
    again = pickle.loads(pickle.dumps(stack))
    assert repr(again) == repr(stack)
    assert "x_reg: 0.1 · ActivationModelWeightedQuad(weights=[1., 2., 3., 4., 5., 6.]) of ResidualModelState()" in repr(
        stack
    )
    x, u = state_of("ball").rand(0), [0.1, 0.2, 0.3]
    assert term_values(again, x, u) == term_values(stack, x, u)
    again.add("more", trajopt.ResidualModelSymbolic(again.state, power, parameters={"scale": 1.0}), 1.0)  # not used yet
    Pendulum(used := vector_stack())
    with pytest.raises(InvalidArgumentError, match="Pendulum uses it"):
        pickle.loads(pickle.dumps(used)).add("more", state_residual(used), 1.0)


def test_gradient_of_a_whole_stack() -> None:
    stack = costs_of("drone")
    state, nu = stack.state, 1
    instant, named = Instant(state, nu), stack.parameters(nu)
    q = stack.quadratic(instant)
    symbols = [instant.x, instant.u, ParameterLayout(named).symbols]
    function = ca.Function("q", symbols, [stack.value(instant), q.Ly, q.cost])
    x, u, p = state.rand(3), np.array([0.4]), first_values(named)
    value, gradient, cost = function(x, u, p)
    assert float(value) == float(cost)

    def moved(z: Reals) -> Reals:
        return np.array([float(function(state.integrate(x, z[: state.ndx]), u + z[state.ndx :], p)[0])])

    assert_close(gradient.full().T, central_differences(moved, state.ndx + nu))
