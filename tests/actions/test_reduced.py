"""Reduced models: Pinocchio's dynamics under the same wrenches, momentum, balance, inactive supports, and refusals."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import trajopt
from tests.support.reduced_models import SOLE, body_state, centroidal, single_rigid_body, supports
from tests.support.slow_twin import assert_close
from trajopt.errors import DuplicateNameError, InvalidArgumentError, UnknownNameError

POINT = np.array([0.2, 0.1, 0.0])


def wrench_about(forces: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Force and torque (6,) of the point's force and the sole's wrench about a point, by Pinocchio."""
    total = pin.Force.Zero()
    for place, own in ((POINT, np.append(forces[:3], np.zeros(3))), (SOLE.translation, forces[3:])):
        total += pin.SE3(np.eye(3), place - centre).act(pin.Force(own))
    return np.asarray(total.vector)


def test_a_single_rigid_body_moves_like_pinocchio() -> None:
    model, rng = single_rigid_body(), np.random.default_rng(1)
    robot, x, u = model.state.robot.model, model.state.rand(2), 5.0 * rng.normal(size=9)
    place = pin.SE3(pin.Quaternion(x[3:7]).matrix(), x[:3])
    own = pin.SE3(place.rotation, np.zeros(3)).actInv(pin.Force(wrench_about(u, x[:3])))
    data = model.create_data()
    model.calc(data, x, u)
    assert_close(data.xnext[6:], pin.aba(robot, robot.createData(), x[:7], x[7:], own.vector), 1e-12)


@pytest.mark.parametrize("build", [single_rigid_body, centroidal])
def test_momentum_changes_by_the_wrench_about_the_centre_of_mass(build: object) -> None:
    """Central difference of both momenta along the rate of the state."""
    model = build()  # type: ignore[operator]
    x, u, step = model.state.rand(3), 5.0 * np.random.default_rng(2).normal(size=9), 1e-6
    data = model.create_data()
    model.calc(data, x, u)
    ends = [model.momentum(model.state.integrate(x, sign * step * data.xnext)) for sign in (1.0, -1.0)]
    wrench = wrench_about(u, model.centre_of_mass(x))
    assert_close((ends[0] - ends[1]) / (2 * step), wrench + np.append(model.weight, np.zeros(3)), 1e-7)


def test_a_robot_as_a_body_has_its_momentum() -> None:
    """Of a posture that moves with the base, at any pose of it."""
    robot = trajopt.load_robot("solo12")
    q = robot.configuration("standing").copy()
    q[7:] += np.linspace(-0.4, 0.4, 12)
    body = trajopt.single_rigid_body(robot, q)
    moved = pin.integrate(robot.model, q, np.append([0.1, 0.2, 0.3, 0.3, -0.2, 0.4], np.zeros(12)))
    v = np.append([1.0, 2.0, 3.0, -1.0, 0.5, 0.7], np.zeros(12))
    found = pin.computeCentroidalMomentum(body.model, body.model.createData(), moved[:7], v[:6])
    whole = pin.computeCentroidalMomentum(robot.model, robot.model.createData(), moved, v)
    assert_close(found.vector, whole.vector, 1e-12)
    assert_close(body.com(moved[:7]), robot.com(moved), 1e-12)


@pytest.mark.parametrize("build", [single_rigid_body, centroidal])
def test_quasi_static_forces_balance_gravity(build: object) -> None:
    model = build()  # type: ignore[operator]
    x = model.state.at_rest(model.state.rand(4))
    u = model.quasi_static(x)
    wrench = wrench_about(u, model.centre_of_mass(x))
    assert_close(wrench, -np.append(model.weight, np.zeros(3)), 1e-10)
    alone = model.quasi_static(x, {"contacts.point.active": 0.0})
    assert not alone[:3].any()
    assert_close(wrench_about(alone, model.centre_of_mass(x)), wrench, 1e-10)


def test_inactive_supports_have_no_effect() -> None:
    model = trajopt.IntegratedActionModelEuler(centroidal(), 0.1)
    problem = trajopt.ShootingProblem(model.state.zero(), [model], trajopt.CostStack(model.state))
    problem.set_parameter("contacts.point.active", 0.0)
    us = np.ones((1, 9))
    with_force, without = problem.rollout(us), problem.rollout(us * np.repeat([0.0, 1.0], [3, 6]))
    np.testing.assert_array_equal(with_force, without)
    problem.set_parameter("contacts.point.active", 1.0)
    assert np.abs(problem.rollout(us) - without).max() > 1e-2


def test_refusals() -> None:
    with pytest.raises(InvalidArgumentError, match="name: expected an identifier such as 'left_foot', got 'left foot'"):
        supports().add("left foot", POINT)
    with pytest.raises(DuplicateNameError, match="'sole' is in the stack already"):
        supports().add("sole", POINT)
    with pytest.raises(UnknownNameError, match="support 'heel' not found. Known: point, sole"):
        supports()["heel"]
    stack, costs = supports(), trajopt.CostStack(trajopt.centroidal_state())
    trajopt.DifferentialActionModelCentroidal(1.0, stack, costs)
    with pytest.raises(InvalidArgumentError, match="add: expected a stack that no model uses"):
        stack.add("heel", POINT)
    with pytest.raises(InvalidArgumentError, match=r"costs: expected a CostStack on centroidal_state\(\)"):
        trajopt.DifferentialActionModelCentroidal(1.0, supports(), trajopt.CostStack(trajopt.StateVector(3)))
    state = trajopt.StateMultibody(trajopt.load_robot("solo12"))
    with pytest.raises(
        InvalidArgumentError, match=r"state: expected a robot with a free joint alone.*single_rigid_body"
    ):
        trajopt.DifferentialActionModelSingleRigidBody(state, supports(), trajopt.CostStack(state))
    with pytest.raises(InvalidArgumentError, match=r"robot: expected a robot with a floating base, got 'ur5'"):
        trajopt.single_rigid_body(trajopt.load_robot("ur5"))
    body = body_state()
    costs = trajopt.CostStack(body).add("force", trajopt.ResidualModelContactForce(body, "heel", np.zeros(3)), 1.0)
    with pytest.raises(UnknownNameError, match="contact 'heel' not found. Known: point, sole"):
        trajopt.DifferentialActionModelSingleRigidBody(body, supports(), costs)
