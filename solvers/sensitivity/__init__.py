"""Derivatives of solutions by initial states and parameters."""

from trajopt.objects.calls import explain_calls
from trajopt.solvers.sensitivity.derivatives import Sensitivity, SolutionDerivatives

__all__ = ["Sensitivity", "SolutionDerivatives"]

explain_calls(__name__)
