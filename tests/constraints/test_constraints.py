"""Constraint rows: values and derivatives of every kind of model, bounds, names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.contact_models import TURNED, constrained_hopper, simple_costs
from tests.support.model_list import ACTIONS, TERMINALS, DiscreteAttitude, Pendulum, lqr, points, small_costs, state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.actions import ActionModelTerminal, Multipliers, Point
from trajopt.constraints.row_block import row_bounds
from trajopt.errors import InvalidArgumentError
from trajopt.kernels import Program

Reals = npt.NDArray[np.float64]
CONSTRAINED = [name for name in ACTIONS if "constrained" in name]
ENDS = [name for name in TERMINALS if "constrained" in name]


@cache
def action(name: str) -> Any:
    return ACTIONS[name]()


@cache
def terminal(name: str) -> Any:
    return TERMINALS[name]()


def stack_of(n: int = 2) -> trajopt.ConstraintStack:
    return trajopt.ConstraintStack(trajopt.StateVector(n))


def state_residual(stack: trajopt.ConstraintStack) -> trajopt.ResidualModelState:
    return trajopt.ResidualModelState(stack.state)


def rows_of(model: Any, x: Reals, u: Reals | None = None, **values: Any) -> Reals:
    """The rows (nc,) of a model."""
    p = model.layout.column({name.replace("__", "."): value for name, value in values.items()})
    if u is None:
        return np.asarray(model.program("terminal").evaluate(x, p)[-2].ravel())
    return np.asarray(model.program("calc").evaluate(x, u, p)[2].ravel())


# Values and derivatives


@pytest.mark.parametrize("name", CONSTRAINED)
def test_derivatives_of_rows_by_central_differences(name: str) -> None:
    """Of all integrators and kinds of models, through contact forces, accelerations and impulses too."""
    check_derivatives(action(name))


def test_rows_of_an_acceleration_that_no_cost_knows() -> None:
    costs = simple_costs()
    costs.add("push", trajopt.ResidualModelContactForce(costs.state, "foot", np.ones(3)), 0.1)
    check_derivatives(trajopt.IntegratedActionModelEuler(constrained_hopper(costs), dt=0.02))


def check_derivatives(model: Any) -> None:
    state, n, rng = model.state, model.state.ndx, np.random.default_rng(0)
    states = points(state) if n <= 14 else [points(state)[i] for i in (0, 3)]
    for x in states:
        u = rng.normal(size=model.nu)
        *_, rows, C = model.program("calc_diff").evaluate(x, u, model.layout.column())[:7]  # then a status
        assert rows.shape == (model.nc, 1)
        assert C.shape == (model.nc, n + model.nu)
        assert_close(rows.ravel(), rows_of(model, x, u), 1e-11)
        moved = lambda z, x=x, u=u: rows_of(model, state.integrate(x, z[:n]), u + z[n:])  # noqa: E731
        assert_close(C, central_differences(moved, n + model.nu))


@pytest.mark.parametrize("name", ENDS)
def test_derivatives_of_rows_at_the_end(name: str) -> None:
    model = terminal(name)
    for x in points(model.state):
        *_, rows, C = model.program("terminal").evaluate(x, model.layout.column())
        assert_close(C, central_differences(lambda dx, x=x: rows_of(model, model.state.integrate(x, dx)), C.shape[1]))
        assert len(rows) == model.nc > 0


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_rows_are_those_at_the_knot(integrator: str) -> None:
    """Not of later stages, and not multiplied by the time step."""
    model = action(f"{integrator}-constrained-pendulum")
    x, u = np.array([0.3, -0.7]), np.array([0.4])
    expected = [0.3, -0.7, 0.4 * np.cos(0.3), -0.7 + 0.12, -0.21, 0.4]
    for dt in (0.01, 0.5):
        assert_close(rows_of(model, x, u, dt=dt), expected, 1e-15)


def test_rows_of_forces() -> None:
    """The cone's rows are those of the force that costs see; a force that is not active is zero."""
    model = action("euler-contact-constrained")
    cone = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED)
    x, u = points(model.state)[0], np.array([0.3, -0.4])
    for active in (1.0, 0.0):
        p = {"contacts__foot__active": active, "contacts__seat__active": 1.0 - active}
        column = model.layout.column({name.replace("__", "."): value for name, value in p.items()})
        forces = model.force_values(x[None], u[None], column[None])
        rows = dict(zip(model.row_names, rows_of(model, x, u, **p)))
        assert_close([rows[f"inside[{i}]"] for i in range(7)], cone.matrix @ forces["foot"][0], 1e-12)
        assert_close([rows[f"push_foot[{i}]"] for i in range(3)], forces["foot"][0] - 1.0, 1e-12)
        assert rows["push_seat"] == pytest.approx(forces["seat"][0, 0] - 1.0, rel=1e-12)
        assert rows["torque[0]"] == 0.3
        assert np.abs(forces["foot"]).max() > 1.0 or not active


