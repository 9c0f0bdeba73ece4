"""Continuous-time action models."""

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.differential.contact_fwd_dynamics import DifferentialActionModelContactFwdDynamics
from trajopt.actions.differential.free_fwd_dynamics import DifferentialActionModelFreeFwdDynamics
from trajopt.actions.differential.symbolic import DifferentialActionModelSymbolic

__all__ = [
    "DifferentialActionModelAbstract",
    "DifferentialActionModelContactFwdDynamics",
    "DifferentialActionModelFreeFwdDynamics",
    "DifferentialActionModelSymbolic",
]
