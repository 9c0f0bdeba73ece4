"""Rotations and rigid motions as expressions: exp, log and their right Jacobians, and quaternions."""

from trajopt.lie.matrices import skew
from trajopt.lie.poses import PoseLog, exp6, jexp6, jlog6, log6, log6_and_jacobian, log_of_motion
from trajopt.lie.quaternions import quaternion_to_rotation
from trajopt.lie.rotations import exp3, jexp3, jlog3, log3

__all__ = [
    "PoseLog",
    "exp3",
    "exp6",
    "jexp3",
    "jexp6",
    "jlog3",
    "jlog6",
    "log3",
    "log6",
    "log6_and_jacobian",
    "log_of_motion",
    "quaternion_to_rotation",
    "skew",
]
