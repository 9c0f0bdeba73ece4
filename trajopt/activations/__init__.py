"""Activations: scalar functions that turn a residual into a cost."""

from trajopt.activations.base import ActivationModelAbstract
from trajopt.activations.flat import ActivationModel2NormBarrier, ActivationModelQuadFlatExp, ActivationModelQuadFlatLog
from trajopt.activations.quadratic import ActivationModelQuad
from trajopt.activations.quadratic_barrier import (
    ActivationModelQuadraticBarrier,
    ActivationModelWeightedQuadraticBarrier,
)
from trajopt.activations.smooth_norms import (
    ActivationModelHuber,
    ActivationModelSmooth1Norm,
    ActivationModelSmooth2Norm,
)
from trajopt.activations.symbolic import ActivationModelSymbolic
from trajopt.activations.weighted_quadratic import ActivationModelWeightedQuad
from trajopt.objects.calls import explain_calls

__all__ = [
    "ActivationModel2NormBarrier",
    "ActivationModelAbstract",
    "ActivationModelHuber",
    "ActivationModelQuad",
    "ActivationModelQuadFlatExp",
    "ActivationModelQuadFlatLog",
    "ActivationModelQuadraticBarrier",
    "ActivationModelSmooth1Norm",
    "ActivationModelSmooth2Norm",
    "ActivationModelSymbolic",
    "ActivationModelWeightedQuad",
    "ActivationModelWeightedQuadraticBarrier",
]

explain_calls(__name__)
