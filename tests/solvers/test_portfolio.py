"""One problem from several guesses, and libraries of warm starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.hard_problems import slot
from trajopt import Solution, SolutionLibrary, problems
from trajopt.errors import InvalidArgumentError, UnknownNameError
from trajopt.solvers import DDPOptions, SolverDDP, SolverFDDP, SolverSQP, SQPOptions
from trajopt.solvers.batch.portfolio import best_of, guesses, unknowns_of
from trajopt.solvers.batch.race import FIRST, Racer, race
from trajopt.solvers.batch.results import BatchResults


def pendulum(T: int = 40) -> Any:
    return problems.load("pendulum", T=T).problem


class Spring(trajopt.DifferentialActionModelSymbolic):
    """A mass of 1 kg at 1 m on a spring of unknown stiffness [N/m], which is to be at rest at -1 m after 1 s."""

    def __init__(self) -> None:
        state = trajopt.StateVector(2)
        super().__init__(state, 1, trajopt.CostStack(state).add("force", trajopt.ResidualModelControl(state), 1.0))
        self.stiffness = self.parameter("stiffness", 64.0, unit="N/m")

    def acceleration(self, x: SX, u: SX) -> SX:
        return u - self.stiffness * x[0]


def spring() -> trajopt.ShootingProblem:
    state = trajopt.StateVector(2)
    end = trajopt.CostStack(state).add("goal", trajopt.ResidualModelState(state, [-1.0, 0.0]), 1e3)
    return trajopt.ShootingProblem([1.0, 0.0], [trajopt.IntegratedActionModelRK4(Spring(), dt=0.02)] * 50, end)


def starts(n: int) -> Any:
    return np.random.default_rng(0).uniform(-0.6, 0.6, (n, 2))


@pytest.mark.parametrize("kind", [SolverDDP, SolverFDDP, SolverSQP])
def test_the_best_of_several_starts(kind: Any) -> None:
    solver = kind(problems.load("pendulum-limits" if kind is SolverSQP else "pendulum", T=40).problem)
    one, best = solver.solve(), solver.solve(starts=6)
    assert best.converged
    assert best.cost <= one.cost * (1 + 1e-9)
    assert best.cost == pytest.approx(best.optima[0][0])
    assert sum(count for _, count in best.optima) <= 6
    assert [cost for cost, _ in best.optima] == sorted(cost for cost, _ in best.optima)
    assert re.search(r"optima: [\d.]+ from \d start", best.explain())
    assert np.abs(best.gaps()).max() < 1e-8
    again = solver.solve(starts=6)
    np.testing.assert_array_equal(again.xs, best.xs)


def test_several_starts_find_an_optimum_that_one_misses() -> None:
    """A pendulum that may swing up either way: from some guesses it takes the longer one."""
    problem = pendulum(60)
    problem.x0 = [0.8, -1.0]
    solver = SolverDDP(problem)
    xs, us, _ = solver._guess(None, None, False)
    alone = [solver.solve(*guess) for guess in zip(*guesses(problem, xs, us, 12, seed=1))]
    best = solver.solve(starts=12, seed=1)
    costs = [one.cost for one in alone if one.converged]
    assert max(costs) > 1.001 * min(costs)
    assert best.cost == pytest.approx(min(costs), rel=1e-9)
    assert sum(count for _, count in best.optima) < len(costs)  # others were stopped
    ends = {name: count for name, count, _ in best.ends}
    assert ends[""] == 12 - ends["CONVERGED"] > 0
    text = f"  of 12 starts: {ends['CONVERGED']} converged, {ends['']} given up, as others promised a lower cost"
    assert sorted(best.explain().splitlines()[2].split(": ")[1].split(", ")) == sorted(text.split(": ")[1].split(", "))


def test_starts_that_do_not_converge_are_counted_with_their_lowest_cost() -> None:
    problem = pendulum()
    solver = SolverDDP(problem, DDPOptions(max_iterations=1))
    xs, us, _ = solver._guess(None, None, False)
    alone = [solver.solve(*guess) for guess in zip(*guesses(problem, xs, us, 4, seed=0))]
    assert not any(one.converged for one in alone)
    best, lowest = solver.solve(starts=4), min(one.cost for one in alone)
    assert best.optima == ()
    assert best.ends == (("MAX_ITERATIONS", 4, lowest),)
    assert f"  of 4 starts: 4 stopped at max_iterations (lowest cost {lowest:.7g})" in best.explain().splitlines()


def test_starts_that_violate_constraints_have_no_cost() -> None:
    """The cost of a motion that does not reach its goal may be 0."""
    problem = problems.load("pendulum-limits", T=40).problem
    solver = SolverSQP(problem, SQPOptions(max_iterations=4))
    xs, us, _ = solver._guess(None, None, False)
    alone = [solver.solve(*guess) for guess in zip(*guesses(problem, xs, us, 4, seed=0))]
    least = min(max(rows.max() for rows in one.violations().values()) for one in alone)
    assert least > 1e-3
    best = solver.solve(starts=4)
    ((name, count, cost),) = best.ends
    assert (name, count) == ("MAX_ITERATIONS", 4)
    assert np.isnan(cost)
    words = f"4 stopped at max_iterations; none keeps dynamics and constraints, the least violation is {least:.3g}"
    assert f"  of 4 starts: {words}" in best.explain().splitlines()


@pytest.mark.parametrize("most", [100, 2])
def test_a_file_keeps_optima_and_ends(most: int, tmp_path: Path) -> None:
    """Also of starts that were given up, whose cost is NaN, and of those that did not converge."""
    problem = pendulum(60)
    problem.x0 = [0.8, -1.0]
    best = SolverDDP(problem, DDPOptions(max_iterations=most)).solve(starts=6, seed=1)
    loaded = Solution.load(best.save(tmp_path / "best.npz"), problem)
    assert loaded.optima == best.optima
    np.testing.assert_equal(loaded.ends, best.ends)
    assert loaded.explain() == best.explain()
    assert any(line.startswith("  of 6 starts: ") for line in loaded.explain().splitlines())


def test_a_race_ends_each_solve_as_if_alone() -> None:
    problem = pendulum(60)
    problem.x0 = [0.8, -1.0]
    solver = SolverDDP(problem)
    xs, us, _ = solver._guess(None, None, False)
    states, controls = guesses(problem, xs, us, 6, seed=1)
    alone = [solver.solve(*guess) for guess in zip(states, controls)]
    for _ in range(2):  # the second time with the solvers of the first
        results = BatchResults(problem, 6)
        race(solver, states, controls, results)
        ended = np.flatnonzero(results.done)
        assert len(ended)
        for i in ended:
            np.testing.assert_array_equal(results.xs[i], alone[i].xs)
            assert [r.cost for r in results.histories[i]] == [r.cost for r in alone[i].history]
            assert results.status[i] == alone[i].status.name
        lowest = min(one.cost for one in alone if one.converged)
        assert results.cost[ended].min() == pytest.approx(lowest, rel=1e-6)


@pytest.mark.parametrize("fails", [False, True], ids=["converges", "fails"])
def test_of_guesses_at_the_same_cost_one_goes_on(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one waits, and goes on only if the first one ends without a solution."""
    problem = pendulum(60)
    problem.x0 = [0.8, -1.0]
    solver, took, go_on = SolverDDP(problem), dict[int, int](), Racer.go_on
    xs, us, _ = solver._guess(None, None, False)
    alone = solver.solve(xs, us)
    assert alone.iterations > FIRST

    def counted(racer: Racer, iterations: int) -> None:
        go_on(racer, iterations)
        took[id(racer)] = racer.run.iterations
        if fails and sorted(took.values()) == [FIRST, FIRST + 1]:
            raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Racer, "go_on", counted)
    results = BatchResults(problem, 2)
    race(solver, np.array([xs, xs]), np.array([us, us]), results)
    assert sorted(took.values()) == sorted([FIRST + 1 if fails else FIRST, alone.iterations])
    assert np.count_nonzero(results.status == "CONVERGED") == 1
    assert results.cost[results.status == "CONVERGED"] == alone.cost


