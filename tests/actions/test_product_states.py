"""Models on products of manifolds: against robots, other coordinates and finite differences, and through solves."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from casadi import SX

import trajopt
from tests.support.own_states import StateCircle, StateStretched
from trajopt import StateProduct, StateSE3, StateSO3, StateVector
from trajopt.errors import InvalidArgumentError
from trajopt.solvers import SolverFDDP

Array = npt.NDArray[np.float64]
MASS, INERTIA, GRAVITY = 1.3, (0.02, 0.05, 0.06), 9.81
ROTORS = np.array([[0.0] * 4, [0.0] * 4, [1.0] * 4, [0, 0.2, 0, -0.2], [-0.2, 0, 0.2, 0], [0.02, -0.02, 0.02, -0.02]])


class Body(trajopt.DifferentialActionModelSymbolic):
    """A rigid body under the wrench ROTORS u."""

    def acceleration(self, x: SX, u: SX) -> SX:
        """dν/dt in the body's frame."""
        pose, twist = self.state.split(x)  # type: ignore[attr-defined]
        v, w, wrench, inertia = twist[:3], twist[3:], SX(ROTORS) @ u, SX(INERTIA)
        down = -GRAVITY * StateSE3().sx_rotation(pose).T[:, 2]
        return ca.vertcat(wrench[:3] / MASS + down - ca.cross(w, v), (wrench[3:] - ca.cross(w, inertia * w)) / inertia)


def costs_of(state: trajopt.StateAbstract, reference: Array) -> trajopt.CostStack:
    costs = trajopt.CostStack(state)
    costs.add("state", trajopt.ResidualModelState(state, reference), weight=0.3)
    costs.add("control", trajopt.ResidualModelControl(state, [GRAVITY * MASS / 4] * 4), weight=1e-2)
    return costs


def body_state() -> StateProduct:
    return StateProduct(StateSE3(), StateVector(6))


def goal_of(state: trajopt.StateAbstract) -> Array:
    return state.integrate(state.zero(), [0.5, 0.3, 0.2, 0.0, 0.0, 2.0] + [0.0] * 6)


def body_problem() -> trajopt.ShootingProblem:
    state = body_state()
    terminal = trajopt.CostStack(state)
    terminal.add("goal", trajopt.ResidualModelState(state, goal_of(state)), weight=1e2)
    node = trajopt.IntegratedActionModelEuler(Body(state, 4, costs_of(state, goal_of(state))), dt=0.02)
    return trajopt.ShootingProblem(state.zero(), [node] * 40, terminal)


