"""Costs: sums of named, weighted terms."""

from trajopt.costs.cost_stack import CostStack, CostTerm, QuadraticCost
from trajopt.objects.calls import explain_calls

__all__ = ["CostStack", "CostTerm", "QuadraticCost"]

explain_calls(__name__)
