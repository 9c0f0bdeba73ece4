"""Inverse kinematics: configurations that satisfy tasks, `ik.solve(robot, tasks)`, and motions along a path."""

from trajopt.ik.five_bar import FiveBar
from trajopt.ik.path import Departure, IKPath, IKPathStatus
from trajopt.ik.planar import planar_2r
from trajopt.ik.result import IKBatch, IKResult, IKStatus, TaskResidual
from trajopt.ik.solve import solve, solve_batch
from trajopt.ik.solver import IKSolver
from trajopt.ik.track import track
from trajopt.ik.tracker import IKStep, IKTracker
from trajopt.objects.calls import explain_calls

__all__ = [
    "Departure",
    "FiveBar",
    "IKBatch",
    "IKPath",
    "IKPathStatus",
    "IKResult",
    "IKSolver",
    "IKStatus",
    "IKStep",
    "IKTracker",
    "TaskResidual",
    "planar_2r",
    "solve",
    "solve_batch",
    "track",
]

explain_calls(__name__)