@pytest.mark.parametrize("name", ["constrained-attitude", "euler-constrained-drone", "euler-inverse-drone"])
def test_the_hessian_of_the_lagrangian_has_that_of_rows(name: str) -> None:
    model = action(name)
    program, state = Program("lagrangian"), model.state
    x, u, p = program.input(state.nx), program.input(model.nu), program.input(model.layout.size)
    y = program.input(model.nc)
    program.output(model.expansion(program, Point(x=x, u=u, parameters=p), Multipliers(rows=y)).H)
    rng, n, values = np.random.default_rng(1), state.ndx, model.layout.column()
    at, control, multipliers = points(state)[0], 0.3 * rng.normal(size=model.nu), rng.normal(size=model.nc)

    def gradient(z: Reals) -> Reals:
        moved = state.integrate(at, z[:n])
        *_, C = model.program("calc_diff").evaluate(moved, control + z[n:], values)
        total = C.T @ multipliers
        total[:n] = state.jintegrate(at, z[:n], "second").T @ total[:n]
        return total

    (H,) = program.evaluate(at, control, values, multipliers)
    (without,) = program.evaluate(at, control, values, np.zeros(model.nc))
    assert_close(H - without, central_differences(gradient, n + model.nu))
    assert np.abs(H - without).max() > 0.01


def test_an_empty_constraint_stack_changes_no_program() -> None:
    makes: tuple[Callable[..., Any], ...] = (lqr, DiscreteAttitude, lambda **c: Pendulum(small_costs(two()), **c))
    for make in makes:
        empty = trajopt.ConstraintStack(make().state)
        models = [make(), make(constraints=empty)]
        one, other = (m._build_program("calc_diff").digest() for m in models)
        assert one == other
        assert "constraints" not in repr(models[0])


def bounds_of(model: Any) -> Any:
    """Lower and upper bounds (nc,) by the first values of all parameters."""
    return row_bounds(model.row_blocks, model.layout, model.layout.column())


def two() -> trajopt.StateVector:
    return trajopt.StateVector(2)


# Names, bounds, and rows without control


def test_names_of_rows_and_which_are_free_of_control() -> None:
    pendulum = action("rk4-constrained-pendulum")
    assert pendulum.row_names == ["near[0]", "near[1]", "both[0]", "both[1]", "both[2]", "torque"]
    np.testing.assert_array_equal(pendulum.rows_free_of_control, [True, True, False, False, True, False])
    assert pendulum.nc == 6
    contact = action("euler-contact-constrained")
    kinds = {name.split("[")[0]: bool(free) for name, free in zip(contact.row_names, contact.rows_free_of_control)}
    assert kinds == {"near": True} | dict.fromkeys(["inside", "push_foot", "push_seat", "torque", "gentle"], False)
    assert action("impulse-constrained").rows_free_of_control.all()
    assert terminal("constrained-stack").rows_free_of_control.all()
    assert action("euler-pendulum").rows_free_of_control.shape == (0,)


@pytest.mark.parametrize("name", CONSTRAINED)
def test_rows_free_of_control_have_no_derivative_by_it(name: str) -> None:
    """And every other row has one at some state."""
    model, rng = action(name), np.random.default_rng(2)
    found = np.zeros(model.nc, dtype=bool)
    for x in [*points(model.state)[:2], model.state.rand(4)]:
        C = model.program("calc_diff").evaluate(x, rng.normal(size=model.nu), model.layout.column())[6]
        found |= np.any(C[:, model.state.ndx :] != 0, axis=1)
    if "contact" in name:  # the seat is not active: its force is zero
        found |= [name.startswith("push_seat") for name in model.row_names]
    np.testing.assert_array_equal(found, ~model.rows_free_of_control)


