"""What SolverSQP tries where its first steps fail, and when it says that nothing can be done."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from tests.solvers.test_sqp_clock import corner
from tests.support.constraints_that_hold import pendulum_problem
from tests.support.hard_problems import (
    acrobot,
    among_posts,
    aside,
    crane,
    double_integrator,
    hopper,
    load,
    reach_by_torque,
    reach_of_a_light_wrist,
    rocket,
    scara,
    slot,
    trailer,
)
from tests.support.nearby import nearby
from trajopt.analysis.advice import progress
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverIpopt, SolverSQP, SQPOptions
from trajopt.solvers.sqp.attempts import ENDS, SIZES, Attempts, Left
from trajopt.solvers.sqp.progress import SQPProgress


def methods(solution: Solution) -> list[str]:
    """Methods that took its steps, one after the other."""
    return [method for method, _ in groupby(record.method for record in solution.history)]


def worst(solution: Solution) -> float:
    """Largest gap or violation."""
    violations = [v.max(initial=0.0) for v in solution.violations().values()]
    return float(max(np.abs(solution.gaps()).max(), *violations))


def test_a_trailer_in_a_bay_is_solved_along_lines() -> None:
    """Its first rollout leaves the program; from the guess by rollouts it takes 146 iterations, IPOPT 173."""
    problem, guess = trailer()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.status is SolverStatus.CONVERGED
    assert methods(solution) == ["linear"]
    assert solution.iterations <= 40
    assert worst(solution) < 1e-7
    assert np.abs(solution.stationarity()).max() < 1e-6
    assert solution.cost < 1.02 * SolverIpopt(problem).solve(*guess).cost


def test_a_crane_is_solved_by_interior_points() -> None:
    problem, guess = crane()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.converged
    assert methods(solution) == ["linear", "interior"]
    assert {(record.attempt, record.method) for record in solution.history} == {(1, "linear"), (2, "interior")}
    assert worst(solution) < 1e-6


@pytest.mark.slow
def test_a_car_that_can_not_turn_at_its_guess_parks_among_posts() -> None:
    """Its first interior-point steps are long and say nothing. Where they are kept, 300 iterations find nothing."""
    solution = SolverSQP(among_posts()).solve()
    assert solution.converged
    assert methods(solution) == ["linear", "interior"]
    assert solution.iterations <= 100
    assert worst(solution) < 1e-6
    assert np.abs(solution.stationarity()).max() < 1e-6
    assert solution.cost == pytest.approx(7.963, rel=1e-3)  # IPOPT 7.963


@pytest.mark.parametrize("T", [30, 40, 60])
def test_a_rocket_that_rollouts_do_not_land_is_solved_along_lines(T: int) -> None:
    problem = rocket(T)
    solution = SolverSQP(problem).solve(np.tile(problem.x0, (T + 1, 1)))
    assert solution.converged
    assert methods(solution) == ["policy", "linear"]
    assert solution.iterations <= 80
    assert worst(solution) < 2e-5  # [m] of a fall of 500 m
    assert solution.cost == pytest.approx(0.10574, rel=1e-3)


def test_linear_steps_end_what_rollouts_go_round_about() -> None:
    """Near the solution each rollout's step is whole, and the next one goes back."""
    problem, guess = load()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.converged
    assert methods(solution) == ["policy", "linear"]
    assert sum(record.method == "linear" for record in solution.history) <= 10
    assert solution.cost == pytest.approx(0.11471268, rel=1e-6)


def test_a_car_that_can_not_go_aside_from_its_guess_to_first_order() -> None:
    problem, (xs, _) = aside()
    solution = SolverSQP(problem).solve(xs)
    assert solution.converged
    assert solution.iterations <= 60
    assert solution.cost == pytest.approx(0.84252516, rel=1e-6)


