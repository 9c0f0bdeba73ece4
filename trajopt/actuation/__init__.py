"""Actuations: maps from controls to joint torques."""

from trajopt.actuation.base import ActuationModelAbstract
from trajopt.actuation.floating_base import ActuationModelFloatingBase
from trajopt.actuation.full import ActuationModelFull
from trajopt.actuation.matrix import ActuationModelMatrix
from trajopt.actuation.squashed import ActuationModelSquashed
from trajopt.actuation.thrusters import ActuationModelFloatingBaseThrusters, Thruster
from trajopt.objects.calls import explain_calls

__all__ = [
    "ActuationModelAbstract",
    "ActuationModelFloatingBase",
    "ActuationModelFloatingBaseThrusters",
    "ActuationModelFull",
    "ActuationModelMatrix",
    "ActuationModelSquashed",
    "Thruster",
]

explain_calls(__name__)
