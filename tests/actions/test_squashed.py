"""Squashed motors: formula and inverse, limits without a solver of limits, Hessians, simulator and plants; gears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import ACTUATIONS, squashed, state_of
from tests.support.slow_twin import assert_close, central_differences
from tests.support.ur5_reach import solved_reach
from trajopt.actions.expansion import Multipliers, Point
from trajopt.errors import InvalidArgumentError
from trajopt.kernels.program import Program
from trajopt.plants.simulator import SimulatorPlant
from trajopt.simulator import Simulator
from trajopt.solvers import FDDPOptions, SolverFDDP


def motors(state: trajopt.StateMultibody, most: float = 3.0, smoothness: float = 0.1) -> trajopt.ActuationModelSquashed:
    full, limit = trajopt.ActuationModelFull(state), np.full(state.nv, most)
    return trajopt.ActuationModelSquashed(full, lower=-limit, upper=limit, smoothness=smoothness)


def test_torques_stay_within_their_limits() -> None:
    """The formula of Crocoddyl's SmoothSat, its slope by differences, and its inverse."""
    state = state_of("planar-2r")
    full = trajopt.ActuationModelFull(state)
    own = trajopt.ActuationModelSquashed(full, lower=[-1.0, -2.0], upper=[1.0, 5.0], smoothness=0.1)
    assert_close(own.joint_torques([0.0, 1.5]), [0.0, 1.5], 1e-15)
    for u in ([1e6, 1e6], [-1e6, -1e6]):
        assert np.all(np.abs(own.joint_torques(u) - [0.0, 1.5]) <= [1.0, 3.5])
    a, u = 0.1 * 2.0, 0.7
    expected = 0.5 * (np.sqrt(a**2 + (u + 1.0) ** 2) - np.sqrt(a**2 + (u - 1.0) ** 2))
    assert own.joint_torques([u, 0.0])[0] == pytest.approx(expected, rel=1e-14)
    symbol = ca.SX.sym("u", 2)
    slope = ca.Function("slope", [symbol], [own.torque_derivative(symbol)])
    for point in ([0.3, 1.2], [-0.9, 4.0]):
        numeric = central_differences(lambda d, point=point: own.joint_torques(np.array(point) + d), 2)
        assert_close(np.array(slope(point)), numeric, 1e-9)
        assert_close(own.controls_for(own.joint_torques(point)), point, 1e-9)
    beyond = own.controls_for(np.array([9.0, -9.0]))
    assert_close(own.joint_torques(beyond), [0.95, -1.825], 1e-12)


CROCODDYL = [(0.1, 188, 6.263264162186459, 0.9446500519823111), (0.5, 94, 7.28821807695464, 0.8586225601138832)]
"""Smoothness, iterations, final cost and largest relative torque, by tests/data/make_crocoddyl_squashed.py."""


@pytest.mark.parametrize(("smoothness", "iterations", "cost", "largest"), CROCODDYL)
def test_a_reach_takes_the_iterations_of_crocoddyl(
    smoothness: float, iterations: int, cost: float, largest: float
) -> None:
    limits = np.array([60.0, 150.0, 80.0, 20.0, 10.0, 5.0])

    def actuation(state: trajopt.StateMultibody) -> trajopt.ActuationModelSquashed:
        full = trajopt.ActuationModelFull(state)
        return trajopt.ActuationModelSquashed(full, lower=-limits, upper=limits, smoothness=smoothness)

    solution = solved_reach(lambda arm: trajopt.IntegratedActionModelEuler(arm, dt=0.05), actuation)
    assert solution.converged
    assert solution.iterations == iterations
    assert solution.cost == pytest.approx(cost, rel=1e-9)
    squashed = actuation(trajopt.StateMultibody(trajopt.load_robot("ur5")))
    torques = np.array([squashed.joint_torques(u) for u in solution.us])
    assert np.abs(torques / limits).max() == pytest.approx(largest, rel=1e-6)


def test_a_swing_up_with_weak_motors_needs_no_limits() -> None:
    """SolverFDDP, which knows no limits, keeps the torques; reports have those of the motors."""
    state = state_of("planar-2r")
    weak = motors(state, most=2.0)
    costs, end = trajopt.CostStack(state), trajopt.CostStack(state)
    costs.add("effort", trajopt.ResidualModelControl(state), 1e-3)
    end.add("goal", trajopt.ResidualModelState(state, [np.pi / 2, 0.0, 0.0, 0.0]), 100.0)
    d = trajopt.DifferentialActionModelFreeFwdDynamics(state, weak, costs)
    problem = trajopt.ShootingProblem(
        np.array([-np.pi / 2, 0.0, 0.0, 0.0]), [trajopt.IntegratedActionModelEuler(d, 0.02)] * 100, end
    )
    solution = SolverFDDP(problem, FDDPOptions(max_iterations=300)).solve()
    torques = np.array([*solution.torques().values()])
    assert torques.shape == (2, 100)
    assert 1.8 < np.abs(torques).max() < 2.0
    assert np.abs(solution.xs[-1] - [np.pi / 2, 0.0, 0.0, 0.0]).max() < 0.3
    assert np.abs(solution.us).max() > 2.0


def standing() -> trajopt.DifferentialActionModelContactFwdDynamics:
    """A quadruped on one foot, with squashed motors."""
    state = trajopt.StateMultibody(trajopt.load_robot("small-quadruped"))
    full = trajopt.ActuationModelFloatingBase(state)
    own = trajopt.ActuationModelSquashed(full, lower=np.full(full.nu, -4.0), upper=np.full(full.nu, 3.0))
    contacts = trajopt.ContactStack(state).add("foot", trajopt.ContactModel3D(state, "lf_foot"))
    costs = trajopt.CostStack(state).add("force", trajopt.ResidualModelContactForce(state, "foot", np.ones(3)), 0.1)
    return trajopt.DifferentialActionModelContactFwdDynamics(state, own, contacts, costs)


