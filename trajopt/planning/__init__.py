"""Motions around obstacles: a path by OMPL, made smooth, and retimed within limits."""

from trajopt.objects.calls import explain_calls
from trajopt.planning.planner import plan
from trajopt.planning.result import Plan, PlanStatus

__all__ = ["Plan", "PlanStatus", "plan"]

explain_calls(__name__)
