"""MPCController: steps, modes, limits, failures, bad input."""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.mpc import support
from tests.support import ocp_problems
from trajopt import mpc, problems, solvers
from trajopt.instant import Instant
from trajopt.kernels import compilations
from trajopt.mpc import MPCOptions, MPCStatus
from trajopt.problems.lqr_bounds import ActionModelPointMass
from trajopt.shooting import ShootingProblem
from trajopt.solvers import SolverSQP
from trajopt.types import Reals


def pendulum() -> ShootingProblem:
    """Swing-up of a second, with a limited motor and a goal at the end."""
    return ocp_problems.pendulum().problem


@functools.cache
def arm_loop() -> tuple[mpc.MPCController, Reals, list[mpc.MPCStep]]:
    """An arm whose target moves, at four times the rate of its knots, pushed once."""
    c = mpc.MPCController(support.arm(N=15), options=MPCOptions(dt=0.005))
    c.follow("hand.reference", support.target)
    push = np.r_[np.zeros(7), 2.5, 0.0, 0.0, -2.5, 0.0, 0.0, 0.0]
    return c, *support.closed_loop(c, 160, {80: push})


# Plans


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_one_step_of_a_quadratic_problem_is_its_solution(mode: str) -> None:
    """Walls are active, and the state is not the predicted one."""
    problem = problems.load("lqr-bounds").problem
    c = mpc.MPCController(problem, options=MPCOptions(mode=mode))
    c.reset()
    x = np.array([0.1, -0.2, 0.3, -0.1])
    step = c.feedback(x, 0.0)
    solution = SolverSQP(ShootingProblem(x, problem.running, problem.terminal)).solve()
    assert step.status is MPCStatus.SOLVED
    assert np.count_nonzero(solution.xs[1:, :2] > np.array([0.4, 0.2]) - 1e-6) > 5
    np.testing.assert_allclose(step.us, solution.us, atol=2e-5)
    np.testing.assert_allclose(step.xs, solution.xs, atol=2e-5)
    assert step.cost == pytest.approx(solution.cost, rel=1e-6)
    assert len(repr(step)) < 400  # without the arrays of the plan


def test_a_step_prints_in_one_line() -> None:
    c = mpc.MPCController(pendulum(), options=MPCOptions(dt=0.01))
    step = c.reset()
    text = repr(step)
    assert text.startswith(f"MPCStep(t=0, solved, u=[-3.], cost={step.cost:.6g}, ")
    assert text.endswith(f"{len(step.xs)} knots over {step.times[-1]:g} s)")
    assert "\n" not in text


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_a_problem_without_rows(mode: str) -> None:
    problem = problems.load("lqr").problem
    c = mpc.MPCController(problem, options=MPCOptions(mode=mode, dt=0.1))
    c.reset()
    x = problem.x0 + 0.1
    step = c.feedback(x, 0.0)
    solution = SolverSQP(ShootingProblem(x, problem.running, problem.terminal)).solve()
    np.testing.assert_allclose(step.us, solution.us, atol=1e-8)
    assert solution.K is not None
    np.testing.assert_allclose(step.K, solution.K[0], atol=1e-8)


def test_the_gain_is_the_derivative_of_the_control() -> None:
    c, _, steps = arm_loop()
    del c
    c = mpc.MPCController(support.arm(N=15), options=MPCOptions(mode="converged"))
    x0 = c.reset().xs[0] + 0.1
    base = c.feedback(x0, 0.0)
    for direction in 1e-4 * np.eye(14)[[0, 3, 8, 12]]:
        moved = c.feedback(x0 + direction, 0.0)
        np.testing.assert_allclose(moved.u - base.u, -base.K @ direction, atol=2e-3 * np.abs(base.K).max() * 1e-4)
    assert steps[0].K.shape == (7, 14)


