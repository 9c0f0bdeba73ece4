"""Articulations: joints' coordinates and the poses of bodies, the table of joints, orders of quaternions."""

from trajopt.articulations.maximal import (
    JointResidual,
    body_names,
    generalized_to_maximal,
    maximal_to_generalized,
)
from trajopt.articulations.quaternions import wxyz_to_xyzw, xyzw_to_wxyz
from trajopt.articulations.table import JointRow, joint_table
from trajopt.model.calls import explain_calls

__all__ = [
    "JointResidual",
    "JointRow",
    "body_names",
    "generalized_to_maximal",
    "joint_table",
    "maximal_to_generalized",
    "wxyz_to_xyzw",
    "xyzw_to_wxyz",
]

explain_calls(__name__)
