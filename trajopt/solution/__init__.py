"""The result of a solve: trajectory, status, record of the iterations, explanation; and of many solves in arrays."""

from trajopt.objects.calls import explain_calls
from trajopt.solution.batch import SolutionBatch
from trajopt.solution.library import SolutionLibrary
from trajopt.solution.record import IterationRecord, SolverStatus
from trajopt.solution.solution import Solution

__all__ = ["IterationRecord", "Solution", "SolutionBatch", "SolutionLibrary", "SolverStatus"]

explain_calls(__name__)
