"""Errors of the integrator, against closed forms."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm

import trajopt
from tests.support.constraints_that_hold import pendulum_problem
from tests.support.unsolved import solution_of, solved
from trajopt.analysis.step_errors import _in_world
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverSQP
from trajopt.types import Reals

STATE = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
RATE = 4.0  # of the growth away from the upright position [1/s]
TIME = 2.0  # [s]


class Falling(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = RATE² q + u, a pendulum near its upright position."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return RATE**2 * x[0] + u


class Marked(trajopt.ActionModelDiscrete):
    """x_next = x / 2 + u, whose `dt` only says how much time passes."""

    def __init__(self) -> None:
        super().__init__(trajopt.StateVector(1), 1)
        self.dt = self.parameter("dt", 0.1, unit="s")

    def next_state(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return x / 2.0 + u

    def running_cost(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return self.dt * ca.sumsqr(u)

    def terminal_cost(self, x: ca.SX) -> ca.SX:
        return ca.sumsqr(x)


def motion(
    knots: int, integrator: type = trajopt.IntegratedActionModelRK4, us: Reals | None = None, **options: object
) -> trajopt.Solution:
    """A motion over TIME that counts as converged; its control pushes back by half of what makes it fall."""
    model = integrator(Falling(STATE, 1, trajopt.CostStack(STATE)), dt=TIME / knots, **options)
    problem = trajopt.ShootingProblem([0.01, 0.0], [model] * knots, trajopt.CostStack(STATE))
    controls = np.full((knots, model.nu), -0.5 * RATE**2 * 0.01) if us is None else us
    return solution_of(problem, problem.rollout(controls), controls, SolverStatus.CONVERGED)


def true_end(u: float) -> Reals:
    A = np.array([[0.0, 1.0, 0.0], [RATE**2, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return np.asarray((expm(TIME * A) @ [0.01, 0.0, u])[:2])


def test_the_deviation_is_that_of_an_exact_integration() -> None:
    """To first order, and less by the errors of half steps, 1/16."""
    solution = motion(6)
    error = solution.description.step_error
    assert error is not None
    assert not error.first_order
    deviation = np.abs(solution.xs[-1] - true_end(solution.us[0, 0]))
    assert error.deviation == pytest.approx(deviation[["q", "v"].index(error.end_name)], rel=0.15)
    assert (error.knot, error.name, error.unit) == (5, "q", "rad")
    text = solution.explain().splitlines()[-1]
    assert text == (
        f"-> steps are too long for this motion: in shorter steps the same controls miss the end by "
        f"{error.deviation:.2g} {error.end_unit} in {error.end_name!r}; a single step errs most between knots 5 and 6 "
        f"(1.67 s), by {error.error:.2g} rad in 'q': take shorter steps (dt), with more knots"
    )


def test_an_end_that_is_missed_by_more_than_the_range_is_no_number() -> None:
    """Controls that stop the fall keep the motion small; the errors of the steps grow by e^(RATE TIME)."""
    fall = motion(8)
    A = np.array([[0.0, 1.0], [RATE**2, 0.0]]) * TIME / 8
    step = sum(np.linalg.matrix_power(A, k) / math.factorial(k) for k in range(5))
    push = (fall.problem.calc_diff(fall.xs, fall.us).Fu)[0]
    stop = np.linalg.solve(np.hstack([step @ push, push]), -step @ step @ fall.xs[0])  # at rest at 0 after two steps
    us = np.concatenate([stop, np.zeros(6)])[:, None]
    solution = motion(8, us=us)
    assert np.abs(solution.xs[-1]).max() < 1e-9
    assert "in 'q' by more than its whole range (0.01 rad)" in solution.explain()


def test_short_steps_are_not_reported() -> None:
    assert motion(40).description.step_error is None
    assert "too long" not in motion(40).explain()
    assert solved("pendulum").description.step_error is None  # Euler, with errors of a few percent of its way


def test_long_steps_of_first_order_are_reported_by_what_corrects_them() -> None:
    """The control of least squares that takes off the difference of a step from two halves, relative to the ranges."""
    knots = 6
    solution = motion(knots, trajopt.IntegratedActionModelEuler)
    error = solution.description.step_error
    assert error is not None
    assert error.first_order

    def step(x: Reals, dt: float) -> Reals:
        v = x[:, 1] + dt * (RATE**2 * x[:, 0] + solution.us[:, 0])
        return np.stack([x[:, 0] + dt * v, v], axis=1)

    dt, before, ranges = TIME / knots, solution.xs[:-1], np.ptp(solution.xs, axis=0)
    errors = (step(before, dt) - step(step(before, dt / 2), dt / 2)) / ranges
    by_control = np.array([dt**2, dt]) / ranges
    corrections = np.abs(errors @ by_control) / (by_control @ by_control)
    assert error.deviation == pytest.approx(corrections.mean())
    assert error.scale == pytest.approx(np.abs(solution.us).mean())
    share = 100 * error.deviation / error.scale
    assert f"the controls must change by {share:.2g} % in the mean, {solution.control_names[0]!r} most" in (
        solution.explain()
    )
    assert solution.explain().endswith("or IntegratedActionModelRK4")


def test_steps_of_first_order_whose_errors_little_control_takes_off_are_not_reported() -> None:
    """Gravity loads the motor; the errors of the steps are those of what the motion adds."""
    state = trajopt.StateVector(2)

    class Lift(trajopt.DifferentialActionModelSymbolic):
        def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
            return u - 9.81 - 4.0 * x[1]

    model = trajopt.IntegratedActionModelEuler(Lift(state, 1, trajopt.CostStack(state)), dt=0.1)
    problem = trajopt.ShootingProblem([0.0, 0.0], [model] * 40, trajopt.CostStack(state))
    for push, reported in ((1.0, False), (100.0, True)):
        us = 9.81 + push * np.sin(np.linspace(0, 30, 40))[:, None]
        solution = solution_of(problem, problem.rollout(us), us, SolverStatus.CONVERGED)
        assert (solution.description.step_error is not None) is reported


def test_errors_that_do_not_matter_at_the_end_are_not_reported() -> None:
    """Controls would differ by 6 % to follow the same states; the same ones end 0.03 rad from upright."""
    solution = SolverSQP(pendulum_problem()).solve()
    end = trajopt.analysis.replay(solution, 50, feedback="open").xs[-1]
    assert solution.converged
    assert 1e-3 < abs(end[0] - np.pi) < 0.05 * np.pi
    assert solution.description.step_error is None


def test_small_errors_of_unstable_motions_are_not_reported() -> None:
    """From upright a pole falls without feedback: errors of 1e-6 of the range a step grow by e^16 in 4 s."""
    knots = 160
    model = trajopt.IntegratedActionModelRK4(Falling(STATE, 1, trajopt.CostStack(STATE)), dt=2 * TIME / knots)
    problem = trajopt.ShootingProblem([0.01, 0.0], [model] * knots, trajopt.CostStack(STATE))
    gains = np.array([RATE**2 + 4.0, 4.0])
    xs = [problem.x0]
    for _ in range(knots):
        xs.append(problem.calc(np.tile(xs[-1], (knots + 1, 1)), np.tile(-gains @ xs[-1], (knots, 1))).xnext[0])
    us = -np.array(xs[:-1]) @ gains[:, None]
    solution = solution_of(problem, np.array(xs), us, SolverStatus.CONVERGED)
    end = trajopt.analysis.replay(solution, 50, feedback="open").xs[-1]
    assert np.abs(end).max() > 0.05 * np.ptp(solution.xs[:, 0])
    assert solution.description.step_error is None


def test_a_control_that_changes_within_the_step_changes_within_half_of_it() -> None:
    ramp = trajopt.ControlParametrizationPolyOne(1)
    us = np.stack([np.linspace(0.0, 0.1, 41)[:-1], np.linspace(0.0, 0.1, 41)[1:]], axis=1)
    assert motion(40, us=us, control=ramp).description.step_error is None
    parabola = trajopt.ControlParametrizationPolyTwoRK(2, trajopt.Tableau.CLASSICAL)
    w = np.random.default_rng(0).normal(size=(3, 6))
    part = parabola.within(w, 0.25, 0.5)
    for whole, cut in zip(w, part):
        for c in (0.0, 0.3, 1.0):
            np.testing.assert_allclose(parabola.at(cut, c), parabola.at(whole, 0.25 + 0.5 * c), atol=1e-12)


def test_only_converged_motions_in_time_are_judged() -> None:
    assert motion(6).description.step_error is not None
    solution = motion(6)
    unfinished = solution_of(solution.problem, solution.xs, solution.us)
    assert unfinished.description.step_error is None
    model = Marked()
    problem = trajopt.ShootingProblem([1.0], [model] * 5, trajopt.CostStack(model.state))
    us = np.zeros((5, 1))
    assert solution_of(problem, problem.rollout(us), us, SolverStatus.CONVERGED).description.step_error is None


def test_a_file_and_a_free_time_step_keep_the_advice(tmp_path: Path) -> None:
    solution = motion(6, trajopt.IntegratedActionModelEuler)
    solution.save(tmp_path / "motion.npz")
    loaded = trajopt.Solution.load(tmp_path / "motion.npz")
    assert loaded.explain().splitlines()[-2] == solution.explain().splitlines()[-1]
    assert loaded.description.step_error == solution.description.step_error
    assert "take shorter steps (dt), with more knots" in loaded.explain()
    assert "take more knots, with a smaller dt" in replace(solution, unknowns={"dt": np.array(0.25)}).explain()


def test_a_body_that_spins_is_judged_in_world_axes() -> None:
    """The velocity R v of a body whose turn deviates by δθ, against R exp(δθ) (v + δv); also where it is large."""
    ball = trajopt.load_robot("solo12")
    state, rng = trajopt.StateMultibody(ball), np.random.default_rng(0)
    x, dx = state.rand(rng), 1e-5 * rng.normal(size=state.ndx)
    y = state.integrate(x, dx)
    sizes, turned = _in_world(state, x, dx)

    def world(x: Reals) -> Reals:
        R = pin.Quaternion(x[3:7]).matrix()
        v = x[state.nq :]
        return np.concatenate([x[:3], R @ v[:3], R @ v[3:6]])

    expected = np.abs(world(y) - world(x))
    rows = [*range(3), *range(state.nv, state.nv + 6)]
    np.testing.assert_allclose(sizes[rows], expected, atol=1e-8)
    assert np.flatnonzero(turned).tolist() == rows
    others = [i for i in range(state.ndx) if i not in rows]
    np.testing.assert_array_equal(sizes[others], np.abs(dx[others]))
    drift = np.zeros(state.ndx)
    drift[3:6] = x[state.nq + 3 : state.nq + 6]  # turned further about its axis, which changes no angular velocity
    spinning, _ = _in_world(state, x, drift)
    np.testing.assert_allclose(spinning[state.nv + 3 : state.nv + 6], 0.0, atol=1e-12)