@pytest.mark.parametrize("build", [lambda: squashed("planar-3r"), standing])
def test_derivatives_and_hessians_include_the_bend_of_the_squashing(build: Callable[[], Any]) -> None:
    """F, and the part of the Hessian that is of the dynamics, by central differences."""
    model = trajopt.IntegratedActionModelEuler(build(), 0.05)
    state, x, n = model.state, model.state.rand(1), model.state.ndx
    u, multipliers = np.linspace(-3.0, 4.0, model.nu), np.linspace(0.5, 1.5, n)
    first = model.create_data()
    model.calc(first, x, u)
    reached = first.xnext.copy()

    def ahead(z: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where a step leads from beside x, relative to another place, and its derivative times the multipliers."""
        data, y, control = model.create_data(), state.integrate(x, z[:n]), u + z[n:]
        model.calc(data, y, control)
        model.calc_diff(data, y, control)
        slope = state.jdifference(base, data.xnext, "second") @ np.hstack([data.Fx, data.Fu])
        return state.difference(base, data.xnext), slope.T @ multipliers

    model.calc_diff(first, x, u)
    F = central_differences(lambda z: ahead(z, reached)[0], n + model.nu)
    assert_close(np.hstack([first.Fx, first.Fu]), F, 1e-6)
    program = Program("hessian")
    inputs = [program.input(size) for size in (state.nx, model.nu, model.layout.size, n, model.nc)]
    point = Point(x=inputs[0], u=inputs[1], parameters=inputs[2])
    both = Multipliers(dynamics=inputs[3], rows=inputs[4] if model.nc else None)
    program.output(model.expansion(program, point, both).H)
    values = [
        program.evaluate(x, u, model.layout.column(), factor * multipliers, np.zeros(model.nc))[0]
        for factor in (1.0, 0.0)
    ]
    by_u = central_differences(lambda z: ahead(np.append(np.zeros(n), z), reached)[1], model.nu)
    assert_close((values[0] - values[1])[:, n:], by_u, 1e-5)
    assert np.abs(by_u[n:]).max() > 1e-3


def test_simulators_and_plants_squash() -> None:
    """A step of the simulator, its derivative by the control, and a plant."""
    state = state_of("planar-2r")
    own, simulator = motors(state), Simulator(state.robot)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), 1e-3)
    model = trajopt.simulator.ActionModelSimulator(simulator, costs, dt=0.01, actuation=own)
    x, u, data = np.array([0.3, -0.4, 0.5, 0.2]), np.array([2.8, -6.0]), model.create_data()
    model.calc(data, x, u)
    model.calc_diff(data, x, u)
    reached, Fu = data.xnext.copy(), data.Fu.copy()
    assert_close(reached, simulator.step(0.01, x, own.joint_torques(u))[0], 1e-14)

    def moved(d: np.ndarray) -> np.ndarray:
        model.calc(data, x, u + d)
        return data.xnext.copy()

    assert_close(Fu, central_differences(moved, 2), 1e-6)
    plant = SimulatorPlant(simulator, own, 2)
    assert_close(plant.step(x, u, 0.01, None), reached, 1e-14)


def test_gears_limit_motors_by_their_joints() -> None:
    state = trajopt.StateMultibody(trajopt.load_robot("ur5"))
    effort = trajopt.ActuationModelFull(state).upper
    geared = trajopt.ActuationModelMatrix(state, np.diag([100.0, -50.0, 1.0, 101.0, 101.0, 101.0]))
    assert_close(geared.upper, effort / [100.0, 50.0, 1.0, 101.0, 101.0, 101.0], 1e-14)
    assert geared.names[2] == "u:elbow_joint"
    assert geared.names[0] == "u0"
    coupled = ACTUATIONS["matrix-gears"]()
    assert_close(coupled.joint_torques([0.1, 0.2, 0.3]), [5.0, 1.5, -0.3], 1e-15)
    np.testing.assert_array_equal(coupled.upper, [1.0, 2.0, 2.0])


def test_refusals() -> None:
    state = state_of("planar-2r")
    full, own = trajopt.ActuationModelFull(state), motors(state)
    with pytest.raises(InvalidArgumentError, match="lower: expected a finite limit of each motor, got -inf"):
        trajopt.ActuationModelSquashed(full)
    with pytest.raises(InvalidArgumentError, match="lower: expected lower < upper, got 1 and 1 for control 1"):
        trajopt.ActuationModelSquashed(full, lower=[0.0, 1.0], upper=[1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="smoothness: expected at most 10, got 11"):
        motors(state, smoothness=11.0)
    with pytest.raises(InvalidArgumentError, match="ActuationModelSquashed needs motor torques that are controls"):
        trajopt.ActuationModelSquashed(own, lower=[-1.0, -1.0], upper=[1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="InvDynamics needs motor torques that are controls"):
        trajopt.DifferentialActionModelFreeInvDynamics(state, own, trajopt.CostStack(state))
    with pytest.raises(InvalidArgumentError, match="names: expected 2 different names, one for each control"):
        trajopt.ActuationModelMatrix(state, np.eye(2), names=["a", "a"])
    with pytest.raises(InvalidArgumentError, match="lower: expected lower <= upper, got 1 and 0 of control 0"):
        trajopt.ActuationModelMatrix(state, np.eye(2), lower=[1.0, 1.0], upper=[0.0, 2.0])
