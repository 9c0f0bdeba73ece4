"""Rotations and rigid motions as expressions: exp, log and their right Jacobians, and quaternions."""

from trajopt.lie.matrices import skew
from trajopt.lie.motions import (
    Log6,
    exp3,
    exp6,
    jexp3,
    jexp6,
    jlog3,
    jlog6,
    log3,
    log6,
    log6_and_jacobian,
)
from trajopt.lie.quaternions import quaternion_to_rotation

__all__ = [
    "Log6",
    "exp3",
    "exp6",
    "jexp3",
    "jexp6",
    "jlog3",
    "jlog6",
    "log3",
    "log6",
    "log6_and_jacobian",
    "quaternion_to_rotation",
    "skew",
]