def test_bounds_are_run_time_parameters() -> None:
    model = action("euler-constrained-pendulum")
    problem = trajopt.ShootingProblem([0.1, 0.0], [model] * 3, trajopt.CostStack(two()))
    assert problem.parameters["both.upper"].shape == (3,)
    assert problem.parameters["torque.lower"].shape == (1,)
    np.testing.assert_array_equal(problem.get_parameter("near.lower"), [-1.0, -1.0])
    problem.set_parameter("near.upper", [np.inf, 7.0], knots=1)
    problem.set_parameter("torque.upper", 2.5)
    lower, upper = (bounds[:3] for bounds in problem.row_bounds())
    inf = np.inf
    np.testing.assert_array_equal(lower, [[-1, -1, -inf, -inf, -inf, -3]] * 3)
    np.testing.assert_array_equal(upper[0], [1, 1, 0.5, inf, 1, 2.5])
    np.testing.assert_array_equal(upper[1], [inf, 7, 0.5, inf, 1, 2.5])
    np.testing.assert_array_equal(bounds_of(model)[1], [1, 1, 0.5, inf, 1, 3])
    for value, message in (
        (
            [1.0, 2.0, 3.0],
            r"value: expected one value of near.upper, .* got 3 values; one value has shape \(2,\)$",
        ),
        ([1.0, 2.0, 3.0], "value: expected one value of near.upper, or one for each of 1 knots, got 3 values"),
        ("high", "near.upper: expected a number or 2 numbers, got 'high'"),
        (np.nan, "near.upper: expected numbers, or inf for no bound, got nan"),
        (-np.inf, "near.upper: expected numbers, or inf for no bound, got -inf"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            problem.set_parameter("near.upper", value, knots=0)


def test_equals_sets_both_bounds() -> None:
    stack = stack_of().add("rest", trajopt.ResidualModelState(two()), equals=[0.0, 1.0])
    model = ActionModelTerminal(trajopt.CostStack(two()), constraints=stack)
    lower, upper = row_bounds(model.end_blocks, model.layout, np.array([0, 1, 2, 3, 8, 9.0]))
    np.testing.assert_array_equal(lower, [0, 1])
    np.testing.assert_array_equal(upper, [2, 3])
    np.testing.assert_array_equal(bounds_of(model), [[0, 1], [0, 1]])
    np.testing.assert_array_equal(stack["rest"].lower, stack["rest"].upper)


def test_a_residual_of_a_cost_and_of_constraints_has_parameters_of_its_own() -> None:
    state = two()
    residual = trajopt.ResidualModelState(state, [1.0, 0.0])
    costs = small_costs(state).add("goal", residual, 1.0)
    limits = trajopt.ConstraintStack(state).add("a", residual, upper=1.0).add("b", residual, lower=0.0)
    model = trajopt.IntegratedActionModelEuler(Pendulum(costs, constraints=limits), dt=0.1)
    x, u = np.array([0.5, 0.25]), np.array([0.0])
    np.testing.assert_array_equal(rows_of(model, x, u, b__reference=[0.0, 2.0]), [-0.5, 0.25, 0.5, -1.75])
    np.testing.assert_array_equal(rows_of(model, x, u, goal__reference=[9.0, 9.0])[:2], [-0.5, 0.25])


def test_limits_of_an_arm() -> None:
    """Torques, the place of the tool, and rest at the end, as a user writes them."""
    state: Any = state_of("planar-3r")
    actuation = trajopt.ActuationModelFull(state)
    effort, goal = np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3, 0, 0, 0])
    limits = trajopt.ConstraintStack(state)
    limits.add("torque", trajopt.ResidualModelControl(state), lower=-effort, upper=effort)
    limits.add("tool", trajopt.ResidualModelFrameTranslation(state, "tool"), upper=[np.inf, 0.4, 0.4])
    end = trajopt.ConstraintStack(state).add("rest", trajopt.ResidualModelState(state, goal), equals=0.0)
    costs = trajopt.CostStack(state).add("u_reg", trajopt.ResidualModelControl(state), 1e-3)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    final = ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    model = trajopt.IntegratedActionModelEuler(dynamics, dt=0.05)
    problem = trajopt.ShootingProblem(state.zero(), [model] * 4, final)
    problem.set_parameter("tool.upper", [np.inf, 0.3, 0.3])
    problem.set_parameter("rest.reference", 2 * goal)
    assert_close(rows_of(final, goal), np.zeros(6), 1e-15)
    assert final.row_names == [f"rest[{i}]" for i in range(6)]
    np.testing.assert_array_equal(problem.get_parameter("tool.upper"), [np.inf, 0.3, 0.3])