def test_real_time_steps_stay_close_to_converged_ones() -> None:
    """In a closed loop of the same problem the states differ by less than 1 % of the motion, whatever the Hessian."""
    loops = []
    for mode, hessian in (("real-time", "exact"), ("real-time", "gauss-newton"), ("converged", "exact")):
        c = mpc.MPCController(support.arm(N=15), options=MPCOptions(dt=0.01, mode=mode, hessian=hessian))
        c.follow("hand.reference", support.target)
        loops.append(support.closed_loop(c, 50)[0])
    exact, gauss_newton, converged = loops
    size = np.ptp(converged, axis=0).max()
    assert np.abs(exact - converged).max() < 0.01 * size
    assert np.abs(gauss_newton - converged).max() < 0.01 * size
    assert np.abs(gauss_newton - exact).max() > 1e-4 * size


def test_the_hand_follows_at_a_rate_that_is_not_that_of_the_knots() -> None:
    c, xs, steps = arm_loop()
    assert c.dt == 0.005
    robot = support.robot("panda")
    errors = [
        np.linalg.norm(robot.placement(x[:7], "panda_hand")[:3, 3] - support.target(0.005 * k))
        for k, x in enumerate(xs)
    ]
    assert max(errors[70:80]) < 6e-3
    assert max(errors[150:]) < 6e-3
    assert all(step.status is MPCStatus.SOLVED for step in steps)


def test_limits_of_controls_are_exact_and_those_of_states_reported() -> None:
    c, xs, steps = arm_loop()
    lower, upper = c.problem.get_parameter("torques.lower", knots=0), c.problem.get_parameter("torques.upper", knots=0)
    us = np.array([step.us for step in steps])
    assert np.all((us >= lower) & (us <= upper))
    assert np.all([np.array_equal(step.u, step.us[0]) for step in steps])
    at_limit = np.isclose(us, upper, rtol=0, atol=1e-6) | np.isclose(us, lower, rtol=0, atol=1e-6)
    assert at_limit.any()
    speed = c.problem.get_parameter("velocities.upper", knots=0)
    beyond = (np.abs(xs[:-1, 7:]) - speed).max(axis=1)
    assert beyond.max() > 1e-3  # the push
    for step, over in zip(steps, beyond):
        assert step.violation >= over - 1e-9
        if over > 1e-3:
            assert "velocities[" in step.violated
            assert f"{step.violated}: violated by" in step.reason


def test_times_and_shapes() -> None:
    c, xs, steps = arm_loop()
    del c
    for k in (0, 1, 40):
        step = steps[k]
        assert step.t == pytest.approx(0.005 * k)
        np.testing.assert_allclose(step.times, 0.005 * k + 0.02 * np.arange(16))
        assert (step.xs.shape, step.us.shape, step.u.shape) == ((16, 14), (15, 7), (7,))
        np.testing.assert_array_equal(step.xs[0], xs[k])
        assert step.preparation_time > 0 < step.feedback_time
        assert not step.failed
    assert not np.shares_memory(steps[3].us, steps[4].us)


def test_equal_loops_are_equal() -> None:
    first = support.closed_loop(_pendulum(), 30, {10: np.array([0.05, -0.2])})[0]
    second = support.closed_loop(_pendulum(), 30, {10: np.array([0.05, -0.2])})[0]
    np.testing.assert_array_equal(first, second)


def _pendulum(**options: Any) -> mpc.MPCController:
    return mpc.MPCController(pendulum(), options=MPCOptions(**options))


def test_reset_begins_anew() -> None:
    c = _pendulum()
    once = support.closed_loop(c, 12)[0]
    np.testing.assert_array_equal(support.closed_loop(c, 12)[0], once)


def test_more_iterations_get_closer() -> None:
    gaps = []
    for iterations in (1, 3):
        c = _pendulum(iterations=iterations)
        x = c.reset().xs[0] + np.array([0.03, 0.05])
        step = c.feedback(x, 0.0)
        solution = SolverSQP(pendulum_from(x)).solve(step.xs, step.us)
        gaps.append(np.abs(step.us - solution.us).max())
        assert step.iterations == iterations
    assert gaps[1] < 0.1 * gaps[0]


