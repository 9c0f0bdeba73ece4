"""Minimum time along a path of configurations, within limits of velocity, acceleration, torque and jerk."""

from trajopt.objects.calls import explain_calls
from trajopt.retiming.joint_path import JointPath
from trajopt.retiming.minimum_time import retime
from trajopt.retiming.result import RetimedPath

__all__ = ["JointPath", "RetimedPath", "retime"]

explain_calls(__name__)