def test_a_guess_that_leads_nowhere_does_not_keep_the_solver_from_what_it_finds_alone() -> None:
    problem, guess = slot()
    solution, alone = SolverSQP(problem).solve(*guess), SolverSQP(problem).solve()
    assert solution.converged
    assert alone.converged
    assert solution.cost <= (1.0 + 1e-6) * alone.cost


@pytest.mark.slow
@pytest.mark.parametrize(("robot", "dt"), [("ur5", 0.02), ("ur5", 0.05), ("panda", 0.02), ("panda", 0.05)])
def test_arms_that_pay_for_torque_alone_reach_their_goal(robot: str, dt: float) -> None:
    """From starts beside one another: rounding decides which of them, 0 to 3 of 9, take more than 300 iterations."""
    solutions = [SolverSQP(problem).solve() for problem in nearby(reach_by_torque(robot, dt, 1e-3), 9)]
    found = [solution for solution in solutions if solution.converged]
    assert max(map(worst, found)) < 1e-6
    assert len(found) >= 5


def test_a_flat_saddle_is_left_with_less_and_less_regularisation() -> None:
    """IPOPT takes 24 iterations to the same cost; with the same δ after each failure it took 300 and ended above."""
    solution = SolverSQP(scara()).solve()
    assert solution.converged
    assert solution.iterations <= 25
    assert solution.cost == pytest.approx(33.714441, rel=1e-6)


def test_many_turns_of_methods_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MOST_METHODS", 2)
    problem, guess = slot()
    solution = SolverSQP(problem).solve(*guess)
    (line,) = [line for line in solution.explain().splitlines() if line.startswith("  steps: ")]
    taken, attempts = [record.method for record in solution.history], solution.history[-1].attempt
    assert line == (
        f"  steps: {attempts} attempts, with {taken.count('policy')} rollouts, {taken.count('linear')} along lines, "
        f"{taken.count('interior')} by interior points in all"
    )


def test_two_ends_where_hanging_links_begin_are_no_verdict() -> None:
    """To first order no torque lifts the tip: the first attempt ends where it begins, and that from rest again."""
    attempts = Attempts([])
    attempts.dead_ends = [replace(dead_end(1.8), moved=False)] * 2
    assert attempts.verdict() is SolverStatus.STALLED
    attempts.dead_ends = [dead_end(1.8)] * 2
    assert attempts.verdict() is SolverStatus.INFEASIBLE


@pytest.mark.parametrize("change", [0.0, 1e-9])
def test_a_result_says_whether_an_attempt_left_the_guess(change: float) -> None:
    """Also if it is not the guess itself, but a copy."""
    xs, us, nothing = np.zeros((3, 2)), np.ones((2, 1)), np.zeros(0)
    run = SQPProgress(x0=xs[0], trajectory=(xs, us + change), feasible=True, multipliers={}, called=0.0)
    run.guess, run.violation, run.lam, run.y, run.start_y = (xs, us), 0.5, nothing, nothing, nothing
    assert Left.by(run).moved is (change > 0.0)


@pytest.mark.parametrize(
    ("cost", "infeasibility", "better"), [(0.02, 0.0, True), (0.02, 1e-3, False), (1.95, 0.0, False)]
)
def test_a_solution_is_none_where_a_feasible_result_is_much_cheaper(
    cost: float, infeasibility: float, better: bool
) -> None:
    """A finger that lets a block lie is a local optimum; the attempt before it had pushed it to its place."""
    xs, us, nothing = np.zeros((3, 2)), np.ones((2, 1)), np.zeros(0)
    run = SQPProgress(x0=xs[0], trajectory=(xs, us), feasible=True, multipliers={}, called=0.0)
    run.cost, attempts = 2.0, Attempts([], feasibility=1e-6)
    assert not attempts.knows_better(run)
    attempts.best = Left((xs, us), cost, infeasibility, True, (nothing, nothing, nothing))
    assert attempts.knows_better(run) is better


