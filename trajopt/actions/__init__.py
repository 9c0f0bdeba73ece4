"""Action models: one knot of a shooting problem, dynamics and cost."""

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.data import ActionData
from trajopt.actions.discrete import ActionModelDiscrete
from trajopt.actions.expansion import Expansion, Lift, Multipliers, Point, Values
from trajopt.actions.expression import ActionModelExpression
from trajopt.actions.impulse_fwd_dynamics import ActionModelImpulseFwdDynamics
from trajopt.actions.lqr import ActionModelLQR
from trajopt.actions.motors import ActionModelMotors
from trajopt.actions.num_diff import ActionModelNumDiff
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.actions.unicycle import ActionModelUnicycle
from trajopt.objects.calls import explain_calls

__all__ = [
    "ActionData",
    "ActionModelAbstract",
    "ActionModelDiscrete",
    "ActionModelExpression",
    "ActionModelImpulseFwdDynamics",
    "ActionModelLQR",
    "ActionModelMotors",
    "ActionModelNumDiff",
    "ActionModelTerminal",
    "ActionModelUnicycle",
    "Expansion",
    "Lift",
    "Multipliers",
    "Point",
    "Values",
]

explain_calls(__name__)
