"""Pushes and noise: on a rail by hand, on robots against Pinocchio, on manifolds by what a measurement has to be."""

import numpy as np
import pinocchio as pin
import pytest

from tests.mpc.slider import STATE, controller, moved
from trajopt import mpc
from trajopt.actions.differential import (
    DifferentialActionModelContactFwdDynamics,
    DifferentialActionModelFreeFwdDynamics,
)
from trajopt.actions.integrated import IntegratedActionModelEuler
from trajopt.actuation import ActuationModelFull
from trajopt.contacts import ContactModel1D, ContactStack
from trajopt.costs import CostStack
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.mpc.disturbance import Disturbance, Noise
from trajopt.plants.simulator import SimulatorPlant
from trajopt.residuals import ResidualModelControl, ResidualModelState
from trajopt.robots import Robot, load_robot
from trajopt.shooting import ShootingProblem
from trajopt.simulator import MDPContact, Plane, Simulator
from trajopt.states import StateMultibody, StateProduct, StateSE3, StateVector

X0 = np.zeros(2)


@pytest.fixture(scope="module")
def slider():
    return controller()


def test_a_plant_has_no_costs_and_constraints(slider):
    with pytest.raises(InvalidArgumentError, match=r"of a cost or a constraint.*known: mass, damping"):
        mpc.simulate(slider, None, X0, 1.0, model_error={"goal.weight": 1.0})


def test_a_jump_moves_the_state_at_once(slider):
    log = mpc.simulate(slider, None, X0, 0.5, disturbance=mpc.Push(time=0.2, value=[0.05, -0.4]))
    for k in range(5):
        x = log.xs[k] + (np.array([0.05, -0.4]) if k == 2 else 0.0)
        assert np.allclose(log.xs[k + 1], moved(x, log.us[k], 0.1), atol=1e-14)
    assert log.pushes[0].end == 0.2


def test_a_rate_acts_for_its_duration(slider):
    still = mpc.simulate(slider, lambda x, u, dt: x, X0, 1.0, dt_plant=0.03)
    assert np.array_equal(still.xs, np.zeros((11, 2)))
    push = mpc.Push(time=0.137, duration=0.5, value=[2.0, -1.0])
    log = mpc.simulate(slider, lambda x, u, dt: x, X0, 1.0, dt_plant=0.03, disturbance=push)
    assert np.allclose(log.xs[-1], [1.0, -0.5], atol=1e-12)
    assert np.allclose(log.xs[3], [2 * 0.163, -0.163], atol=1e-12)


def test_a_rate_may_be_a_function_of_time_and_state(slider):
    seen = []

    def wind(t, x):
        seen.append(t)
        return [0.0, 3.0 * t * t]

    log = mpc.simulate(slider, lambda x, u, dt: x, X0, 1.0, dt_plant=0.001, disturbance=wind)
    assert log.xs[-1, 1] == pytest.approx(1.0, abs=2e-3)
    assert seen[0] == 0.0
    with pytest.raises(mpc.ClosedLoopError, match=r"at 0 s: disturbance: the function raised KeyError: 'gust'"):
        mpc.simulate(slider, None, X0, 1.0, disturbance=lambda t, x: {}["gust"])
    with pytest.raises(
        mpc.ClosedLoopError, match=r"at 0 s: disturbance: result of the function: expected shape \(2,\)"
    ):
        mpc.simulate(slider, None, X0, 1.0, disturbance=lambda t, x: [1.0])


def test_a_function_that_never_ends_is_named_without_a_duration():
    def wind(t, x):
        return [0.0, 0.1 * t]

    assert [repr(push) for push in Disturbance(wind, STATE).pushes] == ["a function of time and state"]
    assert repr(mpc.Push(time=0.5, duration=2.0, value=wind)) == "Push(time=0.5, duration=2, value=a function)"


