"""Interior-point filter method for stages, which SolverSQP takes where programs get nowhere."""

from trajopt.solvers.sqp.interior.equations import are_curved
from trajopt.solvers.sqp.interior.steps import InteriorSteps

__all__ = ["InteriorSteps", "are_curved"]
