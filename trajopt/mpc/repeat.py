"""Repetition of a failed step of a controller from a guess."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Protocol

from trajopt.checks import check_array
from trajopt.errors import InvalidArgumentError, ModelEvaluationError, function_raised, shown
from trajopt.mpc.converged import PlanOutcome
from trajopt.mpc.options import Guess
from trajopt.mpc.step import MPCStatus
from trajopt.solvers.sqp.real_time import Plan
from trajopt.types import Reals


class Engine(Protocol):
    """Computation of plans, as by `RealTime` and `Converged`."""

    def prepare(self, plan: Plan) -> None:
        """Does all work that does not need the measurement."""

    def feedback(self, plan: Plan, x: Reals) -> PlanOutcome:
        """Computes the plan from a measured state; a failed step leaves the plan unchanged."""


def tried(engine: Engine, plan: Plan, x: Reals) -> PlanOutcome:
    """Outcome of a step; a model that cannot be evaluated is a failure."""
    try:
        return engine.feedback(plan, x)
    except ModelEvaluationError as error:
        return PlanOutcome(MPCStatus.FAILED, str(error), 0)


def repeated(engine: Engine, plan: Plan, x: Reals, times: Reals, guess: Guess, failed: PlanOutcome) -> PlanOutcome:
    """Outcome of a failed step that is repeated from a guess; if that fails, too, plan and outcome stay.

    Args:
        engine: Computation of plans.
        plan: The plan.
        x: Measured state (nx,).
        times: Times of the knots (N + 1,) [s].
        guess: Function from x and times to (xs, us).
        failed: Outcome of the step that failed.

    Raises:
        TrajoptError: The function raises, or returns no guess of the plan's sizes.
    """
    try:
        found = guess(x.copy(), times)
    except Exception as error:
        raise function_raised("on_failure", error) from error
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise InvalidArgumentError(f"on_failure: expected a function that returns (xs, us), got {shown(found)} from it")
    xs = check_array("on_failure: xs", found[0], plan.xs.shape)
    us = check_array("on_failure: us", found[1], plan.us.shape)
    kept = copy.deepcopy(plan)
    plan.take(xs, us, None, None, None)
    plan.xs[0] = x
    for array in (plan.K, plan.lam, plan.y):
        array.fill(0.0)
    engine.prepare(plan)
    outcome = tried(engine, plan, x)
    if outcome.status is MPCStatus.FAILED:
        plan.take(kept.xs, kept.us, kept.K, kept.lam, kept.y)
        return failed
    reason = f"repeated from the guess of on_failure, as {failed.reason}"
    return replace(
        outcome, reason=f"{outcome.reason}; {reason}".lstrip("; "), iterations=outcome.iterations + failed.iterations
    )
