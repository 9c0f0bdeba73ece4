"""Rigid-body algorithms as CasADi expressions of a pinocchio.Model."""

from trajopt.dynamics.friction import SmoothFriction
from trajopt.dynamics.robot_expressions import RobotExpressions
from trajopt.lie import (
    exp3,
    exp6,
    jexp3,
    jexp6,
    jlog3,
    jlog6,
    log3,
    log6,
    log6_and_jacobian,
    quaternion_to_rotation,
    skew,
)

__all__ = [
    "RobotExpressions",
    "SmoothFriction",
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
