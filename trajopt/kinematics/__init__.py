"""Inverse kinematics: configurations that meet tasks."""

from trajopt.kinematics import ik
from trajopt.kinematics.planar import planar_2r
from trajopt.kinematics.result import IKBatch, IKResult, IKStatus, TaskResidual
from trajopt.kinematics.solver import IKSolver
from trajopt.model.calls import explain_calls

__all__ = ["IKBatch", "IKResult", "IKSolver", "IKStatus", "TaskResidual", "ik", "planar_2r"]

explain_calls(__name__)
explain_calls(ik.__name__)
