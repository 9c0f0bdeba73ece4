"""Shooting problems: knots, their parameters, and the arrays that solvers work on."""

from trajopt.shooting.linearization import Evaluation, Linearization
from trajopt.shooting.problem import ShootingProblem

__all__ = ["Evaluation", "Linearization", "ShootingProblem"]
