"""Interior-point filter method for stages: the second method of SolverSQP."""

from trajopt.solvers.sqp.interior.steps import InteriorSteps

__all__ = ["InteriorSteps"]
