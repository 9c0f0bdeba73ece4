"""Inverse dynamics: torques and equations against Pinocchio, derivatives of rows, names, refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

import trajopt
from tests.support.contact_models import constrained_hopper, hopper
from tests.support.contact_robots import robot_state
from tests.support.contact_twin import inverse_dynamics
from tests.support.inverse_dynamics import inverse_model
from tests.support.model_list import DIFFERENTIALS, free_dynamics, points, state_of
from tests.support.slow_twin import assert_close, central_differences
from trajopt.actuation import ActuationModelFull, ActuationModelMatrix
from trajopt.constraints import ConstraintStack
from trajopt.costs import CostStack
from trajopt.errors import DuplicateNameError, InvalidArgumentError
from trajopt.instant import Instant
from trajopt.model.programs import outputs_at
from trajopt.residuals import ResidualModelControl, ResidualModelEquation, ResidualModelJointAcceleration

Reals = npt.NDArray[np.float64]
NAMES = [name for name in DIFFERENTIALS if name.startswith("inverse-")]
every = pytest.mark.parametrize("name", NAMES)


@cache
def model_of(name: str) -> Any:
    return DIFFERENTIALS[name]()


@cache
def step_of(name: str) -> trajopt.IntegratedActionModelEuler:
    return trajopt.IntegratedActionModelEuler(model_of(name), 0.01)


def rows_at(name: str, x: Reals, u: Reals) -> Reals:
    step = step_of(name)
    return outputs_at(step, step.program("calc"), x, u)[2].ravel() if step.nc else np.zeros(0)


def torques_at(name: str, x: Reals, u: Reals) -> Reals:
    step = step_of(name)
    values = step.torque_values(x[None], u[None], step.layout.column()[None])
    return np.concatenate(list(values.values()))


def samples(name: str) -> list[tuple[Reals, Reals]]:
    rng, model = np.random.default_rng(8), model_of(name)
    return [(x, rng.normal(size=model.nu)) for x in points(model.state)[:3]]


@every
def test_torques_and_equations_agree_with_pinocchio(name: str) -> None:
    model, step = model_of(name), step_of(name)
    nv, nu = model.state.nv, model.actuation.nu
    for x, u in samples(name):
        torque, beyond, left = inverse_dynamics(model, x, u)
        assert_close(torques_at(name, x, u), torque, 1e-10)
        rows = dict(zip(step.row_names, rows_at(name, x, u)))
        idle = [value for key, value in rows.items() if key.startswith("unactuated")]
        assert len(idle) == nv - nu
        assert np.linalg.norm(idle) == pytest.approx(np.linalg.norm(beyond), rel=1e-10, abs=1e-10)
        for contact, expected in left.items():
            found = [value for key, value in rows.items() if key.split("[")[0] == f"{contact}_contact"]
            touch = model.contacts[contact]
            if touch.in_world and touch.vectors:  # rows of those that hold are in the frame's axes
                found, expected = [np.linalg.norm(np.reshape(side, (-1, 3)), axis=1) for side in (found, expected)]
            assert_close(found, expected, 1e-10, contact)


@pytest.mark.parametrize("name", ["planar-3r", "ball", "talos_arm"])
def test_full_actuation_is_rnea(name: str) -> None:
    state = model_of(f"inverse-{name}").state
    for x, u in samples(f"inverse-{name}"):
        expected = pin.rnea(state.model, state.model.createData(), x[: state.nq], x[state.nq :], u)
        assert_close(torques_at(f"inverse-{name}", x, u), expected, 1e-10)
        assert not len(rows_at(f"inverse-{name}", x, u))


@every
def test_derivative_of_rows_by_central_differences(name: str) -> None:
    model, step = model_of(name), step_of(name)
    if not step.nc:
        pytest.skip("has no rows")
    state, n = model.state, model.state.ndx
    for x, u in samples(name)[:2]:
        *_, C = outputs_at(step, step.program("calc_diff"), x, u)

        def moved(z: Reals, x: Reals = x, u: Reals = u) -> Reals:
            return rows_at(name, state.integrate(x, z[:n]), u + z[n:])

        assert_close(C, central_differences(moved, n + model.nu))


@pytest.mark.parametrize("make", [hopper, constrained_hopper, lambda: free_dynamics("drone")])
def test_forward_dynamics_meets_the_equations_at_the_same_cost(make: Any) -> None:
    """What forward dynamics solve for gives the torques that they were given."""
    forward = make()
    inverse, state, rng = inverse_model(forward), forward.state, np.random.default_rng(3)
    step, again = (trajopt.IntegratedActionModelEuler(model, 0.01) for model in (forward, inverse))
    for x in points(state)[:3]:
        tau = rng.normal(size=forward.nu)
        data, known = forward.create_data(), inverse.create_data()
        forward.calc(data, x, tau)
        forces = step.force_values(x[None], tau[None], step.layout.column()[None])
        u = np.concatenate([data.xnext[state.nv :], *(force[0] for force in forces.values())])
        inverse.calc(known, x, u)
        assert known.cost == pytest.approx(data.cost, rel=1e-10)
        rows = dict(zip(again.row_names, outputs_at(again, again.program("calc"), x, u)[2].ravel()))
        equations = [v for k, v in rows.items() if k.startswith("unactuated") or "_contact" in k]
        assert_close(equations, np.zeros(len(equations)), 1e-10)
        values = again.torque_values(x[None], u[None], again.layout.column()[None])
        assert_close(np.concatenate(list(values.values())), tau, 1e-10)
        for contact, force in again.force_values(x[None], u[None], again.layout.column()[None]).items():
            assert_close(force, forces[contact], 1e-12)


def test_a_contact_that_is_not_active_does_not_push() -> None:
    model = model_of("inverse-slider")
    (x, u), step = samples("inverse-slider")[0], step_of("inverse-slider")
    names = [model.control_names.index(f"f:off.{axis}") for axis in "xyz"]
    rows = dict(zip(step.row_names, rows_at("inverse-slider", x, u)))
    np.testing.assert_array_equal([rows[f"off_contact[{i}]"] for i in range(3)], u[names])
    assert not step.force_values(x[None], u[None], step.layout.column()[None])["off"].any()


def test_names_and_units_of_controls() -> None:
    model = model_of("inverse-hopper")
    assert model.control_names[:3] == ["a:base.x", "a:base.y", "a:base.z"]
    assert model.control_names[-5:] == ["a:leg0_0", "a:leg0_1", "f:foot.x", "f:foot.y", "f:foot.z"]
    assert model.control_units == ["m/s²"] * 3 + ["rad/s²"] * 5 + ["N"] * 3
    assert model_of("inverse-slider").control_names[5:11] == [f"f:sole.{n}" for n in ("x", "y", "z", "mx", "my", "mz")]
    assert model_of("inverse-slider").control_units[5:11] == ["N"] * 3 + ["N m"] * 3
    np.testing.assert_array_equal(model.upper, np.inf)


def test_quasi_static_forces_and_torques_are_those_of_forward_dynamics() -> None:
    forward = hopper()
    inverse, x = inverse_model(forward), forward.state.at_rest(points(forward.state)[0])
    u = inverse.quasi_static(x)
    assert not u[: forward.state.nv].any()
    B, J = forward.actuation.matrix, _jacobian(forward, x)
    gravity = pin.computeGeneralizedGravity(
        forward.state.model, forward.state.model.createData(), x[: forward.state.nq]
    )
    smallest = np.linalg.pinv(np.hstack([B, J.T])) @ gravity
    assert_close(smallest[: forward.nu], forward.quasi_static(x), 1e-9)
    assert_close(u[forward.state.nv :], smallest[forward.nu :], 1e-9)
    assert not model_of("inverse-talos_arm").quasi_static(points(state_of("talos_arm"))[0]).any()


def _jacobian(model: Any, x: Reals) -> Reals:
    """Of the hopper's foot in the world's axes."""
    robot, data = model.state.model, model.state.model.createData()
    pin.computeJointJacobians(robot, data, x[: model.state.nq])
    pin.updateFramePlacements(robot, data)
    return np.array(pin.getFrameJacobian(robot, data, robot.getFrameId("foot0"), pin.LOCAL_WORLD_ALIGNED)[:3])


def test_torque_limits_are_rows_and_acceleration_limits_are_limits_of_a_control() -> None:
    state = robot_state("hopper")
    stack = ConstraintStack(state).add("torque", ResidualModelControl(state), lower=-3.0, upper=3.0)
    stack.add("gentle", ResidualModelJointAcceleration(state), upper=20.0)
    forward = free_dynamics("drone")
    drone = ConstraintStack(forward.state).add("torque", ResidualModelControl(forward.state), upper=1.0)
    for model, given in ((hopper(), stack), (forward, drone)):
        costs = CostStack(model.state).add("u_reg", ResidualModelControl(model.state), 1.0)
        parts = (model.state, model.actuation)
        inverse: Any = trajopt.DifferentialActionModelFreeInvDynamics(*parts, costs, constraints=given)
        step = trajopt.IntegratedActionModelEuler(inverse, 0.01)
        alone = dict(zip(step.row_names, step.rows_on_one_control))
        idle, motors = len(inverse._idle), model.actuation.nu
        assert [alone[name] for name in step.row_names[: idle + motors]] == [-1] * (idle + motors)
        rest = [alone[name] for name in step.row_names[idle + motors :]]
        assert rest == list(range(state.nv))[: len(rest)]
        assert not step.rows_free_of_control.any()


def test_limits_of_the_robot_and_soft_rows_fit_as_they_are() -> None:
    forward = free_dynamics("drone")
    given = ConstraintStack.of_robot(forward.state, forward.actuation)
    given.add("soft", ResidualModelControl(forward.state), upper=1.0, soft=(2.0, 3.0))
    costs = CostStack(forward.state)
    inverse = trajopt.DifferentialActionModelFreeInvDynamics(forward.state, forward.actuation, costs, constraints=given)
    assert [c.name for c in inverse.constraints.constraints] == ["unactuated", *(c.name for c in given.constraints)]
    assert inverse.constraints["soft"].soft == given["soft"].soft
    for constraint in given.constraints:
        ours = inverse.constraints[constraint.name]
        np.testing.assert_array_equal([ours.lower, ours.upper], [constraint.lower, constraint.upper])


def test_refusals() -> None:
    state = robot_state("hopper")
    costs, actuation = CostStack(state), hopper().actuation
    make = trajopt.DifferentialActionModelFreeInvDynamics
    twice = ActuationModelMatrix(state, np.eye(state.nv)[:, [6, 6]])
    with pytest.raises(InvalidArgumentError, match="expected independent columns of B"):
        make(state, twice, costs)
    taken = ConstraintStack(state).add("unactuated", ResidualModelControl(state), upper=1.0)
    with pytest.raises(DuplicateNameError, match="'unactuated' is in the stack already"):
        make(state, actuation, costs, constraints=taken)
    other = ConstraintStack(state_of("drone"))
    with pytest.raises(InvalidArgumentError, match="use one state"):
        make(state, actuation, costs, constraints=other)
    with pytest.raises(InvalidArgumentError, match="expected a ConstraintStack"):
        make(state, actuation, costs, constraints="rows")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="use one state"):
        make(state, ActuationModelFull(state_of("talos_arm")), costs)
    with pytest.raises(InvalidArgumentError, match="expected a ContactStack"):
        trajopt.DifferentialActionModelContactInvDynamics(state, actuation, None, costs)  # type: ignore[arg-type]
    unknown = ConstraintStack(state).add("no", ResidualModelEquation(state, "hand_contact", 3), equals=0.0)
    with pytest.raises(trajopt.UnknownNameError, match="'hand_contact' not found. Known: unactuated"):
        make(state, actuation, costs, constraints=unknown)


def test_equations_are_of_inverse_dynamics_only() -> None:
    state = robot_state("hopper")
    with pytest.raises(trajopt.UnknownNameError):
        ResidualModelEquation(state, "unactuated", 6).evaluate(Instant(state, 2))
