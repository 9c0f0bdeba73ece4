"""References and schedules that move along with time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.mpc import support
from trajopt import mpc, problems
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownNameError
from trajopt.types import Reals


def controller(**options: Any) -> mpc.MPCController:
    return mpc.MPCController(support.arm(N=5), options=mpc.MPCOptions(**options))


def hand(c: mpc.MPCController) -> Reals:
    return c.problem.get_parameter("hand.reference")


def test_a_function_is_looked_up_at_the_time_of_each_knot() -> None:
    c = controller(dt=0.01)
    c.follow("hand.reference", support.target)
    c.reset(t=1.0)
    np.testing.assert_array_equal(hand(c), [support.target(1.0 + 0.02 * k) for k in range(6)])
    c.feedback(c.problem.x0)
    np.testing.assert_allclose(hand(c), [support.target(1.0 + 0.02 * k) for k in range(6)])
    c.prepare()
    np.testing.assert_allclose(hand(c), [support.target(1.01 + 0.02 * k) for k in range(6)], atol=1e-15)


@pytest.mark.parametrize("interpolate", [True, False])
def test_samples_are_linear_or_held(interpolate: bool) -> None:
    c = controller()
    times, values = np.array([0.0, 0.05, 1.0]), np.array([[0.4, 0.0, 0.4], [0.5, 0.0, 0.4], [0.6, 0.1, 0.4]])
    c.follow("hand.reference", (times, values), interpolate=interpolate)
    c.reset()
    knots = 0.02 * np.arange(6)
    if interpolate:
        wanted = np.column_stack([np.interp(knots, times, column) for column in values.T])
    else:
        wanted = values[[0, 0, 0, 1, 1, 1]]
    np.testing.assert_allclose(hand(c), wanted, atol=1e-15)


def test_a_reference_that_is_too_short_is_refused_before_and_in_the_loop() -> None:
    c = controller()
    c.follow("hand.reference", ([0.0, 0.2], [[0.4, 0.0, 0.4], [0.5, 0.0, 0.4]]))
    c.check_references(0.0, 0.1)
    with pytest.raises(
        InvalidArgumentError, match=r"hand\.reference: expected samples from .* got samples from 0 s to 0\.2 s"
    ):
        c.check_references(0.0, 0.11)
    x = c.reset().xs[0]
    for _ in range(6):
        c.step(x)
    with pytest.raises(
        InvalidArgumentError, match=r"expected samples from 0\.12 s to 0\.22 s, .*; add samples, or pass hold=True"
    ):
        c.step(x)
    c.follow("hand.reference", ([0.0, 0.2], [[0.4, 0.0, 0.4], [0.5, 0.0, 0.4]]), hold=True)
    assert c.step(x).t == pytest.approx(0.12)
    np.testing.assert_allclose(hand(c)[-1], [0.5, 0.0, 0.4])


def test_a_reference_after_the_first_solve_counts_in_the_first_step() -> None:
    c, other = controller(), controller()
    x = c.reset().xs[0]
    c.follow("hand.reference", lambda t: [0.5, 0.0, 0.3])
    other.follow("hand.reference", lambda t: [0.5, 0.0, 0.3])
    first = c.feedback(x)
    np.testing.assert_array_equal(hand(c), [0.5, 0.0, 0.3])
    assert np.abs(first.u - other.reset().u).max() < np.abs(first.u - controller().reset().u).max()


def test_references_may_change_and_end() -> None:
    c = controller()
    c.follow("hand.reference", support.target)
    x = c.reset().xs[0]
    c.step(x)
    c.follow("hand.reference", lambda t: [0.5, 0.0, 0.3])
    c.feedback(x)
    np.testing.assert_array_equal(hand(c), [0.5, 0.0, 0.3])
    c.follow("hand.reference", None)
    c.problem.set_parameter("hand.reference", [0.4, 0.0, 0.3])
    c.step(x)
    np.testing.assert_array_equal(hand(c), [0.4, 0.0, 0.3])


@pytest.mark.parametrize(
    ("name", "reference", "said"),
    [
        ("hand.goal", support.target, "parameter"),
        ("hand.reference", [0.4, 0.0, 0.4], r"expected a function of time \[s\] or a pair"),
        ("hand.reference", ([0.0, 1.0], [[0.4, 0.0, 0.4]]), "one value for each of 2 times, got 1"),
        ("hand.reference", ([0.0, 0.0], np.zeros((2, 3))), "times.*ascending"),
        ("hand.reference", ([0.0, 1.0], np.zeros((2, 4))), r"hand\.reference at 0 s: expected shape \(3,\)"),
        ("dt", lambda t: 0.1, "expected a parameter other than 'dt'"),
    ],
)
def test_wrong_references(name: str, reference: Any, said: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=said):
        controller().follow(name, reference)


def test_a_function_with_wrong_values_is_named() -> None:
    c = controller()
    c.follow("hand.reference", lambda t: [0.4, 0.0, 0.4] if t < 0.15 else [0.4, np.nan, 0.4])
    x = c.reset().xs[0]
    for _ in range(3):
        c.step(x)
    with pytest.raises(InvalidArgumentError, match=r"hand\.reference at 0\.16 s: expected finite numbers"):
        c.step(x)
    c.follow("hand.reference", support.target)
    assert c.step(x).status is mpc.MPCStatus.SOLVED


def test_a_function_that_raises_is_named_with_the_time_of_the_knot() -> None:
    def lost(t: float) -> list[float]:
        if t > 0.13:
            raise KeyError("marker")
        return [0.4, 0.0, 0.4]

    c = controller()
    c.follow("hand.reference", lost)
    with pytest.raises(mpc.ClosedLoopError, match=r"at 0\.02 s: hand\.reference at 0\.14 s: .* raised KeyError"):
        mpc.simulate(c, None, c.problem.x0, 0.2)


def test_rotations_are_not_interpolated() -> None:
    state = trajopt.StateMultibody(support.robot("panda"))
    goal = trajopt.ResidualModelFrameRotation(state, "panda_hand", np.eye(3))
    costs = trajopt.CostStack(state).add("turn", goal, weight=1.0)
    running = trajopt.CostStack(state).add("turn", goal, weight=1.0)
    running.add("effort", trajopt.ResidualModelControl(state), weight=1e-2)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, trajopt.ActuationModelFull(state), running)
    node = trajopt.IntegratedActionModelEuler(dynamics, 0.02)
    c = mpc.MPCController(trajopt.ShootingProblem(state.zero(), [node] * 3, costs))
    turned = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    samples = ([0.0, 1.0], [np.eye(3), turned])
    with pytest.raises(InvalidArgumentError, match=r"cannot interpolate linearly .*; pass interpolate=False"):
        c.follow("turn.reference", samples)
    c.follow("turn.reference", samples, interpolate=False)
    c.follow("turn.reference", (samples[0], [turned, turned]), interpolate=False, hold=True)
    c.check_references(0.0, 5.0)


# Schedules


def test_rows_of_a_schedule_hold_until_the_next_one_and_begin_anew() -> None:
    table = mpc.ParameterSchedule([0.0, 0.1, 0.3], {"a": [1.0, 0.0, 2.0]}, period=0.5)
    times = np.array([-0.1, 0.0, 0.0999, 0.1, 0.3, 0.49, 0.5, 0.6, 5.0 + 0.1])
    np.testing.assert_array_equal(table(times)["a"], [2.0, 1.0, 1.0, 0.0, 2.0, 2.0, 1.0, 0.0, 0.0])


def test_switches_do_not_flicker_by_rounding() -> None:
    table = mpc.ParameterSchedule([0.0, 0.3], {"a": [1.0, 0.0]}, period=0.6)
    for step in range(100):
        rows = table(0.1 * step + 0.1 * np.arange(12))["a"]
        np.testing.assert_array_equal(rows, [1.0 if (step + k) % 6 < 3 else 0.0 for k in range(12)])


def test_a_stride_is_added_with_each_period() -> None:
    table = mpc.ParameterSchedule(
        [0.0, 0.1], {"foot": [[0.0, 1.0], [0.1, 1.0]]}, period=0.2, advance={"foot": [0.3, 0.0]}
    )
    rows = table(np.array([0.0, 0.1, 0.2, 0.3, 0.5]))["foot"]
    np.testing.assert_allclose(rows, [[0.0, 1.0], [0.1, 1.0], [0.3, 1.0], [0.4, 1.0], [0.7, 1.0]])


def test_a_schedule_without_period_holds_its_ends() -> None:
    table = mpc.ParameterSchedule([0.0, 1.0], {"a": [1.0, 2.0]})
    np.testing.assert_array_equal(table(np.array([-1.0, 0.5, 1.0, 9.0]))["a"], [1.0, 1.0, 2.0, 2.0])


def test_a_schedule_sets_the_knots_that_have_a_parameter() -> None:
    c = controller()
    before = c.problem.get_parameter("torques.upper", knots=0)
    weak = 0.5 * before
    c.schedule(mpc.ParameterSchedule([0.0, 0.05], {"torques.upper": [before, weak], "hand.weight": [100.0, 50.0]}))
    c.reset()
    np.testing.assert_array_equal(c.problem.get_parameter("torques.upper"), [before] * 3 + [weak] * 2)
    np.testing.assert_array_equal(c.problem.get_parameter("hand.weight"), [100.0] * 3 + [50.0] * 3)
    c.step(c.problem.x0)
    np.testing.assert_array_equal(c.problem.get_parameter("torques.upper"), [before] * 2 + [weak] * 3)


def test_a_schedule_may_see_measured_states() -> None:
    class Watching:
        def __init__(self) -> None:
            self.seen: list[tuple[float, Any]] = []

        def see(self, t: float, x: Any) -> None:
            self.seen.append((t, x))

        def __call__(self, times: Any) -> dict[str, Any]:
            return {"hand.weight": np.full(len(times), 10.0 + len(self.seen))}

    c, table = controller(), Watching()
    c.schedule(table)
    x0 = c.reset(t=1.0).xs[0]
    c.step(x0 + 1e-3)
    assert [t for t, _ in table.seen] == pytest.approx([1.0, 1.0])
    np.testing.assert_allclose(table.seen[1][1], x0 + 1e-3)
    assert np.all(c.problem.get_parameter("hand.weight") == 12.0)  # of the window that is prepared
    c.feedback(x0)
    assert len(table.seen) == 2  # the control does not wait for it
    c.prepare()
    assert len(table.seen) == 3
    c.feedback(x0)
    table.see = lambda t, x: 1 / 0  # type: ignore[method-assign,assignment]
    with pytest.raises(TrajoptError, match="table.see"):
        c.prepare()


def test_knots_of_a_kind_need_not_follow_one_another() -> None:
    one, other = (support.arm(N=1) for _ in range(2))
    a, b = one.running[0], other.running[0]
    problem = trajopt.ShootingProblem(one.x0, [a, b, b, a], one.terminal)
    c = mpc.MPCController(problem)
    c.schedule(lambda times: {"hand.reference": np.column_stack([times, 1.0 + times, 2.0 + times])}, knots="running")
    c.schedule(lambda times: {"hand.weight": 7.0 + times})
    end = problem.get_parameter("hand.reference", knots="terminal")
    c._window.move(1.0)
    times = 1.0 + 0.02 * np.arange(5)
    rows = c.problem.get_parameter("hand.reference", "all")
    np.testing.assert_allclose(rows[:4], np.column_stack([times, 1.0 + times, 2.0 + times])[:4], atol=1e-15)
    np.testing.assert_array_equal(rows[4], end)
    np.testing.assert_allclose(c.problem.get_parameter("hand.weight", "all"), 7.0 + times, atol=1e-15)


def test_a_schedule_of_running_knots_leaves_the_terminal_knot_unchanged() -> None:
    c = controller()
    end = c.problem.get_parameter("hand.weight", knots="terminal")
    c.schedule(mpc.ParameterSchedule([0.0], {"hand.weight": [123.0]}), knots="running")
    c.reset()
    assert np.all(c.problem.get_parameter("hand.weight", knots="running") == 123.0)
    assert c.problem.get_parameter("hand.weight", knots="terminal") == end


def test_limits_that_change_along_time_are_kept() -> None:
    c = controller()
    upper = c.problem.get_parameter("torques.upper", knots=0)
    c.schedule(mpc.ParameterSchedule([0.0, 0.05], {"torques.upper": [upper, 0.1 * upper]}))
    c.follow("hand.reference", lambda t: [0.6, 0.3, 0.7])
    _, steps = support.closed_loop(c, 8)
    assert np.any(steps[0].us > 0.1 * upper + 1e-3)
    for step in steps[3:]:
        assert np.all(step.us <= 0.1 * upper + 1e-12)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: mpc.ParameterSchedule([0.0, 0.1], {"a": [1.0]}), r"values\['a'\]: expected one row for each of 2"),
        (lambda: mpc.ParameterSchedule([0.0, 0.5], {"a": [1.0, 0.0]}, period=0.4), "period: expected more than"),
        (lambda: mpc.ParameterSchedule([0.0], {"a": [1.0]}, advance={"a": 1.0}), "pass period"),
        (lambda: mpc.ParameterSchedule([0.0], {"a": [1.0]}, period=1.0, advance={"b": 1.0}), "got 'b'"),
        (lambda: controller().schedule({"hand.weight": 1.0}), "expected a ParameterSchedule, or a function"),
        (lambda: controller().schedule(lambda t: {"hand.weight": np.ones(2)}), "one row for each of 6 knots, got 2"),
        (lambda: controller().schedule(lambda t: {"hand.height": np.ones(6)}), "hand.height"),
        (lambda: controller().schedule(lambda t: {"hand.reference": np.ones((6, 2))}), r"expected shape \(3,\)"),
        (lambda: controller().schedule(mpc.ParameterSchedule([0.0], {"a": [1]}), knots="end"), "'all' or 'running'"),
    ],
)
def test_wrong_schedules(build: Any, said: str) -> None:
    with pytest.raises((InvalidArgumentError, UnknownNameError), match=said):
        build()


def test_a_knot_that_takes_no_time_is_refused() -> None:
    problem = problems.load("quadruped-trot").problem
    if problem.times is not None and np.any(np.diff(problem.times) == 0.0):
        with pytest.raises(
            InvalidArgumentError, match="expected knots of positive duration, .* such as for an impulse"
        ):
            mpc.MPCController(problem)


def test_a_reference_before_its_name_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"name: .* it comes first: follow\('hand.reference', function\)"):
        controller().follow(support.target, "hand.reference")  # type: ignore[arg-type]


def test_a_reference_of_the_end_alone_is_followed_with_runge_kutta_steps() -> None:
    """Its name is that of no running knot."""
    state = trajopt.StateVector(2, names=["q", "v"])

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: SX, u: SX) -> SX:
            return u

    motion = trajopt.ResidualModelState(state)
    costs = trajopt.CostStack(state).add("goal", motion, 1.0).add("effort", trajopt.ResidualModelControl(state), 1e-3)
    knot = trajopt.IntegratedActionModelRK4(Mass(state, 1, costs), dt=0.2)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 4, trajopt.CostStack(state).add("end", motion, 100.0))
    controller = mpc.MPCController(problem, options=mpc.MPCOptions(dt=0.1))
    controller.follow("end.reference", lambda t: [0.5, 0.0])
    log = mpc.simulate(controller, None, problem.x0, 0.5)
    assert np.all(log.statuses == "solved")
    assert log.xs[-1, 0] > 0.1


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_errors_are_those_at_the_samples_also_with_runge_kutta_steps(delay: float) -> None:
    """Costs of such steps compare with the reference in the middle of the step, .1 s and 5 cm ahead."""
    state = trajopt.StateVector(2, names=["q", "v"])

    class Mass(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: SX, u: SX) -> SX:
            return u

    motion = trajopt.ResidualModelState(state)
    costs = trajopt.CostStack(state).add("goal", motion, 100.0)
    costs.add("effort", trajopt.ResidualModelControl(state), 1e-3)
    knot = trajopt.IntegratedActionModelRK4(Mass(state, 1, costs), dt=0.2)
    problem = trajopt.ShootingProblem([0.0, 0.5], [knot] * 8, trajopt.CostStack(state).add("goal", motion, 100.0))
    controller = mpc.MPCController(problem, options=mpc.MPCOptions(dt=0.1))
    controller.follow("goal.reference", lambda t: [0.5 * t, 0.5])
    log = mpc.simulate(controller, None, problem.x0, 2.0, delay=delay)
    goal = log.tracked[0]
    times = np.asarray(log.times)[: len(goal.reference)]
    np.testing.assert_allclose(goal.reference[:, 0], 0.5 * times, atol=1e-12)
    assert np.abs(goal.errors).max() < 0.02
