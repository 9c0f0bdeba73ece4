"""Steps for control loops, forms of paths, and what wrong ones are told."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.ik_paths import ACCELERATION, POSTURE, circle, hand_and_posture, panda
from trajopt import ik
from trajopt.errors import InvalidArgumentError, TrajoptError, UnknownNameError
from trajopt.ik import IKTracker

DT = 2e-3


def tracker(**options: Any) -> IKTracker:
    state = panda()
    return IKTracker(state.robot, hand_and_posture(state), POSTURE, DT, acceleration=ACCELERATION, **options)


def test_steps_are_those_of_a_track() -> None:
    state, targets = panda(), circle(0.4, DT)
    targets = [targets[0], *targets]  # the first target of a tracker is where it begins
    track = ik.track(state.robot, hand_and_posture(state), targets, DT, q0=POSTURE, acceleration=ACCELERATION)
    steps = tracker()
    found = [steps.step({"hand.reference": target}) for target in targets[1:]]
    np.testing.assert_allclose([step.q for step in found], track.qs[1:], atol=1e-9)
    np.testing.assert_allclose([step.v for step in found], track.vs[1:], atol=1e-6)
    np.testing.assert_allclose([step.distance for step in found], track.distance[1:], atol=1e-9)
    steps.reset(POSTURE)
    again = [steps.step({"hand.reference": target}) for target in targets[1:]]
    np.testing.assert_array_equal([step.q for step in again], [step.q for step in found])
    assert repr(steps) == "IKTracker('panda', hand, posture, dt=0.002)"


def test_a_copy_goes_on_where_the_tracker_is() -> None:
    steps, targets = tracker(), circle(0.4, DT)
    for target in targets[1:50]:
        steps.step({"hand.reference": target})
    again = pickle.loads(pickle.dumps(steps))
    for target in targets[50:60]:
        one, other = (each.step({"hand.reference": target}) for each in (steps, again))
        np.testing.assert_array_equal(one.q, other.q)
    with pytest.raises(TrajoptError, match="dt"):
        steps.dt = 1.0  # type: ignore[attr-defined]


def test_a_measured_configuration_is_where_a_step_starts() -> None:
    steps, target = tracker(), panda().robot.placement(POSTURE, "panda_hand")
    steps.step({"hand.reference": target})
    pushed = POSTURE + np.r_[0.05, np.zeros(8)]
    for _ in range(1000):
        step = steps.step(q=pushed)
        assert np.abs(step.q - pushed).max() <= np.abs(step.v).max() * DT + 1e-12
        pushed = step.q
    assert step.distance < 1e-6
    np.testing.assert_allclose(panda().robot.placement(step.q, "panda_hand"), target, atol=1e-6)


def test_a_velocity_to_start_from_brakes() -> None:
    steps = tracker()
    steps.reset(POSTURE, v=np.r_[1.0, np.zeros(8)])
    step = steps.step({"hand.reference": panda().robot.placement(POSTURE, "panda_hand")})
    assert step.v[0] == pytest.approx(1.0 - 15.0 * DT)


FORMS: dict[str, Any] = {
    "array": lambda targets: (targets, {}),
    "poses": lambda targets: ([pin.SE3(each) for each in targets], {}),
    "mapping": lambda targets: ({"hand.reference": targets}, {}),
    "function": lambda targets: (lambda t: targets[round(t / DT)], {"duration": 0.1}),
    "functions": lambda targets: ({"hand.reference": lambda t: targets[round(t / DT)]}, {"duration": 0.1}),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_a_path(name: str) -> None:
    targets, state = circle(0.1, DT), panda()
    path, options = FORMS[name](targets)
    track = ik.track(state.robot, hand_and_posture(state), path, DT, q0=POSTURE, **options)
    assert len(track) == 51
    assert track.times[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(track.wanted[0], targets[:, :3, 3])


def test_a_tracker_stays_usable() -> None:
    steps = tracker()
    with pytest.raises(UnknownNameError, match=r"parameter 'hand.target' not found.*hand.reference"):
        steps.step({"hand.target": np.eye(4)})
    with pytest.raises(InvalidArgumentError, match="hand.reference"):
        steps.step({"hand.reference": [np.nan] * 7})
    with pytest.raises(InvalidArgumentError, match=r"^q: expected shape \(9,\)"):
        steps.step(q=[0.0])
    with pytest.raises(InvalidArgumentError, match=r"^q0: expected shape \(9,\)"):
        ik.IKTracker(panda().robot, hand_and_posture(panda()), [0.0], DT)
    with pytest.raises(InvalidArgumentError, match=r"q: expected finite numbers"):
        steps.reset([np.nan] * 9)
    assert steps.step({"hand.reference": panda().robot.placement(POSTURE, "panda_hand")}).distance < 1e-9


def wrong(**given: Any) -> Any:
    state = panda()
    arguments = {"path": circle(0.1, DT), "dt": DT, "q0": POSTURE, **given}
    return ik.track(state.robot, given.pop("tasks", hand_and_posture(state)), **{
        key: value for key, value in arguments.items() if key != "tasks"
    })  # fmt: skip


WRONG: dict[str, tuple[dict[str, Any], type[TrajoptError], str]] = {
    "method": ({"method": "best"}, UnknownNameError, r"method 'best' not found.*differential"),
    "dt": ({"dt": 0.0}, InvalidArgumentError, r"dt: expected a number > 0"),
    "name": ({"path": {"tool.reference": circle(0.1, DT)}}, UnknownNameError, r"parameter 'tool.reference' not found"),
    "short": ({"path": circle(0.1, DT)[:1]}, InvalidArgumentError, r"path: expected at least 2 targets, got 1"),
    "empty": ({"path": np.zeros((0, 4, 4))}, InvalidArgumentError, r"targets: expected at least one target, got none"),
    "no duration": ({"path": lambda t: np.eye(4)}, InvalidArgumentError, r"duration: expected a time .* got None"),
    "duration": ({"duration": 1.0}, InvalidArgumentError, r"duration: expected None for a path of arrays, got 1"),
    "long": (
        {"path": lambda t: np.eye(4), "duration": 1e9},
        InvalidArgumentError,
        r"duration: expected 1 to 1,000,000",
    ),
    "function": ({"path": lambda t: np.ones(3), "duration": 0.1}, InvalidArgumentError, r"hand.reference.*expected"),
    "acceleration": ({"acceleration": [1.0, 2.0]}, InvalidArgumentError, r"acceleration: expected a positive .* or 9"),
    "negative": ({"acceleration": -1.0}, InvalidArgumentError, r"acceleration: expected a positive"),
    "nan": ({"acceleration": np.nan}, InvalidArgumentError, r"acceleration: expected a positive"),
    "q0": ({"q0": [1.0]}, InvalidArgumentError, r"q0: expected shape \(9,\)"),
    "settling": ({"settling": -1.0}, InvalidArgumentError, r"settling: expected"),
    "tolerance": ({"tolerance": 0}, InvalidArgumentError, r"tolerance: expected"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_tracks(name: str) -> None:
    given, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        wrong(**given)


def test_a_path_without_a_name_needs_one_reference() -> None:
    state = panda()
    tasks = trajopt.ConstraintStack(state)
    for name in ("panda_hand", "panda_link4"):
        tasks.add(name, trajopt.ResidualModelFrameTranslation(state, name), equals=0.0)
    with pytest.raises(InvalidArgumentError, match=r"path: expected a mapping.*panda_hand.reference, panda_link4.ref"):
        ik.track(state.robot, tasks, np.zeros((10, 3)), DT)


def test_results_of_one_target_can_be_pickled() -> None:
    state = panda()
    result = ik.solve(state.robot, hand_and_posture(state, state.robot.placement(POSTURE, "panda_hand")), starts=8)
    again = pickle.loads(pickle.dumps(result))
    assert str(again) == str(result)
    solver = ik.IKSolver(state.robot, hand_and_posture(state))
    target = {"hand.reference": state.robot.placement(POSTURE, "panda_hand")}
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(solver)).solve(target).q, solver.solve(target).q)
    np.testing.assert_array_equal(again.judge(POSTURE)["hand"].value, result.judge(POSTURE)["hand"].value)