def test_the_solver_goes_on_where_a_better_result_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, alone = double_integrator(1.0), SolverSQP(double_integrator(1.0)).solve()
    monkeypatch.setattr(Attempts, "knows_better", lambda self, run: True)
    solution = SolverSQP(problem).solve()
    assert alone.converged
    assert solution.iterations > alone.iterations
    assert solution.status is SolverStatus.LINE_SEARCH_FAILED  # of the cheaper result, which keeps all rows
    assert "all constraints hold" in solution.explain()
    assert "contradict" not in solution.explain()
    assert solution.cost == pytest.approx(alone.cost, rel=1e-6)


def test_ends_of_attempts_with_sizes_of_their_own_are_not_compared() -> None:
    attempts, own = Attempts([]), []
    for number in range(6):
        attempts.pending = ["random"] * (len(SIZES) - 1 - number)
        attempts.begin(0, "random")
        own.append(attempts.own_units)
        attempts.end(dead_end(0.5 + number))
    assert own == [False, True, False, False, True, False]
    assert [each.squares for each in attempts.dead_ends] == [0.5, 2.5, 3.5, 5.5]
    attempts.begin(0, "rest")
    attempts.end(dead_end(0.1))
    for kind in ("close", "paused"):  # they go on from there
        attempts.begin(0, kind)
        attempts.end(dead_end(0.2))
    assert len(attempts.dead_ends) == 4


def test_contact_by_complementarity() -> None:
    problem, guess = hopper()
    solution = SolverSQP(problem).solve(*guess)
    assert solution.status is SolverStatus.CONVERGED
    assert solution.iterations <= 45  # IPOPT's
    assert worst(solution) < 1e-7
    assert solution.cost == pytest.approx(0.03123312, rel=1e-4)  # IPOPT's optimum
    force, height = solution.us[:, 1], solution.xs[1:, 1]
    assert (force * height).max() < 1.0001e-2
    assert force.max() > 20.0


def test_the_solution_of_the_second_method_has_gains_and_multipliers() -> None:
    problem = corner(13, limited=True)
    solution = SolverSQP(problem).solve()
    assert solution.history[-1].method == "interior"
    assert solution.K is not None
    assert np.isfinite(solution.K).all()
    assert np.abs(solution.K).max() > 0.0
    again = SolverSQP(problem).solve(solution)
    assert again.converged
    assert again.iterations <= 3
    assert again.cost == pytest.approx(solution.cost, rel=1e-7)


@pytest.mark.parametrize(
    ("problem", "row"),
    [
        pytest.param(double_integrator(1.0, wall=0.5), "wall", id="start beyond a wall"),
        pytest.param(double_integrator(0.0, wall=0.5, end=1.0), "end", id="end beyond a wall"),
        pytest.param(double_integrator(0.0, end=30.0), "end", id="end out of reach"),
        pytest.param(double_integrator(0.0, end=1.0, T=1), "end", id="one knot"),
    ],
)
def test_infeasible_problems_end_as_infeasible_within_60_iterations(problem: object, row: str) -> None:
    solution = SolverSQP(problem).solve()  # type: ignore[arg-type]
    assert solution.status is SolverStatus.INFEASIBLE
    assert solution.iterations <= 60
    worst_row = max(solution.violations().items(), key=lambda item: item[1].max())[0]
    assert worst_row in (row, "wall")
    assert row in solution.explain()


def test_swing_ups_from_other_states() -> None:
    """A state from which the linearised pendulum moves by 1e9 rad for next to no cost."""
    problem = pendulum_problem()
    problem.set_parameter("dt", 0.05)
    problem.x0 = [-2.8841, 2.7604]
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert worst(solution) < 1e-7


def test_rows_that_are_soft_leave_one_method() -> None:
    attempts = Attempts.after(rolled=False, interior=False, feasibility=1e-7)
    assert attempts.pending == ["linear", "anew", "rest"]


