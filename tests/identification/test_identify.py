"""Identification from simulated logs with noise: truth within its uncertainty, null space of the regressor, words."""

from __future__ import annotations

import dataclasses
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from trajopt.dynamics import SmoothFriction
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, UnknownNameError
from trajopt.identification import Identification, Log, identify
from trajopt.robots import Robot, load_robot

Reals = npt.NDArray[np.float64]
FRICTION = SmoothFriction(0.1)
DT = 0.01
NOISE = {"q": 1e-3, "v": 1e-2, "u": 0.05}
BODY = ("mass", "com", "inertia")


def simulated(robot: Robot, us: Reals, friction: Any = FRICTION) -> Reals:
    """States of a robot under torques."""
    state = trajopt.StateMultibody(robot)
    motors, costs = trajopt.ActuationModelFull(state), trajopt.CostStack(state)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, costs, friction=friction)
    model = trajopt.IntegratedActionModelRK4(dynamics, DT)
    return trajopt.ShootingProblem(state.zero(), [model] * len(us), costs).rollout(us)


def with_noise(xs: Reals, us: Reals, seed: int, noise: dict[str, float] = NOISE) -> Log:
    rng, half = np.random.default_rng(seed), xs.shape[1] // 2
    sx = np.repeat([noise["q"], noise["v"]], half)
    return Log(xs + sx * rng.normal(size=xs.shape), us + noise["u"] * rng.normal(size=us.shape), DT)


UNKNOWN = [
    *(f"link_{i}.{quantity}" for i in (1, 2) for quantity in BODY),
    *(f"joint_{i}.{quantity}" for i in (1, 2) for quantity in ("damping", "friction")),
]
TRUTH = {
    "link_2.mass": 1.6,
    "link_2.com": [0.2, 0.01, 0.0],
    "link_2.inertia": [0.01, 0.0, 0.0, 0.03, 0.0, 0.03],
    "joint_1.damping": 0.3,
    "joint_2.damping": 0.2,
    "joint_1.friction": 0.4,
    "joint_2.friction": 0.1,
}


@cache
def arm() -> tuple[Robot, Reals, Reals]:
    """A planar arm, and states and torques of the arm that is to be identified."""
    t = DT * np.arange(100)
    first, second = 6 * np.sin(3 * t) + 8 * np.cos(5 * t), 3 * np.sin(4 * t + 1) + 2 * np.sin(9 * t)
    us, robot = np.stack([first, second], axis=1), load_robot("planar-2r")
    return robot, simulated(robot.with_values(TRUTH), us), us


@cache
def identified(seed: int) -> Identification:
    robot, xs, us = arm()
    return identify(robot, with_noise(xs, us, seed), UNKNOWN, noise=NOISE, friction=FRICTION)


def test_times_in_milliseconds_are_named_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    robot, xs, us = arm()
    log = with_noise(xs, us, 0)
    with pytest.raises(ModelEvaluationError, match="times in s, got other units"):
        identify(robot, Log(log.states, log.controls, 1e3 * DT), UNKNOWN, noise=NOISE, friction=FRICTION)
    assert caplog.messages == [
        "log: time steps of 10 s are long for a robot; if times are in milliseconds, pass times / 1000 [s]"
    ]


def linear(robot: Robot, frames: list[str]) -> Reals:
    """(m, m c, I) of bodies in their frames, upper triangles row by row."""
    numbers = []
    for frame in (robot.model.frames[robot.frame_id(name)] for name in frames):
        body = frame.placement.actInv(robot.model.inertias[frame.parentJoint])
        c = np.array(body.lever)
        about = np.array(body.inertia) + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
        numbers += [body.mass, *body.mass * c, *about[np.triu_indices(3)]]
    return np.array(numbers)


def truth() -> Reals:
    own = arm()[0].with_values(TRUTH)
    friction = [TRUTH[name] for name in UNKNOWN if name.startswith("joint")]
    return np.array([*linear(own, ["link_1", "link_2"]), *friction])


