"""SolverSQP from guesses with gaps whose first rollout loses them: jumps of velocities, bad controls, linear steps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.ocp_problems import PROBLEMS
from trajopt import problems
from trajopt.errors import ModelEvaluationError
from trajopt.solution import Solution
from trajopt.solvers import SolverFDDP, SolverSQP, SQPOptions
from trajopt.solvers.sqp.workspace import Workspace
from trajopt.types import Reals

LINEAR = 'SQPOptions(steps="linear") closes gaps knot by knot'


def bent(name: str, size: float, seed: int) -> tuple[problems.ProblemCase, Solution, Reals]:
    """A ready problem, its solution, and the solution's states with waves of `size` along all coordinates."""
    case = problems.load(name)
    solution = case.solve()
    state, t = case.problem.state, np.linspace(0.0, np.pi, case.problem.T + 1)[:, None]
    heights = size * np.random.default_rng(seed).standard_normal((3, state.ndx))
    waves = sum(h * np.sin((i + 1) * t) for i, h in enumerate(heights))
    return case, solution, np.stack([state.integrate(x, dx) for x, dx in zip(solution.xs, waves)])


@pytest.mark.parametrize("steps", ["policy", "linear"])
def test_a_jump_is_solved_from_its_guess(steps: str) -> None:
    """Velocities jump by 26 and 52 as it takes off and lands; the rollout of its controls costs 8e8."""
    case = problems.load("quadruped-jump", robot="small-quadruped")
    solution = SolverSQP(case.problem, SQPOptions(steps=steps, max_iterations=10)).solve(case.xs, case.us)
    assert solution.converged
    assert solution.iterations <= 7
    assert solution.cost == pytest.approx(253.155424657, rel=1e-9)  # SolverFDDP
    assert solution.history[0].gap_norm > 1.0


@pytest.mark.parametrize("seed", [1, 3])
def test_linear_steps_take_over_where_no_rollout_keeps_to_the_guess(seed: int) -> None:
    """Without controls the robot falls, with policies of that guess too: rollouts went on from there for 150 steps."""
    case, _, xs = bent("quadruped-trot", 0.1, seed)
    solution = SolverSQP(case.problem, SQPOptions(max_iterations=60)).solve(xs, np.zeros_like(case.us))
    assert solution.converged
    assert solution.cost == pytest.approx(214.82837, rel=1e-6)
    assert solution.history[1].gap_norm > 1e-3  # a rollout would have closed them
    assert "linear" not in solution.explain()


@pytest.mark.parametrize(("name", "method"), [("kelly", "linear"), ("pendulum", "policy"), ("cart_pole", "policy")])
def test_steps_go_along_lines_where_the_first_rollout_leaves_its_program(name: str, method: str) -> None:
    """By 2.6 times the step, by 0.4 of it, and from a guess that is as good as the rollout of its controls."""
    case = PROBLEMS[name]()
    solution = SolverSQP(case.problem).solve(*case.guess)
    assert solution.converged
    assert {record.method for record in solution.history} == {method}


def test_a_guess_that_stays_at_one_state_is_rolled_out() -> None:
    """Along lines it takes 102 iterations."""
    problem = problems.load("pendulum-limits").problem
    problem.x0 = [0.27410391, 6.96115878]
    solution = SolverSQP(problem).solve()
    assert solution.converged
    assert solution.history[0].method == "policy"


def test_explain_names_linear_steps_where_a_rollout_has_lost_the_guess() -> None:
    case, best, _ = bent("cart-pole", 0.0, 0)
    t, ends = np.linspace(0.0, np.pi, case.problem.T + 1)[:, None], np.abs(np.diff(best.xs, axis=0)).max(axis=0)
    heights = 30.0 * ends * np.random.default_rng(2).standard_normal((3, 4))
    xs = best.xs + sum(h * np.sin((i + 1) * t) for i, h in enumerate(heights))
    us = 0.9 * best.us
    lost = SolverSQP(case.problem, SQPOptions(max_iterations=40)).solve(xs, us)
    assert not lost.converged
    assert LINEAR in lost.explain()
    kept = SolverSQP(case.problem, SQPOptions(max_iterations=40, steps="linear")).solve(xs, us)
    assert kept.converged
    assert kept.cost == pytest.approx(best.cost, rel=1e-6)
    assert LINEAR not in kept.explain()
    few = SolverSQP(case.problem, SQPOptions(max_iterations=2, steps="linear")).solve(xs, us)
    assert LINEAR not in few.explain()


@pytest.mark.parametrize("fails", [False, True])
def test_a_first_program_that_promises_nothing_gives_way(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise along the swing-up of a cart-pole: its controls are rolled out, or lines follow where models fail there."""
    case = PROBLEMS["cart_pole"]()
    first, begun = Workspace.begin_anew, []

    def begin(work: Workspace, *arguments: object, **options: object) -> bool:
        begun.append(1)
        if fails and len(begun) == 1:
            raise ModelEvaluationError("knot 3: not finite")
        return first(work, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Workspace, "begin_anew", begin)
    solution = SolverSQP(case.problem, SQPOptions(max_iterations=60 if not fails else 3)).solve(*case.random_guess(0))
    assert begun
    assert solution.converged is not fails
    assert solution.history[0].method == ("linear" if fails else "policy")


def test_advice_on_linear_steps_is_not_given_for_fddp() -> None:
    case, _, _ = bent("cart-pole", 0.0, 0)
    assert LINEAR not in SolverFDDP(case.problem).solve(case.xs, case.us).explain()
