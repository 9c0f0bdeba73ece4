"""The limits that a robot brings, and residuals that bring bounds of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trajopt
from tests.support.constraint_models import TURNED
from tests.support.contact_robots import robot_state
from tests.support.model_list import state_of
from tests.support.slow_twin import assert_close
from tests.support.unsolved import solution_of
from trajopt.analysis import constraint_rows
from trajopt.errors import InvalidArgumentError, UnknownNameError


def of_robot(name: str, **options: Any) -> tuple[Any, Any, trajopt.ConstraintStack]:
    state = state_of(name)
    floats = state.robot.floating_base
    actuation = trajopt.ActuationModelFloatingBase(state) if floats else trajopt.ActuationModelFull(state)
    return state, actuation, trajopt.ConstraintStack.of_robot(state, actuation, **options)


@pytest.mark.parametrize("name", ["talos_arm", "solo12"])
def test_limits_are_those_of_the_file(name: str) -> None:
    """Read from Pinocchio's model; a free flyer has none, and zeros are none."""
    state, _, stack = of_robot(name)
    model, base = state.model, 6 if state.robot.floating_base else 0
    low, high = model.lowerPositionLimit[-(state.nv - base) :], model.upperPositionLimit[-(state.nv - base) :]
    room = low < high
    assert np.any(room)
    np.testing.assert_array_equal(stack["positions"].lower, np.where(room, low, -np.inf))
    np.testing.assert_array_equal(stack["positions"].upper, np.where(room, high, np.inf))
    speed, effort = model.velocityLimit[base:], model.upperEffortLimit[base:]
    for constraint, limit in (("velocities", speed), ("torques", effort)):
        expected = np.where((limit > 0) & (limit < 1e300), limit, np.inf)
        if np.all(np.isinf(expected)):
            assert constraint not in stack.names
            continue
        np.testing.assert_array_equal(stack[constraint].upper, expected)
        np.testing.assert_array_equal(stack[constraint].lower, -expected)


def test_rows_are_joints() -> None:
    state, actuation, stack = of_robot("solo12")
    sizes = stack.sizes(actuation.nu)
    assert set(sizes.values()) == {12}
    costs = trajopt.CostStack(state).add("u", trajopt.ResidualModelControl(state), 1.0)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=stack)
    problem = trajopt.ShootingProblem(
        state.zero(), [trajopt.IntegratedActionModelEuler(dynamics, 0.01)], trajopt.CostStack(state)
    )
    x, u = state.rand(3), np.random.default_rng(0).normal(size=12)
    rows = problem.calc([x, x], [u]).rows[0]
    parts = {"positions": x[7:19], "velocities": x[25:], "torques": u}
    assert_close(rows, np.concatenate([parts[name] for name in stack.names]), 1e-14)


def test_each_kind_can_be_left_out_and_more_can_be_added() -> None:
    state, _, stack = of_robot("talos_arm", velocities=False)
    assert set(stack.names) == {"positions", "torques"}
    stack.add("tool", trajopt.ResidualModelFrameTranslation(state, "gripper_left_joint"), upper=1.0)
    end = trajopt.ConstraintStack.of_robot(state)
    assert set(end.names) == {"positions", "velocities"}
    assert trajopt.ConstraintStack.of_robot(state, torques=False).names == end.names
    trajopt.actions.ActionModelTerminal(trajopt.CostStack(state), constraints=end)
    with pytest.raises(InvalidArgumentError, match="of_robot needs a StateMultibody"):
        trajopt.ConstraintStack.of_robot(trajopt.StateVector(2))
    other = trajopt.ActuationModelFull(state_of("planar-2r"))
    with pytest.raises(InvalidArgumentError, match="actuation: expected an actuation of .* use one state for both"):
        trajopt.ConstraintStack.of_robot(state, other)


def test_torques_go_through_the_actuation() -> None:
    """Two motors pull one joint; a joint that nothing drives has no row."""
    state = state_of("planar-3r")
    matrix = np.array([[1.0, 0.5], [0.0, 0.0], [0.0, 2.0]])
    actuation = trajopt.ActuationModelMatrix(state, matrix)
    effort = trajopt.ResidualModelJointEffort(state, actuation, [1.0, -1.0])
    np.testing.assert_array_equal(effort.joints, [0, 2])
    limits = trajopt.ConstraintStack(state).add("motors", effort, lower=-1.0, upper=1.0)
    costs = trajopt.CostStack(state)
    dynamics = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, costs, constraints=limits)
    model, u = trajopt.IntegratedActionModelEuler(dynamics, 0.01), np.array([0.3, -0.7])
    problem = trajopt.ShootingProblem(state.zero(), [model], costs)
    d = problem.calc_diff([state.zero()] * 2, [u])
    assert_close(d.rows[0], (matrix @ u)[[0, 2]] - [1.0, -1.0], 1e-15)
    assert_close(d.Cu[0], matrix[[0, 2]], 1e-15)
    np.testing.assert_array_equal(model.rows_on_one_control, [-1, -1])
    assert not d.Cx[0].any()


