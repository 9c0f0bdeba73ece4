"""Many problems in one call: `solver.solve_batch`."""

from trajopt.solvers.batch.solve import solve_rows

__all__ = ["solve_rows"]
