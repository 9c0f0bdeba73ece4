"""Model-predictive control: solves a problem again at each measurement, over a window that moves with time."""

from typing import TYPE_CHECKING

from trajopt.mpc.closed_loop import simulate
from trajopt.mpc.controller import MPCController
from trajopt.mpc.disturbance import Push
from trajopt.mpc.errors import ClosedLoopError
from trajopt.mpc.kalman_filter import KalmanFilter
from trajopt.mpc.log import ClosedLoop
from trajopt.mpc.options import MPCOptions
from trajopt.mpc.references import ParameterSchedule
from trajopt.mpc.step import MPCStatus, MPCStep
from trajopt.mpc.tracking import Tracked
from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy
from trajopt.plants import Factor, MuJoCoPlant, PlantAbstract

if TYPE_CHECKING:
    import trajopt.mpc.server as server
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "ClosedLoop",
    "ClosedLoopError",
    "Factor",
    "KalmanFilter",
    "MPCController",
    "MPCOptions",
    "MPCStatus",
    "MPCStep",
    "MuJoCoPlant",
    "ParameterSchedule",
    "PlantAbstract",
    "Push",
    "Tracked",
    "server",
    "simulate",
]

explain_calls(__name__)
