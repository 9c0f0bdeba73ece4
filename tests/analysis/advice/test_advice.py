"""Advice of explain() where gaps are what is left, and advice that fits the problem."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from casadi import SX

import trajopt
from tests.support.unsolved import solution_of, trot
from trajopt import gaits
from trajopt.analysis.advice.clamped_controls import clamped_controls
from trajopt.analysis.advice.facts import more_guesses
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, Solution, SolverStatus
from trajopt.solvers import SolverFatrop, SolverFDDP, SolverIpopt

KNOTS = 4


class Move(trajopt.ActionModelDiscrete):
    """x⁺ = x + u with cost ½ u²; no cost at the end."""

    def next_state(self, x: SX, u: SX) -> SX:
        return x + u

    def running_cost(self, x: SX, u: SX) -> SX:
        return 0.5 * u**2

    def terminal_cost(self, x: SX) -> SX:
        return 0.0 * x


def move(*, limited: bool = True, boxed: bool = False, most: float = 1.0) -> ShootingProblem:
    """To x = 10 in four steps of at most `most`, which can't be with 1."""
    state = trajopt.StateVector(1)
    motor = trajopt.ConstraintStack(state).add("motor", trajopt.ResidualModelControl(state), lower=-most, upper=most)
    goal = trajopt.ConstraintStack(state).add("goal", trajopt.ResidualModelState(state, [10.0]), equals=0.0)
    knot: trajopt.ActionModelAbstract = Move(state, 1, constraints=motor) if limited else Move(state, 1)
    end: trajopt.ActionModelAbstract = Move(state, 1, constraints=goal) if limited else Move(state, 1)
    if boxed:
        knot = trajopt.ActionModelNumDiff(knot)
    return ShootingProblem([0.0], [knot] * KNOTS, end)


def left(problem: ShootingProblem, status: SolverStatus, solver: str, *, gap: float, short: bool = False) -> Solution:
    """A trajectory of steps of 1 with a gap before knot 2, and steps that were short."""
    xs = np.array([[0.0], [1.0], [2.0 + gap], [3.0 + gap], [4.0 + gap]])
    record = IterationRecord(iteration=1, cost=2.0, seconds=0.0, step_length=0.01 if short else 1.0)
    return Solution(
        xs=xs, us=np.ones((KNOTS, 1)), cost=2.0, status=status, iterations=1, history=(record,) * 12, solver=solver,
        seconds=0.1, x0=xs[0], problem=problem, parameters=problem.parameter_values(),
    )  # fmt: skip


def advice(solution: Solution) -> str:
    return "\n".join(line for line in solution.explain().splitlines() if line.startswith("->"))


def test_gaps_that_are_left_make_a_problem_infeasible() -> None:
    solution = left(move(), SolverStatus.INFEASIBLE, "SolverIpopt", gap=6.0)
    assert "no motion yet: largest gap 6 before knot 2" in solution.explain()
    assert "constraints hold" not in solution.explain()
    assert "the trajectory still has a gap of 6 before knot 2: no motion was found that satisfies all constraints" in (
        advice(solution)
    )
    assert "closer: \n" not in solution.explain()
    assert "-> IPOPT started from one guess, and its verdict is local: motions elsewhere may satisfy" in advice(
        solution
    )
    other = dataclasses.replace(solution, solver="SolverSQP")
    assert "-> this is no proof: solver.solve(starts=8) tries other guesses" in advice(other)
    several = dataclasses.replace(other, ends=(("INFEASIBLE", 5, np.nan), ("STALLED", 3, np.nan)))
    assert "-> this is no proof: motions other than those from these 8 guesses may satisfy all" in advice(several)
    assert "starts=8" not in advice(several)


def test_infeasible_without_its_problem_ends_with_words() -> None:
    solution = left(move(), SolverStatus.INFEASIBLE, "SolverIpopt", gap=6.0)
    bare = dataclasses.replace(solution, problem=None)
    assert "-> constraints and dynamics contradict one another" in advice(bare)


@pytest.mark.parametrize("solver", [SolverIpopt, SolverFatrop])
def test_advice_for_a_failed_nlp_names_the_goal_or_the_gap_and_no_black_box(solver: type[Any]) -> None:
    solution = solver(move()).solve()
    assert not solution.converged
    text = advice(solution)
    assert "black box" not in text
    assert "SolverFDDP" not in text
    assert "goal" in text or "the trajectory still has a gap of" in text


def test_no_decrease_with_a_gap_asks_for_the_constraint_to_relax() -> None:
    text = advice(left(move(), SolverStatus.LINE_SEARCH_FAILED, "SolverFatrop", gap=6.0))
    assert "the trajectory still has a gap of 6 before knot 2" in text
    assert "or use SolverSQP, which names the constraint to relax" in text


@pytest.mark.parametrize("boxed", [False, True])
def test_black_boxes_are_spoken_of_where_there_are_some(boxed: bool) -> None:
    problem = move(limited=False, boxed=boxed)
    text = advice(left(problem, SolverStatus.LINE_SEARCH_FAILED, "SolverFDDP", gap=0.0))
    assert "look for a term that is not smooth" in text
    assert ("black box" in text) == boxed


