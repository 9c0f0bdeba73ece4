"""Solves of many rows by SolverDDP and SolverFDDP in lanes, and the problems that lanes suit."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import get_num_threads, lane_count
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.ddp.lanes.loop import LaneLoop
from trajopt.solvers.ddp.lanes.queue import Queue
from trajopt.solvers.ddp.lanes.records import LaneRecords

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
LEAST = 16
"""Groups of lanes that are worth a thread of their own: with fewer, threads wait for each other's Python."""
MOST = 8
"""Threads beyond which there is always one that waits for Python."""
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
    loops: Sequence[LaneLoop], problem: ShootingProblem, rows: BatchRows, results: BatchResults, watch: Watch
) -> None:
    """Solves rows in lanes, each loop in a thread; rows that the loops leave are not done."""
    queue = Queue(problem, rows)
    with ThreadPoolExecutor(len(loops)) as threads:
        others = [threads.submit(loop.run, queue, results, watch) for loop in loops[1:]]
        try:
            loops[0].run(queue, results, watch)
            for other in others:
                other.result()
        except BaseException:
            queue.stop()
            raise
        finally:
            for other in others:
                other.exception()
            left = np.array(sorted(set[int]().union(*(loop.left for loop in loops))), dtype=np.int64)
            records = LaneRecords.of([loop.records for loop in loops])
            results.records = records.by_row(rows.n, without=left)


def loops_for(solver: RolloutSolverAbstract, rows: BatchRows, kept: Sequence[LaneLoop]) -> Sequence[LaneLoop]:
    """Lanes for a solver's problem and so many rows; those that it has kept, if they fit."""
    problem, options, varied = solver.problem, solver.options, bool(rows.parameters)
    numbers = 2 * (problem.state.nx + problem.nu) + (1 + problem.state.ndx) * problem.nu + problem.state.ndx
    fitting = MEMORY // (8 * lane_count() * (problem.T + 1) * numbers)
    needed = -(-rows.n // lane_count())
    threads = max(1, min(get_num_threads(), needed // LEAST, MOST))
    groups = min(GROUPS, max(FEWEST, fitting), -(-needed // threads))
    if len(kept) == threads and all(loop.fits(problem, groups, varied=varied) for loop in kept):
        return kept
    exact = options.hessian != "gauss-newton" and LagrangianHessian.available(Evaluator(problem))
    gaps = solver.closes_parts_of_gaps
    return [LaneLoop(problem, options, groups, gaps=gaps, exact=exact, varied=varied) for _ in range(threads)]
