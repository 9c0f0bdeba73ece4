"""Interior-point steps as SolverSQP takes them, at their start."""

from __future__ import annotations

from trajopt.shooting import ShootingProblem
from trajopt.solvers import SQPOptions
from trajopt.solvers.sqp.attempts import Attempts
from trajopt.solvers.sqp.interior import InteriorSteps
from trajopt.solvers.sqp.progress import SQPProgress
from trajopt.solvers.sqp.workspace import Workspace
from trajopt.types import Reals


def interior_steps(
    problem: ShootingProblem, xs: Reals, us: Reals, *, rollouts: bool
) -> tuple[InteriorSteps, Workspace, SQPProgress]:
    """Steps from states (T + 1, nx) and controls (T, nu), where their trajectory is, and the state of the solve."""
    work, run = Workspace(problem, SQPOptions()), SQPProgress(x0=problem.x0, trajectory=(xs, us), feasible=False)
    run.attempts = Attempts([])
    work.begin(run, rolled=work.repair(run))
    return InteriorSteps(work, run, rolls=rollouts), work, run
