"""Solves of many rows by SolverDDP and SolverFDDP in lanes, and the problems that lanes suit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trajopt.kernels import get_num_threads, lane_count
from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.ddp.lanes.loop import LaneLoop
from trajopt.solvers.ddp.lanes.queue import Queue
from trajopt.solvers.ddp.lanes.records import merged
from trajopt.solvers.ddp.lanes.rules import Rules

if TYPE_CHECKING:
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import Watch
    from trajopt.solvers.ddp.rollout import RolloutSolverAbstract

GROUPS = 64
"""Groups of lanes that iterate together: with fewer, Python takes more of the time of each problem."""
MEMORY, FEWEST = 8 * 2**20, 8
"""Memory of the groups' arrays, so that they stay in a cache [bytes]; and groups that there are in any case."""
ROWS_OF_A_THREAD = 64
"""Fewest rows for each thread [-]."""
THREADED = 12
"""Size ndx + nu from which on threads pay off; Python, which runs in one thread at a time, is half the time below."""
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
    solver: RolloutSolverAbstract, loops: Sequence[LaneLoop], rows: BatchRows, results: BatchResults, watch: Watch
) -> None:
    """Solves rows in lanes, with one loop in each thread; rows that the loops leave are not done."""
    queue, raised = Queue(solver.problem, rows), list[BaseException]()

    def work(loop: LaneLoop) -> None:
        try:
            loop.run(queue, results, watch)
        except BaseException as error:  # raised in the caller's thread
            queue.stopped = True
            raised.append(error)

    others = [threading.Thread(target=work, args=(loop,), name="trajopt-lanes") for loop in loops[1:]]
    for thread in others:
        thread.start()
    try:
        loops[0].run(queue, results, watch)
    except BaseException:
        queue.stopped = True
        raise
    finally:
        for thread in others:
            thread.join()
        left = np.array(sorted(row for loop in loops for row in loop.left), dtype=np.int64)
        results.records = merged([loop.records for loop in loops], rows.n, without=left)
    if raised:
        raise raised[0]


def loops_for(solver: RolloutSolverAbstract, rows: BatchRows, kept: list[LaneLoop]) -> list[LaneLoop]:
    """Loops of a solver's problem, one for each thread that the rows are worth; those that it has kept, if they fit."""
    problem, varied = solver.problem, bool(rows.parameters)
    size = problem.state.ndx + problem.nu
    count = max(1, min(get_num_threads(), rows.n // ROWS_OF_A_THREAD)) if size >= THREADED else 1
    numbers = 2 * (problem.state.nx + problem.nu) + (1 + problem.state.ndx) * problem.nu + problem.state.ndx
    fitting = MEMORY // (8 * lane_count() * (problem.T + 1) * numbers)
    groups = min(GROUPS, max(FEWEST, fitting), -(-rows.n // (count * lane_count())))
    loops = [loop for loop in kept if loop.fits(problem, groups, varied=varied)]
    return [*loops, *(_loop(solver, groups, varied=varied) for _ in range(count - len(loops)))][:count]


def _loop(solver: RolloutSolverAbstract, groups: int, *, varied: bool) -> LaneLoop:
    """The loop of a solver's problem, with so many groups of lanes; parameters may be `varied` between rows."""
    problem, options = solver.problem, solver.options
    exact = options.hessian != "gauss-newton" and LagrangianHessian.available(Evaluator(problem))
    return LaneLoop(problem, Rules(options, solver.closes_parts_of_gaps), groups, exact=exact, varied=varied)