def pendulum_from(x: Reals) -> ShootingProblem:
    problem = pendulum()
    problem.x0 = x
    return problem


@pytest.mark.parametrize("solver", ["SolverFDDP", "SolverDDP", "SolverBoxFDDP", "SolverSQP"])
def test_other_solvers_converge_at_each_step(solver: str) -> None:
    case = problems.load("pendulum")
    c = mpc.MPCController(case.problem, solver, MPCOptions(mode="converged"))
    xs, steps = support.closed_loop(c, 10)
    assert {step.status for step in steps} == {MPCStatus.SOLVED}
    plan = steps[0]
    np.testing.assert_allclose(xs[10], plan.xs[10], atol=2e-2)


def test_a_guess() -> None:
    case = ocp_problems.pendulum()
    c = mpc.MPCController(case.problem)
    assert c.reset(guess=case.guess).status is MPCStatus.SOLVED
    solution = SolverSQP(case.problem).solve(*case.guess)
    step = c.reset(guess=solution)
    assert step.iterations <= 2
    assert step.cost == pytest.approx(solution.cost)


def test_black_boxes_too() -> None:
    """A model in Python, whose plans are shifted state by state."""

    class Mass(trajopt.ActionModelAbstract):
        def __init__(self) -> None:
            super().__init__(trajopt.StateVector(2), nu=1)

        def calc(self, data: Any, x: Any, u: Any = None) -> None:
            force = 0.0 if u is None else u[0]
            data.xnext[:] = [x[0] + 0.1 * x[1], x[1] + 0.1 * force]
            data.cost = 0.5 * (x @ x) + (0.0 if u is None else 0.05 * u @ u)

    node = trajopt.ActionModelNumDiff(Mass())
    c = mpc.MPCController(ShootingProblem(np.array([1.0, 0.0]), [node] * 10, node), options=MPCOptions(dt=0.1))
    x = c.reset().xs[0]
    for _ in range(80):
        step = c.step(x)
        x = np.array([x[0] + 0.1 * x[1], x[1] + 0.1 * step.u[0]])
    assert np.abs(x).max() < 0.05


# Prices of softened limits


@pytest.mark.parametrize("mode", ["real-time", "converged"])
def test_limits_of_states_that_can_not_be_kept_give(mode: str) -> None:
    """A mass that is pushed to 20 m/s, where 1 m/s is allowed and 12 m/s² can be had: it brakes as it can."""
    state = trajopt.StateVector(4)
    rows = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=-12.0, upper=12.0)
    far = np.inf
    rows.add("speed", trajopt.ResidualModelState(state), lower=[-far, -far, -1, -1], upper=[far, far, 1, 1])
    node = ActionModelPointMass(rows, 0.1)
    costs = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=1.0)
    c = mpc.MPCController(ShootingProblem(np.zeros(4), [node] * 20, costs), options=MPCOptions(mode=mode))
    c.reset()
    step = c.feedback([0.0, 0.0, 20.0, 0.0], 0.0)
    assert step.status is MPCStatus.SOLVED
    np.testing.assert_allclose(step.us[:15, 0], -12.0, atol=1e-5)
    assert np.all(step.xs[16:, 2] <= 1.0 + 1e-4)
    assert step.violation == pytest.approx(19.0)
    assert step.violated == "speed[2] at knot 0"
    assert np.all(np.abs(step.us) <= 12.0)


def test_controls_at_their_limits_are_not_beyond_them_by_a_bit() -> None:
    """A swing-up whose motor is at both limits."""
    us = np.array([step.us for step in support.closed_loop(_pendulum(), 25)[1]])
    assert np.any(us > 3.0 - 1e-5)
    assert np.any(us < -3.0 + 1e-5)
    assert np.abs(us).max() <= 3.0


def test_the_option_soft_sets_the_penalties() -> None:
    problem = problems.load("lqr-bounds").problem
    c = mpc.MPCController(problem, options=MPCOptions(soft=(0.0, 1.0)))
    step = c.reset()
    assert 1e-2 < step.violation < 1.0
    assert np.all(problem.row_softness()[0] == np.inf)  # the caller's problem stays as it was
    linear, quadratic = c.problem.row_softness()
    assert np.all(linear[1:] == 0.0)
    assert np.all(quadratic[1:] == 1.0)