def test_a_guess_that_raises_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = pendulum()
    solver, start = SolverDDP(problem), SolverDDP._start

    def fails(own: Any, *arguments: Any) -> Any:
        if own is not solver:
            raise InvalidArgumentError("a bug")
        return start(own, *arguments)

    alone = solver.solve()
    monkeypatch.setattr(SolverDDP, "_start", fails)
    best = solver.solve(starts=4)
    np.testing.assert_array_equal(best.xs, alone.xs)
    assert "  of 4 starts: 3 ended with an error, 1 converged" in best.explain().splitlines()


def test_a_guess_that_was_passed_is_one_of_the_starts() -> None:
    problem = pendulum()
    solver = SolverDDP(problem, DDPOptions(max_iterations=3))
    solution = SolverDDP(problem).solve()
    best = solver.solve(solution, starts=3)
    assert best.converged
    assert best.cost == pytest.approx(solution.cost, rel=1e-8)


def test_guesses_differ_and_the_first_is_the_one_that_was_passed() -> None:
    problem = pendulum(20)
    problem.x0 = [0.4, 0.0]
    rng = np.random.default_rng(0)
    xs, us = rng.normal(0.0, 0.3, (21, 2)), rng.normal(0.0, 0.3, (20, 1))
    states, controls = guesses(problem, xs, us, 7, seed=0)
    np.testing.assert_array_equal(states[0], xs)
    np.testing.assert_array_equal(controls[:2], [us, us])
    np.testing.assert_array_equal(states[1], problem.rollout(us))
    np.testing.assert_array_equal(states[2], np.tile(problem.x0, (21, 1)))
    np.testing.assert_array_equal(controls[3], 0.0 * us)
    for guess, held in zip(states[4:], controls[4:]):
        np.testing.assert_allclose(guess[[0, -1]], xs[[0, -1]], atol=1e-12)
        np.testing.assert_allclose(held, problem.quasi_static(guess[:-1]))
    assert len({guess.tobytes() + control.tobytes() for guess, control in zip(states, controls)}) >= 6
    again, _ = guesses(problem, xs, us, 7, seed=0)
    other, _ = guesses(problem, xs, us, 7, seed=1)
    np.testing.assert_array_equal(again, states)
    assert np.any(other[4:] != states[4:])


