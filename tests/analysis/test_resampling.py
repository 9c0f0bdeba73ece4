"""Solutions on a finer grid."""

from __future__ import annotations

import itertools
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import trajopt
from tests.support.model_list import VanDerPol
from tests.support.unsolved import solution_of
from trajopt import analysis, problems
from trajopt.errors import InvalidArgumentError
from trajopt.shooting import inspection
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverFDDP
from trajopt.types import Reals


class Pushed(trajopt.DifferentialActionModelSymbolic):
    """dv/dt = u."""

    def acceleration(self, x: ca.SX, u: ca.SX) -> ca.SX:
        return u


def oscillator(tableau: trajopt.Tableau, dt: float = 0.1) -> trajopt.Solution:
    state = trajopt.StateVector(2)
    costs = trajopt.CostStack(state).add("effort", trajopt.ResidualModelControl(state), weight=1.0)
    costs.add("origin", trajopt.ResidualModelState(state), weight=1.0)
    model = trajopt.IntegratedActionModelRK(VanDerPol(costs), dt, tableau=tableau)
    problem = trajopt.ShootingProblem([1.0, 0.5], [model] * 8, trajopt.CostStack(state))
    problem.set_parameter("dt", 2.0 * dt, knots=range(3))
    return SolverFDDP(problem).solve()


def test_states_between_knots_are_those_of_the_model() -> None:
    """Of a Runge-Kutta step of order 4 they are as accurate as its knots, and gaps are as small as its error."""
    solution = oscillator(trajopt.Tableau.CLASSICAL)
    fine = analysis.resample(solution, 0.03)
    assert fine.times is not None
    assert solution.times is not None
    assert len(fine.us) == 3 * 7 + 5 * 4
    assert np.diff(fine.times).max() <= 0.03
    np.testing.assert_allclose(fine.times[[7, 14, 21, 25]], solution.times[1:5], atol=1e-12)
    np.testing.assert_array_equal(fine.xs[[0, 7, 14, 21, 25]], solution.xs[:5])
    assert fine.problem is not None
    true = fine.problem.rollout(fine.us)
    assert 0.0 < np.abs(fine.xs - true).max() < 5e-5
    assert np.abs(fine.gaps()).max() < 5e-5
    coarse = analysis.resample(oscillator(trajopt.Tableau.EULER), 0.03)
    assert np.abs(coarse.gaps()).max() > 1e-3


def test_a_time_step_longer_than_the_knots_changes_nothing() -> None:
    solution = oscillator(trajopt.Tableau.HEUN)
    same = analysis.resample(solution, 1.0)
    np.testing.assert_array_equal(same.xs, solution.xs)
    np.testing.assert_array_equal(same.us, solution.us)
    assert same.cost == pytest.approx(solution.cost, rel=1e-14)
    assert solution.problem is not None
    np.testing.assert_allclose(solution.problem.get_parameter("dt", 0), 0.2)


def test_feet_of_a_gait_stay_where_they_stand(tmp_path: Path) -> None:
    """Forces, torques and tables are those of the finer grid; touch-downs stay single knots."""
    solution = problems.load("quadruped-trot").solve()
    fine = analysis.resample(solution, 5e-3)
    assert fine.times is not None
    assert solution.times is not None
    assert fine.times[-1] == pytest.approx(solution.times[-1])
    assert np.count_nonzero(np.diff(fine.times) == 0.0) == np.count_nonzero(np.diff(solution.times) == 0.0)
    forces, before = fine.contact_forces(), solution.contact_forces()
    assert set(forces) == set(before)
    for foot, values in forces.items():
        assert np.nanmax(np.abs(values)) < 1.2 * np.nanmax(np.abs(before[foot]))
    lines = fine.to_csv(tmp_path / "trot.csv").read_text().splitlines()
    assert len(lines) == len(fine.xs) + 1


def test_what_is_refused() -> None:
    solution = oscillator(trajopt.Tableau.EULER)
    with pytest.raises(InvalidArgumentError, match="dt: expected"):
        analysis.resample(solution, 0.0)
    free = trajopt.ActionModelLQR(A=np.eye(1), B=np.eye(1), Q=np.eye(1), R=np.eye(1))
    with pytest.raises(InvalidArgumentError, match="whose knots have time steps"):
        analysis.resample(SolverFDDP(trajopt.ShootingProblem([1.0], [free] * 2, free)).solve(), 0.1)


