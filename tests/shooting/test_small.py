"""Problems of one state (T = 0), and problems without controls: everything works on empty arrays."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trajopt
from tests.shooting.test_problem import STATE, Kick, alone, pendulum, stack
from tests.support.model_list import TIP, BlackBox, state_of
from tests.support.numpy_models import UnicycleNumpy
from trajopt import Solution
from trajopt.callbacks import Callback
from trajopt.errors import InvalidArgumentError
from trajopt.plotting import plot_cost_terms, plot_motion, plot_solution, plot_summary
from trajopt.shooting import contact_forces, controls, cost_terms
from trajopt.shooting.evaluator import Evaluator
from trajopt.solution import SolverStatus
from trajopt.solvers import SolverDDP, SolverFDDP

X0 = [0.5, -1.0]


class Drift(UnicycleNumpy):
    """A black box without controls: x⁺ = 2 x, l = ½ |x|²."""

    def __init__(self) -> None:
        trajopt.ActionModelAbstract.__init__(self, STATE, 0)

    def calc(self, data: Any, x: Any, u: Any = None) -> None:
        data.xnext, data.cost = 2 * x, 0.5 * x @ x

    def calc_diff(self, data: Any, x: Any, u: Any = None) -> None:
        data.Fx, data.Lx, data.Lxx = 2 * np.eye(2), x, np.eye(2)


def free_arm(T: int) -> trajopt.ShootingProblem:
    """A planar arm without motors, or one posture of it, whose tip is sent somewhere."""
    state = state_of("planar-2r")
    goal = trajopt.ResidualModelFrameTranslation(state, TIP["planar-2r"], [0.5, 0.0, 0.3])
    costs = trajopt.CostStack(state).add("goal", goal, 1.0)
    passive = trajopt.ActuationModelMatrix(state, np.zeros((2, 0)))
    node = trajopt.IntegratedActionModelEuler(
        trajopt.DifferentialActionModelFreeFwdDynamics(state, passive, costs), dt=0.02
    )
    return trajopt.ShootingProblem([0.1, 0.2, 0.0, 0.3], [node] * T, costs)


SMALL = {
    "one state, costs": lambda: trajopt.ShootingProblem(X0, [], stack(3.0, control=False)),
    "one state, a model's end": lambda: trajopt.ShootingProblem(X0, [], Kick()),
    "one state, a black box": lambda: trajopt.ShootingProblem(X0, [], BlackBox()),
    "one posture": lambda: free_arm(0),
    "without controls": lambda: trajopt.ShootingProblem(X0, [Kick()] * 11, Kick()),
    "without controls, a black box": lambda: trajopt.ShootingProblem(X0, [Drift()] * 3, Drift()),
    "without controls, mixed": lambda: trajopt.ShootingProblem(X0, [Drift(), Kick(), Kick(), Drift()], Drift()),
    "without motors": lambda: free_arm(10),
}
small = pytest.mark.parametrize("name", SMALL)
solvers = pytest.mark.parametrize("solver", [SolverDDP, SolverFDDP])


def states_of(problem: trajopt.ShootingProblem, seed: int = 0) -> Any:
    return np.array([problem.state.rand(seed + t) for t in range(problem.T + 1)])


@small
def test_values_and_derivatives(name: str) -> None:
    """Against each model alone."""
    problem = SMALL[name]()
    T, n, xs, us = problem.T, problem.state.ndx, states_of(problem), np.zeros((problem.T, 0))
    d = problem.calc_diff(xs, us)
    assert problem.nu == 0
    assert (d.xnext.shape, d.gaps.shape, d.Fx.shape, d.Fu.shape) == ((T, len(xs[0])), (T + 1, n), (T, n, n), (T, n, 0))
    assert (d.Lx.shape, d.Lu.shape, d.Lxx.shape) == ((T + 1, n), (T, 0), (T + 1, n, n))
    assert (d.Lxu.shape, d.Luu.shape) == ((T, n, 0), (T, 0, 0))
    for t, model in enumerate([*problem.running, problem.terminal]):
        expected = alone(model, xs[t], np.zeros(0) if t < T else None)
        assert d.costs[t] == pytest.approx(expected.cost, rel=1e-12)
        np.testing.assert_allclose(d.Lx[t], expected.Lx, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(d.Lxx[t], expected.Lxx, rtol=1e-12, atol=1e-12)
        if t < T:
            np.testing.assert_allclose(d.xnext[t], expected.xnext, rtol=1e-12)
            np.testing.assert_allclose(d.Fx[t], expected.Fx, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(d.gaps[0], problem.state.difference(xs[0], problem.x0))
    assert problem.calc(xs, us).cost == d.cost


@small
def test_rollout_guess_and_inspection(name: str) -> None:
    problem = SMALL[name]()
    T = problem.T
    empty: tuple[Any, ...] = (np.zeros((T, 0)), [np.zeros(0)] * T, [[]] * T)
    for us in empty:
        xs = problem.rollout(us)
        states, inputs = problem.check_guess(list(xs), us)
        assert inputs.shape == (T, 0)
        np.testing.assert_array_equal(states, xs)
    x = problem.x0
    for t, model in enumerate(problem.running):
        np.testing.assert_allclose(xs[t], x, rtol=1e-12)
        x = alone(model, x, np.zeros(0)).xnext
    np.testing.assert_allclose(xs[T], x, rtol=1e-12)
    assert problem.quasi_static(xs[:-1]).shape == (T, 0)
    terms = cost_terms(problem, xs, us)
    np.testing.assert_allclose(np.nansum(list(terms.values()), axis=0), problem.calc(xs, us).costs, rtol=1e-12)
    assert contact_forces(problem, xs, us) == {}
    assert controls(problem).names == ()
    assert problem.times is None or problem.times.shape == (T + 1,)
    again = pickle.loads(pickle.dumps(problem))
    assert repr(again) == repr(problem)
    assert again.calc(xs, us).cost == problem.calc(xs, us).cost


@small
def test_rollouts_in_eight_lanes(name: str) -> None:
    """Each lane closes its part of the gaps: α = 1 is the plain rollout."""
    problem = SMALL[name]()
    evaluator, xs = Evaluator(problem), states_of(problem)
    evaluator.prepare()
    evaluator.xs[:] = xs
    evaluator.expand(problem.x0)
    trials, lengths = evaluator.trials(8), (1.0, 0.5, 0.25, 0.125, 1e-9)
    costs = trials.roll_out(problem.x0, lengths, evaluator.f)
    plain = problem.rollout(np.zeros((problem.T, 0)))
    np.testing.assert_allclose(trials.xs[0], plain, rtol=1e-12)
    assert costs[0] == pytest.approx(problem.calc(plain, np.zeros((problem.T, 0))).cost, rel=1e-12)
    np.testing.assert_allclose(trials.xs[4], xs, rtol=1e-5, atol=1e-5)  # next to nothing is closed
    assert len(costs) == 5


def test_parameters_of_one_state() -> None:
    problem = SMALL["one state, costs"]()
    assert problem.calc([X0], []).cost == pytest.approx(0.5 * 3 * 1.25)
    problem.set_parameter("x_reg.reference", [0.5, 0.0])
    problem.set_parameter("x_reg.weight", 4.0, "terminal")
    assert problem.calc([X0], []).cost == pytest.approx(0.5 * 4)
    with pytest.raises(InvalidArgumentError, match="does not exist at any of 'running'; it exists at knot 0"):
        problem.set_parameter("x_reg.weight", 1.0, "running")
    with pytest.raises(InvalidArgumentError, match="circular_append: .* without running knots"):
        problem.circular_append()


@pytest.mark.parametrize(
    ("xs", "us", "message"),
    [
        ([], [], r"xs: expected 1 states \(T \+ 1\), got 0"),
        ([X0, X0], [], r"xs: expected 1 states .*, got 2"),
        ([X0], [[0.0]], r"us: expected 0 controls \(T\), got 1"),
        ([X0], None, "us: expected 0 controls"),
    ],
)
def test_trajectories_of_one_state_that_are_refused(xs: Any, us: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        SMALL["one state, costs"]().calc(xs, us)


def test_a_wrong_terminal_model_or_x0_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="got None; without a terminal cost, pass an empty CostStack"):
        trajopt.ShootingProblem(X0, [], None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match=r"x0: expected shape \(2,\)"):
        trajopt.ShootingProblem([0.0], [], stack(control=False))


@small
@solvers
def test_solvers_return_the_rollout(solver: Any, name: str) -> None:
    """There is nothing to choose: they converge at once, from any guess."""
    problem, heard = SMALL[name](), []

    class Listener(Callback):
        def start(self, problem: Any, solver_name: str) -> None:
            heard.append("start")

        def __call__(self, record: Any) -> None:
            heard.append("iteration")

        def finish(self, solution: Any) -> None:
            heard.append("finish")

    us = np.zeros((problem.T, 0))
    plain = problem.rollout(us)
    for guess in ((None, None), (states_of(problem), None), (None, us), (states_of(problem), us)):
        solution = solver(problem, callbacks=[Listener()]).solve(*guess)
        assert (solution.status, solution.iterations, solution.history) == (SolverStatus.CONVERGED, 0, ())
        np.testing.assert_array_equal(solution.xs, plain)
        assert solution.cost == problem.calc(plain, us).cost
        assert np.abs(solution.gaps()).max() < 1e-12
        assert solution.stationarity().shape == (problem.T, 0)
        assert "there is no control" in solution.explain()
    assert heard == ["start", "finish"] * 4
    with pytest.raises(InvalidArgumentError, match=r"xs: expected \d+ states"):
        solver(problem).solve(states_of(problem)[1:], us)


@small
def test_solutions_are_written_read_and_drawn(name: str, tmp_path: Path) -> None:
    problem = SMALL[name]()
    solution = SolverFDDP(problem).solve()
    again = Solution.load(solution.save(tmp_path / "small.npz"), problem)
    np.testing.assert_array_equal(again.xs, solution.xs)
    assert again.us.shape == solution.us.shape == (problem.T, 0)
    assert repr(again) == repr(solution)
    drawings = [plot_solution, plot_cost_terms, plot_summary]
    for draw in [*drawings, plot_motion] if hasattr(problem.state, "model") else drawings:
        figure = draw(again)  # type: ignore[operator]
        figure.savefig(tmp_path / "small.png")
        assert figure.axes


def test_some_knots_without_controls_are_solved_as_before() -> None:
    """A kick between knots with a control is no problem without controls."""
    problem = trajopt.ShootingProblem(X0, [pendulum(), Kick(), pendulum()], stack(control=False))
    solution = SolverFDDP(problem).solve()
    assert solution.converged
    assert solution.iterations > 0
