"""Explanation of a solution for `Solution.explain`: why the solver stopped, what dominates the cost, what to try."""

from trajopt.analysis.advice.explanation import explain

__all__ = ["explain"]
