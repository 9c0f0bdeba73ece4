"""Watch a solve: callbacks get the record of each iteration and may stop it. A plain function of a record will do."""

from trajopt.callbacks.base import Callback
from trajopt.callbacks.logger import CallbackLogger
from trajopt.callbacks.verbose import CallbackVerbose

__all__ = ["Callback", "CallbackLogger", "CallbackVerbose"]
