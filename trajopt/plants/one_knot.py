"""Evaluation of one knot of an action model: next state, cost, constraint rows, control limits."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.actions.terminal import ActionModelTerminal
from trajopt.costs.cost_stack import CostStack
from trajopt.kernels import compile_together
from trajopt.shooting import ShootingProblem
from trajopt.shooting.evaluator import Evaluator
from trajopt.types import Reals


@dataclass(frozen=True, eq=False)
class KnotValues:
    """Values of a knot at one state and control.

    Attributes:
        xnext: Next state (nx,).
        cost: Cost of the knot [cost].
        violations: Violation of each constraint row (nc,) [unit of the row], 0 if it holds.
        lower: Lower limits of the controls (nu,), from the model and from hard constraints on single controls.
        upper: Upper limits of the controls (nu,), likewise.
    """

    xnext: Reals
    cost: float
    violations: Reals
    lower: Reals
    upper: Reals


class OneKnot:
    """Evaluates x⁺ = f(x, u), cost and constraint rows of an action model at one point, with compiled code.

    Args:
        model: The action model of a running knot.

    Attributes:
        layout: Position of each run-time parameter in a row of values.
        parameters: Values of the run-time parameters (size,), in the order of the model's layout; writable.
        sizes: Number of rows of each constraint, by name [-].
    """

    def __init__(self, model: ActionModelAbstract) -> None:
        self.model = model
        end = ActionModelTerminal(CostStack(model.state))
        self._problem = ShootingProblem(model.state.zero(), [model], end)
        self._kind = self._problem.kinds[0]
        self._evaluator = Evaluator(self._problem)
        self._trial = self._evaluator.trials(1)
        compile_together([kernel for call in self._trial.calls for kernel in call.kernels])
        for call in self._trial.calls:
            call.prepare()
        self.sizes, self.layout = self._kind.row_sizes(), self._kind.layout
        self.parameters: Reals = self._problem.table.values[0, : self.layout.size]

    def soft(self) -> set[str]:
        """Names of the constraints that a controller softens: soft constraints, and those that do not read u."""
        soft = np.isfinite(self._problem.table.rows.now().linear[0]) | self._kind.model.rows_of_states
        ends = np.cumsum([0, *self.sizes.values()])
        return {name for name, i, j in zip(self.sizes, ends, ends[1:]) if soft[i:j].all()}

    def set_time_step(self, dt: float) -> None:
        """Sets the knot's duration [s]; does nothing for a model without a time step."""
        place = self.layout.slices.get("dt")
        if place is not None:
            self.parameters[place] = dt

    def next_state(self, x: Reals, u: Reals) -> Reals:
        """Returns f(x, u), shape (nx,); NaN if the model failed to compute the step."""
        cost = self._run(x, u)
        xnext = self._trial.xs[0, 1].copy()
        return xnext if np.isfinite(cost) or not self._evaluator.can_fail else np.full_like(xnext, np.nan)

    def mobility(self, x: Reals) -> Reals | None:
        """Derivative (nv, nv) of the acceleration by generalized forces, with contacts; None for a model without."""
        return None if self._mobility is None else np.asarray(self._mobility(x, self.parameters))

    @functools.cached_property
    def _mobility(self) -> ca.Function | None:
        d = self.model.model_parts.differential
        if d is None:
            return None
        instant = d.instant()
        node = d.implicit_node(instant)
        return None if node is None else ca.Function("mobility", [instant.x, self.layout.symbols], [node.mobility])

    def values(self, x: Reals, u: Reals) -> KnotValues:
        """Returns all values at a state (nx,) and a control (nu,)."""
        cost, rows = self._run(x, u), self._trial.c[0, 0].copy()
        now = self._problem.table.rows.now()
        lower, upper = now.lower[0], now.upper[0]
        beyond = np.maximum(np.maximum(lower - rows, rows - upper), 0.0)
        least, most = self.model.lower.copy(), self.model.upper.copy()
        control = self._kind.model.rows_on_one_control
        for row in np.flatnonzero(control >= 0):
            j = control[row]
            if np.isinf(now.linear[0, row]):  # hard
                constant = u[j] - rows[row]
                least[j], most[j] = max(least[j], lower[row] + constant), min(most[j], upper[row] + constant)
        return KnotValues(self._trial.xs[0, 1].copy(), cost, beyond, least, most)

    def _run(self, x: Reals, u: Reals) -> float:
        e = self._evaluator
        e.xs[:], e.us[0] = x, u
        self._trial.roll_out(x, [1.0], None)
        return float(self._trial.costs[0, 0])
