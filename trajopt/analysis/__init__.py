"""Analysis of a solution: feet, forces, references, limits and constraints, as numbers and as reports in text."""

from typing import TYPE_CHECKING

from trajopt.analysis.clearance import clearance
from trajopt.analysis.comparison import compare
from trajopt.analysis.constraints import ConstraintRows, constraint_rows, constraints_report
from trajopt.analysis.covariance import Ellipses, StateCovariance, state_covariance
from trajopt.analysis.feedback import Feedback
from trajopt.analysis.legs import Foot, LeggedMotion, SupportPhase, legged_motion
from trajopt.analysis.limits import LimitUse, limit_uses, limits_report
from trajopt.analysis.monte_carlo import MonteCarlo, monte_carlo
from trajopt.analysis.reached import Reached, friction_use, reached, reached_words
from trajopt.analysis.report import motion_report
from trajopt.analysis.resampling import resample
from trajopt.analysis.swept import Clearance
from trajopt.objects.calls import explain_calls
from trajopt.objects.lazy import lazy

if TYPE_CHECKING:
    from trajopt.analysis.replays import replay
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "Clearance",
    "ConstraintRows",
    "Ellipses",
    "Feedback",
    "Foot",
    "LeggedMotion",
    "LimitUse",
    "MonteCarlo",
    "Reached",
    "StateCovariance",
    "SupportPhase",
    "clearance",
    "compare",
    "constraint_rows",
    "constraints_report",
    "friction_use",
    "legged_motion",
    "limit_uses",
    "limits_report",
    "monte_carlo",
    "motion_report",
    "reached",
    "reached_words",
    "replay",
    "resample",
    "state_covariance",
]

explain_calls(__name__)
