"""Integrators: they step a continuous-time model over one time step."""

from trajopt.actions.integrated.base import IntegratedActionModelAbstract
from trajopt.actions.integrated.control import (
    ControlParametrizationPolyOne,
    ControlParametrizationPolyTwoRK,
    ControlParametrizationPolyZero,
)
from trajopt.actions.integrated.euler import IntegratedActionModelEuler
from trajopt.actions.integrated.implicit import IntegratedActionModelImplicit
from trajopt.actions.integrated.rk import IntegratedActionModelRK
from trajopt.actions.integrated.rk4 import IntegratedActionModelRK4
from trajopt.actions.integrated.tableau import Tableau
from trajopt.objects.calls import explain_calls

__all__ = [
    "ControlParametrizationPolyOne",
    "ControlParametrizationPolyTwoRK",
    "ControlParametrizationPolyZero",
    "IntegratedActionModelAbstract",
    "IntegratedActionModelEuler",
    "IntegratedActionModelImplicit",
    "IntegratedActionModelRK",
    "IntegratedActionModelRK4",
    "Tableau",
]

explain_calls(__name__)
