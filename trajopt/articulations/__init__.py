"""Articulations: robots declared in code, joint coordinates and body poses, the table of joints, conventions."""

from trajopt.articulations.axes import Axis
from trajopt.articulations.builder import ArticulationBuilder
from trajopt.articulations.conventions import twist_convert, wrench_convert
from trajopt.articulations.maximal import (
    JointResidual,
    body_names,
    generalized_to_maximal,
    maximal_to_generalized,
)
from trajopt.articulations.quaternions import wxyz_to_xyzw, xyzw_to_wxyz
from trajopt.articulations.table import JointRow, joint_table
from trajopt.articulations.wrenches import apply_free_joint_wrench, effort_convert, velocity_convert
from trajopt.objects.calls import explain_calls

__all__ = [
    "ArticulationBuilder",
    "Axis",
    "JointResidual",
    "JointRow",
    "apply_free_joint_wrench",
    "body_names",
    "effort_convert",
    "generalized_to_maximal",
    "joint_table",
    "maximal_to_generalized",
    "twist_convert",
    "velocity_convert",
    "wrench_convert",
    "wxyz_to_xyzw",
    "xyzw_to_wxyz",
]

explain_calls(__name__)
