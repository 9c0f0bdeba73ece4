"""Sequential quadratic programming: rows of constraints, a quadratic model, a search, and the loop."""

from trajopt.solvers.sqp.solver import SolverSQP

__all__ = ["SolverSQP"]
