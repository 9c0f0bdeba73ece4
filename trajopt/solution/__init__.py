"""The result of a solve: trajectory, status, record of the iterations, explanation."""

from trajopt.objects.calls import explain_calls
from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.solution.solution import Solution

__all__ = ["IterationRecord", "Solution", "SolverStatus"]

explain_calls(__name__)
