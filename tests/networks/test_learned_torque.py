"""A network as a torque on a robot: Pinocchio and MuJoCo as oracles, equal plans, and refusals."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.model_list import network
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import SolverSQP

ARM = trajopt.StateMultibody(trajopt.load_robot("ur5"))
LEARNED = network(12, 6)
COSTS = trajopt.CostStack(ARM).add("torque", trajopt.ResidualModelControl(ARM), weight=1e-2)
COSTS_AT_END = trajopt.CostStack(ARM).add("goal", trajopt.ResidualModelState(ARM), weight=1.0)


def model_of(torque: object = LEARNED, **options: object) -> trajopt.DifferentialActionModelFreeFwdDynamics:
    full = trajopt.ActuationModelFull(ARM)
    return trajopt.DifferentialActionModelFreeFwdDynamics(ARM, full, COSTS, torque=torque, **options)  # type: ignore[arg-type]


def test_accelerations_are_pinocchios_with_this_torque() -> None:
    model, rng, pinocchio = model_of(), np.random.default_rng(3), ARM.model
    data = model.create_data()
    for _ in range(3):
        x, u = rng.normal(size=12), rng.normal(size=6)
        model.calc(data, x, u)
        a = pin.aba(pinocchio, pinocchio.createData(), x[:6], x[6:], u + LEARNED(x))
        np.testing.assert_allclose(data.xnext[6:], a, rtol=1e-10, atol=1e-10)


def test_accelerations_are_mujocos_with_this_torque() -> None:
    mujoco = pytest.importorskip("mujoco", reason="needs pip install mujoco")
    mj = mujoco.MjModel.from_xml_string(
        '<mujoco><option gravity="0 0 -9.81"/><worldbody><body><joint name="a" type="hinge" axis="0 1 0"/>'
        '<inertial pos="0 0 -0.4" mass="1.5" diaginertia="0.02 0.02 0.01"/><body pos="0 0 -0.8">'
        '<joint name="b" type="hinge" axis="1 0 0"/>'
        '<inertial pos="0 0 -0.2" mass="0.5" diaginertia="0.01 0.01 0.01"/></body></body></worldbody></mujoco>'
    )
    pinocchio = pin.Model()
    inertias = [pin.Inertia(1.5, np.array([0, 0, -0.4]), np.diag([0.02, 0.02, 0.01]))]
    inertias += [pin.Inertia(0.5, np.array([0, 0, -0.2]), np.diag([0.01, 0.01, 0.01]))]
    for i, (joint, at) in enumerate([(pin.JointModelRY(), 0.0), (pin.JointModelRX(), -0.8)]):
        pinocchio.addJoint(i, joint, pin.SE3(np.eye(3), np.array([0, 0, at])), "ab"[i])
        pinocchio.appendBodyToJoint(i + 1, inertias[i], pin.SE3.Identity())
    state, learned = trajopt.StateMultibody(trajopt.Robot(pinocchio)), network(4, 2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1.0)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(
        state, trajopt.ActuationModelFull(state), costs, torque=learned
    )
    data, peer = model.create_data(), mujoco.MjData(mj)
    for x in np.random.default_rng(1).normal(size=(3, 4)):
        peer.qpos[:], peer.qvel[:], peer.qfrc_applied[:] = x[:2], x[2:], learned(x)
        mujoco.mj_forward(mj, peer)
        model.calc(data, x, np.zeros(2))
        np.testing.assert_allclose(data.xnext[2:], peer.qacc, rtol=1e-9, atol=1e-9)


def test_controls_that_hold_the_robot_carry_the_torque() -> None:
    model = model_of()
    data, x = model.create_data(), np.append(np.random.default_rng(2).normal(size=6), np.zeros(6))
    model.calc(data, x, model.quasi_static(x))
    np.testing.assert_allclose(data.xnext, 0.0, atol=1e-12)
    knot = trajopt.IntegratedActionModelEuler(model, dt=0.01)
    us = trajopt.ShootingProblem(x, [knot] * 3, COSTS_AT_END).quasi_static(np.tile(x, (3, 1)))
    np.testing.assert_allclose(us, np.tile(model.quasi_static(x), (3, 1)), rtol=1e-12)  # in lanes


def test_a_torque_of_the_robots_friction_is_the_option_friction() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("ur5").with_values({"elbow_joint.damping": 2.0}))
    goal = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, np.ones(12) * 0.3), weight=1e2)
    costs = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    damping = ca.DM(state.model.damping)
    ends = []
    for options in ({"friction": "smooth"}, {"torque": lambda x: -damping * x[6:]}):
        model = trajopt.DifferentialActionModelFreeFwdDynamics(
            state, trajopt.ActuationModelFull(state), costs, **options
        )
        knot = trajopt.IntegratedActionModelEuler(model, dt=0.05)
        solution = SolverSQP(trajopt.ShootingProblem(np.zeros(12), [knot] * 10, goal)).solve()
        assert solution.converged
        ends.append(solution.us)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


@pytest.mark.parametrize(
    ("torque", "message"),
    [
        (lambda x: x[:4], r"torque: expected shape \(6, 1\), one for each velocity of .*, got \(4, 1\)"),
        (lambda x: ca.SX.sym("load") * x[:6], "got the symbols load; a function of x may use numbers besides"),
        (lambda x, u: x[:6] + u, "torque: expected a function of 1 arguments"),
        (1.0, "torque: expected a function, got 1.0"),
    ],
)
def test_refusals(torque: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        model_of(torque)