def test_limits_of_motors_and_thrusters_are_limits() -> None:
    """Those of joints imply a motor's limit behind a gear, but not one of its own, and no thrust."""
    arm = state_of("planar-3r")
    gears = np.diag([5.0, 5.0, 5.0])
    assert "motors" not in trajopt.ConstraintStack.of_robot(arm, trajopt.ActuationModelMatrix(arm, gears)).names
    weak = trajopt.ActuationModelMatrix(arm, gears, lower=[-np.inf, -0.1, -np.inf], upper=[0.2, np.inf, np.inf])
    rows = trajopt.ConstraintStack.of_robot(arm, weak)
    np.testing.assert_array_equal(rows["motors"].lower, [-np.inf, -0.1, -np.inf])
    np.testing.assert_array_equal(rows["motors"].upper, [0.2, np.inf, np.inf])
    assert "motors" not in trajopt.ConstraintStack.of_robot(arm, weak, torques=False).names
    drone = trajopt.StateMultibody(trajopt.load_robot("hector"))
    rotors = [trajopt.Thruster((0.2, 0.0, 0.0), upper=8.0), trajopt.Thruster((-0.2, 0.0, 0.0), lower=0.5, upper=8.0)]
    thrusts = trajopt.ActuationModelFloatingBaseThrusters(drone, rotors)
    rows = trajopt.ConstraintStack.of_robot(drone, thrusts)
    np.testing.assert_array_equal(rows["motors"].lower, [0.0, 0.5])
    np.testing.assert_array_equal(rows["motors"].upper, [8.0, 8.0])


def test_elements_of_a_state() -> None:
    state = state_of("talos_arm")
    names = [state.tangent_names[9], state.tangent_names[2]]
    by_name = trajopt.ResidualModelState(state, elements=names)
    assert by_name.elements == trajopt.ResidualModelState(state, elements=[9, 2]).elements == [9, 2]
    assert by_name.unit == "rad/s, rad"
    with pytest.raises(UnknownNameError, match="element 'v:elbow' not found"):
        trajopt.ResidualModelState(state, elements=["v:elbow"])
    for wrong in ([14], [-1], [1.5], []):
        with pytest.raises(InvalidArgumentError, match="elements: expected"):
            trajopt.ResidualModelState(state, elements=wrong)
    with pytest.raises(InvalidArgumentError, match="at least one element and none twice"):
        trajopt.ResidualModelState(state, elements=[1, 1])


def test_arguments_of_collisions_are_checked_without_collisions() -> None:
    for argument in ("pairs", "obstacles"):
        with pytest.raises(InvalidArgumentError, match=f"{argument}: expected an integer >= 1, got"):
            trajopt.ConstraintStack.of_robot(robot_state("hopper"), **{argument: "many"})


def test_cones_and_distances_bring_their_bounds() -> None:
    state = robot_state("hopper")
    cone = trajopt.FrictionCone(0.5, facets=6, rotation=TURNED, min_force=1.0, max_force=50.0)
    wrench = trajopt.WrenchCone(0.5, (0.2, 0.1), max_force=90.0)
    foot, ball = trajopt.Sphere(0.1, frame="foot0"), trajopt.Sphere(0.2, center=[0, 0, -3])
    stack = trajopt.ConstraintStack(state)
    stack.add("cone", trajopt.ResidualModelContactFrictionCone(state, "foot", cone))
    stack.add("sole", trajopt.ResidualModelContactWrenchCone(state, "foot", wrench))
    stack.add("pressure", trajopt.ResidualModelContactCoPPosition(state, "foot", (0.2, 0.1)))
    stack.add("apart", trajopt.ResidualModelPairDistance(state, foot, ball))
    for name, (lower, upper) in {
        "cone": ([-np.inf] * 6 + [1.0], [0.0] * 6 + [50.0]),
        "sole": (wrench.lower, wrench.upper),
        "pressure": ([-np.inf] * 4, [0.0] * 4),
        "apart": ([0.0], [np.inf]),
    }.items():
        np.testing.assert_array_equal(stack[name].lower, lower)
        np.testing.assert_array_equal(stack[name].upper, upper)
    given = stack.add("firm", trajopt.ResidualModelContactFrictionCone(state, "foot", cone), upper=1.0)["firm"]
    np.testing.assert_array_equal(given.lower, -np.inf)
    np.testing.assert_array_equal(given.upper, 1.0)


@pytest.mark.parametrize(("name", "unit"), [("talos_arm", "N m"), ("cart-pole", "N")])
def test_rows_of_torques_have_the_names_of_their_joints(name: str, unit: str) -> None:
    """In inverse dynamics a row is no control."""
    state = state_of(name)
    motors = trajopt.ActuationModelFull(state)
    rows = trajopt.ConstraintStack(state).add("torques", trajopt.ResidualModelJointEffort(state, motors), lower=-1.0)
    model = trajopt.DifferentialActionModelFreeInvDynamics(state, motors, trajopt.CostStack(state), constraints=rows)
    knots = [trajopt.IntegratedActionModelEuler(model, dt=0.1)]
    problem = trajopt.ShootingProblem(state.zero(), knots, trajopt.CostStack(state))
    xs, us = np.tile(state.zero(), (2, 1)), np.zeros((1, state.nv))
    torques = next(rows for rows in constraint_rows(solution_of(problem, xs, us)) if rows.name == "torques")
    assert list(torques.rows) == list(state.robot.joint_names)
    assert torques.units[0] == unit
