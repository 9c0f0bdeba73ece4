"""A solution in words, for `Solution.explain`: why the solver stopped, what the cost comes from, what to try."""

from trajopt.analysis.advice.explanation import explain

__all__ = ["explain"]
