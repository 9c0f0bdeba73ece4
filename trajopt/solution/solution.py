"""The result of a solve.

The solution judges itself: `gaps` and `stationarity` are computed from the problem, never copied from the solver.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.shooting import inspection
from trajopt.solution import file
from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.types import Reals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trajopt.shooting import ShootingProblem


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A trajectory, how it was found, and what the solver knows beside it.

    Attributes:
        xs: States, shape (T + 1, nx).
        us: Controls, shape (T, nu).
        cost: Total cost [cost].
        status: Why the solver stopped.
        iterations: Iterations begun [-].
        history: One record an iteration.
        solver: Name of the solver.
        seconds: Wall time of the solve [s].
        x0: Initial state of the problem when it was solved (nx,).
        failed_knot: Knot where the backward pass failed for good, if it did.
        K: Feedback gains: u = us - K (x ⊖ xs), shape (T, nu, ndx); None if the solver has none.
        k: Feed-forward part of the last direction, shape (T, nu); None if the solver has none.
        Vx: Gradient of the value function, shape (T + 1, ndx) [cost]; None if the solver has none.
        Vxx: Hessian of the value function, shape (T + 1, ndx, ndx) [cost]; None if the solver has none.
        multipliers: Lagrange multipliers by name, if the solver has them: "dynamics" (T + 1, ndx), and others.
        problem: The problem; None after `load` without one.
        parameters: Values of the problem's parameters when it was solved, by name: one row a knot that has it.
    """

    xs: Reals
    us: Reals
    cost: float
    status: SolverStatus
    iterations: int
    history: tuple[IterationRecord, ...]
    solver: str
    seconds: float
    x0: Reals
    failed_knot: int | None = None
    K: Reals | None = None
    k: Reals | None = None
    Vx: Reals | None = None
    Vxx: Reals | None = None
    multipliers: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)
    problem: ShootingProblem | None = field(default=None, repr=False, compare=False)
    parameters: Mapping[str, Reals] = field(default_factory=dict, repr=False, compare=False)

    @property
    def converged(self) -> bool:
        """Whether the solver met its stopping criterion."""
        return self.status is SolverStatus.CONVERGED

    def __repr__(self) -> str:
        T, nx = len(self.us), self.xs.shape[1]
        return (
            f"Solution({self.solver}: {self.status.name}, cost={self.cost:.10g}, iterations={self.iterations}, T={T}, "
            f"nx={nx}, nu={self.us.shape[1]}, {self.seconds:.3g} s)"
        )

    def gaps(self) -> Reals:
        """x0 ⊖ xs[0] and f(xs[t], us[t]) ⊖ xs[t + 1], shape (T + 1, ndx), computed from the problem."""
        with self._as_solved() as problem:
            return problem.calc(self.xs, self.us).gaps

    def stationarity(self) -> Reals:
        """Gradient of the cost along each control, Lu + Fuᵀ λ, shape (T, nu) [cost per unit of u]; 0 at an optimum.

        λ_T = Lx, λ_t = Lx + Fxᵀ λ_{t+1} - Kᵀ (Lu + Fuᵀ λ_{t+1}): after a change of one control, later ones follow the
        feedback K. At an optimum λ is the costate, whatever K is; elsewhere, without feedback, a robot that falls would
        multiply rounding errors by many powers of ten. Derivatives are computed from the problem.
        """
        with self._as_solved() as problem:
            d = problem.calc_diff(self.xs, self.us)
        feedback = 0.0 if self.K is None else np.where(np.isfinite(self.K), self.K, 0.0)
        feedback = np.broadcast_to(feedback, (*self.us.shape, d.Lx.shape[1]))
        costate, gradient = d.Lx[-1], np.zeros_like(self.us)
        for t in range(len(self.us) - 1, -1, -1):
            gradient[t] = d.Lu[t] + d.Fu[t].T @ costate
            costate = d.Lx[t] + d.Fx[t].T @ costate - feedback[t].T @ gradient[t]
        return gradient

    def cost_terms(self) -> dict[str, Reals]:
        """Contribution of each cost term by knot, (T + 1,) [cost]; NaN where a knot has no such term."""
        with self._as_solved() as problem:
            return inspection.cost_terms(problem, self.xs, self.us)

    def contact_forces(self) -> dict[str, Reals]:
        """Force of each contact, or impulse, at the running knots; see `trajopt.shooting.contact_forces`."""
        with self._as_solved() as problem:
            return inspection.contact_forces(problem, self.xs, self.us)

    def explain(self) -> str:
        """Why the solver stopped, which terms and knots the cost comes from, and which knob to turn."""
        from trajopt.solution.explanation import explain

        return explain(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draws everything about it in one figure and writes it to `path`; see `trajopt.plotting.plot_summary`."""
        from trajopt.plotting import plot_summary

        return plot_summary(self, path)

    @contextlib.contextmanager
    def _as_solved(self) -> Iterator[ShootingProblem]:
        """The problem, with the parameter values and x0 of the solve."""
        if self.problem is None:
            raise InvalidArgumentError(
                "problem: this solution was loaded without one; use Solution.load(path, problem)"
            )
        with inspection.with_values(self.problem, self.parameters, self.x0):
            yield self.problem

    def save(self, path: str | Path) -> Path:
        """Writes everything but the problem to a .npz file and returns its path; `load` reads it.

        Raises:
            InvalidArgumentError: The folder does not exist, or the suffix is another.
        """
        return file.write(path, self)

    @classmethod
    def load(cls, path: str | Path, problem: ShootingProblem | None = None) -> Solution:
        """Reads what `save` wrote.

        Args:
            path: The file.
            problem: The problem it solves, so that the solution can judge itself again.

        Raises:
            InvalidArgumentError: The file is not one that `save` wrote, or the problem has other sizes.
        """
        found = file.read(path)
        if problem is not None and (problem.T, problem.state.nx) != (len(found["us"]), found["xs"].shape[1]):
            raise InvalidArgumentError(
                f"problem: T = {problem.T}, nx = {problem.state.nx}; the solution has T = {len(found['us'])}, "
                f"nx = {found['xs'].shape[1]}"
            )
        return cls(**found, problem=problem)