@pytest.mark.parametrize(
    ("limited", "solver", "says"),
    [
        (False, "SolverFDDP", "try SolverDDP and SolverSQP, or a guess closer"),
        (False, "SolverBoxFDDP", "try SolverSQP, with the limits of controls as rows on ResidualModelControl, or"),
        (True, "SolverSQP", "try a guess closer"),
        (True, "SolverIpopt", "try SolverSQP, or a guess closer"),
    ],
)
def test_only_solvers_that_take_the_problem_are_recommended(limited: bool, solver: str, says: str) -> None:
    solution = left(move(limited=limited, most=3.0), SolverStatus.MAX_ITERATIONS, solver, gap=0.0, short=True)
    assert f"the last steps were short: {says}" in advice(solution)
    if not limited:
        assert SolverFDDP(move(limited=False)).solve().converged


def test_advice_is_about_the_motion_that_is_returned_and_not_about_the_last_step() -> None:
    """The last attempt of a solver may end in violations, and the best motion is an earlier one."""
    problem = move()
    problem.set_parameter("goal.reference", [4.0], "all")
    solution = left(problem, SolverStatus.MAX_ITERATIONS, "SolverSQP", gap=0.0)
    lost = tuple(dataclasses.replace(record, constraint_violation=0.4, step_length=0.0) for record in solution.history)
    text = dataclasses.replace(solution, history=lost).explain()
    assert "all constraints hold" in text
    assert "still violated" not in text
    assert "solver.solve(starts=8) tries other guesses" in text
    problem.set_parameter("goal.reference", [3.5], "all")  # within reach
    missed = left(problem, SolverStatus.MAX_ITERATIONS, "SolverSQP", gap=0.0)
    assert "-> constraints are still violated, 'goal' may contradict the dynamics or other bounds: relax 'goal" in (
        missed.explain()
    )


def test_a_solve_that_ends_at_violations_names_rows_that_may_exclude_each_other() -> None:
    """And says nothing of a cost that is not smooth, or of a minimum."""
    problem = move()
    problem.set_parameter("goal.reference", [3.5], "all")
    failed = left(problem, SolverStatus.LINE_SEARCH_FAILED, "SolverSQP", gap=0.0)
    text = failed.explain()
    assert text.startswith("SolverSQP: no step length decreased the violations at max_regularization.\n")
    assert "-> no step lowered the violations any further: 'goal" in text
    assert "solver.solve(starts=8) tries other guesses" in text
    assert "smooth" not in text
    assert "minimum" not in text


def test_a_stationary_motion_is_no_case_for_more_iterations() -> None:
    problem = move(limited=False)
    solution = left(problem, SolverStatus.MAX_ITERATIONS, "SolverSQP", gap=0.0, short=True)
    still = dataclasses.replace(solution, xs=np.zeros((KNOTS + 1, 1)), us=np.zeros((KNOTS, 1)), x0=np.zeros(1))
    (line,) = advice(still).splitlines()
    assert line.startswith("-> the motion is stationary (dJ/du = 0)")
    assert "solver.solve(starts=8)" in line
    several = advice(dataclasses.replace(still, ends=(("MAX_ITERATIONS", 8, np.nan),)))
    assert "solver.solve(starts=16) tries more guesses than those 8" in several
    assert "starts=8)" not in several
    assert "stationary" not in advice(solution)


def test_no_control_without_limits_is_held_at_one() -> None:
    solution = left(move(limited=False), SolverStatus.MAX_ITERATIONS, "SolverBoxFDDP", gap=0.0)
    assert not clamped_controls(solution, solution.stationarity()).any()
    assert "dJ/du = 1\n" in solution.explain()


@pytest.mark.parametrize(("step", "nearly"), [(1e-3, True), (0.1, False)])
def test_a_motion_that_is_nearly_stationary_says_how_nearly(step: float, nearly: bool) -> None:
    """The cost ½ Σ (1 - u)² + 1 of four controls is 2 step² above its least value."""
    solution = left(move(limited=False), SolverStatus.MAX_ITERATIONS, "SolverSQP", gap=0.0)
    us = np.full((KNOTS, 1), step)
    xs = np.vstack([[0.0], np.cumsum(us)[:, None]])
    near = dataclasses.replace(solution, xs=xs, us=us, x0=np.zeros(1), cost=1.0)
    words = f"-> the motion is feasible and nearly stationary: with dJ/du = {step:.1g} about {200.0 * step**2:.1g} % of"
    assert (words in advice(near)) == nearly
    if not nearly:
        assert "nearly stationary" not in advice(near)


def test_a_program_that_is_not_convex_at_the_end_has_words() -> None:
    lost = left(move(limited=False), SolverStatus.INDEFINITE_QUU, "SolverSQP", gap=0.0)
    lost = dataclasses.replace(lost, failed_knot=KNOTS)
    assert "no program was convex at the end" in lost.explain()


