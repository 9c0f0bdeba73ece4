"""Solves of many rows by SolverDDP and SolverFDDP in lanes, and the problems that lanes suit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import get_num_threads, lane_count
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.ddp.lanes.loop import LaneLoop
from trajopt.solvers.ddp.lanes.queue import Queue

if TYPE_CHECKING:
    from trajopt.shooting.problem import ShootingProblem
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import Watch
    from trajopt.solvers.ddp.rollout import RolloutSolverAbstract

GROUPS = 64
"""Groups of lanes that iterate together: with fewer, Python takes more of the time of each problem."""
MEMORY, FEWEST = 8 * 2**20, 8
"""Memory of the groups' arrays, so that they stay in a cache [bytes]; and groups that there are in any case."""
LARGE = 21
"""Size ndx + nu from which on the backward pass of one problem is as fast as that of a lane."""


def fits_lanes(solver: RolloutSolverAbstract) -> bool:
    """Whether lanes can solve the solver's problem, with its options, faster than one by one."""
    problem, options = solver.problem, solver.options
    small = problem.nu > 0 and problem.T > 0 and problem.state.ndx + problem.nu <= LARGE
    small = small and not problem.unknowns
    plain = not (solver.keeps_limits or solver.callbacks or options.time_limit or options.hessian == "exact")
    return small and plain and all(isinstance(kind, CompiledKind) for kind in problem.kinds)


def solve_in_lanes(
    loop: LaneLoop, problem: ShootingProblem, rows: BatchRows, results: BatchResults, watch: Watch
) -> None:
    """Solves rows in lanes; rows that the loop leaves are not done."""
    try:
        loop.run(Queue(problem, rows), results, watch)
    finally:
        left = np.array(sorted(loop.left), dtype=np.int64)
        results.records = loop.records.by_row(rows.n, without=left)


def loop_for(solver: RolloutSolverAbstract, rows: BatchRows, kept: LaneLoop | None) -> LaneLoop:
    """Lanes for a solver's problem and so many rows; those that it has kept, if they fit."""
    problem, options, varied = solver.problem, solver.options, bool(rows.parameters)
    numbers = 2 * (problem.state.nx + problem.nu) + (1 + problem.state.ndx) * problem.nu + problem.state.ndx
    fitting = MEMORY // (8 * lane_count() * (problem.T + 1) * numbers)
    groups, threads = min(GROUPS, max(FEWEST, fitting), -(-rows.n // lane_count())), get_num_threads()
    if kept is not None and kept.fits(problem, groups, varied=varied, threads=threads):
        return kept
    exact = options.hessian != "gauss-newton" and LagrangianHessian.available(Evaluator(problem))
    gaps = solver.closes_parts_of_gaps
    return LaneLoop(problem, options, groups, gaps=gaps, exact=exact, varied=varied, threads=threads)
