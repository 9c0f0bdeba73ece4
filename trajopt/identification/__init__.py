"""Identification of unknown parameters from measured states and controls."""

from trajopt.identification.combinations import Combination
from trajopt.identification.estimation import identify
from trajopt.identification.log import Log
from trajopt.identification.result import Identification
from trajopt.objects.calls import explain_calls

__all__ = ["Combination", "Identification", "Log", "identify"]

explain_calls(__name__)
