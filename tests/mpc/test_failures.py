"""MPCController when things go wrong: failed steps, budgets of time, bad input."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.mpc import slider, support
from tests.mpc.test_shift import standing
from tests.support import ocp_problems
from trajopt import mpc, planar, problems
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, TrajoptError, UnknownNameError
from trajopt.mpc import MPCOptions, MPCStatus
from trajopt.mpc.converged import Converged, PlanOutcome
from trajopt.mpc.real_time import RealTime
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverSQP, SQPOptions
from trajopt.states import StateSE3


def pendulum() -> ShootingProblem:
    """Swing-up of a second, with a limited motor and a goal at the end."""
    return ocp_problems.pendulum().problem


class Brittle(trajopt.ActionModelDiscrete):
    """A mass whose motion is not defined beyond 2 m."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(2), nu=1)

    def next_state(self, x: SX, u: SX) -> SX:
        return x + 0.1 * ca.vertcat(x[1], u + 1e-9 * ca.sqrt(4.0 - x[0] ** 2))

    def running_cost(self, x: SX, u: SX) -> SX:
        return 0.5 * (x.T @ x + 0.1 * u.T @ u)

    def terminal_cost(self, x: SX) -> SX:
        return 5.0 * x.T @ x


def brittle(**options: Any) -> mpc.MPCController:
    node = Brittle()
    return mpc.MPCController(
        ShootingProblem(np.array([1.0, 0.0]), [node] * 10, node), options=MPCOptions(dt=0.1, **options)
    )


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_the_model_need_not_be_defined_at_the_state_of_zeros(mode: str) -> None:
    """There the simulator's pusher and puck coincide, and contact has no normal; the loop starts with both apart."""
    case = problems.load("puck", T=30)
    controller = mpc.MPCController(case.problem, options=MPCOptions(mode=mode))
    log = mpc.simulate(controller, None, case.problem.x0, 0.05)
    assert list(log.statuses) == ["solved"] * 5


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_a_failed_rehearsal_is_a_reason_and_no_error(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = RealTime if mode == "real-time" else Converged
    c, feedback, calls = brittle(mode=mode), engine.feedback, []

    def failing(self: Any, *given: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise ModelEvaluationError("calc of knot 3: not finite")
        return feedback(self, *given)

    monkeypatch.setattr(engine, "feedback", failing)
    first = c.reset()
    assert first.status is MPCStatus.SOLVED
    assert first.reason == "a step from there fails: calc of knot 3: not finite"
    assert c.step([1.0, 0.0]).status is MPCStatus.SOLVED


@pytest.mark.parametrize("on_failure", ["feedback", "solve"])
@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_a_failed_step_follows_the_last_plan_and_the_next_one_recovers(mode: str, on_failure: str) -> None:
    c = brittle(mode=mode, on_failure=on_failure)
    c.reset()
    good = c.step([1.0, 0.0])
    far = np.array([2.5, 0.0])
    bad = c.feedback(far)
    assert bad.status is MPCStatus.FAILED
    assert bad.failed
    assert bad.reason
    # the plan of the step before, a knot later: its states and controls there, and its gain
    wanted = good.us[1] - bad.K @ (far - good.xs[1])
    np.testing.assert_allclose(bad.u, wanted, atol=1e-9)
    c.prepare()
    again = c.step([0.9, 0.0])
    assert again.status is not MPCStatus.FAILED
    solution = SolverSQP(ShootingProblem(np.array([0.9, 0.0]), c.problem.running, c.problem.terminal)).solve()
    np.testing.assert_allclose(c.step([0.9, 0.0]).u, solution.us[0], atol=1e-6)


def failing_once(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Makes so many feedback phases fail."""
    feedback, left = RealTime.feedback, [times]

    def failing(self: RealTime, plan: Any, x: Any) -> Any:
        if left[0]:
            left[0] -= 1
            return PlanOutcome(MPCStatus.FAILED, "no way", 1)
        return feedback(self, plan, x)

    monkeypatch.setattr(RealTime, "feedback", failing)


def test_a_failed_step_is_repeated_from_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def guess(x: Any, times: Any) -> tuple[Any, Any]:
        asked.append((x, times))
        return np.zeros((11, 2)), np.zeros((10, 1))

    c = brittle(on_failure=guess)
    c.reset()
    c.step([1.0, 0.0])
    failing_once(monkeypatch, 1)
    again = c.step([0.5, 0.2], 0.2)
    np.testing.assert_allclose(asked[0][0], [0.5, 0.2])
    np.testing.assert_allclose(asked[0][1], 0.2 + 0.1 * np.arange(11))
    assert len(asked) == 1
    assert (again.status, again.iterations) == (MPCStatus.SOLVED, 2)
    assert again.reason == "repeated from the guess of on_failure, as no way"
    exact = SolverSQP(ShootingProblem(np.array([0.5, 0.2]), c.problem.running, c.problem.terminal)).solve()
    np.testing.assert_allclose(again.u, exact.us[0], atol=1e-6)


def test_a_guess_that_fails_too_leaves_the_last_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    c, plain = brittle(on_failure=lambda x, times: (np.zeros((11, 2)), np.zeros((10, 1)))), brittle()
    for each in (c, plain):
        each.reset()
        each.step([1.0, 0.0])
    failing_once(monkeypatch, 2)
    bad = c.step([0.8, 0.0])
    failing_once(monkeypatch, 1)
    expected = plain.step([0.8, 0.0])
    assert bad.status is expected.status is MPCStatus.FAILED
    assert bad.reason == expected.reason
    np.testing.assert_array_equal(bad.u, expected.u)
    np.testing.assert_array_equal(bad.K, expected.K)


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (lambda x, times: x, r"on_failure: expected a function that returns \(xs, us\)"),
        (lambda x, times: (np.zeros((11, 2)), np.zeros(10)), r"on_failure: us: expected shape \(10, 1\)"),
        (lambda x, times: 1 / 0, "on_failure"),
    ],
)
def test_a_guess_that_is_none(guess: Any, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    c = brittle(on_failure=guess)
    c.reset()
    failing_once(monkeypatch, 1)
    with pytest.raises(TrajoptError, match=said):
        c.step([1.0, 0.0])


def test_controls_of_failed_steps_are_within_limits() -> None:
    c = mpc.MPCController(support.arm(N=15))
    x0 = c.reset().xs[0]
    c.step(x0)
    wild = np.r_[x0[:7], 1e200 * np.ones(7)]
    step = c.step(wild)
    assert step.status is MPCStatus.FAILED
    upper = c.problem.get_parameter("torques.upper", knots=0)
    assert np.all(np.abs(step.u) <= upper)
    assert np.any(np.abs(step.u) == upper)
    for _ in range(3):
        step = c.step(x0)
    assert step.status is MPCStatus.SOLVED


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_a_time_budget_returns_the_best_so_far(mode: str) -> None:
    c = mpc.MPCController(support.arm(N=15), options=MPCOptions(mode=mode, time_budget=1e-7, iterations=50))
    c.follow("hand.reference", support.target)
    xs, steps = support.closed_loop(c, 30)
    assert {step.status for step in steps[1:]} <= {MPCStatus.PARTIAL, MPCStatus.SOLVED}
    late = [step for step in steps if step.status is MPCStatus.PARTIAL]
    assert late
    assert "time" in late[0].reason
    assert all(step.iterations == 1 for step in late)
    upper = c.problem.get_parameter("torques.upper", knots=0)
    assert np.all([np.abs(step.us) <= upper for step in steps])
    assert np.all(np.isfinite(xs))


def test_bad_input_leaves_the_controller_as_it_was() -> None:
    c = mpc.MPCController(pendulum())
    with pytest.raises(InvalidArgumentError, match=r"call reset\(x0\) first"):
        c.step([0.0, 0.0])
    with pytest.raises(InvalidArgumentError, match=r"call reset\(x0\) first"):
        c.prepare()
    x = c.reset().xs[0]
    c.step(x)
    twin = mpc.MPCController(pendulum())
    twin.reset()
    twin.step(x)
    for bad, said in [
        ((np.zeros(3),), r"x: expected shape \(2,\), got \(3,\)"),
        ((np.array([np.nan, 0.0]),), "x: expected finite numbers"),
        (("left",), "x: expected numbers"),
        ((x, -1.0), "t: expected a time >= 0 s, that of the last measurement, got -1 s"),
        ((x, np.nan), "t: expected a finite number"),
    ]:
        with pytest.raises(InvalidArgumentError, match=said):
            c.step(*bad)
    np.testing.assert_array_equal(c.step(x + 0.01).us, twin.step(x + 0.01).us)
    with pytest.raises(InvalidArgumentError, match="guess: expected"):
        c.reset(guess=3)
    with pytest.raises(InvalidArgumentError, match=r"call reset\(x0\) first"):  # there is no plan any more
        c.step(x)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda p: mpc.MPCController(p, "SolverFDDP"), "mode 'real-time' needs SolverSQP"),
        (lambda p: mpc.MPCController(p, "SolverPID"), "SolverPID"),
        (lambda p: mpc.MPCController(p, SolverSQP(p)), "expected a class such as SolverSQP"),
        (lambda p: mpc.MPCController("arm"), "problem: expected"),
        (lambda p: mpc.MPCController(p, options=SQPOptions()), "options: expected"),
        (lambda p: MPCOptions(mode="fast"), "mode: expected 'real-time' or 'converged', got 'fast'"),
        (lambda p: MPCOptions(on_failure="stop"), "on_failure: expected 'feedback' or 'solve'"),
        (lambda p: MPCOptions(hessian="bfgs"), "hessian: expected 'exact' or 'gauss-newton', got 'bfgs'"),
        (lambda p: MPCOptions(dt=0.0), "dt"),
        (lambda p: mpc.MPCController(p, options=MPCOptions(dt=100.0)), "dt: expected at most the window's duration "),
        (lambda p: MPCOptions(time_budget=-1.0), "time_budget"),
        (lambda p: MPCOptions(iterations=0), "iterations"),
        (lambda p: MPCOptions(soft=(0.0, 0.0)), "soft: expected a weight > 0"),
        (lambda p: MPCOptions(soft=3.0), r"soft: expected two weights \(linear, quadratic\)"),
        (lambda p: MPCOptions(solver_options=3), "solver_options"),
        (
            lambda p: mpc.MPCController(ShootingProblem(p.x0, p.running, p.terminal, start="free")),
            "start='fixed' and T >= 1",
        ),
        (lambda p: mpc.MPCController(p).reset(guess=3), r"guess: expected \(xs, us\) or a Solution"),
        (lambda p: mpc.MPCController(p).reset([0.0]), r"x0: expected shape \(2,\)"),
        (lambda p: mpc.MPCController(problems.load("lqr").problem), r"options\.dt: expected a time"),
    ],
)
def test_wrong_arguments(build: Any, said: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=said):
        build(pendulum())


def test_a_measurement_that_comes_late() -> None:
    """The plan is moved to the time of the measurement, here by a knot and a half."""
    c = mpc.MPCController(pendulum())
    start = c.reset()
    c.step(start.xs[0])
    step = c.step(0.5 * (start.xs[1] + start.xs[2]), 1.5 * c.dt)
    assert step.t == 1.5 * c.dt
    np.testing.assert_allclose(step.us[:20], 0.5 * (start.us[1:21] + start.us[2:22]), atol=0.2)
    assert c.step(start.xs[2]).t == pytest.approx(2.5 * c.dt)


def test_a_step_that_leads_apart_is_none() -> None:
    """A cart-pole that is 5 m and 5 rad from its plan: the full step has gaps larger than its motion."""
    case = ocp_problems.cart_pole()
    c = mpc.MPCController(case.problem)
    x = c.reset(guess=case.guess).xs[0] + 5.0
    plan = c.problem.rollout
    step = c.feedback(x, 0.0)
    assert step.status is MPCStatus.FAILED
    assert "the step is too long" in step.reason
    c.problem.x0 = x
    np.testing.assert_allclose(step.xs, plan(step.us), atol=1e-9)


@pytest.mark.parametrize(("angle", "status"), [(2.9, MPCStatus.SOLVED), (3.1, MPCStatus.FAILED)])
def test_a_step_that_turns_a_state_far_is_none(angle: float, status: MPCStatus) -> None:
    """A body that stays where it is, so that its plan turns as far as its measurement, without gaps."""
    c = mpc.MPCController(standing(StateSE3(), 2), options=MPCOptions(dt=0.1))
    x = c.reset().xs[0]
    step = c.feedback(c.problem.state.integrate(x, [0.0, 0.0, 0.0, 0.0, 0.0, angle]), 0.0)
    assert step.status is status
    assert ("the step is too long" in step.reason) is (status is MPCStatus.FAILED)


@pytest.mark.parametrize(("solver", "warned"), [("SolverSQP", True), ("SolverBoxFDDP", False)])
def test_limits_that_are_not_constraints_are_reported(
    solver: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    state = planar.state_of_pose()
    goal = trajopt.ResidualModelState(state, [1.0, 0.0, 0.0])
    costs = trajopt.CostStack(state).add("goal", goal, 1.0)
    costs.add("effort", trajopt.ResidualModelControl(state), 0.1)
    model = planar.DifferentialActionModelUnicycle(costs, lower=[-0.2, -np.inf], upper=[0.2, np.inf])
    knots = [trajopt.IntegratedActionModelRK4(model, 0.1)] * 5
    problem = ShootingProblem(np.zeros(3), knots, trajopt.CostStack(state).add("goal", goal, 5.0))
    step = mpc.MPCController(problem, solver, MPCOptions(mode="converged")).reset()
    assert step.u[0] == pytest.approx(0.2)
    assert ("plans ignore the limits of v, so controls are clipped" in caplog.text) == warned
    assert (np.max(step.us[:, 0]) > 0.21) == warned


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_limits_that_exclude_each_other_fail_steps_until_they_do_not(mode: str) -> None:
    """The reason names rows, knots and bounds; `reset` says the same, and the loop goes on once a bound is widened."""
    rows = trajopt.ConstraintStack(slider.STATE).add("force", trajopt.ResidualModelControl(slider.STATE), lower=-2.0)
    rows.add("brake", trajopt.ResidualModelControl(slider.STATE), upper=2.0)
    costs = trajopt.CostStack(slider.STATE).add("effort", trajopt.ResidualModelControl(slider.STATE), weight=1.0)
    knot = trajopt.IntegratedActionModelEuler(slider.Slider(costs, rows), 0.1)
    problem = ShootingProblem([0.0, 0.0], [knot] * 5, trajopt.CostStack(slider.STATE))
    c = mpc.MPCController(problem, options=MPCOptions(mode=mode))
    sentence = (
        "constraints force and brake at knots 0-4: they exclude each other, control 'f' should be >= 1 N and <= 0.5 N; "
        "widen one of them with problem.set_parameter"
    )

    def tighten(step: mpc.MPCStep) -> None:
        lower, upper = (1.0, 0.5) if 0.15 < step.t < 0.35 else (-2.0, 2.0)
        c.problem.set_parameter("force.lower", lower)
        c.problem.set_parameter("brake.upper", upper)

    log = mpc.simulate(c, None, [0.1, 0.0], 0.8, on_step=tighten)
    assert list(log.statuses) == ["solved"] * 3 + ["failed"] * 2 + ["solved"] * 3
    assert all(reason.startswith(sentence) for reason in log.reasons.values())
    assert sentence in log.explain()
    assert "steps fail: soften" not in log.explain()
    c.problem.set_parameter("force.lower", 1.0)
    c.problem.set_parameter("brake.upper", 0.5)
    step = c.reset([0.1, 0.0])
    assert step.failed
    assert step.reason.startswith(sentence)
