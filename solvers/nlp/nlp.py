"""Solvers of nonlinear programs that come with CasADi, IPOPT and fatrop, for independent checks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from trajopt.errors import InvalidArgumentError
from trajopt.solution import IterationRecord, SolverStatus
from trajopt.solvers.base import SolverAbstract
from trajopt.solvers.nlp.nonlinear_program import NonlinearProgram
from trajopt.solvers.options import NLPOptions, SolverOptions
from trajopt.solvers.progress import Progress
from trajopt.types import Reals

FAR = 1.0  # largest rotation of a step before new centres are chosen [rad]
CENTRES = 5  # largest number of choices of new centres

STATUSES = {
    "Solve_Succeeded": SolverStatus.CONVERGED,
    "Solved_To_Acceptable_Level": SolverStatus.CONVERGED,
    "Infeasible_Problem_Detected": SolverStatus.INFEASIBLE,
    "Maximum_Iterations_Exceeded": SolverStatus.MAX_ITERATIONS,
    "Maximum_CpuTime_Exceeded": SolverStatus.TIME_LIMIT,
    "Maximum_WallTime_Exceeded": SolverStatus.TIME_LIMIT,
    "User_Requested_Stop": SolverStatus.INTERRUPTED,
}


@dataclass(kw_only=True)
class NLPProgress(Progress):
    """State of a solve by a nonlinear program.

    Attributes:
        y: Multipliers of the constraint rows (T + 1, nc).
        slopes: Derivatives of the cost from each knot on by the unknowns (T + 1, k).
    """

    y: Reals | None = None
    slopes: Reals | None = None


class NLPSolverAbstract(SolverAbstract[NLPProgress]):
    """Passes the whole problem to a solver of nonlinear programs, with exact derivatives of the same expressions.

    It is slower than SolverSQP and returns no feedback gains. Records arrive when the solve is done. On manifolds the
    variables are tangent steps from the guess; if a rotation exceeds 1 rad, the program is solved again from there.
    Bounds of a start are bounds of the first step; on rotations, they must be equal or infinite.

    The arguments are those of SolverAbstract.

    Raises:
        UnsupportedOperationError: A model is a black box, or not a single expression, as of a simulator.
    """

    options_type: ClassVar[type[SolverOptions]] = NLPOptions
    options: NLPOptions
    progress_type = NLPProgress
    honours_constraints = True
    honours_soft_constraints = True
    chooses_unknowns = True
    plugin: ClassVar[str]

    def build(self) -> None:
        self._program = NonlinearProgram(self.whole)
        try:
            self._solver = ca.nlpsol("solver", self.plugin, self._program.symbols, self._settings())
        except RuntimeError as error:
            if not self.options.settings:
                raise
            reason = str(error).strip().splitlines()[-1].rpartition("cpp:")[2].partition(": ")[2]
            raise InvalidArgumentError(f"settings: expected settings that {self.plugin} has, got: {reason}") from error

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Settings of CasADi's nlpsol."""

    def iterate(self, run: NLPProgress) -> IterationRecord | None:
        """Runs the whole solve and returns the record of the last iteration."""
        problem, program, (xs, us) = self.whole, self._program, run.trajectory
        xs = program.with_start(xs)
        problem.warn_of_given_rows(problem.calc(xs, us).rows[0])
        run.iterations = 0
        for _ in range(CENTRES):
            found = self._solver(x0=program.guess(us), p=program.values(xs), **program.bounds(xs[0]))
            xs, us, largest = program.trajectory(np.array(found["x"]).ravel(), xs)
            stats = self._solver.stats()
            run.iterations += int(stats["iter_count"])
            before = problem.table.values.copy()
            reached = problem.calc(xs, us)  # chooses the bodies of collision rows
            if largest < FAR and np.array_equal(before, problem.table.values):
                break
        run.trajectory, run.cost = (xs, us), reached.cost
        of_variables, of_constraints = (np.array(found[name]).ravel() for name in ("lam_x", "lam_g"))
        run.y = program.multipliers(of_constraints)
        run.slopes = program.costates(of_variables, of_constraints)[:, self.problem.state.ndx :]
        run.feasible = bool(np.abs(reached.gaps).max() < 1e-6)
        run.status = self._status(stats)
        return run.record(accepted=run.status is SolverStatus.CONVERGED)

    def _status(self, stats: dict[str, Any]) -> SolverStatus:
        if stats["success"]:
            return SolverStatus.CONVERGED
        known = STATUSES.get(str(stats["return_status"]), SolverStatus.LINE_SEARCH_FAILED)
        return SolverStatus.LINE_SEARCH_FAILED if known is SolverStatus.CONVERGED else known

    def results(self, run: NLPProgress) -> dict[str, Any]:
        """Multipliers of the constraint rows and of unknowns, under "multipliers"; empty before a solve."""
        if run.y is None or run.slopes is None:
            return {}
        of_unknowns = {"unknowns": run.slopes} if self.problem.unknowns else {}
        return {"multipliers": {"constraints": run.y, **of_unknowns}}


class SolverIpopt(NLPSolverAbstract):
    """IPOPT (Wächter, Biegler, 2006), an interior-point method that comes with CasADi; see NLPSolverAbstract."""

    plugin = "ipopt"

    def _settings(self) -> dict[str, Any]:
        settings = {
            "tol": self.options.tolerance,
            "max_iter": self.options.max_iterations,
            "print_level": 0,
            "sb": "yes",
            **({} if self.options.time_limit is None else {"max_wall_time": self.options.time_limit}),
            **dict(self.options.settings),
        }
        return {"ipopt": settings, "print_time": False, "error_on_fail": False}


class SolverFatrop(NLPSolverAbstract):
    """Fatrop (Vanroye et al., 2023), an interior-point method for optimal control; see NLPSolverAbstract."""

    plugin = "fatrop"

    def _settings(self) -> dict[str, Any]:
        program, n = self._program, self.whole.state.ndx
        limits = program.bounds(self.whole.x0)
        settings = {
            "tol": self.options.tolerance,
            "max_iter": self.options.max_iterations,
            "print_level": 0,
            **dict(self.options.settings),
        }
        return {
            "fatrop": settings,
            "structure_detection": "manual",
            "nx": [n] * len(program.nu),
            "nu": program.inputs,
            "ng": [len(rows) + int(t == 0 and self.whole.start_sum is not None) for t, rows in enumerate(program.rows)],
            "N": self.problem.T,
            "equality": (limits["lbg"] == limits["ubg"]).tolist(),
            "print_time": False,
            "error_on_fail": False,
        }
