"""Trained neural networks as expressions and arrays."""

from trajopt.networks.network import Network
from trajopt.objects.calls import explain_calls

__all__ = ["Network"]

explain_calls(__name__)
