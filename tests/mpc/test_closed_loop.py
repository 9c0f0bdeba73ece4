"""Closed loops against what a mass on a rail does by hand."""

import numpy as np
import pytest

from tests.mpc.slider import FORCE, SPEED, STATE, Spy, controller, knot, moved, problem
from trajopt import mpc, problems
from trajopt.actions import ActionModelAbstract
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.kernels import compilations
from trajopt.mpc.recorder import SAMPLES
from trajopt.shooting import ShootingProblem

X0 = np.array([0.0, 0.3])


@pytest.fixture(scope="module")
def slider():
    return controller()


def arrays(log):
    names = ("times", "xs", "measured", "us", "costs", "control_excess", "plan_costs", "statuses", "iterations")
    return {name: getattr(log, name) for name in names} | dict(log.violations)


def test_the_model_moves_as_by_hand(slider):
    log = mpc.simulate(slider, None, X0, 3.0)
    assert len(log) == 30
    assert np.allclose(log.times, 0.1 * np.arange(31))
    for k in range(30):
        assert np.allclose(log.xs[k + 1], moved(log.xs[k], log.us[k], 0.1), atol=1e-14)
    assert np.allclose(log.xs[-1], [1.0, 0.0], atol=0.1)
    assert np.array_equal(log.measured, log.xs[:-1])


def test_a_period_may_be_part_of_a_knot():
    log = mpc.simulate(controller(dt=0.04), None, X0, 0.5)
    assert len(log) == 13  # rounded up
    assert log.dt == 0.04
    for k in range(13):
        assert np.allclose(log.xs[k + 1], moved(log.xs[k], log.us[k], 0.04), atol=1e-14)


def test_equal_seeds_give_equal_bits(slider):
    def run(seed):
        push = mpc.Push(time=0.25, value=[0.0, 0.5])
        return arrays(mpc.simulate(slider, None, X0, 1.5, noise=[1e-2, 2e-2], disturbance=push, seed=seed))

    first, again, other = run(3), run(np.random.default_rng(3)), run(4)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["xs"], other["xs"])


def test_nothing_is_compiled_after_the_first_step(slider):
    counts = []

    def plant(x, u, dt):
        counts.append(compilations())
        return moved(x, u, dt)

    mpc.simulate(slider, plant, X0, 2.0, noise=1e-3)
    assert counts[0] == counts[-1]


# Time: steps of the plant, delays, feedback between measurements


def test_a_plant_takes_smaller_steps(slider):
    calls = []

    def plant(x, u, dt):
        calls.append((float(u[0]), dt))
        return moved(x, u, dt)

    log = mpc.simulate(slider, plant, X0, 0.5, dt_plant=0.03)
    assert len(calls) == 5 * 4
    assert np.allclose([dt for _, dt in calls], 0.025)
    assert np.array_equal([u for u, _ in calls], np.repeat(log.us[:, 0], 4))
    assert np.allclose(log.xs[-1], _rolled(X0, calls), atol=1e-14)


def _rolled(x, calls):
    for u, dt in calls:
        x = moved(x, [u], dt)
    return x


@pytest.mark.parametrize("delay", [0.03, 0.1, 0.17])
def test_controls_come_into_force_after_the_delay(slider, delay):
    calls = []

    def plant(x, u, dt):
        calls.append((float(u[0]), dt))
        return moved(x, u, dt)

    log = mpc.simulate(slider, plant, X0, 1.0, delay=delay)
    times = np.cumsum([0.0, *(dt for _, dt in calls)])
    assert times[-1] == pytest.approx(1.0)
    since = np.array([0.0, *(0.1 * np.arange(1, 10) + delay)])  # the first one acts at once
    for (u, _), t in zip(calls, times):
        assert u == log.us[np.searchsorted(since, t + 1e-9, side="right") - 1, 0]
    assert log.delay == delay