def test_a_force_on_a_frame_accelerates_a_free_robot():
    robot = load_robot("ur5")
    state, rng = StateMultibody(robot), np.random.default_rng(0)
    x, force = state.rand(rng), np.array([10.0, -20.0, 30.0, 1.0, 2.0, 3.0])
    push = Disturbance(mpc.Push(time=0.1, duration=0.5, frame="tool0", value=force), state)
    assert push.torque(x, 0.05, 0.05) is None
    torque = push.torque(x, 0.0, 0.2)
    model, data, n = robot.model, robot.model.createData(), robot.nq
    frame = model.getFrameId("tool0")
    pin.framesForwardKinematics(model, data, x[:n])
    joint = model.frames[frame].parentJoint
    aligned = pin.SE3(data.oMi[joint].rotation, data.oMi[joint].translation - data.oMf[frame].translation)
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    forces[joint] = aligned.actInv(pin.Force(force))
    tau = rng.standard_normal(robot.nv)
    pushed = pin.aba(model, data, x[:n], x[n:], tau, forces).copy()
    free = pin.aba(model, data, x[:n], x[n:], tau)
    after = push.accelerated(x, torque, 0.2)
    assert np.allclose(after[:n], x[:n])
    assert np.allclose(after[n:] - x[n:], 0.1 * (pushed - free), atol=1e-9)  # it lasts half of the time


