"""Analysis of a solution in numbers: feet, forces, references, limits, constraints, a report in words."""

from trajopt.analysis.constraints import ConstraintRows, constraint_rows, constraints_report
from trajopt.analysis.legs import Foot, LeggedMotion, SupportPhase, legged_motion
from trajopt.analysis.limits import LimitUse, limit_uses, limits_report
from trajopt.analysis.reached import Reached, friction_use, reached, reached_words
from trajopt.analysis.replay import replay
from trajopt.analysis.report import motion_report
from trajopt.model.calls import explain_calls

__all__ = [
    "ConstraintRows",
    "Foot",
    "LeggedMotion",
    "LimitUse",
    "Reached",
    "SupportPhase",
    "constraint_rows",
    "constraints_report",
    "friction_use",
    "legged_motion",
    "limit_uses",
    "limits_report",
    "motion_report",
    "reached",
    "reached_words",
    "replay",
]

explain_calls(__name__)
