"""Black boxes that leave something out, starts in degrees, guesses that are no numbers."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import trajopt
from trajopt import problems
from trajopt.errors import ImmutableError, InvalidArgumentError, ModelEvaluationError
from trajopt.solvers import FDDPOptions, SolverFDDP


class Box(trajopt.ActionModelAbstract):
    """A mass on a line.

    Args:
        leaves_out: "cost", "xnext", or nothing.
    """

    def __init__(self, leaves_out: str = "") -> None:
        super().__init__(trajopt.StateVector(2), 1)
        self.leaves_out = leaves_out

    def calc(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        if self.leaves_out == "raises" and x[0] > 0.5:
            raise KeyError("table")
        if u is not None:
            data.xnext = x + np.array([0.1 * x[1], 0.1 * u[0]])
        if self.leaves_out != "cost":
            data.cost = float(x @ x + (0.0 if u is None else u @ u))

    def calc_diff(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        data.Fx, data.Fu = [[1.0, 0.1], [0.0, 1.0]], [[0.0], [0.1]]
        data.Lx, data.Lxx = 2 * x, 2 * np.eye(2)
        if u is not None:
            data.Lu, data.Luu = 2 * u, 2 * np.eye(1)


def problem(model: trajopt.ActionModelAbstract, x0: Any = (1.0, 0.0)) -> trajopt.ShootingProblem:
    return trajopt.ShootingProblem(x0, [Box(), model, model], Box())


def test_a_complete_black_box_converges() -> None:
    assert SolverFDDP(problem(Box())).solve().status is trajopt.SolverStatus.CONVERGED


@pytest.mark.parametrize("differences", [False, True])
def test_a_black_box_without_a_cost_is_refused(differences: bool) -> None:
    model: trajopt.ActionModelAbstract = Box("cost")
    model = trajopt.ActionModelNumDiff(model) if differences else model
    with pytest.raises(
        ModelEvaluationError, match=r"knot 1: (\w+\()?Box\)?\.calc has not set data\.cost; set it, to 0\.0"
    ):
        SolverFDDP(problem(model)).solve()
    end = trajopt.ShootingProblem([1.0, 0.0], [Box()], Box("cost"))
    with pytest.raises(ModelEvaluationError, match=r"knot 1: Box\.calc has not set data\.cost"):
        end.rollout(np.zeros((1, 1)))


def test_a_black_box_that_raises_during_the_default_guess_names_the_knot() -> None:
    with pytest.raises(ModelEvaluationError, match=r"^knot 1: Box\.calc raised KeyError: 'table'$") as caught:
        SolverFDDP(problem(Box("raises"))).solve()
    assert isinstance(caught.value.__cause__, KeyError)


class Wild(trajopt.ActionModelAbstract):
    """A black box of a floating robot whose next state is none."""

    def calc(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        data.xnext, data.cost = np.zeros(self.state.nx), 0.0

    def calc_diff(self, data: trajopt.ActionData, x: Any, u: Any = None) -> None:
        pass


def test_a_next_state_that_is_none_names_the_knot() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))
    model = Wild(state, 1)
    p = trajopt.ShootingProblem(state.zero(), [model], model)
    with pytest.raises(ModelEvaluationError, match=r"knot 0: Wild\.calc raised .*expected the quaternion"):
        p.calc([state.zero()] * 2, np.zeros((1, 1)))


@pytest.mark.parametrize("method", ["difference", "integrate", "jdifference", "jintegrate", "at_rest"])
def test_zeros_are_no_state_of_a_floating_robot(method: str) -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))
    other = () if method == "at_rest" else (np.zeros(state.ndx if "integrate" in method else state.nx),)
    with pytest.raises(InvalidArgumentError, match=r"x0?: expected the quaternion .* to have norm 1"):
        getattr(state, method)(np.zeros(state.nx), *other)


@pytest.mark.parametrize(("angle", "warns"), [(3.0, False), (-3.0, False), (90.0, True), (-45.0, True)])
def test_a_start_in_degrees_warns(angle: float, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("planar-2r"))
    with caplog.at_level(logging.WARNING, logger="trajopt"):
        p = trajopt.ShootingProblem([0.0, angle, 100.0, 0.0], [], trajopt.CostStack(state))
    assert ("looks like degrees" in caplog.text) == warns
    if warns:
        assert f"x0: q:joint_2 is {angle:g} rad" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="trajopt"):
        p.x0 = np.array([0.0, angle, 100.0, 0.0])  # type: ignore[assignment]
    assert ("looks like degrees" in caplog.text) == warns


def test_the_warning_about_degrees_comes_once(caplog: pytest.LogCaptureFixture) -> None:
    case = problems.load("double-pendulum")
    with caplog.at_level(logging.WARNING, logger="trajopt"):
        case.problem.x0 = np.array([30.0, 0.0, 0.0, 0.0])  # type: ignore[assignment]
        solution = SolverFDDP(case.problem, FDDPOptions(max_iterations=3)).solve()
        solution.explain()
        trajopt.analysis.resample(solution, 0.01)
        trajopt.ShootingProblem(case.problem.x0, case.problem.running[:5], case.problem.terminal)
    assert caplog.text.count("looks like degrees") == 1


@pytest.mark.parametrize(("angle", "warns"), [(12.0, False), (-6.0, False), (90.0, True), (-45.0, True)])
def test_a_reference_in_degrees_warns(angle: float, warns: bool, caplog: pytest.LogCaptureFixture) -> None:
    state = trajopt.StateVector(3, names=["q", "p", "v"], units=["rad", "m", "rad/s"])
    costs = trajopt.CostStack(state)
    with caplog.at_level(logging.WARNING, logger="trajopt"):
        trajopt.ResidualModelState(state, [0.0, angle, 100.0])
        trajopt.ResidualModelState(state, [angle, 0.0, 0.0], elements=["v"])
        costs.add("goal", trajopt.ResidualModelState(state), weight=1.0)
        problem = trajopt.ShootingProblem(np.zeros(3), [], costs)
        assert not caplog.text
        trajopt.ResidualModelState(state, [angle, 0.0, 0.0])
    words = f"reference: q is {angle:g} rad, which looks like degrees; convert it with np.radians"
    assert (words in caplog.text) == warns
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="trajopt"):
        problem.set_parameter("goal.reference", [angle, 0.0, 0.0])
    assert (f"q is {angle:g} rad, which looks like degrees" in caplog.text) == warns
    assert caplog.text.count("looks like degrees") == warns


def test_lengths_have_no_degrees(caplog: pytest.LogCaptureFixture) -> None:
    trajopt.ShootingProblem([90.0, 0.0], [], trajopt.CostStack(trajopt.StateVector(2)))
    assert not caplog.text


MASKED = np.ma.masked_array(np.zeros((4, 2)), mask=np.eye(4, 2) > 0)


@pytest.mark.parametrize("xs", [MASKED, [*MASKED], np.full((4, 2), "1.0"), np.zeros((4, 2), "datetime64[s]"), "abcd"])
def test_states_are_numbers(xs: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"xs(\[\d\])?: expected (numbers|a list)"):
        problem(Box()).calc(xs, np.zeros((3, 1)))


@pytest.mark.parametrize("name", [[], {}, np.zeros(2), None])
def test_names_of_parameters_may_be_unhashable(name: Any) -> None:
    for call in (lambda p: p.get_parameter(name), lambda p: p.set_parameter(name, 1.0)):
        with pytest.raises(trajopt.UnknownNameError, match="parameter"):
            call(problem(Box()))


def test_an_assignment_to_a_parameter_names_set_parameter() -> None:
    problem = problems.load("pendulum", T=3).problem
    for name in ("dt", "mass"):
        with pytest.raises(ImmutableError, match=rf"write problem.set_parameter\('{name}', value\)"):
            setattr(problem, name, 0.1)
    problem.set_parameter("dt", 0.1)