def test_a_uniform_rate_has_samples_at_its_multiples(tmp_path: Path) -> None:
    """Steps of 0.2 and 0.1 s at 30 ms: most knots are no multiples, and the last step is shorter."""
    solution = oscillator(trajopt.Tableau.CLASSICAL)
    fine = analysis.resample(solution, 0.03, uniform=True)
    assert fine.times is not None
    np.testing.assert_allclose(fine.times, [*(0.03 * np.arange(37)), 1.1], atol=1e-12)
    table = fine.to_csv(tmp_path / "rate.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in table[1:4]] == ["0.0", "0.03", "0.06"]
    assert table[-1].split(",")[1] == "1.1"
    np.testing.assert_array_equal(fine.xs[[0, -1]], solution.xs[[0, -1]])
    state, (u,) = fine.xs[7], solution.us[1]  # at 0.21 s, 10 ms after knot 1
    x = solution.xs[1]
    for _ in range(1000):  # Euler steps of 10 us, by hand
        x = x + 1e-5 * np.array([x[1], 1.3 * (1.0 - x[0] ** 2) * x[1] - x[0] + u])
    np.testing.assert_allclose(state, x, atol=1e-6)
    np.testing.assert_array_equal(fine.us[:8], solution.us[[0] * 7 + [1]])


def test_a_uniform_rate_keeps_knots_that_are_multiples() -> None:
    solution = oscillator(trajopt.Tableau.CLASSICAL)
    fine = analysis.resample(solution, 0.05, uniform=True)
    same = analysis.resample(solution, 0.05)
    np.testing.assert_array_equal(fine.us, same.us)
    np.testing.assert_allclose(fine.xs, same.xs, atol=1e-12)
    np.testing.assert_array_equal(fine.xs[[4, 8, 12, 14, 16, 22]], solution.xs[[1, 2, 3, 4, 5, 8]])


def test_a_uniform_rate_passes_touch_downs() -> None:
    """Impulses have no duration, so no step of the rate has one; the state at that time is the one after it."""
    solution = problems.load("quadruped-trot").solve()
    assert solution.times is not None
    fine = analysis.resample(solution, 2e-3, uniform=True)
    assert fine.times is not None
    np.testing.assert_allclose(np.diff(fine.times)[:-1], 2e-3, atol=1e-12)
    assert fine.times[-1] == pytest.approx(solution.times[-1])
    hit = int(np.flatnonzero(np.diff(solution.times) == 0.0)[0])
    at = np.flatnonzero(np.isclose(fine.times, solution.times[hit], atol=1e-9))
    assert len(at)
    np.testing.assert_array_equal(fine.xs[at[0]], solution.xs[hit + 1])


def test_limits_that_are_constraints_at_the_knots_of_the_solve_need_shorter_steps() -> None:
    """Torques of inverse dynamics, whose accelerations hold, exceed their bounds within steps."""
    robot = trajopt.load_robot("ur5")
    state = trajopt.StateMultibody(robot)
    motors = trajopt.ActuationModelFull(state)
    effort = trajopt.ResidualModelJointEffort(state, motors)
    costs = trajopt.CostStack(state).add("a", trajopt.ResidualModelJointAcceleration(state), weight=1.0)

    def problem(limit: float | Reals) -> trajopt.ShootingProblem:
        rows = trajopt.ConstraintStack(state).add("torques", effort, lower=-limit, upper=limit)
        model = trajopt.DifferentialActionModelFreeInvDynamics(state, motors, costs, constraints=rows)
        knot = trajopt.IntegratedActionModelRK4(model, dt=0.1)
        return trajopt.ShootingProblem(
            state.at_rest([0.0, -1.0, 1.5, -1.5, -1.5, 0.0]), [knot] * 5, trajopt.CostStack(state)
        )

    us = np.tile([2.0, 3.0, 1.0, 0.0, 0.0, 0.0], (5, 1))
    free = problem(1e3)
    held = problem(np.abs(list(inspection.torques(free, free.rollout(us), us).values())).max(axis=1))
    solution = solution_of(held, held.rollout(us), us, SolverStatus.CONVERGED)
    assert [use.constrained for use in analysis.limit_uses(solution) if use.quantity == "torque"] == [True] * 6
    fine = analysis.resample(solution, 0.01)
    assert fine.violations()["torques"].max() > 1e-3
    text = fine.explain()
    assert "limits are enforced only as constraints" not in text
    assert "constraints hold at the knots of the solve only: take shorter steps, or a larger margin, or rows=" in text


@pytest.mark.parametrize("uniform", [False, True])
def test_controls_that_change_within_a_step_do_so_on_the_finer_grid(uniform: bool) -> None:
    """A linear system is exact in RK4 steps, so that there are no gaps."""
    state = trajopt.StateVector(2)
    control = trajopt.ControlParametrizationPolyOne(1)
    model = Pushed(state, 1, trajopt.CostStack(state))
    knot = trajopt.IntegratedActionModelRK4(model, dt=0.2, control=control)
    problem = trajopt.ShootingProblem([0.0, 0.0], [knot] * 3, trajopt.CostStack(state))
    us = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, -1.0]])
    fine = analysis.resample(solution_of(problem, problem.rollout(us), us), 0.05, uniform=uniform)
    np.testing.assert_allclose(fine.us[:3], [[0.0, 0.25], [0.25, 0.5], [0.5, 0.75]], atol=1e-12)
    assert np.abs(fine.gaps()).max() < 1e-12


