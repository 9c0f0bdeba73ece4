"""Shooting problems: knots, run-time parameters, and the arrays that solvers work on."""

from trajopt.objects.calls import explain_calls
from trajopt.shooting.inspection import Controls, contact_forces, controls, cost_terms, motors, torques
from trajopt.shooting.problem import ShootingProblem
from trajopt.shooting.values import ProblemDerivatives, ProblemValues

__all__ = [
    "Controls",
    "ProblemDerivatives",
    "ProblemValues",
    "ShootingProblem",
    "contact_forces",
    "controls",
    "cost_terms",
    "motors",
    "torques",
]

explain_calls(__name__)
