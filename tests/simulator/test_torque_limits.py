"""Limits of torques: what motors give, their derivatives, and what a rollout tells of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tests.simulator.cases import chain, quadruped
from tests.simulator.test_joint_stops import stopped_chain
from trajopt import ActuationModelMatrix, CostStack, ResidualModelContactForce, ResidualModelControl
from trajopt.errors import InvalidArgumentError
from trajopt.model.programs import outputs_at
from trajopt.robots import load_robot
from trajopt.simulator import ActionModelSimulator, Simulator

DT = 1e-3
LIMITS = np.array([4.0, np.inf, 1.0])  # [N m]
TAU = np.array([-7.0, 50.0, 0.4])


def x_of() -> np.ndarray:
    return np.concatenate([[-0.3, -0.6, -0.5], [-0.5, 1.0, 0.7]])


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "FORWARD_RK4I", "FORWARD_LF", "INVERSE_BACKWARD_RK1F"])
def test_torques_are_clipped_and_have_no_derivative_beyond(mode: str) -> None:
    """As the same simulator without limits, given what motors give."""
    limited, free = (chain().simulator(mode=mode, torque_limits=limits) for limits in (LIMITS, None))
    x = x_of() if "BACKWARD" not in mode else np.append(x_of(), [-0.4, 0.9, 0.6])
    got = limited.simulate(DT, x, TAU, Dqdq=True, Dtau=True)
    given = limited.motor_torque(TAU)
    wanted = free.simulate(DT, x, given, Dqdq=True, Dtau=True)
    assert given.tolist() == [-4.0, 50.0, 0.4]
    assert np.array_equal(got[0], wanted[0])
    assert np.array_equal(got[1], wanted[1])
    np.testing.assert_allclose(got[2], wanted[2] * [0.0, 1.0, 1.0], rtol=0, atol=0)
    assert np.abs(wanted[2][:, 0]).max() > 1e-3


def test_the_controller_too() -> None:
    """Of a joint at its limit the gains have no effect."""
    limited, free = (chain().simulator(torque_limits=limits) for limits in (LIMITS, None))
    target = [1.0, -0.6, -0.5]
    for sim in (limited, free):
        sim.set_PD_controller(100.0, 1.0, target=target)
    asked = limited.controller_torque(x_of())
    assert asked[0] > 4.0 > 1.0 > np.abs(asked[2])
    got, by_x, _ = limited.simulate(DT, x_of(), Dqdq=True)
    assert np.array_equal(got, free.simulate(DT, x_of(), limited.motor_torque(asked))[0])
    step = 1e-6
    ends = [(limited.simulate(DT, x_of() + d)[0] - limited.simulate(DT, x_of() - d)[0]) for d in step * np.eye(6)]
    numeric = np.array(ends).T / (2 * step)
    assert np.abs(by_x - numeric).max() < 1e-6 * np.abs(numeric).max()


def test_a_rollout_records_how_long_joints_were_at_their_limits() -> None:
    sim = chain().simulator(torque_limits=LIMITS)
    taus = np.zeros((10, 3))
    taus[2:6, 0], taus[:, 1], taus[3, 2] = 5.0, 50.0, -1.0
    rollout = sim.rollout(x_of(), taus, steps=10, dt=DT)
    first = sim.robot.joint_names[0]
    assert rollout.limited == {first: pytest.approx(4 * DT)}
    assert rollout.taus[:, 0].tolist() == [0.0, 0.0, 4.0, 4.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0]
    assert f"{first} 0.004 s at its torque limit" in repr(rollout)
    assert chain().simulator().rollout(x_of(), taus, steps=10, dt=DT).limited == {}


def test_they_are_a_parameter() -> None:
    sim = pickle.loads(pickle.dumps(chain().simulator(torque_limits=LIMITS)))
    sim.set_parameter("torque_limits", [2.0, 2.0, np.inf])
    assert sim.copy().motor_torque(TAU).tolist() == [-2.0, 2.0, 0.4]
    with pytest.raises(InvalidArgumentError, match="torque_limits: expected limits >= 0"):
        sim.set_parameter("torque_limits", [-1.0, 1.0, 1.0])


def test_those_of_the_robot() -> None:
    """A base has none, and no limit is where the file has zero."""
    sim = Simulator(quadruped().mechanism.model(), torque_limits=True)
    tau = sim.motor_torque(np.full(18, 100.0))
    assert tau.tolist() == [100.0] * 6 + [30.0, 30.0, 45.0] * 4


def action(**options: object) -> ActionModelSimulator:
    sim = stopped_chain(**options)
    costs = CostStack(sim.state).add("effort", ResidualModelControl(sim.state, reference=np.zeros(2)), weight=1.0)
    for name, contact in zip(sim.model.names, sim.model.contacts):
        push = ResidualModelContactForce(sim.state, name, np.zeros(contact.force_size))
        costs.add(f"push_{name}", push, weight=1.0)
    motors = ActuationModelMatrix(sim.state, np.array([[1.0, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    return ActionModelSimulator(sim, costs, dt=DT, actuation=motors)


@pytest.mark.parametrize("mode", ["FORWARD_RK1F", "BACKWARD_RK1F"])
def test_optimal_control_through_stops_and_limits(mode: str) -> None:
    """Central differences of the knot, at two stops, with costs of contact forces; a torque is beyond its limit."""
    model = action(mode=mode, torque_limits=(4.0, np.inf, 1.0))
    x, u = x_of() * np.repeat([1.0, 8.0], 3), np.array([-7.0, 0.4])
    _, _, F, g, *_ = outputs_at(model, model.program("calc_diff"), x, u)

    def at(z: np.ndarray) -> np.ndarray:
        """The next state and the cost, which has the forces of the contacts."""
        return np.concatenate([v.ravel() for v in outputs_at(model, model.program("calc"), z[:6], z[6:])[:2]])

    z, step = np.append(x, u), 2e-7
    numeric = np.array([(at(z + d) - at(z - d)) / (2 * step) for d in step * np.eye(8)]).T
    assert np.abs(F - numeric[:6]).max() < 1e-6 * max(1.0, np.abs(F).max())
    assert np.abs(g.ravel() - numeric[6]).max() < 1e-6 * np.abs(g).max()
    wanted = model.make_simulator().step(DT, x, [-6.8, -7.0, 0.4])[0]
    assert all(np.abs(f).max() > 1.0 for f in model.make_simulator().step(DT, x, [-6.8, -7.0, 0.4])[1].values())
    assert np.abs(at(z)[:6] - wanted).max() < 1e-12


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("all", "torque_limits: expected True, None or 3 numbers"),
        ([1.0, 2.0], "torque_limits: expected 3 bounds"),
        ([1.0, -2.0, 3.0], "torque_limits: expected limits >= 0"),
        ([1.0, np.nan, 3.0], "torque_limits: expected 3 bounds"),
    ],
)
def test_wrong_limits(limits: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        chain().simulator(torque_limits=limits)


def test_robots_and_modes_without_torques() -> None:
    with pytest.raises(InvalidArgumentError, match="torque_limits: expected a robot with effort limits"):
        Simulator(load_robot("double-pendulum"), torque_limits=True)
    with pytest.raises(InvalidArgumentError, match="expected None for INVERSE_I, got limits; it computes torques"):
        chain().simulator(mode="INVERSE_I", torque_limits=LIMITS)
    assert chain().simulator(mode="INVERSE_I", torque_limits=False).model.torque_limits is None