@pytest.mark.parametrize(("solver", "linear"), [("SolverSQP", True), ("SolverFDDP", False)])
def test_a_hessian_that_later_knots_bend_asks_for_another_guess(solver: str, linear: bool) -> None:
    """Smaller weights would not mend it: they scale the whole Hessian."""
    lost = left(move(limited=False), SolverStatus.INDEFINITE_QUU, solver, gap=6.0)
    text = dataclasses.replace(lost, failed_knot=KNOTS - 1).explain()
    assert text.startswith(f"{solver}: Quu not positive definite.\n")
    (line,) = [each for each in text.splitlines() if each.startswith("->")]
    assert line.startswith(
        f"-> at knot {KNOTS - 1} the cost is convex in all controls (curvature 1 or more), so the later"
    )
    assert (
        "gap of 6 before knot 2: solver.solve(starts=8) tries other guesses; or start from one that is closer" in line
    )
    assert ('SQPOptions(steps="linear")' in line) == linear
    assert "weights" not in line


def test_linear_steps_that_have_been_tried_are_no_advice() -> None:
    """They follow rollouts that get stuck, so that a solve of linear steps alone returned the same motion."""
    lost = left(move(limited=False), SolverStatus.INDEFINITE_QUU, "SolverSQP", gap=6.0)
    lost = dataclasses.replace(lost, failed_knot=KNOTS - 1)
    assert 'SQPOptions(steps="linear")' in lost.explain()
    record = IterationRecord(
        iteration=9, cost=1.0, seconds=0.0, feasible=False, accepted=True, stop=1.0, step_length=0.1,
        regularization=0.0, gap_norm=6.0, expected_decrease=1.0, decrease=1.0, method="linear", attempt=2,
    )  # fmt: skip
    tried = dataclasses.replace(lost, history=[*lost.history, record])
    assert 'SQPOptions(steps="linear")' not in tried.explain()
    assert "starts=8" in tried.explain()


def test_explain_writes_iteration_in_the_singular_and_the_plural() -> None:
    solution = left(move(), SolverStatus.MAX_ITERATIONS, "SolverSQP", gap=0.0)
    assert "after 1 iteration in " in solution.explain()
    assert "after 2 iterations in " in dataclasses.replace(solution, iterations=2).explain()


def crawled(problem: ShootingProblem, *, blend: float) -> str:
    """What explain() says after steps of 1/32."""
    solution = left(problem, SolverStatus.MAX_ITERATIONS, "SolverFDDP", gap=0.0)
    records = tuple(dataclasses.replace(r, step_length=1 / 32, blend=blend) for r in solution.history)
    return dataclasses.replace(solution, history=records).explain()


def test_short_gauss_newton_steps_are_explained_by_curvature() -> None:
    text = crawled(move(limited=False), blend=0.0)
    assert "along them the cost has about 32 times the curvature of Gauss-Newton's Hessian" in text
    assert 'FDDPOptions(hessian="exact") uses the exact one' in text
    black_box = crawled(move(limited=False, boxed=True), blend=0.0)
    assert "FDDPOptions(initial_regularization=2.0) damps the steps, as such models have no exact Hessian" in black_box


def test_steps_of_two_fifths_after_auto_left_exact_hessians_name_the_option() -> None:
    """A third of the decrease is lost, as at the end of an arm whose motors' power costs."""
    solution = left(move(limited=False), SolverStatus.MAX_ITERATIONS, "SolverFDDP", gap=0.0)
    lengths, blends = [1.0, 0.25, 0.5, 0.125] * 3, [0.0, 0.5, *[0.0] * 10]
    history = tuple(
        dataclasses.replace(record, step_length=length, blend=blend)
        for record, length, blend in zip(solution.history, lengths, blends)
    )
    text = dataclasses.replace(solution, history=history).explain()
    assert 'FDDPOptions(hessian="exact") uses the exact one' in text
    full = tuple(dataclasses.replace(record, step_length=1.0) for record in history)
    assert "hessian" not in dataclasses.replace(solution, history=full).explain()


def test_short_steps_with_exact_hessians_are_explained_by_a_nonconvex_cost() -> None:
    assert "exact Hessians were used where they are convex" in crawled(move(limited=False), blend=0.25)


def test_a_gait_within_limits_may_begin_at_one_without() -> None:
    free = trot()
    assert free.problem is not None
    assert free.problem.schedule is not None
    robot, schedule = free.problem.state.robot, free.problem.schedule
    limited = solution_of(gaits.gait_problem(robot, schedule, limits=True), free.xs, free.us)
    words = "SolverFDDP with gait_problem(..., limits=False) solves for a guess, and solver.solve(starts=8) tries other"
    assert more_guesses(dataclasses.replace(limited, solver="SolverSQP")).startswith(words)
    assert more_guesses(dataclasses.replace(free, solver="SolverSQP")) == "solver.solve(starts=8) tries other guesses"