def test_a_delay_can_be_compensated():
    spy = Spy(controller())
    log = mpc.simulate(
        spy, None, X0, 1.0, delay=0.04, compensate_delay=True, disturbance=mpc.Push(time=0.5, value=[0.1, 0])
    )
    for k in range(1, 10):
        t, seen = spy.seen[k]
        assert t == pytest.approx(0.1 * k + 0.04)
        assert np.allclose(seen, moved(log.measured[k], log.us[k - 1], 0.04), atol=1e-14)
    late = mpc.simulate(spy, None, X0, 1.0, delay=0.04)
    assert "compensate_delay=True" in late.explain()
    assert "compensate_delay" not in log.explain(), "it is on already"
    assert log.delay_compensated
    assert not late.delay_compensated
    assert log.cost < late.cost or np.allclose(log.xs[-1], [1, 0], atol=0.1)


def test_a_compensated_delay_is_logged_with_the_parameters_of_its_time():
    """The window of the controller begins a delay later."""
    for delay in (0.04, 0.1, 0.25):
        c = controller()
        c.follow("goal.reference", lambda t: [t, 1.0])
        log = mpc.simulate(c, None, X0, 1.0, delay=delay, compensate_delay=True)
        (q, v), u, t = log.xs[:-1].T, log.us[:, 0], log.times[:-1]
        assert np.allclose(log.costs, 0.05 * ((q - t) ** 2 + (v - 1.0) ** 2 + 0.1 * u**2), rtol=1e-12)
        assert np.allclose(c.problem.get_parameter("goal.reference", 0), [0.9 + delay, 1.0], atol=1e-12)


def test_a_prediction_follows_the_gains_as_the_plant_does():
    spy, found, now = Spy(controller()), {}, [0.0]

    def plant(x, u, dt):
        found[round(now[0], 6)] = x
        now[0] += dt
        return moved(x, u, dt)

    push = mpc.Push(time=0.1, value=[0.0, -0.5])
    mpc.simulate(spy, plant, X0, 1.0, dt_plant=0.02, delay=0.04, compensate_delay=True, feedback=True, disturbance=push)
    assert any(np.abs(step.K).max() > 0.1 for step in spy.steps)
    for t, seen in spy.seen[2:]:
        assert np.allclose(seen, found[round(t, 6)], atol=1e-14)


