"""Analysis of a solution in numbers: feet and contact forces, references, limits, a report in words."""

from trajopt.analysis.legs import Foot, LeggedMotion, SupportPhase, legged_motion
from trajopt.analysis.limits import LimitUse, limit_uses, limits_report
from trajopt.analysis.reached import Reached, friction_use, reached, reached_words
from trajopt.analysis.report import motion_report

__all__ = [
    "Foot",
    "LeggedMotion",
    "LimitUse",
    "Reached",
    "SupportPhase",
    "friction_use",
    "legged_motion",
    "limit_uses",
    "limits_report",
    "motion_report",
    "reached",
    "reached_words",
]
