"""Callbacks: objects or plain functions that receive the record of each iteration and may stop the solve."""

from trajopt.callbacks.base import Callback
from trajopt.callbacks.logger import CallbackLogger
from trajopt.callbacks.verbose import CallbackVerbose
from trajopt.objects.calls import explain_calls

__all__ = ["Callback", "CallbackLogger", "CallbackVerbose"]

explain_calls(__name__)