def test_positions_of_euler_steps_have_continuous_speeds() -> None:
    """The steps themselves would change their speed by a dt = 0.1 at once, of which second differences make 100."""
    state = trajopt.StateVector(2)
    model = Pushed(state, 1, trajopt.CostStack(state))
    problem = trajopt.ShootingProblem([0.0, 0.0], [trajopt.IntegratedActionModelEuler(model, dt=0.1)] * 20, model.costs)
    us = np.repeat([1.0, -1.0], 10)[:, None]
    solution = solution_of(problem, problem.rollout(us), us)
    fine = analysis.resample(solution, 1e-3, uniform=True)
    np.testing.assert_allclose(fine.xs[::100], solution.xs, atol=1e-9)
    accelerations = np.diff(fine.xs[:, 0], 2) / 1e-6
    assert np.abs(accelerations).max() < 2.75
    assert np.abs(accelerations[100:-100]).max() < 1.75
    assert fine.xs[1, 0] < 1e-5  # from rest
    np.testing.assert_allclose(fine.xs[:1001, 1], 1e-3 * np.arange(1001), atol=1e-9)


def test_positions_of_floating_bases_have_continuous_speeds() -> None:
    """Of a robot that turns in the air."""
    state, rng = trajopt.StateMultibody(trajopt.load_robot("solo12")), np.random.default_rng(0)
    motors = trajopt.ActuationModelFloatingBase(state)
    model = trajopt.DifferentialActionModelFreeFwdDynamics(state, motors, trajopt.CostStack(state))
    x = state.integrate(state.zero(), rng.normal(size=state.ndx) * np.repeat([1.0, 0.5], state.nv))
    flight = trajopt.ShootingProblem(x, [trajopt.IntegratedActionModelEuler(model, dt=0.02)] * 5, model.costs)
    us = 0.02 * rng.normal(size=(5, motors.nu))
    fine = analysis.resample(solution_of(flight, flight.rollout(us), us), 1e-4)
    changes = speed_changes(state, fine.xs, 1e-4)
    of_steps = np.abs(np.diff(flight.rollout(us)[:, -state.nv :], axis=0)).max(axis=1)
    assert (changes[199::200] < 0.03 * of_steps[1:]).all()  # a fine step of 200 in a step, 3 times its acceleration


def speed_changes(state: trajopt.StateMultibody, xs: Reals, dt: float) -> Reals:
    """Largest change of a velocity of configurations from step to step (n - 2,) [rad/s, m/s]."""
    moves = np.array([state.difference(*pair)[: state.nv] for pair in itertools.pairwise(xs)])
    return np.asarray(np.abs(np.diff(moves, axis=0)).max(axis=1) / dt)


def test_explain_says_that_a_resampled_motion_is_none_of_a_solver() -> None:
    solution = problems.load("arm-reach", robot="planar-2r").solve()
    assert solution.converged
    first = solution.explain().splitlines()[0]
    assert first.endswith(": converged.")
    T, fine = len(solution.us), analysis.resample(solution, 5e-3)
    lines = fine.explain().splitlines()
    assert lines[0] == first.replace("converged.", "converged, before it was resampled.")
    words = f"  resampled at {len(fine.xs)} knots, {T + 1} of the motion before; gaps are how far its long steps differ"
    assert lines[1] == f"{words} from short ones"
    uniform = analysis.resample(solution, 7e-3, uniform=True).explain().splitlines()
    assert uniform[1].endswith(" short ones, and from controls that stay until the next sample")
    assert analysis.resample(solution, 10.0).explain().splitlines()[0] == first


def test_a_resampled_motion_explains_the_same_from_its_file(tmp_path: Path) -> None:
    fine = analysis.resample(problems.load("pendulum").solve(), 5e-3)
    loaded = type(fine).load(fine.save(tmp_path / "fine.npz"))
    assert loaded.explain().splitlines()[:2] == fine.explain().splitlines()[:2]
