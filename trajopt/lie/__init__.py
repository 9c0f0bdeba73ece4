"""Rotations and rigid motions as expressions: exp, log and their right Jacobians, and quaternions.

Conventions are Pinocchio's. A twist is (v, ω), linear part first; quaternions are (x, y, z, w). Jacobians are right
Jacobians: to first order log(M exp(δ)) = log(M) + jlog(M) δ and exp(ξ + δ) = exp(ξ) exp(jexp(ξ) δ).

Values and derivatives of every order are finite everywhere, see `trajopt.lie.coefficients`.
"""

from trajopt.lie.matrices import skew
from trajopt.lie.poses import PoseLog, exp6, exp_pose, jexp6, jlog6, log6, log6_and_jacobian, log_of_motion
from trajopt.lie.quaternions import conjugate, multiply, quaternion_to_rotation, renormalise, rotate
from trajopt.lie.rotations import exp3, exp_quaternion, jexp3, jlog3, jlog_rotation, log3, log_quaternion

__all__ = [
    "PoseLog",
    "conjugate",
    "exp3",
    "exp6",
    "exp_pose",
    "exp_quaternion",
    "jexp3",
    "jexp6",
    "jlog3",
    "jlog6",
    "jlog_rotation",
    "log3",
    "log6",
    "log6_and_jacobian",
    "log_of_motion",
    "log_quaternion",
    "multiply",
    "quaternion_to_rotation",
    "renormalise",
    "rotate",
    "skew",
]
