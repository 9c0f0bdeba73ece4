"""What ShootingProblem refuses, with the argument, what was expected and the cure; NaNs name their knot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.shooting.test_problem import STATE, X0, Kick, RootOfPosition, ball, pendulum, stack
from tests.support.model_list import Pendulum, costs_of, lqr, state_of
from trajopt.actions import ActionModelTerminal
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownNameError
from trajopt.shooting import cost_terms
from trajopt.states.unlike import unlike


class RootOfCost(Kick):
    """l(x) = √x₀."""

    def terminal_cost(self, x: SX) -> SX:
        return ca.sqrt(x[0])


NOT_NORMALISED = np.r_[0.5, 0.5, 0.5, 0.6, 0, 0, 0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: trajopt.ShootingProblem([0.0] * 3, [pendulum()], stack(control=False)),
            r"x0: expected shape \(2,\), got \(3,\)",
        ),
        (
            lambda: trajopt.ShootingProblem([0, np.nan], [pendulum()], stack(control=False)),
            "x0: expected finite numbers, got nan",
        ),
        (lambda: trajopt.ShootingProblem("ab", [pendulum()], stack(control=False)), "x0: expected numbers"),
        (
            lambda: trajopt.ShootingProblem(NOT_NORMALISED, [ball()], costs_of("ball", controlled=False)),
            "x0: expected the quaternion of joint 'base' .* norm 1 .* state.normalize",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, pendulum(), stack(control=False)),
            r"running: expected a list .* write \[model\] \* T",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum(), 3], stack(control=False)),
            r"running\[1\]: expected an action model, got 3",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [Pendulum(stack())], stack(control=False)),
            r"running\[0\]: expected an action model, got Pendulum; discretise it: IntegratedActionModelEuler",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum()], None),
            "terminal: expected an action model or a CostStack, got None",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum(), lqr()], stack(control=False)),
            r"running\[1\]: expected the same state as .*, got StateVector\(4\)",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum()], lqr()),
            r"terminal: expected the same state as .*, got StateVector\(4\)",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum(dt=0.0)], stack(control=False)),
            r"running\[0\]: expected a time step dt > 0 \[s\]",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum()], stack()),
            "terminal: cost terms u_reg depend on a control.*without them",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [pendulum()], pendulum(dt=0.0)),
            "terminal: cost terms u_reg depend on a control",
        ),
        (
            lambda: trajopt.ShootingProblem(X0, [ActionModelTerminal(stack(control=False))], stack(control=False)),
            r"running\[0\]: expected a model with dynamics, got a terminal cost stack",
        ),
    ],
)
def test_problems_that_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        build()


@pytest.mark.parametrize(
    ("xs", "us", "message"),
    [
        (np.zeros((4, 2)), np.zeros((4, 1)), r"xs: expected 5 states \(T \+ 1\), got 4"),
        (np.zeros((5, 3)), np.zeros((4, 1)), r"xs\[0\]: expected shape \(2,\), got \(3,\)"),
        ([[0, 0], [0, 0], [0, 0, 0], [0, 0], [0, 0]], np.zeros((4, 1)), r"xs\[2\]: expected shape \(2,\), got \(3,\)"),
        ([[0, 0], [0, 0], [0, 0], [0, np.inf], [0, 0]], np.zeros((4, 1)), r"xs\[3\]: expected finite numbers, got inf"),
        (0.0, np.zeros((4, 1)), r"xs: expected 5 states \(T \+ 1\), got 0.0"),
        (np.zeros((5, 2)), None, r"us: expected 4 controls \(T\), got None"),
        (np.zeros((5, 2)), np.zeros((5, 1)), r"us: expected 4 controls \(T\), got 5"),
        (np.zeros((5, 2)), np.zeros((4, 2)), r"us\[0\]: expected shape \(1,\), got \(2,\)"),
        (np.zeros((5, 2)), [[0], [0], [np.nan], [0]], r"us\[2\]: expected finite numbers, got nan"),
        (np.zeros((5, 2)), [[0], [0], 0.0, [0]], r"us\[2\]: expected shape \(1,\), got \(\)"),
    ],
)
def test_trajectories_that_are_refused(xs: Any, us: Any, message: str) -> None:
    problem = trajopt.ShootingProblem(X0, [pendulum()] * 4, stack(control=False))
    for call in (problem.calc, problem.calc_diff, functools.partial(cost_terms, problem)):
        with pytest.raises(InvalidArgumentError, match=message):
            call(xs, us)
    if message.startswith("us"):
        with pytest.raises(InvalidArgumentError, match=message):
            problem.rollout(us)


def test_states_that_are_refused_later() -> None:
    problem = trajopt.ShootingProblem(state_of("ball").zero(), [ball()] * 2, costs_of("ball", controlled=False))
    good = [state_of("ball").zero()] * 2
    with pytest.raises(InvalidArgumentError, match=r"xs\[1\]: expected the quaternion .* norm 1"):
        problem.calc([*good[:1], NOT_NORMALISED, *good[:1]], np.zeros((2, 3)))
    with pytest.raises(InvalidArgumentError, match="x0: expected the quaternion"):
        problem.x0 = NOT_NORMALISED
    with pytest.raises(InvalidArgumentError, match=r"xs: expected 2 states \(one a running knot\), got 3"):
        problem.quasi_static([*good, good[0]])
    with pytest.raises(InvalidArgumentError, match=r"xs\[1\]: expected shape \(7,\)"):
        problem.quasi_static([good[0], np.zeros(3)])


def test_values_that_are_not_finite_name_their_knot() -> None:
    node = trajopt.IntegratedActionModelEuler(RootOfPosition(STATE, 1, stack()), dt=0.1)
    problem = trajopt.ShootingProblem([1.0, 0.0], [node] * 3, stack(control=False))
    xs = [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]
    with pytest.raises(
        ModelEvaluationError, match=r"knot 2: IntegratedActionModelEuler gives a next state .* x = \[-1"
    ):
        problem.calc(xs, np.zeros((3, 1)))
    end = trajopt.ShootingProblem([1.0, 0.0], [pendulum()] * 3, RootOfCost())
    for at, message in ((-1.0, "a cost that"), (0.0, "a terminal gradient that")):  # √x, whose slope at 0 is infinite
        with pytest.raises(ModelEvaluationError, match=f"knot 3: RootOfCost gives {message} is not .* x = [^u]*;"):
            end.calc([*xs[:3], [at, 0.0]], np.zeros((3, 1)))
    huge = np.array([[0.0], [1e200], [0.0]])
    with pytest.raises(ModelEvaluationError, match=r"knot 1: .* x = \[1, 0\], u = \[1e\+200\]; .* too large"):
        trajopt.ShootingProblem([1.0, 0.0], [pendulum()] * 3, stack(control=False)).calc([[1.0, 0.0]] * 4, huge)
    with pytest.raises(ModelEvaluationError, match="knot 1: .* leads to a state that is not finite.*roll out smaller"):
        problem.rollout([[-200.0], [0.0], [0.0]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["SolverFDDP", "SolverSQP"])
def test_huge_controls_of_a_guess_raise_an_error_without_a_numpy_warning(solver: str) -> None:
    problem = trajopt.ShootingProblem([1.0, 0.0], [pendulum()] * 3, stack(control=False))
    with pytest.raises(ModelEvaluationError, match=r"knot 0: .* u = \[1e\+200\]; "):
        getattr(trajopt.solvers, solver)(problem).solve(us=np.full((3, 1), 1e200))


def test_a_control_of_another_size_says_how_many_the_model_has() -> None:
    problem = lqr_problem()
    with pytest.raises(
        InvalidArgumentError, match=r"us\[0\]: expected shape \(2,\), got \(1,\); the model of knot 0 has 2"
    ):
        problem.calc(np.zeros((4, 3)), np.zeros((3, 1)))


def test_the_name_of_a_term_lists_its_parameters() -> None:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state), 1.0)
    problem = trajopt.ShootingProblem([0.0, 0.0], [], costs)
    with pytest.raises(UnknownNameError, match="parameter 'goal' not found; did you mean 'goal.weight' or 'goal.ref"):
        problem.set_parameter("goal", 1.0)


@pytest.mark.parametrize("method", ["calc", "calc_diff"])
def test_methods_of_black_boxes_take_data_x_and_u(method: str) -> None:
    def fine(self: Any, data: Any, x: Any, u: Any = None) -> None:
        """Never called."""

    def wrong(self: Any, x: Any, u: Any = None) -> None:
        """Never called."""

    cls: Any = type("Box", (trajopt.ActionModelAbstract,), {"calc": fine, "calc_diff": fine} | {method: wrong})
    box = cls(trajopt.StateVector(1), 1)
    says = rf"Box.{method}: expected {method}\(self, data, x, u=None\), got parameters \(x, u\); the method sets"
    for make in (
        lambda: trajopt.ShootingProblem([0.0], [box], box),
        lambda: trajopt.ShootingProblem([0.0], [], box),
        lambda: trajopt.ActionModelNumDiff(box),
    ):
        with pytest.raises(InvalidArgumentError, match=says):
            make()


def lqr_problem() -> trajopt.ShootingProblem:
    node = trajopt.problems.load("lqr", nx=3, nu=2, T=3).problem.running[0]
    return trajopt.ShootingProblem(np.zeros(3), [node] * 3, node)


def test_states_that_print_the_same_are_refused_with_their_difference() -> None:
    """Not with the same text twice; here robots with and without a payload, and coordinates of other names."""
    arm = trajopt.load_robot("ur5")
    loaded = arm.with_payload("tool0", 0.5)

    def knot(robot: trajopt.Robot) -> trajopt.IntegratedActionModelEuler:
        state = trajopt.StateMultibody(robot)
        costs, torques = trajopt.CostStack(state), trajopt.ActuationModelFull(state)
        return trajopt.IntegratedActionModelEuler(
            trajopt.DifferentialActionModelFreeFwdDynamics(state, torques, costs), dt=0.01
        )

    first, second = knot(arm), knot(loaded)
    with pytest.raises(InvalidArgumentError) as caught:
        trajopt.ShootingProblem(np.zeros(12), [first, second], trajopt.CostStack(first.state))
    message = str(caught.value)
    assert message.count(repr(first.state)) == 1
    assert "got another one: their masses [kg] on joint 'wrist_3_joint' differ, 0.1879 and 0.6879" in message
    assert "one robot, Robot.with_parameters" in message
    for names in (["q", "v"], ["q", "w"]):
        assert unlike(trajopt.StateVector(2, names=["q", "v"]), trajopt.StateVector(2, names=names)) == (
            "" if names[1] == "v" else ": their names of coordinates differ, v and w"
        )
