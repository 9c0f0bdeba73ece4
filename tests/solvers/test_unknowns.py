"""Unknown parameters: optima by closed forms, by IPOPT on the same transcription, and by scans."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import trajopt
from tests.support import free_problems
from tests.support.free_problems import Case, G, Pendulum, double_integrator, swing
from tests.support.gait_robots import robot_of, stance_of
from tests.support.nearby import nearby
from trajopt import SolutionBatch, problems
from trajopt.errors import InvalidArgumentError
from trajopt.gaits import biped_walk, gait_guess, gait_problem
from trajopt.mpc import MPCController
from trajopt.solvers import (
    FDDPOptions,
    SolutionDerivatives,
    SolverFatrop,
    SolverFDDP,
    SolverIpopt,
    SolverSQP,
    SQPOptions,
)


@pytest.mark.parametrize("factor", [0.1, 1.5, 5.0])
@pytest.mark.parametrize("build", [free_problems.double_integrator, free_problems.jerk])
def test_minimum_time_is_that_of_the_closed_form(build: Callable[..., Case], factor: float) -> None:
    """From a time that is far too short or too long; controls are bang-bang."""
    problem, us, time = build(factor=factor)
    solution = SolverSQP(problem).solve(us=us)
    assert solution.converged
    assert solution.iterations <= 50  # 13 to 42 measured
    assert problem.T * solution.unknowns["dt"] == pytest.approx(time, rel=1e-6)
    np.testing.assert_allclose(np.abs(solution.us), 1.0, atol=1e-6)


def test_other_sizes_of_the_double_integrator() -> None:
    for N, d, a in ((100, 1.0, 1.0), (40, 2.0, 0.5), (60, 100.0, 3.0)):
        problem, _, time = double_integrator(N, d, a)
        assert N * SolverSQP(problem).solve().unknowns["dt"] == pytest.approx(time, rel=1e-6)


MOST = {"brachistochrone": 10, "zermelo": 14, "goddard": 6, "cart_pole": 28}  # iterations; IPOPT takes 7, 6, 24, 51


@pytest.mark.parametrize("name", MOST)
def test_free_times_are_those_of_ipopt_on_the_same_transcription(name: str) -> None:
    problem, us, expected = getattr(free_problems, name)()
    own, other = SolverSQP(problem).solve(us=us), SolverIpopt(problem).solve(us=us)
    assert own.converged
    assert other.converged
    assert np.median([SolverSQP(each).solve(us=us).iterations for each in nearby(problem, 5)]) <= MOST[name] + 10
    assert own.cost == pytest.approx(expected, rel=1e-8)
    assert other.cost == pytest.approx(own.cost, rel=1e-7)
    assert other.unknowns["dt"] == pytest.approx(own.unknowns["dt"], rel=1e-6)
    assert np.abs(own.gaps()).max() < 1e-9
    if name == "cart_pole":
        np.testing.assert_allclose(own.us, other.us, atol=1e-2)
        assert np.mean(np.abs(own.us) > 20.0 - 1e-3) > 0.7  # bang-bang but for one singular arc


def test_goddard_rocket_reaches_the_height_of_cops() -> None:
    """1.012837 with N = 400; source: Dolan, Moré, Munson, Benchmarking optimization software with COPS 3.0, 2004."""
    problem, us, _ = free_problems.goddard(400)
    solution = SolverSQP(problem).solve(us=us)
    assert solution.converged
    assert solution.iterations <= 12  # 6; IPOPT takes 28
    assert solution.xs[-1, 0] == pytest.approx(1.012837, abs=2e-7)


def test_goddard_rocket_in_phases_starts_from_one_time_step() -> None:
    """IPOPT takes 25 iterations; required are 1.5 times as many, or 10 more. Without that start there are 45."""
    one, us, _ = free_problems.goddard(80)
    first = SolverSQP(one).solve(us=us)
    problem, us, cost = free_problems.goddard_phases()
    solution = SolverSQP(problem).solve(first.xs, us)
    assert solution.converged
    assert first.iterations + solution.iterations <= 37
    assert solution.cost == pytest.approx(cost, rel=1e-7)
    burn, arc, coast = solution.unknowns["dt"] * [20, 40, 20]
    assert burn + arc == pytest.approx(0.0728, abs=2e-4)
    assert coast == pytest.approx(0.1260, abs=2e-4)


@pytest.mark.slow
def test_a_linear_cost_is_followed_with_less_and_less_regularisation() -> None:
    """Its Hessian is next to singular. With a least δ of 3e-5 of interior points there were 100 iterations."""
    problem, xs, us, cost = free_problems.shuttle(attack=0.2, bank=-0.9)
    solution = SolverSQP(problem).solve(xs, us)
    assert solution.converged
    assert solution.iterations <= 70
    assert solution.cost == pytest.approx(cost, rel=1e-7)


def test_fatrop_and_linear_steps_choose_parameters_too() -> None:
    problem, _, time = double_integrator()
    for solver in (SolverFatrop(problem), SolverSQP(problem, SQPOptions(steps="linear"))):
        assert problem.T * solver.solve().unknowns["dt"] == pytest.approx(time, rel=1e-6)


def test_length_of_a_pendulum_that_swings_by_itself() -> None:
    """Half a period of a small swing is π sqrt(l / g) = 1 s; then there is no torque."""
    problem = swing(linear=True)
    problem.free("length", 0.3, 2.0)
    solution = SolverSQP(problem).solve()
    assert solution.unknowns["length"] == pytest.approx(G / np.pi**2, rel=1e-6)
    assert solution.cost < 1e-12


@pytest.mark.slow
def test_length_of_a_large_swing_is_that_of_a_scan() -> None:
    def cost(length: float) -> float:
        fixed = swing()
        fixed.set_parameter("length", length, knots="running")
        return SolverSQP(fixed).solve().cost

    problem = swing()
    problem.free("length", 0.7, 2.0, guess=1.2)
    solution = SolverSQP(problem).solve()
    scan = minimize_scalar(cost, bracket=(0.8, 1.0), tol=1e-10)
    assert solution.unknowns["length"] == pytest.approx(scan.x, rel=1e-5)
    assert solution.cost <= scan.fun + 1e-12


def pendulum() -> trajopt.ShootingProblem:
    """Swing-up of example 2; a shorter pendulum is always cheaper."""
    state = trajopt.StateVector(2, names=["q", "v"], units=["rad", "rad/s"])
    running = trajopt.CostStack(state).add("torque", trajopt.ResidualModelControl(state), weight=1e-2)
    end = trajopt.CostStack(state).add("upright", trajopt.ResidualModelState(state, [np.pi, 0.0]), weight=1e2)
    knot = trajopt.IntegratedActionModelEuler(Pendulum(running), dt=2e-2)
    return trajopt.ShootingProblem([0.0, 0.0], [knot] * 100, end)


@pytest.mark.parametrize("name", ["length", "mass"])
def test_parameter_at_its_bound_and_its_multiplier(name: str, tmp_path: Path) -> None:
    """The multiplier is the derivative of the cost; the solution is saved with it, and starts another solve."""
    problem, fixed = pendulum(), pendulum()
    problem.free(name, 0.45, 2.0)
    solver = SolverSQP(problem)
    solution = solver.solve()
    assert solution.converged
    assert solution.unknowns[name] == pytest.approx(0.45, rel=1e-8)
    assert problem.get_parameter(name, "running") == {"length": 0.5, "mass": 1.0}[name]  # the guess stays
    costs = []
    for move in (-1e-4, 1e-4):
        fixed.set_parameter(name, 0.45 + move, knots="running")
        costs.append(SolverSQP(fixed).solve(solution).cost)
    slope = (costs[1] - costs[0]) / 2e-4
    assert solution.multipliers["unknowns"].shape == (101, 1)
    assert solution.multipliers["unknowns"][0, 0] == pytest.approx(slope, rel=1e-5)
    assert f"unknown '{name}': 0.45" in solution.explain()
    assert "at its lower bound; to lower it by 1 % would save" in solution.explain()
    loaded = trajopt.Solution.load(solution.save(tmp_path / "solution.npz"), problem)
    assert f"{name}=0.45" in repr(loaded)
    assert loaded.to_dict()["unknowns"][name] == solution.unknowns[name]
    assert solver.solve(loaded).iterations <= 3
    assert np.abs(loaded.gaps()).max() < 1e-12


def test_limits_of_controls_that_an_unknown_moves() -> None:
    """|u - r| <= 1 with r within ±0.5 [N]: past a goal at d the mass runs with 1.5 N, d = u dt² N (N + 1) / 2."""
    model = free_problems.Mass(2, (-1.0, 1.0))
    problem = free_problems.posed(trajopt.IntegratedActionModelEuler(model, dt=0.1), [0.0, 0.0], 20, [1.0], 1)
    problem.free("dt", 0.01, 1.0)
    problem.free("limit.reference", -0.5, 0.5)
    for solver in (SolverSQP(problem), SolverIpopt(problem)):
        solution = solver.solve()
        assert solution.iterations <= 20  # 22 with limits that do not move
        assert solution.unknowns["limit.reference"] == pytest.approx(0.5, abs=1e-6)
        assert solution.unknowns["dt"] == pytest.approx(np.sqrt(2.0 / (1.5 * 20 * 21)), rel=1e-6)


def test_solution_has_the_shapes_and_parameters_of_the_problem() -> None:
    problem, _, time = double_integrator()
    solution = SolverSQP(problem).solve()
    assert solution.K is not None
    assert solution.K.shape == (40, 1, 2)
    assert solution.xs.shape == (41, 2)
    assert solution.multipliers["dynamics"].shape == (41, 2)
    assert "start" not in solution.multipliers
    assert solution.times is not None
    assert solution.times[-1] == pytest.approx(time)
    assert solution.cost == pytest.approx(sum(solution.cost_terms()["time"][:-1]))


def test_rows_of_a_batch_and_the_best_of_many_starts_have_the_times_that_were_chosen(tmp_path: Path) -> None:
    problem, _, time = double_integrator()
    solutions = SolverSQP(problem).solve_batch(x0=np.stack([problem.x0, 0.5 * problem.x0]))
    path = solutions.save(tmp_path / "batch.npz")
    alone = SolutionBatch.load(path)[0]
    for found in (*solutions, SolutionBatch.load(path, problem)[0], SolverSQP(problem).solve(starts=3)):
        assert found.times is not None
        assert found.times[-1] == pytest.approx(40 * found.unknowns["dt"])
        np.testing.assert_allclose(found.gaps(), 0.0, atol=1e-9)
    assert solutions[[0]][0].times[-1] == pytest.approx(time)
    np.testing.assert_array_equal(alone.parameters["dt"], solutions[0].parameters["dt"])


def test_free_start_and_free_time_together() -> None:
    """A mass that begins at rest anywhere behind 0.5 m takes the nearest place."""
    problem, _, _ = double_integrator()
    state, low = problem.state, np.array([0.0, 0.0])
    chosen = trajopt.ShootingProblem(
        np.zeros(state.nx), list(problem.running), problem.terminal, start=(low, np.array([0.5, 0.0]))
    )
    chosen.free("dt", 1e-3, 1.0)
    for solver in (SolverSQP(chosen), SolverIpopt(chosen)):
        solution = solver.solve()
        assert solution.xs[0, 0] == pytest.approx(0.5, abs=1e-6)
        assert chosen.T * solution.unknowns["dt"] == pytest.approx(2.0 * np.sqrt(0.5), rel=1e-6)
    assert SolverSQP(chosen).solve().multipliers["start"].shape == (2,)


@pytest.mark.slow
def test_time_of_an_arm_as_ipopt_and_as_a_scan() -> None:
    case = problems.load("arm-reach")
    case.problem.free("dt", 0.005, 0.02)
    own = SolverSQP(case.problem).solve(case.xs, case.us)
    other = SolverIpopt(case.problem).solve(case.xs, case.us)
    assert own.unknowns["dt"] == pytest.approx(other.unknowns["dt"], rel=1e-5)
    assert own.cost == pytest.approx(other.cost, rel=1e-9)
    fixed = problems.load("arm-reach").problem
    for factor in (0.9, 1.1):
        fixed.set_parameter("dt", factor * float(own.unknowns["dt"]), knots="running")
        assert SolverSQP(fixed).solve(own).cost > own.cost


@pytest.mark.slow
def test_time_step_of_a_walk_with_contacts_is_the_best_of_a_scan() -> None:
    case = problems.load("biped-walk")
    first = SolverSQP(case.problem).solve(case.xs, case.us)
    case.problem.free("dt", 0.01, 0.04)
    solution = SolverSQP(case.problem).solve(first)
    assert solution.converged
    assert solution.cost < first.cost
    fixed = problems.load("biped-walk").problem
    for factor in (0.98, 1.02):
        fixed.set_parameter("dt", factor * float(solution.unknowns["dt"]), knots="running")
        assert SolverSQP(fixed).solve(solution).cost > solution.cost


@pytest.mark.slow
def test_walk_with_impacts_and_free_time_ends_quadratically_with_exact_hessians() -> None:
    """Half the squared Newton step, which stops a solve, falls as the square of the last one."""
    schedule = biped_walk(stance_of("bolt"), step_length=0.05, step_height=0.03, dt=0.02, step_knots=8, support_knots=2)
    problem = gait_problem(robot_of("bolt"), schedule)
    problem.free("dt", 0.002, 0.04)
    first = SolverFDDP(problem).solve(*gait_guess(problem, schedule))
    problem.free("dt", 0.002, 0.04, guess=1.03 * float(first.unknowns["dt"]))
    linear, exact = (
        SolverFDDP(problem, FDDPOptions(hessian=hessian, relative_tolerance=1e-13)).solve(first.xs, first.us)
        for hessian in ("gauss-newton", "exact")
    )
    assert exact.converged
    assert exact.cost == pytest.approx(linear.cost, rel=1e-12)
    assert exact.iterations < 0.5 * linear.iterations
    assert exact.cost == pytest.approx(SolverIpopt(problem).solve(exact).cost, rel=1e-9)
    before, last = [record.stop for record in exact.history][-2:]
    assert last < before**1.5


def test_solver_follows_parameters_and_x0_of_its_problem() -> None:
    problem, _, _ = double_integrator()
    solver = SolverSQP(problem)
    solver.solve()
    problem.x0 = [0.5, 0.0]
    assert problem.T * solver.solve().unknowns["dt"] == pytest.approx(2.0 * np.sqrt(0.5), rel=1e-6)
    problem.set_parameter("limit.upper", 4.0)
    problem.set_parameter("limit.lower", -4.0)
    assert problem.T * solver.solve().unknowns["dt"] == pytest.approx(2.0 * np.sqrt(0.125), rel=1e-6)
    problem.free("dt", 0.05, 0.2)
    assert solver.solve().unknowns["dt"] == pytest.approx(0.05)


def test_rows_that_a_fixed_x0_determines_are_not_enforced() -> None:
    model = free_problems.Mass(2, (-1.0, 1.0), speed=1.0)
    problem = free_problems.posed(trajopt.IntegratedActionModelEuler(model, dt=0.1), [0.0, 1.1], 20, [1.0, 0.0])
    problem.free("dt", 0.01, 1.0)
    solution = SolverSQP(problem).solve()
    assert solution.violations()["speed"][0, 0] > 0.0
    assert SolverIpopt(problem).solve().unknowns["dt"] == pytest.approx(solution.unknowns["dt"], rel=1e-5)


def test_controllers_and_derivatives_refuse() -> None:
    free = pendulum()
    free.free("mass", 0.5, 2.0)
    solution = SolverSQP(free).solve()
    with pytest.raises(InvalidArgumentError, match="problem without unknowns"):
        MPCController(free)
    with pytest.raises(InvalidArgumentError, match="one without unknowns, got one that chose mass"):
        SolutionDerivatives(solution)


def test_a_failed_solve_names_the_bound_of_an_unknown_first() -> None:
    """The state of an interior point is a little inside of its bound; that is at the bound. 0.01 inside is not."""
    problem = pendulum()
    problem.free("length", 0.45, 2.0)
    end = SolverSQP(problem, SQPOptions(max_iterations=2)).solve()
    for value, side, words in ((0.450003, "lower", "lower that bound"), (1.9999, "upper", "raise that bound")):
        lines = dataclasses.replace(end, unknowns={"length": np.array(value)}).explain().splitlines()
        assert next(line for line in lines if f"'length': {value:g}" in line).endswith(f", at its {side} bound")
        first = next(line for line in lines if line.startswith("->"))
        assert f"unknown 'length' ended at its {side} bound" in first
        assert words in first
    inside = dataclasses.replace(end, unknowns={"length": np.array(0.46)}).explain()
    assert "unknown 'length': 0.46 m, within its bounds" in inside
    assert "ended at its" not in inside


def test_an_unknown_with_one_bound_is_within_it() -> None:
    problem = pendulum()
    problem.free("length", 0.45, np.inf, guess=1.0)
    end = SolverSQP(problem, SQPOptions(max_iterations=2)).solve()
    assert "within its bounds" in dataclasses.replace(end, unknowns={"length": np.array(0.9)}).explain()
