"""How solves end and begin again: statuses, callbacks, Ctrl-C, memory, compilations."""

from __future__ import annotations

import dataclasses
import itertools
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import trajopt
from tests.support.numpy_models import UnicycleNumpy
from trajopt import problems
from trajopt.actions import ActionData
from trajopt.callbacks import Callback
from trajopt.kernels import compilations
from trajopt.shooting import ShootingProblem
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers import DDPOptions, FDDPOptions, SolverAbstract, SolverDDP, SolverFDDP

Reals = npt.NDArray[np.float64]


def unicycle() -> ShootingProblem:
    return problems.load("unicycle").problem


def scalar_lq(*, A: float = 1.0, B: float = 1.0, Q: float = 1.0, R: float = 1.0, T: int = 5) -> ShootingProblem:
    """x⁺ = A x + B u with cost ½ (Q x² + R u²) from x = 1."""
    model = trajopt.ActionModelLQR([[A]], [[B]], [[Q]], [[R]])
    return ShootingProblem([1.0], [model] * T, model)


# Statuses


def test_converged(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    solution = solver(unicycle()).solve()
    assert solution.status is SolverStatus.CONVERGED
    assert solution.converged
    assert solution.iterations == len(solution.history)
    last, before = solution.history[-1], solution.history[-2]
    assert last.stop < 1e-9 * solution.cost <= before.stop or not before.feasible
    assert [r.iteration for r in solution.history] == list(range(1, solution.iterations + 1))
    assert np.all(np.diff([r.seconds for r in solution.history]) >= 0)
    np.testing.assert_allclose(solution.stationarity(), 0.0, atol=1e-3)


def test_stationarity_of_a_system_that_falls() -> None:
    """Without feedback, x⁺ = 3 x + u + 1 would multiply rounding by 3^80, which is 1e38."""
    model = trajopt.ActionModelLQR([[3.0]], [[1.0]], [[1.0]], [[1.0]], f=[1.0])
    solution = SolverFDDP(ShootingProblem([1.0], [model] * 80, model)).solve()
    assert solution.converged
    np.testing.assert_allclose(solution.stationarity(), 0.0, atol=1e-3)


def test_stationarity_is_the_slope_of_the_cost_with_feedback() -> None:
    """Away from the optimum, against central differences of rollouts with u = us + change - K (x - xs)."""
    problem = scalar_lq(A=1.1, T=6)
    optimum = SolverFDDP(problem).solve()
    us = optimum.us + np.linspace(0.3, -0.2, 6)[:, None]
    off = dataclasses.replace(optimum, us=us, xs=problem.rollout(us))

    def cost(change: Reals) -> float:
        xs, followed = [np.ones(1)], []
        for t in range(6):
            followed.append(off.us[t] + change[t] - off.K[t] @ (xs[t] - off.xs[t]))
            xs.append(1.1 * xs[t] + followed[t])
        return float(problem.calc(np.array(xs), np.array(followed)).cost)

    steps = 1e-4 * np.eye(6)[:, :, None]
    slope = np.array([(cost(step) - cost(-step)) / 2e-4 for step in steps])
    np.testing.assert_allclose(off.stationarity()[:, 0], slope, rtol=1e-8)
    assert abs(slope).max() > 0.1


def test_stops_at_max_iterations(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    solution = solver(unicycle(), options(max_iterations=3)).solve()
    assert solution.status is SolverStatus.MAX_ITERATIONS
    assert not solution.converged
    assert solution.iterations == 3
    assert "raise max_iterations" in solution.explain()


def test_tolerance_is_about_the_promised_decrease(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    loose = solver(unicycle(), options(tolerance=1.0)).solve()
    tight = solver(unicycle()).solve()
    assert loose.converged
    assert loose.iterations < tight.iterations
    assert loose.history[-1].stop < 1.0 <= loose.history[-2].stop


def test_a_negative_control_cost_is_indefinite(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    solution = solver(scalar_lq(R=-1e10)).solve()
    assert solution.status is SolverStatus.INDEFINITE_QUU
    assert "is the control cost > 0" in str(solution.status)
    assert solution.failed_knot == 4
    assert solution.iterations == 1
    assert solution.history == ()
    np.testing.assert_array_equal(solution.xs, np.ones((6, 1)))


def test_problems_without_a_control_cost_are_solved(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """Controls that cost nothing and do nothing leave Quu = 0: regularisation decides, even where it starts at 0."""
    for first in (0.0, 1e-9):
        idle = solver(scalar_lq(B=0.0, R=0.0), options(initial_regularization=first)).solve()
        assert idle.converged
        np.testing.assert_allclose(idle.us, 0.0, atol=1e-12)
    dead_beat = solver(scalar_lq(R=0.0)).solve()
    assert dead_beat.converged
    assert dead_beat.cost == pytest.approx(0.5, rel=1e-6)


def test_a_bounded_regularization_may_not_suffice(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    problem = scalar_lq(R=-50.0)
    weak = solver(problem, options(max_regularization=10.0)).solve()
    assert weak.status is SolverStatus.INDEFINITE_QUU
    strong = solver(problem, options(max_iterations=1)).solve()
    assert strong.status is SolverStatus.MAX_ITERATIONS


def test_a_value_function_that_is_not_finite(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    solution = solver(scalar_lq(A=1e20, B=0.0)).solve(np.zeros((6, 1)), np.zeros((5, 1)))
    assert solution.status is SolverStatus.DIVERGED
    assert "not finite" in str(solution.status)
    assert solution.failed_knot == 4


class WrongSlope(UnicycleNumpy):
    """Its gradient points the wrong way, so that no step decreases the cost."""

    def calc_diff(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        super().calc_diff(data, x, u)
        data.Lx, data.Lu = -data.Lx, -data.Lu


def test_no_step_decreases_the_cost(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    model = WrongSlope(unicycle().state)
    problem = ShootingProblem([1.0, 0.0, 0.0], [model] * 5, model)
    solution = solver(problem).solve(us=np.zeros((5, 2)))
    assert solution.status is SolverStatus.LINE_SEARCH_FAILED
    assert "may be a minimum" in str(solution.status)
    assert not any(r.accepted for r in solution.history)
    regularizations = [r.regularization for r in solution.history]
    np.testing.assert_allclose(np.diff(np.log10(regularizations)), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(solution.xs, np.tile([1.0, 0.0, 0.0], (6, 1)))


def test_a_refused_step_regularises_more(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """Also where the only step length is a long one: the length of a refused step says nothing good of it."""
    problem = problems.load("double-pendulum").problem
    history = solver(problem, options(step_lengths=(1.0,), max_iterations=40)).solve().history
    refused = [(now, after) for now, after in itertools.pairwise(history) if not now.accepted]
    assert refused
    assert all(after.regularization > now.regularization for now, after in refused)


def test_time_limit(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    solution = solver(unicycle(), options(time_limit=1e-9)).solve()
    assert solution.status is SolverStatus.TIME_LIMIT
    assert solution.iterations == 1
    assert solver(unicycle(), options(time_limit=1e3)).solve().converged


def test_a_callback_stops_the_solve(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    seen: list[IterationRecord] = []

    def stop_at_third(record: IterationRecord) -> bool:
        seen.append(record)
        return record.iteration == 3

    solution = solver(unicycle(), callbacks=[stop_at_third]).solve()
    assert solution.status is SolverStatus.STOPPED_BY_CALLBACK
    assert solution.history == tuple(seen)
    assert solution.iterations == 3
    assert solution.cost == seen[-1].cost == pytest.approx(solution.problem.calc(solution.xs, solution.us).cost)  # type: ignore[union-attr]


@pytest.mark.parametrize(("answer", "stops"), [(None, False), (False, False), (True, True), (np.True_, True)])
def test_a_callback_stops_the_solve_by_its_return_value(answer: Any, stops: bool) -> None:
    solution = SolverFDDP(unicycle(), callbacks=[lambda record: answer]).solve()
    assert (solution.status is SolverStatus.STOPPED_BY_CALLBACK) == stops
    assert (solution.iterations == 1) == stops


def test_records_cannot_be_changed() -> None:
    def change(record: IterationRecord) -> None:
        record.cost = 0.0  # type: ignore[misc]

    with pytest.raises(dataclasses.FrozenInstanceError):
        SolverFDDP(unicycle(), callbacks=[change]).solve()


def test_callbacks_hear_of_start_and_finish() -> None:
    class Listener(Callback):
        heard: list[Any] = []  # noqa: RUF012

        def start(self, problem: ShootingProblem, solver_name: str) -> None:
            self.heard.append((problem.T, solver_name))

        def __call__(self, record: IterationRecord) -> None:
            self.heard.append(record.iteration)

        def finish(self, solution: trajopt.Solution) -> None:
            self.heard.append(solution.status)

    SolverFDDP(unicycle(), FDDPOptions(max_iterations=2), [Listener()]).solve()
    assert Listener.heard == [(20, "SolverFDDP"), 1, 2, SolverStatus.MAX_ITERATIONS]


# Ctrl-C


def test_ctrl_c_returns_the_best_iterate(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    def interrupt(record: IterationRecord) -> None:
        if record.iteration == 4:
            signal.raise_signal(signal.SIGINT)

    problem = unicycle()
    solution = solver(problem, callbacks=[interrupt]).solve()
    assert solution.status is SolverStatus.INTERRUPTED
    assert solution.iterations == len(solution.history) == 4
    assert solution.cost == solution.history[-1].cost
    assert solution.cost == pytest.approx(problem.calc(solution.xs, solution.us).cost, rel=1e-14)


class Impatient(UnicycleNumpy):
    """The user presses Ctrl-C in the n-th call of `calc`."""

    calls = 0
    at = -1

    def calc(self, data: ActionData, x: Reals, u: Reals | None = None) -> None:
        super().calc(data, x, u)
        type(self).calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 15, 21, 30, 43, 50, 64, 80, 100, 120])  # in expansions and rollouts, 21 calls each
def test_ctrl_c_inside_a_black_box(solver: type[SolverAbstract], options: type[DDPOptions], at: int) -> None:
    model = Impatient(unicycle().state)
    problem = ShootingProblem([-1.0, -1.0, 1.0], [model] * 20, model)
    guess = np.zeros((21, 3)), np.zeros((20, 2))
    one = solver(problem)
    Impatient.calls, Impatient.at = 0, at
    solution = one.solve(*guess)
    assert solution.status is SolverStatus.INTERRUPTED
    first = 21 if solver is SolverDDP else 0  # the rollout of the guess's controls
    proofs = 2  # that calc_diff sets all
    assert len(solution.history) == max(0, (at - 1 - first - proofs) // 42)
    if solution.history:
        assert solution.cost == solution.history[-1].cost
        assert solution.cost == pytest.approx(problem.calc(solution.xs, solution.us).cost, rel=1e-14)
    else:
        np.testing.assert_array_equal(solution.xs, guess[0])
    again = one.solve(*guess)
    assert again.converged
    assert again.cost == pytest.approx(problems.describe("unicycle").reference_cost, rel=1e-9)


# Solving again


def test_a_second_solve_starts_afresh(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    problem = unicycle()
    one = solver(problem)
    first, second = one.solve(), one.solve()
    kept = [array.copy() for array in (first.xs, first.us, first.K, first.k, first.Vx, first.Vxx)]
    assert [r.cost for r in first.history] == [r.cost for r in second.history]
    problem.x0 = [2.0, 1.0, 0.0]
    moved = one.solve()
    np.testing.assert_array_equal(moved.xs[0], [2.0, 1.0, 0.0])
    assert np.abs(moved.K - first.K).max() > 1e-3
    for array, before in zip((first.xs, first.us, first.K, first.k, first.Vx, first.Vxx), kept):
        np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(first.x0, [-1.0, -1.0, 1.0])


def test_solving_again_compiles_nothing(solver: type[SolverAbstract], options: type[DDPOptions]) -> None:
    """Neither after a change of target, weight, time step or x0, nor with another solver object."""
    problem = problems.load("arm-reach", robot="planar-2r", target=(0.4, 0.0, 0.6)).problem
    first = solver(problem).solve()
    before = compilations()
    problem.set_parameter("goal.reference", [0.5, 0.0, 0.3])
    problem.set_parameter("torque.weight", 3e-2)
    problem.set_parameter("goal.weight", 2e3, knots="terminal")
    problem.set_parameter("velocity.weight", 0.05, knots=range(50, 100))
    problem.set_parameter("dt", 8e-3)
    problem.x0 = [0.1, 0.7, 0.0, 0.0]
    moved = solver(problem, options(max_iterations=99)).solve()
    assert compilations() == before
    assert moved.converged
    assert first.converged
    tip = [0.5 * np.cos(q1) + 0.5 * np.cos(q1 + q2) for q1, q2 in (moved.xs[-1, :2], first.xs[-1, :2])]
    np.testing.assert_allclose(tip, [0.5, 0.4], atol=2e-3)


LEAK = """
import resource, sys
from trajopt import problems
from trajopt.solvers import SolverFDDP

anew, more = sys.argv[1], int(sys.argv[2])
case = problems.load("unicycle")
one = SolverFDDP(case.problem)

def solve():
    global one
    if anew != "one solver":
        one = SolverFDDP(case.problem if anew == "new solvers" else problems.load("unicycle").problem)
    assert one.solve().converged

def peak():  # [MB]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)

for _ in range(50):
    solve()
before = peak()
for _ in range(more):
    solve()
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("anew", ["one solver", "new solvers", "new problems"])
def test_500_solves_leave_memory_where_it_was_after_50(anew: str) -> None:
    """In a process of its own: the peak is one of its whole life."""
    more = 100 if anew == "new problems" else 450
    done = subprocess.run([sys.executable, "-c", LEAK, anew, str(more)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 3.0
