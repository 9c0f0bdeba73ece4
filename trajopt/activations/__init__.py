"""Activations: scalar functions that turn a residual into a cost."""

from trajopt.activations.base import ActivationModelAbstract
from trajopt.activations.quadratic import ActivationModelQuad
from trajopt.activations.quadratic_barrier import ActivationModelQuadraticBarrier
from trajopt.activations.weighted_quadratic import ActivationModelWeightedQuad
from trajopt.objects.calls import explain_calls

__all__ = [
    "ActivationModelAbstract",
    "ActivationModelQuad",
    "ActivationModelQuadraticBarrier",
    "ActivationModelWeightedQuad",
]

explain_calls(__name__)
