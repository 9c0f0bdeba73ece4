"""Numbers of a motion, without a picture: feet and forces, references, limits, report."""

from trajopt.analysis.legs import Foot, LeggedMotion, legged_motion
from trajopt.analysis.report import motion_report

__all__ = ["Foot", "LeggedMotion", "legged_motion", "motion_report"]
