"""Inverse kinematics: configurations that meet tasks, and motions along a path."""

from trajopt.kinematics import ik
from trajopt.kinematics.five_bar import FiveBar
from trajopt.kinematics.path import Departure, IKPath, IKPathStatus
from trajopt.kinematics.planar import planar_2r
from trajopt.kinematics.result import IKBatch, IKResult, IKStatus, TaskResidual
from trajopt.kinematics.solver import IKSolver
from trajopt.kinematics.tracker import IKStep, IKTracker
from trajopt.model.calls import explain_calls

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
    "ik",
    "planar_2r",
]

explain_calls(__name__)
explain_calls(ik.__name__)