def test_random_controls_are_the_same_again_and_of_the_size_of_limits() -> None:
    class Rows:
        u_lower = np.tile([-2.0, -np.inf], (50, 1))
        u_upper = np.tile([2.0, np.inf], (50, 1))

    us, step = np.zeros((50, 2)), np.array([100.0, 0.3])
    changes = []
    for _ in range(2):
        attempts = Attempts.after(rolled=True, interior=True, feasibility=1e-7)
        attempts.pending = ["random"] * (len(SIZES) - 1)  # the first is taken
        changes.append(attempts.random_controls(us, step, Rows()))  # type: ignore[arg-type]
    assert np.array_equal(*changes)
    for j, size in enumerate((2.0, 0.3)):
        assert 0.02 * size < np.abs(changes[0][:, j]).max() < SIZES[0] * size * 8.0


def test_stalling_is_counted_from_the_last_time_the_error_was_halved() -> None:
    attempts = Attempts([])
    errors = [8.0, 5.0, 3.9, 3.8, 3.7, 3.6]
    assert [attempts.stalls(i, error, error, 0.0, 3) for i, error in enumerate(errors)] == [False] * 5 + [True]


def test_rows_that_are_missed_by_less_and_less_count_as_progress_beside_any_gradient() -> None:
    attempts = Attempts([])
    missed = [1.0, 0.8, 0.39, 0.5, 0.3, 0.2, 0.15]  # 0.15 is less than 0.4 times 0.39
    assert [attempts.stalls(i, 10.0 + i, v, 0.0, 3) for i, v in enumerate(missed)] == [False] * 5 + [True, False]


def test_a_cost_that_falls_counts_as_progress_once_all_rows_are_kept() -> None:
    attempts = Attempts([], feasibility=1e-6)
    costs = [9.0, 8.5, 8.2, 8.0, 7.9, 7.8, 7.7]  # 8.0 is less than 9 by more than a tenth
    assert [attempts.stalls(i, 1.0, 0.0, c, 3) for i, c in enumerate(costs)] == [False] * 6 + [True]
    attempts = Attempts([], feasibility=1e-6)
    assert [attempts.stalls(i, 1.0, 0.0, c - 10.0, 3) for i, c in enumerate(costs)] == [False] * 7  # from -1 to -2.3
    attempts = Attempts([], feasibility=1e-6)
    assert [attempts.stalls(i, 1.0, 0.1, c, 3) for i, c in enumerate(costs)] == [False] * 3 + [True] * 4
    attempts.begin(0, "anew")
    assert [attempts.stalls(i, 1.0, 0.0, c, 3) for i, c in enumerate(costs)] == [False] * 3 + [True] * 4


@pytest.mark.slow
def test_the_limits_of_its_motor_do_not_keep_an_acrobot_from_its_way_up() -> None:
    """Gradients are large until the end, while the cost falls from 5,000 to 1: other methods would begin anew."""
    solutions = [SolverSQP(problem).solve() for problem in nearby(acrobot(12.0), 5)]  # one of five may be slow
    for solution in solutions:
        assert solution.converged
        assert np.abs(solution.us).max() < 12.0
        assert solution.cost == pytest.approx(1.021006, rel=1e-6)
    assert sum(methods(solution) == ["policy"] for solution in solutions) >= 3


def test_arms_come_closer_to_their_goal_step_by_short_step() -> None:
    """Violations fell to a third in 25 iterations, which counted as none beside the gradient of the penalty."""
    solution = SolverSQP(reach_of_a_light_wrist()).solve()
    assert solution.converged
    assert methods(solution) == ["policy"]
    assert solution.iterations <= 90  # IPOPT takes 148
    assert worst(solution) < 1e-6


def dead_end(squares: float, infeasibility: float = 0.5) -> Left:
    nothing = np.zeros(0)
    return Left((nothing, nothing), 0.0, infeasibility, True, (nothing, nothing, nothing), squares)


