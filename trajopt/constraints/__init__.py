"""Constraints: rows of residuals within bounds."""

from trajopt.constraints.constraint_stack import Constraint, ConstraintStack

__all__ = ["Constraint", "ConstraintStack"]
