"""The result of a solve: trajectory, status, record of the iterations, explanation."""

from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.solution.solution import Solution

__all__ = ["IterationRecord", "Solution", "SolverStatus"]