def test_verdicts_need_attempts_that_end_alike() -> None:
    alike = Attempts(["random"] * 9)
    ends = [alike.end(dead_end(0.5, 0.5 + 0.1 * i)) for i in range(ENDS)]  # the largest violation may differ
    assert ends == [None] * (ENDS - 1) + [SolverStatus.INFEASIBLE]
    for others in ((0.1,), (0.7, 0.8, 0.9)):  # a better one, which may not be the best, or several kinds of worse ones
        unlike = Attempts(["random"])
        assert [unlike.end(dead_end(other)) for other in others] == [None] * len(others)
        assert [unlike.end(dead_end(0.5)) for _ in range(ENDS)] == [None] * ENDS
        unlike.pending.clear()
        assert unlike.end(dead_end(0.5)) is SolverStatus.STALLED


def test_an_end_above_the_others_is_no_evidence_of_a_solution() -> None:
    attempts = Attempts(["random"])
    assert attempts.end(dead_end(0.7)) is None
    assert [attempts.end(dead_end(0.5)) for _ in range(ENDS)] == [None] * (ENDS - 1) + [SolverStatus.INFEASIBLE]


def test_attempts_that_run_out_need_two_ends() -> None:
    attempts = Attempts([])
    assert attempts.end(dead_end(0.3)) is SolverStatus.STALLED
    assert attempts.end(dead_end(0.301)) is SolverStatus.INFEASIBLE


def test_an_attempt_that_came_closer_is_evidence_of_a_solution() -> None:
    """A car that parks behind a circle: of 30 attempts three were dead ends, 3 m off, another one 0.2 m."""
    attempts = Attempts(["random"], least=1e-5)
    assert [attempts.end(dead_end(0.3)) for _ in range(2 * ENDS)] == [None] * (2 * ENDS)


@pytest.mark.parametrize(("feasible", "least"), [(True, 1e-5), (False, np.inf)])
def test_only_violations_of_rollouts_are_compared(feasible: bool, least: float) -> None:
    """Those of lines are also in their gaps."""
    xs, us, nothing, attempts = np.zeros((3, 2)), np.ones((2, 1)), np.zeros(0), Attempts(["random"])
    run = SQPProgress(x0=xs[0], trajectory=(xs, us), feasible=feasible, multipliers={}, called=0.0)
    run.guess, run.violation, run.lam, run.y, run.start_y = (xs, us), 0.5, nothing, nothing, nothing
    run.squares = 1e-5
    attempts.leave(run)
    assert attempts.least == least


def test_methods_are_saved(tmp_path: Path) -> None:
    problem, guess = crane()
    solution = SolverSQP(problem, SQPOptions(max_iterations=60)).solve(*guess)
    loaded = Solution.load(solution.save(tmp_path / "crane.npz"))
    assert [record.method for record in loaded.history] == [record.method for record in solution.history]
    assert IterationRecord(iteration=1, cost=0.0, seconds=0.0).method == ""


def test_without_a_solution_the_best_attempt_is_returned() -> None:
    problem, guess = slot()
    solution = SolverSQP(problem, SQPOptions(max_iterations=70)).solve(*guess)
    assert solution.status is SolverStatus.MAX_ITERATIONS
    assert solution.history[-1].method == "interior"  # the last of which is further off
    left = [record.constraint_violation for record in solution.history if record.method == "policy"][-1]
    assert worst(solution) <= left < max(solution.history[-1].gap_norm, solution.history[-1].constraint_violation)


def test_swing_ups_from_random_states() -> None:
    problem = pendulum_problem()
    problem.set_parameter("dt", 0.05)
    solver, random = SolverSQP(problem), np.random.default_rng(0)
    for _ in range(20):
        problem.x0 = random.uniform([-np.pi, -8.0], [np.pi, 8.0])
        assert solver.solve().converged