def test_combinations_are_those_of_theory() -> None:
    """Ten of a planar arm with friction; masses on an axis act as further out, Khalil and Dombre 2002, ch. 9."""
    result = identified(0)
    assert result.converged
    assert [c.name for c in result.combinations] == [
        *("link_1 m c_x + 0.5 link_2 m", "link_1 m c_y", "link_1 I_zz + 0.25 link_2 m"),
        *("link_2 m c_x", "link_2 m c_y", "link_2 I_zz"),
        *("joint_1.damping", "joint_1.friction", "joint_2.damping", "joint_2.friction"),
    ]
    assert [c.unit for c in result.combinations[-2:]] == ["N m s/rad", "N m"]
    assert "link_1 m" in result.without_effect
    assert "link_2 m" not in result.without_effect
    assert np.isinf(result.deviations["link_2.mass"])
    assert result.deviations["joint_2.damping"] == pytest.approx(result.combinations[-2].deviation)


@pytest.mark.slow
def test_statistics_are_those_of_the_noise() -> None:
    """16 logs: errors have the covariance that is reported, and chi² / dof is 1 on average."""
    inside, z, ratios = [], [], []
    for seed in range(16):
        result = identified(seed)
        error = result.coefficients @ (result.estimate - truth())
        inside.append(np.abs(error) < 3.0 * np.sqrt(np.diag(result.covariance)))
        z.append(np.linalg.solve(np.linalg.cholesky(result.covariance), error))
        ratios.append(result.chi2 / result.dof)
    whole = np.array(z)
    assert result.dof == 100 * 4 - 10
    assert np.mean(inside) > 0.985  # of 160 numbers 159.6 are expected
    assert np.mean(whole**2) == pytest.approx(1.0, abs=4 * np.sqrt(2 / whole.size))
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * np.sqrt(2 / result.dof / len(ratios)))


def test_a_robot_moves_as_measured_with_the_estimates() -> None:
    """Without noise of the log the identified robot has the torques of the true one, whatever a log does not tell."""
    robot, xs, us = arm()
    exact = {"q": 1e-7, "v": 1e-6, "u": 1e-6}
    result = identify(robot, with_noise(xs, us, 1, exact), UNKNOWN, noise=exact, friction=FRICTION)
    found, own = result.robot, robot.with_values(TRUTH)
    assert found is not None
    for seed in range(3):
        q, v, a = np.random.default_rng(seed).normal(size=(3, 2))
        torques = [pin.rnea(each.model, each.model.createData(), q, v, a) for each in (found, own)]
        np.testing.assert_allclose(*torques, rtol=1e-4)
    np.testing.assert_allclose(found.model.damping, [0.3, 0.2], rtol=1e-4)
    assert result.values["joint_1.friction"] == pytest.approx(0.4, rel=1e-3)
    assert result.values["link_1.mass"] == pytest.approx(robot.model.inertias[1].mass, rel=1e-9)  # not told: as before


def test_untold_directions_are_the_null_space_of_the_regressor() -> None:
    """Three joints of a Panda in space, against Pinocchio's regressor of torques along the motion."""
    robot = load_robot("panda").lock_joints([*(f"panda_joint{i}" for i in range(4, 8)), *FINGERS], "default")
    t = DT * np.arange(80)
    us = np.stack([9 * np.sin(3 * t), 20 * np.cos(4 * t) - 15, 7 * np.sin(6 * t + 1)], axis=1)
    xs = simulated(robot, us, None)
    frames = [f"panda_link{i}" for i in range(1, 4)]
    noise = {"q": 1e-4, "v": 1e-3, "u": 0.02}
    unknown = [f"{frame}.{quantity}" for frame in frames for quantity in BODY]
    result = identify(robot, with_noise(xs, us, 0, noise), unknown, noise=noise)
    regressor, data, rng = [], robot.model.createData(), np.random.default_rng(2)
    for x in result.states[0]:
        regressor.append(pin.computeJointTorqueRegressor(robot.model, data, x[:3], x[3:], rng.normal(size=3)))
    # Pinocchio's parameters of a body are (m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz)
    order = [10 * i + j for i in range(3) for j in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)]
    Y = np.vstack(regressor)[:, order]
    assert [robot.model.frames[robot.frame_id(frame)].placement for frame in frames] == [pin.SE3.Identity()] * 3
    assert result.null_space.shape[1] == 30 - np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y))
    np.testing.assert_allclose(Y @ result.null_space, 0.0, atol=1e-9 * np.linalg.norm(Y))
    error = result.coefficients @ (result.estimate - linear(robot, frames))
    assert error @ np.linalg.solve(result.covariance, error) < 2.5 * len(error)


FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """m l² dv/dt = u - d v - m g l sin(q) with l = length + offset."""

    def __init__(self, costs: trajopt.CostStack, length: float = 1.0) -> None:
        super().__init__(costs.state, nu=1, costs=costs)
        self.length = self.parameter("length", length, unit="m")
        self.mass = self.parameter("mass", 1.0, unit="kg")
        self.offset = self.parameter("offset", 0.0, unit="m")
        self.damping = self.parameter("damping", 0.02, unit="N m s/rad")
        self.unused = self.parameter("unused", 1.0)

    def acceleration(self, x: SX, u: SX) -> SX:
        length = self.length + self.offset
        return (u - self.damping * x[1]) / (self.mass * length**2) - 9.81 / length * ca.sin(x[0])


def pendulum() -> trajopt.IntegratedActionModelRK4:
    return trajopt.IntegratedActionModelRK4(Pendulum(trajopt.CostStack(trajopt.StateVector(2))), dt=0.02)


def swings(count: int = 40) -> tuple[Reals, Reals]:
    problem = trajopt.ShootingProblem([0.4, 0.0], [pendulum()] * count, trajopt.CostStack(trajopt.StateVector(2)))
    problem.set_parameter("length", 0.7)
    us = np.sin(np.arange(count) / 3.0)[:, None]
    return problem.rollout(us), us


def test_any_action_model_several_logs_and_unmeasured_velocities() -> None:
    """Velocities of the log are wrong, and have no influence since they count as not measured."""
    xs, us = swings()
    noise, rng = {"q": 1e-3, "v": np.inf, "u": 1e-3}, np.random.default_rng(0)
    logs = []
    for times in (0.02, 0.02 * np.arange(31)):
        count = 41 if np.ndim(times) == 0 else 31
        measured = np.stack([xs[:count, 0] + 1e-3 * rng.normal(size=count), 0.5 * xs[:count, 1]], axis=1)
        logs.append(Log(measured, us[: count - 1], times))
    both = identify(pendulum(), logs, ["length"], noise=noise)
    one = identify(pendulum(), logs[0], ["length"], noise=noise)
    (combination,) = both.combinations
    assert abs(combination.value - 0.7) < 3.0 * combination.deviation < 1e-2
    assert combination.deviation < one.combinations[0].deviation
    assert both.dof == (41 - 2) + (31 - 2) - 1
    assert both.robot is None
    assert "The log tells each parameter." in both.explain()
    np.testing.assert_allclose(both.states[0][:, 1], xs[:, 1], atol=0.05)


def test_few_unknowns() -> None:
    """A mass that scales the inertia and a centre of mass, which are no linear parameters."""
    robot, _, us = arm()
    real = robot.with_values({"link_2.mass": 1.4, "link_2.com": [0.2, 0.01, 0.0]})
    log = with_noise(simulated(real, us, None), us, 0)
    result = identify(robot, log, ["link_2.mass", "link_2.com"], noise=NOISE)
    assert result.without_effect == ("link_2.com[2]",)
    for name, wanted in (("link_2.mass", 1.4), ("link_2.com", [0.2, 0.01, 0.0])):
        error = np.abs(result.values[name] - wanted)
        assert np.all(error < 3.0 * result.deviations[name])
        assert np.all((error < 0.02) | np.isinf(result.deviations[name]))
    assert result.guesses["link_2.mass"] == robot.model.inertias[2].mass


def test_words() -> None:
    text = identified(0).explain()
    assert "chi²/dof = 0.9" in text or "chi²/dof = 1.0" in text
    assert "as noise explains" in text
    assert "The log tells these only together (2):\n  link_1 m c_x + 0.5 link_2 m\n" in text
    assert "No effect on the log: link_2 I_yy, m c_z, I_xx, I_xy, I_xz, I_yz; link_1 m," in text
    robot, xs, us = arm()
    wrong = identify(robot, with_noise(xs, us, 0), ["link_2.mass"], noise=NOISE)
    assert "larger than noise explains. The model lacks something" in wrong.explain()
    generous = identify(robot, with_noise(xs, us, 0), UNKNOWN, noise={k: 3 * v for k, v in NOISE.items()})
    assert "the noise is smaller than you said" in generous.explain()
    assert repr(identified(0)).startswith("10 combinations of 24 parameters from 1 log; chi²/dof ")


def test_a_log_that_contradicts_the_model() -> None:
    """An arm that moves against gravity without torques: no mass explains it, which is an outcome and no error."""
    robot, t = arm()[0], 0.01 * np.arange(9)
    log = Log(np.stack([np.sin(t), np.cos(t) - 1, np.cos(t), -np.sin(t)], axis=1), np.zeros((8, 2)), 0.01)
    result = identify(robot, log, ["link_2.mass"], noise=NOISE)
    assert not result.converged
    assert "did not converge; check signs, units and noise" in result.explain()