@pytest.mark.parametrize("kind", [SolverFDDP, SolverSQP])
def test_starts_have_other_values_of_unknowns(kind: Any) -> None:
    """Half a period of 1 s needs no force; a stiffer spring ends at its bound, whatever the guess of the motion is."""
    problem = spring()
    problem.free("stiffness", 0.25, 75.0)
    solver = kind(problem)
    assert solver.solve().unknowns["stiffness"] == 75.0
    best = solver.solve(starts=4)
    assert best.unknowns["stiffness"] == pytest.approx(np.pi**2, rel=1e-5)
    assert best.cost < 1e-9
    assert problem.get_parameter("stiffness", "running") == 64.0
    again = solver.solve(best, starts=2)  # begins with the unknowns of the solution
    assert again.unknowns["stiffness"] == pytest.approx(best.unknowns["stiffness"], rel=1e-6)


def test_first_values_of_unknowns_are_spread_over_their_bounds() -> None:
    problem = spring()
    phases = [range(20), range(20, 50)]
    problem.free("dt", 1e-3, 1.0, knots=phases, total=2.0)
    problem.free("stiffness", 1.0, 1e6, guess=10.0)
    problem.free("goal.reference", [-np.inf, -3.0], [np.inf, -1.0], guess=[-1.0, -2.0])
    values = unknowns_of(problem, {}, 9, seed=0)
    stiffness, times, goals = values["stiffness"][:, 0], values["dt"], values["goal.reference"][:, 0]
    assert stiffness[0] == 10.0
    assert stiffness.max() < 100.0  # bounds may be wide
    assert np.all(np.diff(np.sort(np.log10(stiffness[1:]) // 0.25)) == 1.0)  # one in each part
    np.testing.assert_allclose(times.sum(axis=1), 2.0)
    assert not any(np.ptp(times[:, phase], axis=1).any() for phase in phases)
    assert len(np.unique(times[:, 0])) > 4
    np.testing.assert_array_equal(goals[0], [-1.0, -2.0])
    assert np.all((goals >= [-2.0, -3.0]) & (goals <= [0.0, -1.0]))
    assert np.all(np.ptp(goals, axis=0) > 1.0)


def test_starts_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match=r"starts: expected an integer >= 1, got 0"):
        SolverDDP(pendulum()).solve(starts=0)


def test_the_nearest_solution_is_the_guess(tmp_path: Path) -> None:
    problem = pendulum()
    solver, X = SolverDDP(problem), starts(30)
    solutions = solver.solve_batch(X)
    library = solutions.library()
    assert len(library) == np.count_nonzero(solutions.converged)
    scale = X.std(axis=0)
    for x0 in starts(5) + 0.05:
        distances = np.linalg.norm((X - x0) / scale, axis=1)
        found = library.nearest(x0, count=3)
        np.testing.assert_array_equal(found.x0, X[np.argsort(distances)[:3]])
        problem.x0 = x0
        warm, cold = solver.solve(library), solver.solve(solutions[int(np.argmin(distances))])
        np.testing.assert_array_equal(warm.xs, cold.xs)
    assert len(library.nearest(X[0], count=1000)) == len(library)
    loaded = SolutionLibrary.load(library.save(tmp_path / "library.npz"), problem)
    np.testing.assert_array_equal(loaded.nearest(X[3]).xs, library.nearest(X[3]).xs)
    assert repr(loaded) == repr(library) == f"SolutionLibrary({len(library)} solves by SolverDDP, found by x0)"


def test_parameters_count_beside_x0() -> None:
    problem = pendulum()
    solver = SolverDDP(problem)
    library = solver.solve_batch(parameters={"mass": np.array([0.5, 1.0, 2.0])}).library()
    problem.set_parameter("mass", 1.8)
    assert library.guess(problem).cost == library.nearest(problem.x0, {"mass": 2.0}).cost[0]
    with pytest.raises(InvalidArgumentError, match=r"parameters: expected a value of each of mass, missing mass"):
        library.nearest(problem.x0)
    with pytest.raises(UnknownNameError, match=r"parameters: 'lenght' not found. Known: mass"):
        library.nearest(problem.x0, {"lenght": 1.0})


def test_a_library_needs_converged_rows() -> None:
    solver = SolverDDP(pendulum(), DDPOptions(max_iterations=1))
    with pytest.raises(InvalidArgumentError, match=r"solutions: expected converged rows, got none"):
        solver.solve_batch(starts(3)).library()


def test_without_convergence_the_least_violation_is_best() -> None:
    """One iteration of SolverSQP from wild guesses: the cheapest result is not the least violated one."""
    problem = problems.load("pendulum-limits", T=40).problem
    solver = SolverSQP(problem, SQPOptions(max_iterations=1))
    us = np.random.default_rng(0).uniform(-3.0, 3.0, (8, problem.T, problem.nu))
    batch = solver.solve_batch(us=us, progress=False)
    assert not batch.converged.any()
    worst = [max(row.history[-1].gap_norm, row.history[-1].constraint_violation) for row in batch]
    assert int(np.argmin(batch.cost)) != int(np.argmin(worst))  # cost alone would choose another one
    np.testing.assert_array_equal(best_of(batch).us, batch.us[int(np.argmin(worst))])


@pytest.mark.slow
def test_unsolved_starts_are_ranked_by_the_motions_that_they_return() -> None:
    """The last iterations of each start belong to other attempts, which violate more."""
    problem, guess = slot()
    solver = SolverSQP(problem, SQPOptions(max_iterations=40))
    alone, best = solver.solve(*guess), solver.solve(*guess, starts=2)
    left = [max(float(rows.max()) for rows in each.violations().values()) for each in (alone, best)]
    assert not best.converged
    assert left[1] < 0.5 * left[0]
