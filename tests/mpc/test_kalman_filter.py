"""The extended Kalman filter of a state, beside the linear one and in closed loops."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.mpc import slider
from tests.support.noisy_pole import NOISY, own_pole
from trajopt import mpc, planar
from trajopt.errors import ImmutableError, InvalidArgumentError, UnsupportedOperationError
from trajopt.types import Reals

BEACONS = np.array([[0.0, 4.0], [5.0, -1.0], [4.0, 5.0]])  # [m]


def linear_knot() -> Any:
    """A knot x⁺ = A x + B u."""
    return trajopt.problems.load("lqr").problem.running[0]


def readings(x: Reals) -> Reals:
    """Ranges [m] and bearings [rad] of the beacons (6,)."""
    away = BEACONS - x[:2]
    bearings = np.arctan2(away[:, 1], away[:, 0]) - x[2]
    return np.concatenate([np.linalg.norm(away, axis=1), np.remainder(bearings + np.pi, 2.0 * np.pi) - np.pi])


def test_it_is_the_linear_filter_of_a_linear_system() -> None:
    knot, rng = linear_knot(), np.random.default_rng(0)
    n, m = knot.state.ndx, knot.nu
    C, q, r, v = rng.normal(size=(2, n)), 0.1, 0.3, 0.2
    own = mpc.KalmanFilter(knot, noise=r, process=q, control_noise=v, measure=lambda x: C @ x, first=1.0)
    data = knot.create_data()
    knot.calc_diff(data, np.zeros(n), np.zeros(m))
    A, B, x, P = data.Fx.copy(), data.Fu.copy(), rng.normal(size=n), np.eye(n)
    knot.calc(data, np.zeros(n), np.zeros(m))
    drift = np.array(data.xnext)
    own.reset(x)
    for _ in range(20):
        u, y = rng.normal(size=m), rng.normal(size=2)
        x, P = drift + A @ x + B @ u, A @ P @ A.T + v**2 * B @ B.T + q**2 * np.eye(n)
        K = P @ C.T @ np.linalg.inv(C @ P @ C.T + r**2 * np.eye(2))
        x, P = x + K @ (y - C @ x), (np.eye(n) - K @ C) @ P
        np.testing.assert_allclose(own(0.0, y, u), x, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(own.P, P, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("first", "noise"), [(1e4, 1e-2), (1e6, 1e-3), (1e6, 1e-6), (1e8, 1e-3)])
def test_a_start_that_is_not_known_leaves_the_measurements_alone(first: float, noise: float) -> None:
    """Two redundant measurements, before and after a step, give the least squares of both and their covariance."""
    knot, rng = linear_knot(), np.random.default_rng(0)
    n, data = knot.state.ndx, knot.create_data()
    knot.calc_diff(data, np.zeros(n), np.zeros(knot.nu))
    knot.calc(data, np.zeros(n), np.zeros(knot.nu))
    A, drift, C = data.Fx.copy(), np.array(data.xnext), rng.normal(size=(n + 2, n))
    own = mpc.KalmanFilter(knot, noise=noise, measure=lambda x: C @ x, first=first)
    now, later = rng.normal(size=(2, n + 2))
    own.update(now)
    after = own(0.0, later, np.zeros(knot.nu))
    rows = np.vstack([C @ np.linalg.inv(A), C])  # of the state after the step
    seen = np.concatenate([now + rows[: n + 2] @ drift, later])
    covariance = noise**2 * np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(after, np.linalg.lstsq(rows, seen, rcond=None)[0], atol=1e-4)
    np.testing.assert_allclose(own.P, covariance, atol=1e-3 * np.abs(covariance).max())


def test_a_covariance_may_be_set() -> None:
    own = mpc.KalmanFilter(linear_knot(), noise=0.1, first=1.0)
    rows = np.random.default_rng(0).normal(size=(2, own.P.shape[0]))
    own.P = rows.T @ rows  # of rank 2
    np.testing.assert_allclose(own.P, rows.T @ rows, atol=1e-12)


def test_a_robot_finds_its_place_by_ranges_and_bearings() -> None:
    """Its errors have the size that the covariance says, also where the bearing of a beacon passes half a turn."""
    drive = planar.DifferentialActionModelDiffDrive(
        trajopt.CostStack(planar.state_of_pose()), radius=0.1, half_track=0.2
    )
    knot, scores = trajopt.IntegratedActionModelEuler(drive, dt=0.1), []
    sigma = np.repeat([0.05, 0.02], 3)
    own = mpc.KalmanFilter(
        knot, noise=sigma, control_noise=0.3, measure=readings, angles=[3, 4, 5], first=[0.3, 0.3, 0.1]
    )
    for seed in range(20):
        rng = np.random.default_rng(seed)
        start = np.array([0.0, 0.0, 2.6])
        own.reset(start + rng.normal(size=3) * [0.3, 0.3, 0.1])
        asked = np.array([4.0, 3.0])
        truth = planar.rollout(drive, start, asked + 0.3 * rng.normal(size=(80, 2)), 0.1, integrator="euler").xs
        for pose in truth[1:]:
            own(0.0, readings(pose) + sigma * rng.normal(size=6), asked)
        error = knot.state.difference(truth[-1], own.x)
        scores.append(error @ np.linalg.solve(own.P, error))
    assert 1.5 < np.mean(scores) < 5.0  # 3 expected


def test_a_noisy_pole_swings_up_with_it() -> None:
    """Of ten poles whose states are measured with noise, more are balanced with the filter than without."""
    window = own_pole()
    controller = mpc.MPCController(window, options=mpc.MPCOptions(dt=0.02))
    knot = trajopt.IntegratedActionModelRK4(window.running[0].differential, dt=0.02)
    own = mpc.KalmanFilter(knot, noise=NOISY, process=[1e-3, 1e-3, 1e-2, 3e-2], first=1e-3)
    errors = []
    for estimator in (None, own):
        log = mpc.simulate(controller, None, np.zeros(4), 3.0, noise=NOISY, estimator=estimator, seed=1)
        errors.append(np.sqrt(np.mean((log.estimates - log.xs[:-1]) ** 2, axis=0)))
    assert np.all(errors[1][2:] < 0.75 * errors[0][2:])  # of velocities


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"noise": 0.0}, "noise: expected deviations > 0"),
        ({"noise": [1.0, 2.0, 3.0]}, "noise: expected a deviation >= 0, or one for each of 2"),
        ({"process": -1.0}, "process: expected a deviation >= 0"),
        ({"angles": [2]}, "angles: expected indices of 2 elements"),
        ({"measure": 3}, "measure: expected a function"),
        ({"measure": lambda x: x[99]}, "measure: the function raised"),
    ],
)
def test_wrong_arguments_are_named(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"noise": 0.1, "measure": lambda x: x[:2]}
    with pytest.raises(InvalidArgumentError, match=message.replace("(", r"\(")):
        mpc.KalmanFilter(linear_knot(), **{**arguments, **changed})
    own = mpc.KalmanFilter(linear_knot(), **arguments)
    with pytest.raises(InvalidArgumentError, match="y: expected"):
        own.update([1.0])
    with pytest.raises(InvalidArgumentError, match="u: expected"):
        own.predict(np.zeros(99))
    for wrong in ([np.nan, *own.x[1:]], own.x[:1], "a"):
        with pytest.raises(InvalidArgumentError, match="x: expected"):
            own.x = wrong  # type: ignore[assignment]
    lopsided = np.eye(len(own.P)) + np.eye(len(own.P), k=1)
    for wrong in (-np.eye(len(own.P)), lopsided, np.eye(1)):
        with pytest.raises(InvalidArgumentError, match="P: expected"):
            own.P = wrong


def test_a_state_may_be_set() -> None:
    own = mpc.KalmanFilter(linear_knot(), noise=0.1, first=1.0)
    there = np.arange(1.0, len(own.x) + 1.0)
    own.x = there.tolist()
    np.testing.assert_allclose(own.update(there), there, atol=1e-12)


def test_a_copy_goes_on_alone() -> None:
    own = mpc.KalmanFilter(linear_knot(), noise=0.1, measure=lambda x: x[:2], first=1.0)
    own.update([1.0, 2.0])
    other = copy.deepcopy(own)
    np.testing.assert_array_equal(other.x, own.x)
    np.testing.assert_array_equal(other.P, own.P)
    other.update([3.0, 4.0])
    assert not np.array_equal(other.x, own.x)
    with pytest.raises(ImmutableError, match="no such attribute; did you mean"):
        own.predict_ = 1  # type: ignore[attr-defined]


def test_what_is_nan_was_not_measured() -> None:
    knot, rng = linear_knot(), np.random.default_rng(0)
    C, first = rng.normal(size=(3, knot.state.nx)), {"process": 0.1, "first": 1.0}
    own = mpc.KalmanFilter(knot, noise=[0.1, 0.2, 0.3], measure=lambda x: C @ x, **first)
    other = mpc.KalmanFilter(knot, noise=[0.1, 0.3], measure=lambda x: C[[0, 2]] @ x, **first)
    for _ in range(5):
        u, y = rng.normal(size=knot.nu), rng.normal(size=3)
        np.testing.assert_allclose(own(0.0, [y[0], np.nan, y[2]], u), other(0.0, y[[0, 2]], u), rtol=1e-7)
        np.testing.assert_allclose(own.P, other.P, rtol=1e-6, atol=1e-8)
    x, P = own.predict(np.zeros(knot.nu)), own.P
    np.testing.assert_array_equal(own.update(np.full(3, np.nan)), x)
    np.testing.assert_allclose(own.P, P, rtol=1e-12)


def quadruped_filter() -> tuple[Any, mpc.KalmanFilter]:
    """State of a robot with a free base, and a filter of it that stands."""
    robot = trajopt.load_robot("small-quadruped")
    state = trajopt.StateMultibody(robot)
    costs = trajopt.CostStack(state)
    free = trajopt.DifferentialActionModelFreeInvDynamics(state, trajopt.ActuationModelFloatingBase(state), costs)
    own = mpc.KalmanFilter(trajopt.IntegratedActionModelEuler(free, dt=0.01), noise=0.1, first=0.2)
    own.reset(state.at_rest(robot.configurations["standing"]))
    return state, own


@pytest.mark.parametrize(
    ("missing", "still"),
    [
        ([3, 4, 5, 6, 8], [3, 4, 5, 7]),  # orientation of the base and a joint
        ([4], [3, 4, 5]),  # an element of the orientation
        ([0, 1, 2], [0, 1, 2]),  # position of the base
        ([1, 8], [0, 1, 2, 7]),  # an element of it
        (range(7), range(6)),
    ],
)
def test_a_part_of_a_state_was_not_measured(missing: Any, still: Any) -> None:
    """Position and orientation of a base may miss each for itself: what was measured is corrected, the rest stays."""
    state, own = quadruped_filter()
    before = own.x
    seen = state.integrate(before, np.full(state.ndx, 0.1))
    if 4 not in missing:
        seen[:3] = before[:3] + seen[:3] * 0.0  # a turn alone
    there, expected = np.ones(state.ndx, dtype=bool), state.difference(before, seen)
    there[still], seen[missing] = False, np.nan
    change = state.difference(before, own.update(seen))
    np.testing.assert_array_equal(change[~there], 0.0)
    np.testing.assert_allclose(change[there], expected[there] * 0.2**2 / (0.2**2 + 0.1**2), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.diag(own.P)[~there], 0.2**2)


def test_a_position_without_orientation_moves_the_base() -> None:
    """The base was turned by a quarter about z; one position, measured many times, is where it is then."""
    state, own = quadruped_filter()
    x = own.x.copy()
    x[3:7] = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    own.reset(x)
    y = np.full(state.nx, np.nan)
    y[:3] = [1.0, 2.0, 3.0]
    for _ in range(1000):
        own.update(y)
    np.testing.assert_allclose(own.x[:3], y[:3], atol=0.02)
    np.testing.assert_allclose(own.x[3:], x[3:], atol=1e-12)


def test_a_wrong_quaternion_is_refused_beside_what_was_not_measured() -> None:
    state, own = quadruped_filter()
    y = state.zero()
    y[3:7], y[8] = [0.0, 0.0, 0.0, 2.0], np.nan
    with pytest.raises(InvalidArgumentError, match="y: expected the quaternion of joint .* got 2"):
        own.update(y)
    y[3:7], y[9] = [0.0, 0.0, 0.0, 1.0], np.inf
    with pytest.raises(InvalidArgumentError, match="y: expected"):
        own.update(y)


def test_sensors_of_a_loop_may_miss_measurements() -> None:
    """An encoder that answers every third time; without an estimator there is no state."""
    controller, times = slider.controller(), iter(range(1000))

    def encoder(x: Reals) -> Reals:
        return np.array([x[0] if next(times) % 3 == 0 else np.nan])

    own = mpc.KalmanFilter(slider.knot(), noise=1e-3, measure=lambda x: x[:1], process=[1e-4, 1e-2], first=1e-3)
    log = mpc.simulate(controller, None, [0.0, 0.0], 3.0, measure=encoder, estimator=own)
    assert np.isnan(log.measured[:, 0]).sum() == 20
    np.testing.assert_allclose(log.xs[-1], [1.0, 0.0], atol=0.05)
    np.testing.assert_allclose(log.estimates, log.xs[:-1], atol=1e-3)
    with pytest.raises(mpc.ClosedLoopError, match="measure: expected a vector of finite numbers"):
        mpc.simulate(controller, None, [0.0, 0.0], 1.0, measure=lambda x: np.array([x[0], np.nan]))


def test_it_predicts_with_estimated_parameters_and_disturbance() -> None:
    controller = slider.controller(estimate={"mass": 0.5}, offset_free=True)
    known = controller.estimator
    assert known is not None
    own = mpc.KalmanFilter(slider.knot(), noise=0.1, estimator=known)
    alone = mpc.KalmanFilter(slider.knot(), noise=0.1)
    controller.problem.set_parameter("mass", 2.0)  # as the estimator does
    known.disturbance = np.array([0.3])
    x = np.array([0.2, 0.5])
    for each, expected in ((own, slider.moved(x, [1.3], 0.1, mass=2.0)), (alone, slider.moved(x, [1.0], 0.1))):
        each.reset(x)
        np.testing.assert_allclose(each.predict([1.0]), expected, rtol=1e-12)
    with pytest.raises(InvalidArgumentError, match="model: expected the controller's dynamics, .* no parameter mass"):
        mpc.KalmanFilter(linear_knot(), noise=0.1, estimator=known)
    with pytest.raises(InvalidArgumentError, match=r"estimator: expected an Estimator, .* controller.estimator"):
        mpc.KalmanFilter(slider.knot(), noise=0.1, estimator=controller)  # type: ignore[arg-type]


def test_a_filter_with_a_controllers_estimator_cannot_be_sent_to_another_process() -> None:
    known = slider.controller(offset_free=True).estimator
    own = mpc.KalmanFilter(slider.knot(), noise=0.1, estimator=known)
    for each in (own, known):
        with pytest.raises(UnsupportedOperationError, match=r"Estimator: cannot be .* pickled.*controller\.estimator"):
            pickle.dumps(each)
    other = copy.deepcopy(own)  # knows the same estimator
    known.disturbance = np.array([0.3])
    np.testing.assert_array_equal(other.predict([1.0]), own.predict([1.0]))


def test_a_filter_that_knows_a_learned_push_does_not_lag() -> None:
    """A constant force of 0.5 N, of which the model knows nothing; an encoder tells the position alone."""
    off = list[Reals]()
    for knows in (False, True):
        controller = slider.controller(offset_free=True)
        known, sensors = controller.estimator if knows else None, {"measure": lambda x: x[:1]}
        own = mpc.KalmanFilter(slider.knot(), noise=1e-3, process=[1e-4, 1e-2], first=1e-3, estimator=known, **sensors)
        loop = {"estimator": own, "disturbance": lambda t, x: [0.0, 0.5], **sensors}
        log = mpc.simulate(controller, None, [0.0, 0.0], 8.0, **loop)
        off.append(np.abs(log.estimates - log.xs[:-1])[40:].max(axis=0))
    assert off[1][1] < 0.2 * off[0][1]
