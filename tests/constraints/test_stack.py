"""Constraint stacks: what they list, when they are fixed, what they and models refuse, pickles."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from casadi import SX

import trajopt
from tests.support.contact_models import constrained_hopper
from tests.support.model_list import ACTIONS, TERMINALS, Pendulum, small_costs, state_of, swing
from trajopt.actions import ActionModelTerminal
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError

Reals = npt.NDArray[np.float64]
CONSTRAINED = [name for name in ACTIONS if "constrained" in name]
ENDS = [name for name in TERMINALS if "constrained" in name]


@cache
def action(name: str) -> Any:
    return ACTIONS[name]()


def stack_of(n: int = 2) -> trajopt.ConstraintStack:
    return trajopt.ConstraintStack(trajopt.StateVector(n))


def state_residual(stack: trajopt.ConstraintStack) -> trajopt.ResidualModelState:
    return trajopt.ResidualModelState(stack.state)


def two() -> trajopt.StateVector:
    return trajopt.StateVector(2)


def test_a_stack_lists_what_it_has() -> None:
    stack = action("euler-constrained-pendulum").constraints
    assert [c.name for c in stack.constraints] == ["near", "both", "torque"]
    assert stack.sizes(1) == {"near": 2, "both": 3, "torque": 1}
    assert stack["torque"].residual.uses_control
    with pytest.raises(UnknownNameError, match="constraint 'tork' not found; did you mean 'torque'"):
        stack["tork"]


def test_a_stack_is_fixed_once_a_model_uses_it() -> None:
    uses: list[Callable[[Any], Any]] = [
        lambda s: Pendulum(small_costs(s.state), constraints=s),
        lambda s: ActionModelTerminal(trajopt.CostStack(s.state), constraints=s),
        lambda s: trajopt.ActionModelLQR(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1), constraints=s),
    ]
    for use in uses:
        stack = stack_of().add("a", trajopt.ResidualModelState(two()), upper=1.0)
        use(stack)
        with pytest.raises(
            InvalidArgumentError,
            match="expected a stack that no model uses, but .* uses it; add all constraints before",
        ):
            stack.add("b", state_residual(stack), upper=1.0)
        use(stack)  # several models may use one


def function_of_lower(x: SX, lower: SX) -> SX:
    return x - lower


@pytest.mark.parametrize(
    ("add", "error", "message"),
    [
        (lambda s: s.add("b", state_residual(s)), InvalidArgumentError, "expected lower, upper or equals, got none"),
        (
            lambda s: s.add("b", state_residual(s), lower=0.0, equals=0.0),
            InvalidArgumentError,
            "equals: expected equals alone, or lower and upper, got both",
        ),
        (
            lambda s: s.add("b", state_residual(s), lower=[1.0, 0.0], upper=0.5),
            InvalidArgumentError,
            r"constraint 'b': lower: expected lower <= upper, got lower=\[1. 0.\] and upper=0.5; swap the two",
        ),
        (
            lambda s: s.add("b", state_residual(s), upper=[1.0, 2.0, 3.0]),
            InvalidArgumentError,
            r"constraint 'b': upper: expected a number or 2 numbers, got shape \(3,\)",
        ),
        (
            lambda s: s.add("b", state_residual(s), lower=[0.0, 0.0], upper=[1.0, 2.0, 3.0]),
            InvalidArgumentError,
            "upper: expected 2 numbers as in lower, got 3",
        ),
        (
            lambda s: s.add("b", state_residual(s), upper=np.eye(2)),
            InvalidArgumentError,
            "upper: expected one number, or",
        ),
        (
            lambda s: s.add("b", state_residual(s), lower=np.inf),
            InvalidArgumentError,
            "lower: expected numbers, or -inf",
        ),
        (
            lambda s: s.add("b", state_residual(s), upper=-np.inf),
            InvalidArgumentError,
            "upper: expected numbers, or inf",
        ),
        (
            lambda s: s.add("b", state_residual(s), upper=np.nan),
            InvalidArgumentError,
            "upper: expected numbers, or inf",
        ),
        (lambda s: s.add("b", state_residual(s), upper="x"), InvalidArgumentError, "upper: .* got 'x'"),
        (lambda s: s.add("b", state_residual(s), equals=-np.inf), InvalidArgumentError, "equals: expected finite"),
        (
            lambda s: s.add("a", state_residual(s), upper=1.0),
            DuplicateNameError,
            "constraint 'a' is in the stack already; choose a name other than a",
        ),
        (lambda s: s.add("b c", state_residual(s), upper=1.0), InvalidArgumentError, "name: expected an identifier"),
        (
            lambda s: s.add("b", swing, upper=1.0),
            InvalidArgumentError,
            "turn a function into one with ResidualModelSymb",
        ),
        (
            lambda s: s.add("b", trajopt.ResidualModelState(trajopt.StateVector(3)), upper=1.0),
            InvalidArgumentError,
            r"residual: expected a residual of StateVector\(2\), got one of StateVector\(3\)",
        ),
        (
            lambda s: s.add(
                "b", trajopt.ResidualModelSymbolic(s.state, function_of_lower, parameters={"lower": 1.0}), upper=1.0
            ),
            DuplicateNameError,
            "constraint 'b': two of its parameters have the name 'lower'",
        ),
    ],
)
def test_add_refuses(add: Callable[[trajopt.ConstraintStack], Any], error: type[Exception], message: str) -> None:
    stack = stack_of()
    stack.add("a", state_residual(stack), upper=1.0)
    with pytest.raises(error, match=message):
        add(stack)
    assert [c.name for c in stack.constraints] == ["a"]


def test_models_refuse() -> None:
    state, other = two(), stack_of(3)
    with pytest.raises(InvalidArgumentError, match="state: expected StateVector"):
        trajopt.ConstraintStack(2)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="constraints: expected a ConstraintStack or None, got CostStack"):
        Pendulum(small_costs(state), constraints=trajopt.CostStack(state))
    with pytest.raises(
        InvalidArgumentError, match=r"constraints: expected constraints of .*, got constraints of StateVector\(3\)"
    ):
        Pendulum(small_costs(state), constraints=other)
    torque = stack_of().add("torque", trajopt.ResidualModelControl(state), upper=[1.0, 2.0])
    with pytest.raises(InvalidArgumentError, match="constraint 'torque': upper: expected a number, got shape"):
        Pendulum(small_costs(state), constraints=torque)
    with pytest.raises(InvalidArgumentError, match="terminal: constraints torque depend on a control or a force"):
        ActionModelTerminal(trajopt.CostStack(state), constraints=torque)
    force = trajopt.IntegratedActionModelEuler(constrained_hopper(), dt=0.02)
    with pytest.raises(
        InvalidArgumentError, match="constraint 'inside': foot: expected a cost with contact forces, got one without"
    ):
        trajopt.ActionModelNumDiff(force)


def test_a_constraint_and_a_cost_term_of_one_name() -> None:
    """Refused whether or not they have a parameter of the same name today."""
    state = two()
    named = lambda residual: stack_of().add("x_reg", residual, upper=1.0)  # noqa: E731
    clash, other = named(trajopt.ResidualModelState(state)), named(trajopt.ResidualModelSymbolic(state, swing))
    cost = trajopt.CostStack(state).add("x_reg", trajopt.ResidualModelState(state), 1.0)
    robot = state_of("hopper")
    bounce = trajopt.ConstraintStack(robot).add("x_reg", trajopt.ResidualModelState(robot), upper=1.0)
    bounces = trajopt.CostStack(robot).add("x_reg", trajopt.ResidualModelState(robot), 1.0)
    impulses = trajopt.ImpulseStack(robot).add("foot", trajopt.ImpulseModel3D(robot, "foot0"))
    uses: list[Callable[[], Any]] = [
        lambda: Pendulum(small_costs(state), constraints=clash),
        lambda: Pendulum(small_costs(state), constraints=other),
        lambda: ActionModelTerminal(cost, constraints=clash),
        lambda: trajopt.ActionModelImpulseFwdDynamics(robot, impulses, bounces, constraints=bounce),
    ]
    for use in uses:
        with pytest.raises(DuplicateNameError, match="'x_reg' is the name of a constraint and of a cost term.* rename"):
            use()


def test_forces_that_there_are_not() -> None:
    state = constrained_hopper().state
    cone = trajopt.ResidualModelContactFrictionCone(state, "hand", trajopt.FrictionCone(0.5))
    limits = trajopt.ConstraintStack(state).add("cone", cone, upper=0.0)
    with pytest.raises(UnknownNameError, match="constraint 'cone': contact 'hand' not found"):
        trajopt.DifferentialActionModelContactFwdDynamics(
            state,
            trajopt.ActuationModelFloatingBase(state),
            trajopt.ContactStack(state).add("foot", trajopt.ContactModel3D(state, "foot0")),
            trajopt.CostStack(state),
            constraints=limits,
        )
    with pytest.raises(
        InvalidArgumentError, match="constraint 'cone': hand: expected a cost with contact forces, got one without"
    ):
        trajopt.DifferentialActionModelFreeFwdDynamics(
            state, trajopt.ActuationModelFloatingBase(state), trajopt.CostStack(state), constraints=limits
        )


def test_pickle_and_repr() -> None:
    stack = stack_of()
    stack.add("low", state_residual(stack), lower=[-1.0, -np.inf]).add("high", state_residual(stack), upper=2.0)
    stack.add("rest", state_residual(stack), equals=0.0)
    stack.add("torque", trajopt.ResidualModelControl(two()), upper=[1, 2])
    again = pickle.loads(pickle.dumps(stack))
    assert repr(again) == repr(stack)
    for text in (
        "low: [ -1. -inf] <= ResidualModelState()",
        "high: ResidualModelState() <= 2",
        "rest: ResidualModelState() = 0",
        "() <= [1. 2",
    ):
        assert text in repr(stack)
    assert "no constraints" in repr(stack_of())
    again.add("more", state_residual(again), upper=0.0)
    model = action("euler-constrained-pendulum")
    copy = pickle.loads(pickle.dumps(model))
    x, u = np.array([0.3, 0.1]), np.array([0.2])
    np.testing.assert_array_equal(
        copy.program("calc").evaluate(x, u, copy.layout.column())[-1],
        model.program("calc").evaluate(x, u, model.layout.column())[-1],
    )
    with pytest.raises(InvalidArgumentError, match="Pendulum uses it"):
        pickle.loads(pickle.dumps(model.differential.constraints)).add("more", state_residual(again), upper=0.0)


def test_bounds_of_another_size_say_how_many_rows_there_are() -> None:
    state = trajopt.StateVector(4)
    with pytest.raises(
        InvalidArgumentError,
        match=r"constraint 'end': lower: expected a number or 4 numbers, got shape \(2,\); .*State has 4 rows$",
    ):
        trajopt.ConstraintStack(state).add("end", trajopt.ResidualModelState(state), lower=[0.0, 0.0])
    motor = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=[0.0] * 3)
    with pytest.raises(InvalidArgumentError, match=r"got shape \(3,\); .*Control has 2 rows with 2 controls$"):
        motor.freeze("a model", 2)
