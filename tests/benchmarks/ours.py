"""Times of this library, taken as `peers/crocoddyl_times.py` takes Crocoddyl's."""

from __future__ import annotations

from dataclasses import dataclass

from tests.benchmarks.cases import Case
from tests.benchmarks.peers.stopwatch import median_seconds
from trajopt.kernels import wait_until_optimised

PARTS = ("calc_diff", "backward", "rollout", "iteration")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One measurement of one problem by one side.

    Attributes:
        micros: Median time of each of `PARTS` [µs per knot]. Parts are taken at the solution; `iteration` is the wall
            time of a whole solve by the number of its iterations, so it holds all that a solve does beside the parts.
        knots: T.
        iterations: Directions computed [-].
        cost: Cost that the solve ends with [cost].
    """

    micros: dict[str, float]
    knots: int
    iterations: int
    cost: float


class Ours:
    """A problem and its solver, compiled and kept between measurements.

    Args:
        case: The problem.
    """

    def __init__(self, case: Case) -> None:
        self.problem = case.load().problem
        self.guess = case.guess(self.problem)
        self.solver = case.make_solver(self.problem)
        self.solver.solve(*self.guess)
        wait_until_optimised()

    def measure(self, seconds: float) -> Row:
        """Times of a solve and, in a quarter of the time each, of its parts."""
        solver, problem = self.solver, self.problem
        solve = median_seconds(lambda: solver.solve(*self.guess), seconds=seconds)
        solution = solver.solve(*self.guess)
        # The solver's own arrays: what is timed is what the solve calls.
        evaluator, riccati = solver._evaluator, solver._riccati
        evaluator.xs[:], evaluator.us[:] = solution.xs, solution.us
        evaluator.expand(problem.x0)
        evaluator.f[:] = 0.0
        trials = solver._search.single
        trials.alphas[:], trials.gaps[:], trials.xs[:, 0] = 1.0, 0.0, problem.x0
        regularization = solver.options.min_regularization
        parts = {
            "calc_diff": lambda: evaluator.expand(problem.x0),
            "backward": lambda: riccati.factor(regularization, feasible=True),
            "rollout": lambda: trials.run(),
        }
        micros = {part: 1e6 * median_seconds(call, seconds=seconds / 4) / problem.T for part, call in parts.items()}
        micros["iteration"] = 1e6 * solve / solution.iterations / problem.T
        return Row(micros=micros, knots=problem.T, iterations=solution.iterations, cost=solution.cost)
