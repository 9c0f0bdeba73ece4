"""Analysis of a solution in numbers: feet and contact forces, references, limits, a report in words."""

from trajopt.analysis.legs import Foot, LeggedMotion, SupportPhase, legged_motion
from trajopt.analysis.report import motion_report

__all__ = ["Foot", "LeggedMotion", "SupportPhase", "legged_motion", "motion_report"]
