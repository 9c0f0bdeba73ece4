"""Black boxes in problems: the same iterations as compiled models, and accidents inside that name the knot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.numpy_models import PendulumNumpy, UnicycleNumpy
from trajopt import problems
from trajopt.actions import ActionData, ActionModelAbstract
from trajopt.errors import ModelEvaluationError
from trajopt.shooting import ShootingProblem
from trajopt.solvers import DDPOptions, SolverAbstract, SolverFDDP

Reals = npt.NDArray[np.float64]


def unicycle() -> ShootingProblem:
    return problems.load("unicycle").problem


# The same iterations


class LQRNumpy(ActionModelAbstract):
    """The knots of `problems.load("lqr")`, whose cost has a mixed part xᵀN u."""

    def __init__(self, state: trajopt.StateVector) -> None:
        super().__init__(state, 3)
        parameters = problems.load("lqr").problem.terminal.parameters()
        self.m = {name: parameter.default for name, parameter in parameters.items()}

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        m = self.m
        data.cost = 0.5 * x @ m["Q"] @ x + m["q"] @ x
        if u is not None:
            data.xnext = m["A"] @ x + m["B"] @ u + m["f"]
            data.cost += 0.5 * u @ m["R"] @ u + x @ m["N"] @ u + m["r"] @ u

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        m = self.m
        data.Lx, data.Lxx = m["Q"] @ x + m["q"], m["Q"]
        if u is not None:
            data.Fx, data.Fu, data.Luu, data.Lxu = m["A"], m["B"], m["R"], m["N"]
            data.Lx, data.Lu = data.Lx + m["N"] @ u, m["R"] @ u + m["N"].T @ x + m["r"]


@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
@pytest.mark.parametrize(
    ("name", "model"), [("unicycle", UnicycleNumpy), ("pendulum", PendulumNumpy), ("lqr", LQRNumpy)]
)
def test_a_black_box_takes_the_same_iterations(
    solver: type[SolverAbstract],
    options: type[DDPOptions],
    name: str,
    model: Callable[[Any], ActionModelAbstract],
    mixed: bool,
) -> None:
    case = problems.load(name)
    compiled, box = case.problem, model(case.problem.state)
    knots = [compiled.running[0] if mixed and t % 3 else box for t in range(compiled.T)]
    boxed = ShootingProblem(compiled.x0, knots, compiled.terminal if mixed else box)
    xs = np.zeros((compiled.T + 1, compiled.state.nx)) if case.xs is None else case.xs
    guess = xs, np.zeros((compiled.T, compiled.nu))
    one, two = (solver(problem, options.crocoddyl()).solve(*guess) for problem in (compiled, boxed))
    assert one.converged
    assert [r.step_length for r in one.history] == [r.step_length for r in two.history]
    np.testing.assert_allclose([r.cost for r in two.history], [r.cost for r in one.history], rtol=1e-12)
    np.testing.assert_allclose(two.xs, one.xs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(two.K, one.K, rtol=0, atol=1e-8)


class OnlyValues(UnicycleNumpy):
    """A black box without derivatives."""

    def calc_diff(self, data: Any, x: Reals, u: Reals | None = None) -> None:
        raise AssertionError("NumDiff must not ask for derivatives")


def test_a_black_box_without_derivatives(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    compiled = problems.load("unicycle").problem
    box = trajopt.ActionModelNumDiff(OnlyValues(compiled.state))
    boxed = ShootingProblem(compiled.x0, [box] * compiled.T, box)
    guess = np.zeros((21, 3)), np.zeros((20, 2))
    one, two = (solver(problem, options.crocoddyl(max_iterations=8)).solve(*guess) for problem in (compiled, boxed))
    assert [r.step_length for r in one.history] == [r.step_length for r in two.history]
    np.testing.assert_allclose([r.cost for r in two.history], [r.cost for r in one.history], rtol=1e-6)
    np.testing.assert_allclose(two.xs, one.xs, rtol=0, atol=1e-5)


def test_quasi_static_of_a_black_box() -> None:
    """u = m g l sin q holds the pendulum."""
    case = problems.load("pendulum")
    box = PendulumNumpy(case.problem.state)
    xs = np.column_stack([np.linspace(-1.0, 1.0, 9), np.zeros(9)])
    boxed = ShootingProblem(case.problem.x0, [box] * 9, box)
    np.testing.assert_allclose(boxed.quasi_static(xs)[:, 0], 9.81 * 0.5 * np.sin(xs[:, 0]), rtol=1e-9, atol=1e-12)


# Models that break


class Broken(UnicycleNumpy):
    """Does something at states whose x is beyond 10."""

    def __init__(self, state: trajopt.StateVector, method: str, accident: Callable[[ActionData], None]) -> None:
        super().__init__(state)
        self.method, self.accident = method, accident

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        super().calc(data, x, u)
        if self.method == "calc" and x[0] > 10:
            self.accident(data)

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        super().calc_diff(data, x, u)
        if self.method == "calc_diff" and x[0] > 10:
            self.accident(data)


def divide(data: ActionData) -> None:
    data.cost = 1 / 0


def forget_size(data: ActionData) -> None:
    data.Lx = np.zeros(7)


def lose(field: str) -> Callable[[ActionData], None]:
    def accident(data: ActionData) -> None:
        if field == "cost":
            data.cost = np.nan
        else:
            getattr(data, field).flat[-1] = np.nan

    return accident


ACCIDENTS: list[tuple[str, Callable[[ActionData], None], str]] = [
    ("calc", divide, r"Broken\.calc raised ZeroDivisionError: division by zero"),
    ("calc_diff", divide, r"Broken\.calc_diff raised ZeroDivisionError"),
    (
        "calc_diff",
        forget_size,
        r"Broken\.calc_diff raised InvalidArgumentError: data.Lx: expected shape \(3,\), got \(7,\)",
    ),
    ("calc", lose("xnext"), r"Broken\.calc set data\.xnext to a value that is not finite"),
    ("calc", lose("cost"), r"set data\.cost to a value that is not finite"),
    *(
        ("calc_diff", lose(f), rf"Broken\.calc_diff set data\.[\w, .]*{f}.* not finite")
        for f in ("Fx", "Fu", "Lx", "Lu")
    ),
    ("calc_diff", lose("Lxx"), r"Broken\.calc_diff set data\.Lxx.* not finite"),
    ("calc_diff", lose("Luu"), r"Broken\.calc_diff set data\..* not finite"),
]


@pytest.mark.parametrize(("method", "accident", "message"), ACCIDENTS)
def test_an_accident_in_a_black_box_names_the_knot(
    solver: type[SolverAbstract],
    options: type[DDPOptions],
    method: str,
    accident: Callable[[ActionData], None],
    message: str,
) -> None:
    compiled = unicycle()
    broken = Broken(compiled.state, method, accident)
    problem = ShootingProblem(compiled.x0, [compiled.running[0], broken] * 4, compiled.terminal)
    xs, us = np.zeros((9, 3)), np.zeros((8, 2))
    xs[5, 0] = 11.0
    with pytest.raises(ModelEvaluationError, match=f"^knot 5: .*{message}"):
        solver(problem).solve(xs, us)
    assert solver(problem).solve(np.zeros((9, 3)), us).converged


@pytest.mark.parametrize("accident", [divide, lose("cost")])
def test_an_accident_at_the_end_names_the_knot(accident: Callable[[ActionData], None]) -> None:
    compiled = unicycle()
    problem = ShootingProblem(compiled.x0, [compiled.running[0]] * 4, Broken(compiled.state, "calc", accident))
    xs = np.zeros((5, 3))
    xs[4, 0] = 11.0
    with pytest.raises(ModelEvaluationError, match=r"^knot 4: Broken\.calc"):
        SolverFDDP(problem).solve(xs, np.zeros((4, 2)))


def test_an_exception_in_a_rollout_names_the_knot_and_its_cause() -> None:
    compiled = unicycle()
    broken = Broken(compiled.state, "calc", divide)
    problem = ShootingProblem([9.0, 0.0, 0.0], [compiled.running[0], broken], compiled.terminal)
    with pytest.raises(ModelEvaluationError, match=r"^knot 1: Broken\.calc raised ZeroDivisionError") as caught:
        problem.rollout([[20.0, 0.0], [0.0, 0.0]])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_step_into_nan_is_shortened(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """A rollout that is not finite is a step too long, not an error."""
    compiled = unicycle()
    fragile = Fragile(compiled.state)
    problem = ShootingProblem([1.0, 0.0, 0.0], [fragile] * 10, compiled.terminal)
    solution = solver(problem, options(initial_regularization=1e-9)).solve(us=np.zeros((10, 2)))
    assert solution.history[0].step_length < 1.0
    assert solution.history[0].accepted
    assert np.isfinite(solution.cost)


class Fragile(UnicycleNumpy):
    """Has no value at controls beyond 2."""

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        super().calc(data, x, u)
        if u is not None and np.abs(u).max() > 2:
            data.xnext = np.full(3, np.nan)


def test_an_expression_that_is_not_finite_names_the_knot() -> None:
    state = trajopt.StateVector(1)

    class Root(trajopt.ActionModelDiscrete):
        """x⁺ = x + u with cost √x + u²."""

        def __init__(self) -> None:
            super().__init__(state, 1)

        def next_state(self, x: Any, u: Any) -> Any:
            return x + u

        def running_cost(self, x: Any, u: Any) -> Any:
            return x**0.5 + u**2

        def terminal_cost(self, x: Any) -> Any:
            return x**2

    problem = ShootingProblem([1.0], [Root()] * 12, Root())
    xs = np.ones((13, 1))
    xs[9] = -1.0
    with pytest.raises(ModelEvaluationError, match=r"^knot 9: Root gives a cost that is not finite at x = \[-1"):
        SolverFDDP(problem).solve(xs, np.zeros((12, 1)))


class WithoutEnd(ActionModelAbstract):
    """A black box that takes u for granted."""

    def __init__(self, ignores: str) -> None:
        super().__init__(trajopt.StateVector(1), 1)
        self.ignores = ignores

    def calc(self, data: ActionData, x: Reals, u: Any = None) -> None:
        effort = np.array([0.0 if u is None and self.ignores != "calc" else u], dtype=float).ravel()
        data.xnext = x + effort
        data.cost = float(x @ x + (u @ u if self.ignores == "product" else effort @ effort))

    def calc_diff(self, data: ActionData, x: Reals, u: Any = None) -> None:
        data.Lx, data.Lxx = 2 * x, [[2.0]]
        if u is not None or self.ignores == "calc_diff":
            data.Fx, data.Fu, data.Lu, data.Luu = [[1.0]], [[1.0]], 2 * u, [[2.0]]


@pytest.mark.parametrize(
    ("ignores", "says"),
    [
        ("product", r"knot 3: WithoutEnd.calc raised TypeError"),
        ("calc", r"knot 3: WithoutEnd.calc set data.cost to a value that is not finite"),
        ("calc_diff", r"knot 3: WithoutEnd.calc_diff raised TypeError"),
    ],
)
def test_a_black_box_that_needs_a_control_at_the_end_gets_an_error_with_the_cure(ignores: str, says: str) -> None:
    model = WithoutEnd(ignores)
    problem = ShootingProblem([1.0], [model] * 3, model)
    with pytest.raises(ModelEvaluationError, match=rf"{says}.*; at the end of the horizon u is None and only the cost"):
        SolverFDDP(problem).solve(us=np.zeros((3, 1)))


def test_differences_name_the_model_inside() -> None:
    model = trajopt.ActionModelNumDiff(WithoutEnd("product"))
    problem = ShootingProblem([1.0], [model] * 3, model)
    with pytest.raises(ModelEvaluationError, match=r"knot 3: ActionModelNumDiff\(WithoutEnd\).calc raised"):
        SolverFDDP(problem).solve(us=np.zeros((3, 1)))


def test_a_black_box_that_knows_the_end_is_solved() -> None:
    model = WithoutEnd("nothing")
    assert SolverFDDP(ShootingProblem([1.0], [model] * 3, model)).solve(us=np.zeros((3, 1))).converged


class Careless(ActionModelAbstract):
    """Changes what it is given."""

    def __init__(self, state: trajopt.StateVector, what: str) -> None:
        super().__init__(state, 1)
        self.what = what

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.cost = 0.0
        if self.what == "x" or u is not None:
            array = x if self.what == "x" else u
            array[0] += 1.0  # type: ignore[index]
        data.xnext = x.copy()

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        data.Lxx, data.Luu, data.Fx = np.eye(2), np.eye(1), np.eye(2)


@pytest.mark.parametrize("what", ["x", "u"])
def test_a_black_box_that_overwrites_its_inputs_gets_an_error_with_the_cure(what: str) -> None:
    model = Careless(trajopt.StateVector(2), what)
    problem = ShootingProblem([0.0, 0.0], [model] * 3, model)
    message = r"knot 0: Careless.calc raised ValueError: .*read-only; x and u are read-only: .* x = x.copy\(\)"
    with pytest.raises(ModelEvaluationError, match=message):
        problem.calc(np.zeros((4, 2)), np.zeros((3, 1)))


# Derivatives that are left out


@pytest.mark.parametrize(
    ("kept", "left_out"),
    [
        ("", "Fu, data.Fx, data.Lu, data.Luu, data.Lx, data.Lxx"),
        ("Fu Lx Lxx Lu Luu", "Fx"),
        ("Fx Lx Lxx Lu Luu", "Fu"),
        ("Fx Fu Lxx Lu Luu", "Lx"),
        ("Fx Fu Lx Lxx Luu", "Lu"),
        ("Fx Fu Lx Lu Luu", "Lxx"),
    ],
)
def test_derivatives_that_are_left_out_are_named(kept: str, left_out: str) -> None:
    """They would count as zero, and a solve would end elsewhere without a word."""

    class Forgetful(LQRNumpy):
        def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
            whole = self.create_data()
            super().calc_diff(whole, x, u)
            for name in kept.split() if u is not None else ("Lx", "Lxx"):
                setattr(data, name, getattr(whole, name))

    case = problems.load("lqr")
    knot = Forgetful(case.problem.state)
    boxed = ShootingProblem(case.problem.x0, [knot] * case.problem.T, case.problem.terminal)
    with pytest.raises(ModelEvaluationError, match=rf"Forgetful\.calc_diff has not set data\.{left_out}; set all"):
        SolverFDDP(boxed).solve()
