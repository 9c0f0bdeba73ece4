"""Base of all models: run-time parameters, content hash, stored programs."""

from trajopt.model.base import Model
from trajopt.model.parameters import Parameter, ParameterLayout

__all__ = ["Model", "Parameter", "ParameterLayout"]
