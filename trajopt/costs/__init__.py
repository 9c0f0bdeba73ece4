"""Costs: sums of named, weighted terms."""

from trajopt.costs.cost_stack import CostStack, CostTerm, QuadraticCost

__all__ = ["CostStack", "CostTerm", "QuadraticCost"]