def robot_problem() -> trajopt.ShootingProblem:
    """The same body as a robot that floats, by Pinocchio's model and our articulated dynamics."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(1, pin.Inertia(MASS, np.zeros(3), np.diag(INERTIA)), pin.SE3.Identity())
    state = trajopt.StateMultibody(trajopt.Robot(model))
    terminal = trajopt.CostStack(state)
    terminal.add("goal", trajopt.ResidualModelState(state, goal_of(state)), weight=1e2)
    running = costs_of(state, goal_of(state))
    actuation = trajopt.ActuationModelMatrix(state, ROTORS)
    differential = trajopt.DifferentialActionModelFreeFwdDynamics(state, actuation, running)
    node = trajopt.IntegratedActionModelEuler(differential, dt=0.02)
    return trajopt.ShootingProblem(state.zero(), [node] * 40, terminal)


def test_a_body_moves_as_a_floating_robot_does(rng: np.random.Generator) -> None:
    ours, theirs = body_problem(), robot_problem()
    xs, us = np.array([ours.state.rand(rng) for _ in range(41)]), rng.uniform(0.0, 5.0, (40, 4))
    np.testing.assert_allclose(ours.calc(xs, us).xnext, theirs.calc(xs, us).xnext, rtol=0, atol=1e-12)
    a, b = ours.calc_diff(xs, us), theirs.calc_diff(xs, us)
    for name in ("Fx", "Fu", "Lx", "Lu", "Lxx"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=1e-11)
    assert ours.running[0].lift_size == theirs.running[0].lift_size == 6  # type: ignore[attr-defined]


def test_a_body_flies_as_a_floating_robot_does() -> None:
    ours, theirs = (SolverFDDP(problem).solve() for problem in (body_problem(), robot_problem()))
    assert ours.status is trajopt.SolverStatus.CONVERGED
    assert ours.iterations == theirs.iterations
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-10)
    np.testing.assert_allclose(ours.xs, theirs.xs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_derivatives_of_a_step_equal_finite_differences(integrator: str, rng: np.random.Generator) -> None:
    state = StateProduct(StateSE3(), StateVector(6))
    make: Any = getattr(trajopt, f"IntegratedActionModel{integrator}")
    model = make(Body(state, 4, costs_of(state, state.zero())), dt=0.05)
    numeric = trajopt.ActionModelNumDiff(model)
    for turn in (0.0, 1e-7, 1.0, np.pi - 1e-3):
        x = state.integrate(state.zero(), [0.1, 0.2, 0.3, turn, 0, 0, *rng.uniform(-1, 1, 6)])
        u, data, expected = rng.uniform(0, 5, 4), model.create_data(), numeric.create_data()
        model.calc(data, x, u)
        model.calc_diff(data, x, u)
        numeric.calc(expected, x, u)
        numeric.calc_diff(expected, x, u)
        for name in ("Fx", "Fu", "Lx", "Lu"):
            np.testing.assert_allclose(getattr(data, name), getattr(expected, name), rtol=0, atol=2e-7)


@pytest.mark.parametrize(("integrator", "order"), [("Euler", 1), ("RK4", 4)])
def test_order_of_integration_on_a_pose(integrator: str, order: int) -> None:
    """A body in free fall that tumbles, against RK4 of ten times as many steps."""
    state = body_state()
    x0 = state.integrate(state.zero(), [0, 0, 0, 0.4, 0.3, -0.2, 1.0, 0.5, 0.3, 3.0, 1.0, -2.0])

    def end(name: str, steps: int) -> Array:
        make: Any = getattr(trajopt, f"IntegratedActionModel{name}")
        model = make(Body(state, 4, costs_of(state, state.zero())), dt=0.4 / steps)
        x, data = x0, model.create_data()
        for _ in range(steps):
            model.calc(data, x, np.array([1.0, 2.0, 0.5, 1.0]))
            x = data.xnext
        return np.asarray(x)

    exact = end("RK4", 200)
    errors = [np.linalg.norm(state.difference(exact, end(integrator, n))) for n in (10, 20)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


# --- a user's own manifold -------------------------------------------------------------------------------------------


class Decay(trajopt.DifferentialActionModelSymbolic):
    """ẏ = -y³ + u of the coordinate y of a stretched number."""

    def xdot(self, x: SX, u: SX) -> SX:
        """Tangent vector of ẋ: the derivative of x ⊕ dx by dx is 1 at dx = 0."""
        return -(x**3) + u


def test_runge_kutta_on_a_manifold_that_is_no_group() -> None:
    """The derivative of ⊕ by the step depends on x there, not on the step alone."""
    state = StateStretched()
    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state, [0.2]), weight=1.0)
    model = trajopt.IntegratedActionModelRK4(Decay(state, 1, costs), dt=0.4)
    numeric = trajopt.ActionModelNumDiff(model)
    x, u, data, expected = np.array([0.7]), np.array([0.9]), model.create_data(), numeric.create_data()
    for each, own in ((model, data), (numeric, expected)):
        each.calc(own, x, u)
        each.calc_diff(own, x, u)
    for name in ("Fx", "Fu", "Lx", "Lu"):
        np.testing.assert_allclose(getattr(data, name), getattr(expected, name), rtol=0, atol=1e-8)
    plane = trajopt.StateVector(1)
    flat = trajopt.IntegratedActionModelRK4(Decay(plane, 1, trajopt.CostStack(plane)), dt=0.4)
    plain = flat.create_data()
    flat.calc(plain, x, u)
    assert abs(data.xnext[0] - plain.xnext[0]) < 2e-3  # both are of order 4


class Pendulum(trajopt.DifferentialActionModelSymbolic):
    """An angle, or a point on the circle, with an angular velocity."""

    def acceleration(self, x: SX, u: SX) -> SX:
        """d²θ/dt²."""
        sine = ca.sin(x[0]) if self.state.nx == 2 else x[1]
        return u - GRAVITY * sine


def swing(state: trajopt.StateAbstract, goal: Array) -> trajopt.Solution:
    running, terminal = trajopt.CostStack(state), trajopt.CostStack(state)
    running.add("control", trajopt.ResidualModelControl(state), weight=1e-2)
    terminal.add("goal", trajopt.ResidualModelState(state, goal), weight=1e2)
    node = trajopt.IntegratedActionModelEuler(Pendulum(state, 1, running), dt=0.02)
    return SolverFDDP(trajopt.ShootingProblem(state.zero(), [node] * 60, terminal)).solve()


def test_a_solve_on_a_circle_is_that_on_its_angle() -> None:
    flat = swing(StateVector(2), np.array([2.0, 0.0]))
    curved = swing(StateProduct(StateCircle(), StateVector(1)), np.array([np.cos(2.0), np.sin(2.0), 0.0]))
    assert curved.status is trajopt.SolverStatus.CONVERGED
    assert curved.cost == pytest.approx(flat.cost, rel=1e-9)
    np.testing.assert_allclose(np.unwrap(np.arctan2(curved.xs[:, 1], curved.xs[:, 0])), flat.xs[:, 0], atol=1e-6)
    np.testing.assert_allclose(np.hypot(curved.xs[:, 0], curved.xs[:, 1]), 1.0, rtol=0, atol=1e-13)


class Spin(trajopt.ActionModelDiscrete):
    """A rotation that is turned by u, in discrete time."""

    def next_state(self, x: SX, u: SX) -> SX:
        """x exp(0.1 u)."""
        return self.state.sx_integrate(x, 0.1 * u)

    def running_cost(self, x: SX, u: SX) -> SX:
        """Effort."""
        return 0.5 * ca.sumsqr(u)

    def terminal_cost(self, x: SX) -> SX:
        """Distance to a rotation by 3 rad about the diagonal."""
        goal = self.state.integrate(self.state.zero(), np.full(3, np.sqrt(3.0)))
        return 5e3 * ca.sumsqr(self.state.sx_difference(SX(goal), x))


def test_a_discrete_model_on_rotations_takes_the_geodesic() -> None:
    """T equal steps along the shortest rotation: u = ω / (0.1 T), up to the softness of the goal."""
    model = Spin(StateSO3(), 3)
    solution = SolverFDDP(trajopt.ShootingProblem(StateSO3().zero(), [model] * 20, model)).solve()
    assert solution.status is trajopt.SolverStatus.CONVERGED
    share = 1e4 / (1e4 + 1 / (20 * 0.01))  # of the way that is gone: Σ ½ u² + ½ 1e4 (ω - 0.1 Σ u)²
    np.testing.assert_allclose(solution.us, share * np.sqrt(3.0) / 2.0, rtol=1e-6)


# --- the door --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [StateSE3(), StateProduct(StateVector(6), StateSE3()), StateProduct(StateSO3(), StateVector(2))],
    ids=repr,
)
def test_an_acceleration_needs_velocities_at_the_end(state: trajopt.StateAbstract) -> None:
    with pytest.raises(
        InvalidArgumentError,
        match=r"Body: acceleration needs a state \(q, v\) with as many velocities as positions, got .*; use a state "
        r"such as StateProduct\(StateSE3\(\), StateVector\(6\)\), or write xdot",
    ):
        trajopt.IntegratedActionModelEuler(Body(state, 4, trajopt.CostStack(state)), dt=0.02)


def test_a_start_that_is_no_rotation() -> None:
    problem = body_problem()
    with pytest.raises(InvalidArgumentError, match=r"x0\[0:7\]: expected the quaternion xyzw \(indices 3 to 6\)"):
        problem.x0 = np.zeros(13)
    xs = np.array([problem.x0] * 41)
    xs[3, 6] = 0.5
    with pytest.raises(InvalidArgumentError, match=r"xs\[3\]\[0:7\]: expected the quaternion xyzw .* got 0.5"):
        SolverFDDP(problem).solve(xs)