def test_results_are_fixed_and_can_be_pickled() -> None:
    result = identified(0)
    with pytest.raises(AttributeError, match="chi2"):
        result.chi2 = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        result.estimate[0] = 1.0
    again = pickle.loads(pickle.dumps(result))
    assert repr(again) == repr(result)
    np.testing.assert_array_equal(again.correlation, result.correlation)
    np.testing.assert_allclose(np.diag(result.correlation), 1.0)


def test_picture(tmp_path: Path) -> None:
    result, (_, xs, us) = identified(0), arm()
    figure = result.plot(tmp_path / "identified.png")
    assert (tmp_path / "identified.png").stat().st_size > 5000
    curves, rests = figure.axes[::2], figure.axes[1::2]
    for i, (axes, rest) in enumerate(zip(curves[:4], rests[:4])):
        measured, after = (line.get_ydata() for line in axes.get_lines())
        np.testing.assert_array_equal(measured, result.logs[0].states[:, i])
        np.testing.assert_allclose(after, xs[:, i], atol=0.05)
        np.testing.assert_array_equal(rest.get_lines()[0].get_ydata(), measured - after)
    for i, axes in enumerate(curves[4:]):
        before, measured, after = (line.get_ydata() for line in axes.get_lines())
        np.testing.assert_array_equal(measured, result.logs[0].controls[:, i])
        assert np.std(after - us[:, i]) < 0.05 < 0.3 < np.std(before - us[:, i])
    units = ["q:joint_1\n[rad]", "v:joint_1\n[rad/s]", "u:joint_1\n[N m]"]
    assert [axes.get_ylabel() for axes in curves[::2]] == units
    assert figure.axes[0].get_title(loc="left").startswith("chi²/dof")


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_velocities_that_are_not_measured_start_at_differences_of_positions(fill: float) -> None:
    """Zeros at noise inf once sent the iterations out of the range of numbers, and NaN was refused."""
    truth, t = {"mass": 1.3, "offset": 0.04, "damping": 0.08}, 0.01 * np.arange(800)
    model = trajopt.IntegratedActionModelRK4(Pendulum(trajopt.CostStack(trajopt.StateVector(2)), 0.5), dt=0.01)
    problem = trajopt.ShootingProblem([0.2, 0.0], [model] * 800, trajopt.CostStack(trajopt.StateVector(2)))
    for name, value in truth.items():
        problem.set_parameter(name, value)
    us = (2.5 * np.sin(2.1 * t) + 1.5 * np.sign(np.sin(5.3 * t)))[:, None]
    xs = problem.rollout(us)
    measured = np.stack([xs[:, 0] + 0.01 * np.random.default_rng(0).normal(size=801), np.full(801, fill)], axis=1)
    result = identify(model, Log(measured, us, 0.01), list(truth), noise={"x": [0.01, np.inf], "u": 1e-3})
    assert result.converged
    for name, value in truth.items():
        assert abs(result.values[name] - value) < 3.0 * result.deviations[name] < 3e-3
    np.testing.assert_allclose(result.states[0][:, 1], xs[:, 1], atol=0.05)
    assert [text.get_text() for axes in result.plot().axes for text in axes.texts] == ["not measured"]


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_a_robot_with_encoders_only(fill: float) -> None:
    robot, _, us = arm()
    xs = simulated(robot.with_values({"link_2.mass": 1.6}), us, None)
    measured = xs + 1e-3 * np.random.default_rng(0).normal(size=xs.shape)
    measured[:, 2:] = fill
    noise = NOISE | {"v": np.inf}
    result = identify(robot, Log(measured, us, DT), ["link_2.mass"], noise=noise)
    assert abs(result.values["link_2.mass"] - 1.6) < 3.0 * result.deviations["link_2.mass"] < 0.05
    with pytest.raises(InvalidArgumentError, match=r"numbers of v:joint_1, got NaN; a velocity .* noise is np.inf"):
        identify(robot, Log(xs * [1, 1, np.nan, 1], us, DT), ["link_2.mass"], noise=NOISE)