def lift():
    """A box of 2 kg that moves up and down."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "lift")
    model.appendBodyToJoint(1, pin.Inertia(2.0, np.zeros(3), 0.01 * np.eye(3)), pin.SE3.Identity())
    model.addFrame(pin.Frame("box", 1, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    return Robot(model, name="box")


def test_a_simulator_is_a_plant():
    """In the air: v⁺ = v + h ((u + f) / m - g), q⁺ = q + h v⁺ with h = 1 ms, f the force of the push."""
    state = StateMultibody(lift())
    motors, x0 = ActuationModelFull(state), np.array([0.5, 0.0])
    costs = CostStack(state).add("goal", ResidualModelState(state, [1.0, 0.0]), weight=10.0)
    costs.add("effort", ResidualModelControl(state), weight=1e-3)
    end = CostStack(state).add("goal", ResidualModelState(state, [1.0, 0.0]), weight=1.0)
    node = IntegratedActionModelEuler(DifferentialActionModelFreeFwdDynamics(state, motors, costs), 0.05)
    own = mpc.MPCController(ShootingProblem(x0, [node] * 10, end), "SolverSQP")
    simulator = Simulator(state.robot, [MDPContact("box", radius=0.1, surface=Plane((0, 0, 1, 0)), friction=0.5)])
    push = mpc.Push(time=0.1, duration=0.05, frame="box", value=[0.0, 0.0, -30.0])
    log = mpc.simulate(own, simulator, x0, 0.5, disturbance=push)
    assert log.plant == "Simulator"
    x = x0
    for i in range(500):
        force = log.us[i // 50, 0] - 30.0 * (100 <= i < 150)
        v = x[1] + 1e-3 * (force / 2.0 - 9.81)
        x = np.array([x[0] + 1e-3 * v, v])
    assert np.allclose(log.xs[-1], x, atol=1e-6)
    arm = StateMultibody(load_robot("ur5"))
    with pytest.raises(
        InvalidArgumentError, match=r"plant: expected a state with nx = 2 and ndx = 2 like the controller's"
    ):
        mpc.simulate(own, Simulator(arm.robot), x0, 0.5)


def test_contacts_of_a_simulator_react_to_a_force():
    """A box that rests on a plane is pushed down: nothing moves; upwards with twice its weight: it rises with g."""
    robot = lift()
    floor = MDPContact("box", radius=0.1, surface=Plane((0, 0, 1, 0)), friction=0.5)
    plant = SimulatorPlant(Simulator(robot, [floor]), None, 1)
    state, weight = StateMultibody(robot), 2.0 * 9.81

    def after(force, steps=200):
        push = Disturbance(mpc.Push(time=0.0, duration=1.0, frame="box", value=[0.0, 0.0, force]), state)
        x = np.array([0.1, 0.0])
        for _ in range(steps):
            x = plant.step(x, np.zeros(1), 1e-3, push.torque(x, 0.0, 1e-3))
        return x

    assert abs(after(-3 * weight)[1]) < 1e-2
    assert after(2 * weight)[1] == pytest.approx(9.81 * 0.2, rel=1e-2)


def standing(active):
    """A controller of a tool that two joints move, and that a contact holds at its height or not."""
    state = StateMultibody(load_robot("planar-2r"))
    contacts = ContactStack(state)
    contacts.add("tool", ContactModel1D(state, "tool"), active=active)
    costs, motors = CostStack(state).add("still", ResidualModelState(state), weight=1.0), ActuationModelFull(state)
    node = IntegratedActionModelEuler(DifferentialActionModelContactFwdDynamics(state, motors, contacts, costs), 0.01)
    problem = ShootingProblem([0.4, 0.9, 0.0, 0.0], [node] * 5, CostStack(state))
    return mpc.MPCController(problem, options=mpc.MPCOptions(dt=1e-3))


@pytest.mark.parametrize("active", [True, False])
def test_contacts_of_a_model_react_to_a_force(active):
    """M dv - Jᵀ λ h = Gᵀ f h with J dv = 0, or λ = 0 for a tool that nothing holds."""
    own, force = standing(active), np.array([3.0, 0.0, 20.0])
    x0, robot = own.problem.x0, own.problem.state.robot
    push = mpc.Push(time=0.0, duration=1e-3, frame="tool", value=force)
    pushed, free = (mpc.simulate(own, None, x0, 1e-3, disturbance=each) for each in (push, None))
    data = robot.model.createData()
    J = pin.computeFrameJacobian(robot.model, data, x0[:2], robot.frame_id("tool"), pin.LOCAL_WORLD_ALIGNED)[:3]
    M = pin.crba(robot.model, data, x0[:2])
    kkt = np.block([[M, -J[2:].T], [J[2:], np.zeros((1, 1))]])[: 3 if active else 2, : 3 if active else 2]
    dv = np.linalg.solve(kkt, np.append(1e-3 * J.T @ force, 0.0)[: len(kkt)])[:2]
    np.testing.assert_allclose((pushed.xs[1] - free.xs[1])[2:], dv, atol=1e-3 * np.abs(dv).max())
    assert (abs(J[2] @ dv) < 1e-12) == active


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time": -1.0, "value": [0.0, 0.0]}, "time: expected a number >= 0"),
        ({"time": 0.0, "value": "hard"}, "value: expected numbers, or a function of time and state, got 'hard'"),
        ({"time": 0.0, "value": [np.nan]}, "value: expected a vector of finite numbers"),
        ({"time": 0.0, "value": lambda t, x: x}, "duration: expected a time > 0"),
        ({"time": 0.0, "value": [1.0, 0, 0], "frame": "tool0"}, "duration: expected a time > 0"),
        ({"time": 0.0, "value": [1.0], "frame": "tool0", "duration": 1.0}, r"value: expected a force \(3,\) or \(6,\)"),
    ],
)
def test_pushes_that_are_none(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        mpc.Push(**arguments)


def test_an_unknown_frame_is_refused():
    push = mpc.Push(time=0.0, duration=0.1, frame="tool", value=[1.0, 0, 0])
    with pytest.raises(UnknownNameError, match="frame 'tool' not found; did you mean 'tool0'"):
        Disturbance(push, StateMultibody(load_robot("ur5")))


# Noise


def test_noise_has_the_specified_standard_deviations():
    noise = Noise([0.1, 0.0], STATE, np.random.default_rng(1))
    found = np.array([noise.measured(np.array([1.0, 2.0])) for _ in range(4000)])
    assert np.allclose(found.mean(axis=0), [1.0, 2.0], atol=5e-3)
    assert np.allclose(found.std(axis=0), [0.1, 0.0], rtol=0.05)


def test_noise_stays_on_the_manifold():
    state = StateProduct(StateSE3(), StateVector(6))
    noise, x = Noise(0.3, state, np.random.default_rng(2)), state.rand(3)
    deviations = np.array([state.difference(x, state.check(noise.measured(x))) for _ in range(2000)])
    assert np.allclose(deviations.std(axis=0), 0.3, rtol=0.1)


def test_noise_may_be_a_function(slider):
    log = mpc.simulate(slider, None, X0, 0.5, noise=lambda rng, x: [rng.integers(2), -x[1]], seed=5)
    assert set((log.measured - log.xs[:-1])[:, 0].round(9)) == {0.0, 1.0}
    assert np.allclose(log.measured[:, 1], 0.0)
    with pytest.raises(mpc.ClosedLoopError, match=r"at 0 s: noise: result of the function: expected shape \(2,\)"):
        mpc.simulate(slider, None, X0, 0.5, noise=lambda rng, x: 1.0)


@pytest.mark.parametrize("plant", [lambda x: x, lambda x, u: x, lambda x, u, dt, tau: x])
def test_a_plant_that_takes_other_arguments_is_refused_before_the_loop(plant):
    message = r"plant: expected a function \(x, u, dt\) -> x_next, got one of \(x.*the time for which the control holds"
    with pytest.raises(InvalidArgumentError, match=message):
        mpc.simulate(controller(), plant, [0.0, 0.0], 0.5)