def test_a_plant_may_follow_the_gains_between_measurements():
    spy, calls = Spy(controller()), []

    def plant(x, u, dt):
        calls.append((x, float(u[0])))
        return moved(x, u, dt, mass=1.3)

    log = mpc.simulate(
        spy, plant, X0, 1.0, dt_plant=0.025, feedback=True, disturbance=mpc.Push(time=0.2, value=[0.0, -1.0])
    )
    for i, (x, u) in enumerate(calls):
        step, part = spy.steps[i // 4], 0.25 * (i % 4)
        planned = step.xs[0] + part * (step.xs[1] - step.xs[0])
        assert u == pytest.approx(np.clip(step.us[0] - step.K @ (x - planned), -FORCE, FORCE)[0], abs=1e-12)
    assert len({u for _, u in calls}) > 20
    assert max(abs(u) for _, u in calls) <= FORCE
    assert log.control_excess.max() <= 1e-6


def test_gains_follow_the_plan_of_the_time_also_after_a_delay():
    spy, calls = Spy(controller()), []

    def plant(x, u, dt):
        calls.append((x, float(u[0])))
        return moved(x, u, dt)

    mpc.simulate(spy, plant, X0, 1.0, dt_plant=0.025, delay=0.05, feedback=True)
    for i, (x, u) in enumerate(calls[6:], start=4):  # the second control comes into force half a period late
        step, part = spy.steps[i // 4], min(0.5 + 0.25 * (i % 4), 1.0)
        planned = step.xs[0] + part * (step.xs[1] - step.xs[0])
        assert u == pytest.approx(np.clip(step.us[0] - step.K @ (x - planned), -FORCE, FORCE)[0], abs=1e-12)


# Costs, constraints, parameters


def test_costs_and_violations_are_those_of_the_model(slider):
    log = mpc.simulate(slider, None, [0.0, 1.2], 1.0, noise=0.05)
    xs, us = log.xs[:-1], log.us
    costs = 0.5 * 0.1 * ((xs[:, 0] - 1) ** 2 + xs[:, 1] ** 2 + 0.1 * us[:, 0] ** 2)
    assert np.allclose(log.costs, costs, rtol=1e-12)
    assert log.cost == pytest.approx(costs.sum())
    assert np.allclose(log.violations["speed"], np.maximum(np.abs(xs[:, 1]) - SPEED, 0.0), atol=1e-15)
    assert np.array_equal(log.violations["force"], np.zeros(10))
    assert np.all(log.lower == -FORCE)
    assert np.all(log.upper == FORCE)
    assert list(log.violated) == ["speed"]
    assert log.violated["speed"] == pytest.approx(0.4)


def test_controls_stay_within_their_limits(slider):
    pushes = [mpc.Push(time=t, value=[0.0, 3.0 * sign]) for t, sign in ((0.3, 1), (0.9, -1), (1.4, 1))]
    log = mpc.simulate(slider, None, X0, 2.0, noise=0.1, disturbance=pushes, model_error={"mass": 0.7})
    assert log.control_excess.max() <= 1e-6
    assert np.abs(log.us).max() == pytest.approx(FORCE)


def test_a_plant_with_other_parameters(slider):
    heavy = mpc.simulate(slider, None, X0, 1.0, model_error={"mass": 1.5})
    light = ShootingProblem([0.0, 0.0], [knot()], problem().terminal)
    light.set_parameter("mass", 0.5)
    same = mpc.simulate(slider, light, X0, 1.0, model_error={"mass": mpc.Factor(3.0)})
    model = mpc.simulate(slider, knot(dt=0.7, mass=1.5), X0, 1.0)
    first = ShootingProblem([0.0, 0.0], [knot()], problem().terminal)
    first.set_parameter("mass", 1.5)
    of_problem = mpc.simulate(slider, first, X0, 1.0)
    for k in range(10):
        assert np.allclose(heavy.xs[k + 1], moved(heavy.xs[k], heavy.us[k], 0.1, mass=1.5), atol=1e-14)
    for other in (same, model, of_problem):
        assert np.array_equal(other.xs, heavy.xs)
    assert slider.problem.get_parameter("mass") == 1.0
    with pytest.raises(UnknownNameError, match=r"model_error: parameter 'maas' not found; did you mean 'mass'"):
        mpc.simulate(slider, None, X0, 1.0, model_error={"maas": 1.0})
    with pytest.raises(InvalidArgumentError, match="model_error: expected an action model as plant, got function"):
        mpc.simulate(slider, moved, X0, 1.0, model_error={"mass": 1.0})


def test_references_are_tracked(slider):
    own = controller()
    own.follow("goal.reference", lambda t: [0.5 * t, 0.5])
    log = mpc.simulate(own, None, [0.0, 0.5], 2.0)
    position, velocity = log.tracked
    assert (position.name, position.labels, position.unit) == ("goal: q", ("q",), "m")
    assert np.allclose(position.reference[:, 0], 0.5 * log.times[:-1])
    assert np.array_equal(position.actual[:, 0], log.xs[:-1, 0])
    assert position.errors.max() < 0.05
    assert (velocity.name, velocity.unit) == ("goal: v", "m/s")  # its reference does not move, so it comes last
    assert np.array_equal(velocity.reference, np.full((len(log), 1), 0.5))
    assert "goal: v" in log.explain()
    assert "goal: v" in log.report()
    assert [each.name for each in mpc.simulate(slider, None, X0, 0.2).tracked] == ["goal: q", "goal: v"]


def test_long_logs_keep_few_samples(slider, monkeypatch):
    monkeypatch.setattr("trajopt.mpc.recorder.SAMPLES", 8)
    log = mpc.simulate(slider, None, X0, 3.0)
    assert SAMPLES >= 1000
    assert len(log.motion.us) == 8
    assert len(log.us) == 30
    assert np.array_equal(log.motion.xs[:-1], log.xs[:-1][::4])
    assert np.allclose(log.motion.times, [*np.arange(0, 3.0, 0.4), 3.0])
    assert np.allclose(log.sample_times, log.motion.times)


def test_samples_of_a_long_log_that_was_interrupted(slider, monkeypatch):
    monkeypatch.setattr("trajopt.mpc.recorder.SAMPLES", 3)
    calls = []

    def plant(x, u, dt):
        calls.append(x)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return moved(x, u, dt)

    log = mpc.simulate(slider, plant, X0, 3.0)
    assert np.allclose(log.sample_times, [0.0, 1.0, 1.2])
    assert np.array_equal(log.motion.xs, log.xs[[0, 10, 12]])


# Plants that fail, arguments that do not fit


def test_a_plant_that_raises_leaves_a_log_and_a_controller(slider):
    def broken(x, u, dt):
        if x[0] > 0.2:
            raise ZeroDivisionError("worn out")
        return moved(x, u, dt)

    with pytest.raises(
        mpc.ClosedLoopError, match=r"at 0\.3\d* s: plant: the function raised ZeroDivisionError: worn out"
    ) as told:
        mpc.simulate(slider, broken, X0, 2.0, dt_plant=0.02)
    log = told.value.log
    assert 3 <= len(log) < 10
    assert log.xs[-1, 0] <= 0.2
    assert "worn out" in log.stopped
    assert "worn out" in log.explain()
    again = mpc.simulate(slider, None, X0, 0.5)
    assert np.array_equal(again.xs, mpc.simulate(slider, None, X0, 0.5).xs)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([np.nan, 0.0], r"at 0 s: plant: next state: expected finite numbers, got nan"),
        ([0.0], r"at 0 s: plant: next state: expected shape \(2,\), got \(1,\)"),
        ("far", r"at 0 s: plant: next state: expected numbers of shape \(2,\), got 'far'"),
    ],
)
def test_a_plant_that_returns_no_valid_state_ends_the_loop_with_an_error(slider, result, message):
    with pytest.raises(mpc.ClosedLoopError, match=message) as told:
        mpc.simulate(slider, lambda x, u, dt: result, X0, 1.0)
    assert len(told.value.log) == 0
    assert "without a step" in told.value.log.explain()


