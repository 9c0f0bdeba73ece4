"""Solves of many rows by SolverDDP and SolverFDDP in lanes, and the problems that lanes suit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trajopt.shooting.compiled import CompiledKind
from trajopt.shooting.evaluator import Evaluator
from trajopt.shooting.lagrangian import LagrangianHessian
from trajopt.solvers.ddp.lanes.loop import LaneLoop
from trajopt.solvers.ddp.lanes.queue import Queue
from trajopt.solvers.ddp.lanes.rules import Rules

if TYPE_CHECKING:
    from trajopt.solvers.batch.results import BatchResults
    from trajopt.solvers.batch.rows import BatchRows
    from trajopt.solvers.batch.solve import Watch
    from trajopt.solvers.ddp.rollout import RolloutSolverAbstract

GROUPS = 64
"""Groups of lanes that iterate together: fewer cost more of Python for each problem, more leave the cache."""
LARGE = 21
"""Size ndx + nu from which on the backward pass of one problem is as fast as that of a lane."""


def fits_lanes(solver: RolloutSolverAbstract) -> bool:
    """Whether lanes can solve the solver's problem, with its options, faster than one by one."""
    problem, options = solver.problem, solver.options
    small = problem.nu > 0 and problem.T > 0 and problem.state.ndx + problem.nu <= LARGE
    plain = not (solver.keeps_limits or solver.callbacks or options.time_limit or options.hessian == "exact")
    return small and plain and all(isinstance(kind, CompiledKind) for kind in problem.kinds)


def solve_in_lanes(
    solver: RolloutSolverAbstract, loop: LaneLoop, rows: BatchRows, results: BatchResults, watch: Watch
) -> None:
    """Solves rows in lanes; those that it leaves are not done."""
    try:
        loop.run(Queue(solver.problem, rows), results, watch)
    finally:
        results.records = loop.records.histories(rows.n, np.array(sorted(loop.left), dtype=np.int64))


def lane_loop(solver: RolloutSolverAbstract, *, varied: bool) -> LaneLoop:
    """The loop of a solver's problem, whose parameters may be `varied` between rows."""
    problem, options = solver.problem, solver.options
    exact = options.hessian != "gauss-newton" and LagrangianHessian.available(Evaluator(problem))
    return LaneLoop(problem, Rules(options, solver.closes_parts_of_gaps), GROUPS, exact=exact, varied=varied)
