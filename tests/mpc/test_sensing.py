"""Closed loops with sensors and an estimator: quantised encoders and an extended Kalman filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.mpc import slider
from tests.mpc.test_estimates import puck
from trajopt import mpc
from trajopt.errors import InvalidArgumentError
from trajopt.mpc import ClosedLoopError
from trajopt.types import Reals

STATE = trajopt.StateVector(4, names=["y", "angle", "dy", "dangle"], units=["m", "rad", "m/s", "rad/s"])
UP = np.array([0.0, np.pi, 0.0, 0.0])
PERIOD, FORCE = 0.02, 15.0  # [s], [N]
TICKS = np.array([1e-4, 2.0 * np.pi / 4096])  # of the encoders [m], [rad]


class CartPole(trajopt.DifferentialActionModelSymbolic):
    """A cart of 1 kg with a pole of 0.5 m that hangs at angle 0; x = (y, angle, dy, dangle)."""

    def __init__(self, costs: trajopt.CostStack, rows: trajopt.ConstraintStack | None = None) -> None:
        names: Any = {"control_names": ["force"], "control_units": ["N"]}
        super().__init__(STATE, nu=1, costs=costs, constraints=rows, **names)
        self.bob = self.parameter("bob", 0.3, unit="kg")

    def acceleration(self, x: SX, u: SX) -> SX:
        s, c = ca.sin(x[1]), ca.cos(x[1])
        a = (self.bob * s * (0.5 * x[3] ** 2 + 9.81 * c) + u) / (1.0 + self.bob * s**2)
        return ca.vertcat(a, -(a * c + 9.81 * s) / 0.5)


def controller(**options: Any) -> mpc.MPCController:
    costs = trajopt.CostStack(STATE).add("upright", trajopt.ResidualModelState(STATE, UP), weight=1.0)
    costs.add("effort", trajopt.ResidualModelControl(STATE), weight=1e-2)
    end = trajopt.CostStack(STATE).add("stop", trajopt.ResidualModelState(STATE, UP), weight=10.0)
    rows = trajopt.ConstraintStack(STATE)
    rows.add("motor", trajopt.ResidualModelControl(STATE), lower=-FORCE, upper=FORCE)
    knot = trajopt.IntegratedActionModelRK4(CartPole(costs, rows), dt=0.04)
    problem = trajopt.ShootingProblem([0.0, 0.05, 0.0, 0.0], [knot] * 40, end)
    return mpc.MPCController(problem, options=mpc.MPCOptions(dt=PERIOD, **options))


def encoders(x: Reals) -> Reals:
    """Positions of cart and pole, rounded to ticks."""
    return np.asarray(np.round(x[:2] / TICKS) * TICKS)


class Filter:
    """Extended Kalman filter: a step of the model predicts, and two positions correct (Simon 2006, chapter 13.2)."""

    def __init__(self) -> None:
        self.knot = trajopt.IntegratedActionModelRK4(CartPole(trajopt.CostStack(STATE)), dt=PERIOD)
        self.data, self.calls = self.knot.create_data(), list[tuple[float, Reals, Reals | None]]()

    def reset(self, x0: Reals) -> None:
        self.x, self.P = x0, 1e-6 * np.eye(4)

    def __call__(self, t: float, y: Reals, u: Reals | None) -> Reals:
        self.calls.append((t, y, u))
        if u is not None:
            self.knot.calc(self.data, self.x, u)
            self.knot.calc_diff(self.data, self.x, u)
            self.x = np.array(self.data.xnext)
            self.P = self.data.Fx @ self.P @ self.data.Fx.T + np.diag([1e-10, 1e-10, 1e-4, 1e-4])
        H = np.eye(2, 4)
        gain = self.P @ H.T @ np.linalg.inv(H @ self.P @ H.T + np.diag(TICKS**2 / 12.0))
        self.x, self.P = self.x + gain @ (y - self.x[:2]), (np.eye(4) - gain @ H) @ self.P
        return self.x


@pytest.mark.slow
def test_a_swing_up_by_encoders_and_a_kalman_filter(tmp_path: Path) -> None:
    """The pole stands up although no velocity is measured, with a delay and a heavier bob than the models know."""
    own, push = Filter(), mpc.Push(time=2.5, value=[0.0, 0.0, 0.0, 0.5])
    log = mpc.simulate(
        controller(),
        None,
        [0.0, 0.05, 0.0, 0.0],
        5.0,
        measure=encoders,
        estimator=own,
        noise=[1e-4, 2e-4, 0.0, 0.0],
        disturbance=push,
        delay=0.01,
        compensate_delay=True,
        model_error={"bob": 0.33},
        seed=3,
    )
    assert log.measured.shape == (250, 2)
    np.testing.assert_allclose(log.measured / TICKS, np.round(log.measured / TICKS), atol=1e-9)  # readings of encoders
    assert np.abs(log.measured - log.xs[:-1, :2]).max() < 2e-3
    assert np.abs(log.xs[-50:] - UP).max(axis=0)[1] < np.radians(3.0)
    errors = log.estimates - log.xs[:-1]
    assert np.abs(errors).max(axis=0)[:2].max() < 5e-3
    times, _, controls = zip(*own.calls)
    np.testing.assert_allclose(times, log.times[:-1], atol=1e-12)
    assert controls[0] is None
    np.testing.assert_allclose(controls[1:], log.motion.us[:-1])  # as the plant received them
    rms = [f"{np.sqrt(np.mean(e**2)):.2g}" for e in errors.T]
    words = log.report()
    assert words["sensors"] == (
        "noise y 0.0001, angle 0.0002, dy 0, dangle 0, seed 3; measured by function encoders; estimated by Filter, "
        f"off by {rms[0]} m, {rms[1]} rad, {rms[2]} m/s, {rms[3]} rad/s rms"
    )
    assert words["plant"] == "the controller's own model with bob 0.33 instead of 0.3, delay 10 ms, compensated"
    read = mpc.ClosedLoop.load(log.save(tmp_path / "loop.npz"))
    assert np.array_equal(read.estimates, log.estimates)
    assert read.explain() == log.explain()


def test_a_filter_that_knows_the_state_changes_nothing() -> None:
    """An estimator that returns the measurement gives the bits of a loop without one, and each new loop resets it."""

    class Same:
        begins: ClassVar[list[Reals]] = []

        def reset(self, x0: Reals) -> None:
            self.begins.append(x0)

        def __call__(self, t: float, y: Reals, u: Reals | None) -> Reals:
            return y

    own, options = slider.controller(), {"noise": 0.01, "delay": 0.1, "seed": 5}
    plain = mpc.simulate(own, None, [0.0, 0.3], 2.0, **options)
    for _ in range(2):
        log = mpc.simulate(own, None, [0.0, 0.3], 2.0, estimator=Same(), measure=lambda x: x, **options)
        for name in ("xs", "us", "measured", "estimates"):
            assert np.array_equal(getattr(log, name), getattr(plain, name)), name
    assert np.array_equal(plain.estimates, plain.measured)
    assert np.array_equal(Same.begins, [[0.0, 0.3]] * 2)


def test_sensors_of_the_whole_state_need_no_estimator() -> None:
    log = mpc.simulate(slider.controller(), None, [0.0, 0.3], 1.0, measure=lambda x: np.round(x, 2))
    assert np.array_equal(log.measured, np.round(log.xs[:-1], 2))
    assert log.report()["sensors"] == "measured by function <lambda>"


def test_a_file_of_an_earlier_version_has_no_estimates(tmp_path: Path) -> None:
    log = mpc.simulate(slider.controller(), None, [0.0, 0.3], 1.0, noise=0.01)
    with np.load(log.save(tmp_path / "new.npz")) as file:
        arrays = {name: file[name] for name in file.files if name != "estimates"}
    arrays["facts"] = np.array(re.sub(r'"sensing": "[^"]*", ', "", str(arrays["facts"])))
    np.savez(tmp_path / "old.npz", **arrays)
    read = mpc.ClosedLoop.load(tmp_path / "old.npz")
    assert np.array_equal(read.estimates, log.measured)
    assert read.sensing == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"noise": 1e-3}, "noise 0.001 in each coordinate, seed 0"),
        ({"noise": [1e-3, 0.0], "seed": 7}, "noise q 0.001, v 0, seed 7"),
        ({"noise": 0.1, "seed": np.random.default_rng(0)}, "noise 0.1 in each coordinate, a generator of the caller"),
        ({"noise": lambda rng, x: 0.0 * x}, "noise by function <lambda>, seed 0"),
    ],
)
def test_noise_and_seed_are_told(arguments: dict[str, Any], words: str) -> None:
    assert f"\nsensors: {words}\n" in mpc.simulate(slider.controller(), None, [0.0, 0.0], 0.3, **arguments).explain()


def test_without_noise_there_is_nothing_to_tell() -> None:
    assert "sensors" not in mpc.simulate(slider.controller(), None, [0.0, 0.0], 0.3).report()


@pytest.mark.parametrize(
    ("plant", "error", "words"),
    [
        (None, {"mass": 1.2}, "the controller's own model with mass 1.2 instead of 1"),
        (None, {"mass": mpc.Factor(1.2), "damping": 0.1}, "with mass times 1.2, damping 0.1 instead of 0"),
        (slider.knot(mass=1.5), {"damping": 0.2}, "IntegratedActionModelEuler with damping 0.2"),
    ],
)
def test_a_plant_of_other_parameters_is_told(plant: Any, error: dict[str, Any], words: str) -> None:
    log = mpc.simulate(slider.controller(), plant, [0.0, 0.0], 0.3, model_error=error)
    assert log.report()["plant"].endswith(words)


def test_a_plant_with_another_vector_is_told() -> None:
    log = mpc.simulate(puck(wind=True), None, np.zeros(4), 0.3, model_error={"wind": [0.4, -0.6]})
    assert log.report()["plant"].endswith("with other wind")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": Filter}, "estimator: expected a function of time .s., measurement and last control"),
        ({"estimator": lambda t, y: y}, "estimator: expected a function of time .s., measurement and last control"),
        ({"measure": "encoders"}, r"measure: expected a function of a state \(nx,\); got 'encoders'"),
        ({"measure": lambda x: x, "feedback": True}, "feedback: expected False with measure or estimator"),
        ({"delay": 20.0}, r"delay: expected a time in seconds, less than the duration of 1 s, got 20 s"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        mpc.simulate(slider.controller(), None, [0.0, 0.0], 1.0, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": lambda x: x[:1]}, r"measure: result without an estimator: expected shape \(2,\), got \(1,\)"),
        ({"measure": lambda x: x * np.nan}, "measure: expected a vector of finite numbers"),
        ({"measure": lambda x: 1.0 / 0.0}, "measure: "),
        ({"estimator": lambda t, y, u: y[:1]}, r"estimator: result of the function: expected shape \(2,\), got \(1,\)"),
        ({"estimator": lambda t, y, u: u + 1.0}, "estimator: "),
    ],
)
def test_functions_that_fail_end_the_loop_with_an_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ClosedLoopError, match=f"at 0 s: {message}"):
        mpc.simulate(slider.controller(), None, [0.0, 0.0], 1.0, **arguments)


def test_a_period_beyond_the_horizon_is_refused_in_seconds() -> None:
    with pytest.raises(InvalidArgumentError, match="dt: expected at most the window's duration 1.5 s, got 10 s"):
        slider.controller(dt=10.0)


def test_a_period_longer_than_a_knot_warns(caplog: pytest.LogCaptureFixture) -> None:
    assert slider.controller(dt=0.1).dt == 0.1
    assert not caplog.records
    assert slider.controller(dt=0.11).dt == 0.11
    assert "dt: 0.11 s is longer than the first knot, 0.1 s" in caplog.text