def test_a_plant_state_that_is_not_finite_is_reported(slider):
    with pytest.raises(mpc.ClosedLoopError, match="at 0.1 s: plant: expected a finite next state, got .*inf for q"):
        mpc.simulate(slider, None, X0, 1.0, model_error={"damping": -1e308})


def test_a_reference_that_is_too_short_is_refused_before_the_start():
    own = controller()
    own.follow("goal.reference", ([0.0, 2.0], [[0.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(
        InvalidArgumentError, match=r"goal.reference: expected samples from .* got samples from 0 s to 2 s"
    ):
        mpc.simulate(own, None, X0, 3.0)
    assert len(mpc.simulate(own, None, X0, 0.5)) == 5


def test_ctrl_c_keeps_the_log(slider):
    def plant(x, u, dt):
        if x[0] > 0.2:
            raise KeyboardInterrupt
        return moved(x, u, dt)

    log = mpc.simulate(slider, plant, X0, 2.0)
    assert 3 <= len(log) < 20
    assert log.stopped == f"interrupted at {log.times[-1]:.4g} s"


class Steps(ActionModelAbstract):
    """A black box with steps of 0.05 s."""

    def __init__(self):
        super().__init__(STATE, 1)

    def time_step(self):
        return 0.05

    def calc(self, data, x, u=None):
        data.xnext, data.cost = moved(x, u, 0.05) if u is not None else x, 0.0


def test_a_black_box_keeps_its_step(slider):
    log = mpc.simulate(slider, Steps(), X0, 0.5)
    for k in range(5):
        half = moved(log.xs[k], log.us[k], 0.05)
        assert np.allclose(log.xs[k + 1], moved(half, log.us[k], 0.05), atol=1e-14)
    with pytest.raises(InvalidArgumentError, match="dt_plant: the plant's model has a fixed step of 0.05 s"):
        mpc.simulate(slider, Steps(), X0, 0.5, dt_plant=0.01)
    with pytest.raises(InvalidArgumentError, match="delay: expected a multiple of the plant's step 0.05 s, got 0.02"):
        mpc.simulate(slider, Steps(), X0, 0.5, delay=0.02)


def test_a_model_without_time_keeps_its_step():
    lqr = problems.load("lqr").problem
    own, x0 = mpc.MPCController(lqr, options=mpc.MPCOptions(dt=0.1)), lqr.x0
    log = mpc.simulate(own, None, x0, 0.3, delay=0.1, compensate_delay=True)
    np.testing.assert_allclose(log.xs[1], lqr.rollout([log.us[0]] * lqr.T)[1], rtol=1e-12)
    with pytest.raises(InvalidArgumentError, match=r"dt_plant: the plant's model has a fixed step of 0\.1 s"):
        mpc.simulate(own, None, x0, 0.3, dt_plant=0.05)
    with pytest.raises(InvalidArgumentError, match=r"delay: expected a multiple of the plant's step 0\.1 s"):
        mpc.simulate(own, None, x0, 0.3, delay=0.05)
    with pytest.raises(InvalidArgumentError, match=r"delay: expected a multiple of the controller's model's step"):
        mpc.simulate(own, lambda x, u, dt: x, x0, 0.3, delay=0.05, compensate_delay=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": 0.0}, "duration: expected a number > 0"),
        ({"duration": 1e9}, "duration: expected at most 10000000 control periods of 0.1 s"),
        ({"delay": -0.1}, "delay: expected a number >= 0"),
        (
            {"noise": [0.1, 0.1, 0.1]},
            r"noise: expected shape \(2,\), got \(3,\); one number, or one for each tangent coord",
        ),
        ({"noise": -0.1}, "noise: expected standard deviations >= 0, got -0.1"),
        ({"noise": "loud"}, "noise: expected standard deviations, or a function"),
        ({"seed": -1}, "seed: expected an integer >= 0 or a numpy.random.Generator, got -1"),
        ({"x0": [0.0]}, r"x0: expected shape \(2,\), got \(1,\)"),
        ({"dt_plant": 0.0}, "dt_plant: expected a number > 0"),
        ({"plant": "hardware"}, "plant: expected None for the controller's model, an action model"),
        ({"disturbance": [0.0, 1.0]}, r"disturbance: expected Push\(time=..., value=...\)"),
        (
            {"disturbance": mpc.Push(time=0.1, value=[1.0])},
            r"disturbance\[0\].value: expected shape \(2,\), got \(1,\); one",
        ),
        (
            {"disturbance": mpc.Push(time=0.1, duration=0.1, frame="tool", value=[1.0, 0, 0])},
            "a force needs a frame of a robot",
        ),
        ({"controller": problem()}, r"controller: expected an MPCController\(problem\)"),
        ({"feedback": "yes"}, "feedback: expected True or False"),
    ],
)
def test_arguments_that_do_not_fit(slider, changes, message):
    given = {"controller": slider, "plant": None, "x0": X0, "duration": 1.0} | changes
    with pytest.raises(InvalidArgumentError, match=message):
        mpc.simulate(**given)
