"""Callbacks: objects or plain functions that receive the record of each iteration and may stop the solve."""

from trajopt.callbacks.base import Callback
from trajopt.callbacks.logger import CallbackLogger
from trajopt.callbacks.verbose import CallbackVerbose

__all__ = ["Callback", "CallbackLogger", "CallbackVerbose"]
