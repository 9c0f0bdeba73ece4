"""What every model shares: run-time parameters, content hash, stored programs."""

from trajopt.model.base import Model, Parameter, parameter_vector

__all__ = ["Model", "Parameter", "parameter_vector"]