# For ever


def test_nothing_is_compiled_after_reset() -> None:
    for mode in ("real-time", "converged"):
        c = _pendulum(mode=mode, iterations=2)
        x = c.reset().xs[0]
        before = compilations()
        for k in range(12):
            step = c.step(x)
            x = step.xs[1] + (0.2 if k == 6 else 0.0)
        assert compilations() == before


def test_repr_of_a_controller_shows_its_knots_and_mode() -> None:
    c = _pendulum()
    assert "50 knots" in repr(c)
    assert "real-time" in repr(c)
    step = c.reset()
    assert {field.name for field in dataclasses.fields(step)} >= {"u", "K", "status", "reason", "violated"}
    assert str(step.status) == "solved"
    assert solvers.SolverSQP is SolverSQP
    assert time.perf_counter() > 0


# Rows of the first knot


class Turned(trajopt.ResidualModelAbstract):
    """u0 cos 3 x0 + u1 sin 3 x0: linear in u, and curved in x."""

    uses_control = True

    def __init__(self, state: trajopt.StateVector) -> None:
        super().__init__(state, 1, unit="N")

    def evaluate(self, instant: Instant) -> SX:
        angle = 3.0 * instant.x[0]
        return SX(instant.u[0] * ca.cos(angle) + instant.u[1] * ca.sin(angle))


class Thrust(trajopt.ActionModelDiscrete):
    """A mass whose force is limited along a direction that turns."""

    def __init__(self, state: trajopt.StateVector) -> None:
        rows = trajopt.ConstraintStack(state).add("force", Turned(state), lower=-1.0, upper=1.0)
        super().__init__(state, nu=2, constraints=rows)

    def next_state(self, x: SX, u: SX) -> SX:
        return SX(x + 0.1 * ca.vertcat(x[2:], u))

    def running_cost(self, x: SX, u: SX) -> SX:
        return SX(0.5 * (10.0 * ca.sumsqr(x) + 0.1 * ca.sumsqr(u)))

    def terminal_cost(self, x: SX) -> SX:
        return SX(50.0 * ca.sumsqr(x))


def test_curved_rows_hold_at_the_measured_state() -> None:
    """One real-time iteration after a push; along the rest of the plan the rows miss by their curvature."""
    state = trajopt.StateVector(4)
    node = Thrust(state)
    end = trajopt.CostStack(state).add("state", trajopt.ResidualModelState(state), weight=100.0)
    problem = ShootingProblem(np.array([1.0, -1.0, 0.0, 0.0]), [node] * 15, end)
    c = mpc.MPCController(problem, options=MPCOptions(dt=0.1))
    x, violations = c.reset().xs[0], []
    for k in range(20):
        step = c.step(x)
        force = step.u[0] * np.cos(3.0 * x[0]) + step.u[1] * np.sin(3.0 * x[0])
        violations.append((abs(force) - 1.0, step.violation))
        x = np.r_[x[:2] + 0.1 * x[2:], x[2:] + 0.1 * step.u] + (0.3 if k in (2, 5) else 0.0)
    first, plan = np.max(violations, axis=0)
    assert first < 1e-6
    assert plan > 1e-3


@pytest.mark.parametrize(
    ("options", "kept"), [({}, False), ({"on_failure": "solve"}, True), ({"mode": "converged"}, True)]
)
def test_a_solver_that_is_not_used_again_is_dropped_after_the_first_solve(options: dict[str, Any], kept: bool) -> None:
    """The code that it alone runs is not optimised then, which would take as long as that of the steps."""
    controller = mpc.MPCController(support.arm(N=5), options=MPCOptions(**options))
    for _ in range(2):  # it is made again
        assert controller.reset().status is MPCStatus.SOLVED
        assert ("_solvers" in vars(controller._solve)) is kept
