"""What a reference problem of Crocoddyl is: how it is built, with which solver and from which guess it is solved."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import crocoddyl
import numpy as np

SOLVERS = {
    "ddp": crocoddyl.SolverDDP,
    "fddp": crocoddyl.SolverFDDP,
    "box-ddp": crocoddyl.SolverBoxDDP,
    "box-fddp": crocoddyl.SolverBoxFDDP,
}


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One reference problem and the solver for it."""

    build: Callable[[], crocoddyl.ShootingProblem]
    """Makes the shooting problem."""
    solver: str
    """A name in `SOLVERS`."""
    expected: tuple[int, float] | None = None
    """(Directions computed [-], final cost [cost]) of the 3.2.1 wheel; None where they depend on rounding, or where no
    figure was known before the trace was made."""
    guess: str = "zeros"
    """"zeros": what `solve()` takes, the state's zero at every node, node 0 included, and zero controls.
    "quasi-static": x0 at every node, and the controls that hold x0 still."""
    max_iterations: int = 200
    """Directions that a solve may compute [-]."""
    initial_regularization: float = 1e-9
    """First regularisation, Crocoddyl's `init_reg` [-]."""
    stop: float | None = None
    """Crocoddyl's `th_stop` [cost]; None is the solver's default."""
    python_model: bool = False
    """Part of the model is evaluated by Python code: times of calc, calc_diff, forward and solve say nothing of C++."""

    def start(self, problem: crocoddyl.ShootingProblem) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The first guess: T+1 states (nx,) and T controls (nu,)."""
        if self.guess == "quasi-static":
            return [problem.x0] * (problem.T + 1), list(problem.quasiStatic([problem.x0] * problem.T))
        zero = problem.terminalModel.state.zero()
        return [zero] * (problem.T + 1), [np.zeros(model.nu) for model in problem.runningModels]

    def make_solver(self, problem: crocoddyl.ShootingProblem) -> crocoddyl.SolverAbstract:
        """A solver with Crocoddyl's default options, but for `stop`."""
        solver = SOLVERS[self.solver](problem)
        if self.stop is not None:
            solver.th_stop = self.stop
        return solver

    def solve(self, solver: crocoddyl.SolverAbstract, xs: Any, us: Any) -> bool:
        """Solve from states xs, T+1 of (nx,), and controls us, T of (nu,); whether that converged."""
        return solver.solve(xs, us, self.max_iterations, False, self.initial_regularization)


def one_thread(problem: crocoddyl.ShootingProblem) -> crocoddyl.ShootingProblem:
    """The same problem, set to evaluate its nodes on one thread."""
    if problem.nthreads != 1:  # once a model in Python exists, setting it again only warns
        problem.nthreads = 1
    return problem


def scaled_effort(model: Any, factor: float) -> Any:
    """The Pinocchio model with its largest torques scaled."""
    model.effortLimit = factor * np.array(model.effortLimit)
    return model


def references(
    name: str,
    build: Callable[[], crocoddyl.ShootingProblem],
    expected: dict[str, tuple[int, float] | None],
    **options: Any,
) -> dict[str, Reference]:
    """One entry for each solver in `expected`, called `name` if there is one, `name-solver` if there are several."""
    return {
        name if len(expected) == 1 else f"{name}-{solver}": Reference(
            build=build, solver=solver, expected=answer, **options
        )
        for solver, answer in expected.items()
    }
