"""Constraints: rows of residuals within bounds."""

from trajopt.constraints.constraint import Constraint
from trajopt.constraints.constraint_stack import ConstraintStack
from trajopt.objects.calls import explain_calls

__all__ = ["Constraint", "ConstraintStack"]

explain_calls(__name__)
