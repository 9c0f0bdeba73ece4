"""Values and derivatives of a problem along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.errors import ModelEvaluationError, shown_numbers
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


@dataclass(frozen=True, kw_only=True)
class ProblemValues:
    """Values of a problem along a trajectory.

    Attributes:
        cost: Total cost [cost].
        costs: Cost of each knot, the terminal last (T + 1,) [cost].
        xnext: Next state of each running knot (T, nx).
        gaps: Gaps (T + 1, ndx): first x0 ⊖ xs[0] (0 unless the start is fixed), then xnext[t] ⊖ xs[t + 1].
        rows: Constraint rows (T + 1, nc); zeros where a knot has fewer rows.
        lower: Lower bounds of the rows (T + 1, nc), -inf for no bound.
        upper: Upper bounds of the rows (T + 1, nc), inf for no bound.
    """

    cost: float
    costs: Reals
    xnext: Reals
    gaps: Reals
    rows: Reals
    lower: Reals
    upper: Reals


@dataclass(frozen=True, kw_only=True)
class ProblemDerivatives(ProblemValues):
    """Values and derivatives of a problem along a trajectory; the last rows of Lx and Lxx belong to the terminal knot.

    Attributes:
        Fx: Derivative of the next state with respect to the state (T, ndx, ndx).
        Fu: Derivative of the next state with respect to the control (T, ndx, nu).
        Lx: Gradient of the cost with respect to the state (T + 1, ndx).
        Lu: Gradient of the cost with respect to the control (T, nu).
        Lxx: Hessian of the cost in x (T + 1, ndx, ndx).
        Lxu: Hessian of the cost in x and u (T, ndx, nu).
        Luu: Hessian of the cost in u (T, nu, nu); the identity along controls that a knot does not have.
        Cx: Derivative of the constraint rows with respect to the state (T + 1, nc, ndx).
        Cu: Derivative of the constraint rows with respect to the control (T, nc, nu).
    """

    Fx: Reals
    Fu: Reals
    Lx: Reals
    Lu: Reals
    Lxx: Reals
    Lxu: Reals
    Luu: Reals
    Cx: Reals
    Cu: Reals


def values_of(e: Evaluator) -> dict[str, Any]:
    """The fields of `ProblemValues`, copied from an evaluator after an expansion."""
    lower, upper = e.row_bounds()
    copies = {"costs": e.costs, "xnext": e.xnext, "gaps": e.f, "rows": e.c}
    return {"cost": e.cost, **{name: array.copy() for name, array in copies.items()}, "lower": lower, "upper": upper}


def derivatives_of(e: Evaluator) -> dict[str, Any]:
    """The fields of `ProblemDerivatives`, copied from an evaluator after an expansion."""
    (F, g, H), T, n = e.full(), e.T, e.state.ndx
    return {
        **values_of(e),
        "Fx": F[:, :, :n],
        "Fu": F[:, :, n:],
        "Lx": g[:, :n],
        "Lu": g[:T, n:],
        "Lxx": H[:, :n, :n],
        "Lxu": H[:T, :n, n:],
        "Luu": H[:T, n:, n:],
        "Cx": np.concatenate([e.C[:, :, :n], e.terminal_C[None]]),
        "Cu": e.C[:, :, n:].copy(),
    }


def rollout_of(e: Evaluator, running: Sequence[ActionModelAbstract], x0: Reals, us: Reals) -> Reals:
    """States (T + 1, nx) that follow from x0 (nx,) under controls us (T, nu).

    Raises:
        ModelEvaluationError: A state is not finite, or an equation that a model solves has no solution.
    """
    e.us[:], e.xs[:], e.k[:], e.K[:] = us, x0, 0.0, 0.0
    trial = e.trials(1)
    trial.roll_out(x0, [1.0], None)
    if e.can_fail:
        e.xs[:] = trial.xs[0]
        e.expand(x0)  # raises where a step has failed
    bad = np.flatnonzero(~np.isfinite(trial.xs[0]).all(axis=1))
    if len(bad):
        t = int(bad[0]) - 1
        raise ModelEvaluationError(
            f"knot {t}: {type(running[t]).__name__} leads to a state that is not finite, from "
            f"x = {shown_numbers(trial.xs[0, t], e.state.coordinate_names)}; roll out smaller controls, take a shorter "
            "time step, or pass states as well to a solver: solve(xs, us)"
        )
    return trial.xs[0].copy()