def test_a_picture_of_several_logs_says_which_one_it_shows() -> None:
    robot, xs, us = arm()
    result = identify(robot, [with_noise(xs, us, seed) for seed in (0, 1)], ["link_2.mass"], noise=NOISE)
    bare = dataclasses.replace(result, control_units=("-", "N m"))
    axes = bare.plot(log=1).axes
    assert axes[0].get_title(loc="left").startswith("log 1 of 2 (0 to 1); all: chi²/dof")
    assert [each.get_ylabel() for each in axes[-4::2]] == ["u:joint_1", "u:joint_2\n[N m]"]


def test_messages() -> None:
    robot, xs, us = arm()
    log = with_noise(xs, us, 0)
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: Log(xs, us[:5], DT), InvalidArgumentError, "controls: expected 100 rows, .* got 5"),
        (lambda: Log(xs[:2], us[:1], DT), InvalidArgumentError, "states: expected at least 3 rows"),
        (lambda: Log(xs, us, -DT * np.arange(101)), InvalidArgumentError, "times: expected ascending times"),
        (lambda: Log(xs, us * np.nan, DT), InvalidArgumentError, "controls: expected a table of finite numbers"),
        (
            lambda: Log(np.where(xs == xs[5], np.nan, xs), us, DT),
            InvalidArgumentError,
            "nan in row 5, column 0; only",
        ),
        (lambda: identify(robot, log, "a", noise=NOISE), InvalidArgumentError, r"names, got 'a'; write \['a'\]"),
        (lambda: identify(robot, log, [], noise=NOISE), InvalidArgumentError, "unknown: expected names"),
        (lambda: identify(robot, log, ["link_9.mass"], noise=NOISE), UnknownNameError, "frame 'link_9' not found"),
        (lambda: identify(robot, [], UNKNOWN, noise=NOISE), InvalidArgumentError, "log: expected at least one Log"),
        (lambda: identify(robot, log, UNKNOWN, noise={"q": 1, "v": 1}), InvalidArgumentError, "got none of u"),
        (lambda: identify(robot, log, UNKNOWN, noise=NOISE | {"w": 1}), UnknownNameError, "noise of 'w' not found"),
        (lambda: identify(robot, log, UNKNOWN, noise=NOISE | {"q": 0}), InvalidArgumentError, r"noise\['q'\]: .* > 0"),
        (lambda: identify(robot, log, UNKNOWN, noise=NOISE | {"u": [1]}), InvalidArgumentError, r"shape \(2,\), got"),
        (lambda: identify(pendulum(), log, ["width"], noise=NOISE), UnknownNameError, "unknown: parameter 'width'"),
        (
            lambda: identify(pendulum(), log, ["length"], noise=NOISE),
            InvalidArgumentError,
            "log: expected 2 columns of",
        ),
        (
            lambda: identify(pendulum(), Log(*swings(), 0.02), ["unused"], noise=NOISE),
            InvalidArgumentError,
            "'unused', which the dynamics do not read; leave it out",
        ),
        (
            lambda: identify(pendulum(), Log(*swings(), 0.02), ["dt"], noise=NOISE),
            InvalidArgumentError,
            "'dt', which follows from the times of the log; leave it out",
        ),
        (
            lambda: identify(load_robot("solo12"), log, ["base_link.mass"], noise=NOISE),
            InvalidArgumentError,
            "model: expected a robot on a fixed base, got 'solo12'; pass an action model",
        ),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_a_log_in_other_units_ends_in_an_error_that_says_so() -> None:
    """Torques in mN m, with which matrices become singular; angles in mrad."""
    robot, xs, us = arm()
    names, noise = ["link_1.mass", "link_2.mass"], {"q": 2e-3, "v": 2e-2, "u": 0.02}
    for log, words in (
        (Log(xs, 1e3 * us, DT), r"its controls are [0-9.e+]+ times those with which the model moves like its states"),
        (Log(1e3 * xs, us, DT), "has no finite estimate"),
    ):
        with pytest.raises(ModelEvaluationError, match=f"log: iteration .*{words}.*expected torques in N m"):
            identify(robot, log, names, noise=noise)


def test_a_log_tells_no_parameter_that_is_uncertain() -> None:
    """A swing of 1e-4 rad without torque, which does not tell the inertia and the mass from one another."""
    robot, _, us = arm()
    log = with_noise(1e-2 * simulated(robot, 0.02 * us, None), 0.0 * us, 0)
    text = identify(robot, log, ["link_1.mass", "link_2.mass"], noise=NOISE).explain()
    assert "did not converge" in text or "Uncertain" in text
    assert "The log tells each parameter." not in text
