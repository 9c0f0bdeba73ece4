"""Real-time iteration: SQP steps from measured states, each prepared before its measurement arrives.

A `RealTimeIteration` improves a `Plan` in two phases. `prepare(plan)` does all work that needs no measurement, and
`feedback(plan, x)` replaces the plan by one from a measured state x, or leaves it as it is. `Limits` has the bounds
that plans keep, and `PlanEvaluator` the cost and violations of the last plan. All of them share one evaluator.
"""

from trajopt.solvers.sqp.real_time.evaluation import PlanEvaluator
from trajopt.solvers.sqp.real_time.iteration import Feedback, RealTimeIteration
from trajopt.solvers.sqp.real_time.limits import Limits
from trajopt.solvers.sqp.real_time.plan import Plan

__all__ = ["Feedback", "Limits", "Plan", "PlanEvaluator", "RealTimeIteration"]
