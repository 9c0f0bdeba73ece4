"""Recorder of a closed loop, with arrays of fixed size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from trajopt.actions.base import ActionModelAbstract
from trajopt.mpc.controller import MPCController
from trajopt.mpc.disturbance import Push
from trajopt.mpc.estimator import DECLARE, estimable
from trajopt.mpc.log import ClosedLoop
from trajopt.mpc.motion import motion_of
from trajopt.mpc.promises import biased, first_rate, missed_goals, of_controls, steady_differences
from trajopt.mpc.report import OWN_MODEL
from trajopt.mpc.step import MPCStatus, MPCStep
from trajopt.plants.one_knot import OneKnot
from trajopt.shooting import controls
from trajopt.solution import Solution
from trajopt.types import Ints, Reals

SAMPLES = 4000
"""Largest number of samples whose parameters are stored for plots [-]."""
_NUMBERS = ("costs", "control_excess", "plan_costs", "plan_violations", "preparation_times", "feedback_times")
COMPARED = 200
"""Largest number of samples that are compared with the controller's model [-]."""
SLIGHT = 1e-4
"""Change of a control for its effect [its unit]."""
REASONS = 1000
"""Largest number of reasons that are stored [-]."""


class Recorder:
    """Records a closed loop; its memory is fixed, apart from the reasons of failures.

    Args:
        controller: The controller.
        periods: Number of control periods [-].
        facts: Further fields of the ClosedLoop: delay and whether it is compensated, seed, plant, sensing, solver,
            time budget.
        pushes: The pushes.
        errors_of: Text about the errors of estimates (n, nx) of states (n, nx).
    """

    def __init__(
        self,
        controller: MPCController,
        dt: float,
        periods: int,
        facts: dict[str, Any],
        pushes: tuple[Push, ...],
        errors_of: Callable[[Reals, Reals], str],
    ) -> None:
        problem = controller.problem
        self._controller, self._problem, self._dt = controller, problem, dt
        self._facts, self._pushes, self._errors_of, self._n, self._periods = facts, pushes, errors_of, 0, periods
        self._first_solve = 0.0
        state, nu = problem.state, problem.nu
        self._xs, self._ends = np.empty((periods + 1, state.nx)), np.empty((periods, state.nx))
        self._horizon = round(float(controller.offsets[-1]) / dt)
        self._late = round(facts["delay"] / dt) if facts["delay_compensated"] else 0
        rows = {"measured": state.nx, "estimates": state.nx, "us": nu, "lower": nu, "upper": nu}
        self._columns: dict[str, Any] = {name: np.zeros((periods, size)) for name, size in rows.items()}
        self._columns |= {name: np.zeros(periods) for name in _NUMBERS}
        self._columns |= {"iterations": np.zeros(periods, np.int64), "statuses": np.zeros(periods, "U8")}
        self._estimator = controller.estimator
        self._estimated = (
            np.zeros((periods, len(self._estimator.names), 2)) if self._estimator is not None else np.zeros(0)
        )
        self._applied, self._parts = np.zeros((periods, nu)), list[tuple[float, Reals]]()
        self._violations = {name: np.zeros(periods) for name in problem.constraint_names}
        self._reasons: dict[int, str] = {}
        self._every = -(-periods // SAMPLES)
        count = -(-periods // self._every)
        self._rows = np.zeros((count, problem.table.values.shape[1]))
        self._model_of_sample: Ints = np.zeros(count, dtype=np.int64)
        self._models: list[ActionModelAbstract] = []
        self._knots: dict[int, OneKnot] = {}
        self._soft: set[str] = set()

    def start(self, x0: Reals, first_solve: float) -> None:
        """Records the first state (nx,) and the time of the first solve [s]."""
        self._xs[0], self._first_solve = x0, first_solve

    def knot_of(self, model: ActionModelAbstract) -> OneKnot:
        """Compiled knot of one of the controller's models; each model is compiled once."""
        if id(model) not in self._knots:
            self._knots[id(model)] = OneKnot(model)
            self._models.append(model)
            self._soft |= self._knots[id(model)].soft()
        return self._knots[id(model)]

    @property
    def last_control(self) -> Reals | None:
        """Control of the last period (nu,), as the plant received it; None in the first one."""
        return self._applied[self._n - 1] if self._n else None

    def take(self, x: Reals, seen: tuple[Reals, Reals], step: MPCStep, model: ActionModelAbstract, row: Reals) -> None:
        """Records the begin of a period: true state, measurement and estimate, step, its model and parameters."""
        k, knot = self._n, self.knot_of(model)
        knot.parameters[:] = row[: len(knot.parameters)]
        knot.set_time_step(self._dt)
        u = np.asarray(step.u, dtype=np.float64)
        values = knot.values(x, u[: model.nu])
        column, (measured, estimate) = self._columns, seen
        if k == 0:
            column["measured"] = np.zeros((self._periods, len(measured)))
        column["measured"][k], column["estimates"][k] = measured, estimate
        column["us"][k], self._ends[k] = u, step.xs[-1]
        column["lower"][k, : model.nu], column["upper"][k, : model.nu] = values.lower, values.upper
        first = 0
        for name, size in knot.sizes.items():
            self._violations[name][k] = values.violations[first : first + size].max(initial=0.0)
            first += size
        column["costs"][k], column["plan_costs"][k], column["plan_violations"][k] = (
            values.cost,
            step.cost,
            step.violation,
        )
        column["preparation_times"][k] = step.preparation_time if k else 0.0  # the first one was the reset
        column["feedback_times"][k] = step.feedback_time
        column["iterations"][k], column["statuses"][k] = step.iterations, step.status.value
        if self._estimator is not None:
            self._estimated[k] = self._estimator.estimates()
        if step.status is not MPCStatus.SOLVED and len(self._reasons) < REASONS:
            self._reasons[k] = step.reason
        if k % self._every == 0:
            self._rows[k // self._every] = row
            self._model_of_sample[k // self._every] = self._models.index(model)

    @property
    def time(self) -> float:
        """Time at the end of the last whole period [s]."""
        return self._n * self._dt

    def limits(self) -> tuple[Reals, Reals]:
        """Limits of the controls in the current period, (nu,) each."""
        return self._columns["lower"][self._n], self._columns["upper"][self._n]

    def applied(self, u: Reals, duration: float) -> None:
        """Records a control (nu,) that the plant receives for a duration [s] of the current period."""
        self._parts.append((duration, u))
        (lower, upper), excess = self.limits(), self._columns["control_excess"]
        beyond = np.maximum(lower - u, u - upper).max(initial=0.0)
        excess[self._n] = max(excess[self._n], beyond)

    def finish_period(self, x: Reals) -> None:
        """Records the state (nx,) at the end of the period, and the mean of the controls that the plant received."""
        (_, first), *others = self._parts
        same = all(np.array_equal(u, first) for _, u in others)
        total = sum(duration for duration, _ in self._parts)
        self._applied[self._n] = first if same else sum(duration / total * u for duration, u in self._parts)
        self._parts.clear()
        self._n += 1
        self._xs[self._n] = x

    def log(self, stopped: str = "") -> ClosedLoop:
        """Returns the closed loop so far."""
        n, problem = self._n, self._problem
        samples = np.arange(0, n, self._every)
        control_rows = controls(problem)
        columns = {name: values[:n].copy() for name, values in self._columns.items()}
        sensing = self._facts["sensing"] + self._errors_of(self._xs[:n], columns["estimates"])
        with np.errstate(all="ignore"):  # a plant that diverges
            words, cure = self._bias(samples)
        return ClosedLoop(
            dt=self._dt,
            first_solve=self._first_solve,
            times=self._dt * np.arange(n + 1, dtype=np.float64),
            xs=self._xs[: n + 1].copy(),
            **columns,
            violations={name: values[:n].copy() for name, values in self._violations.items()},
            soft=tuple(name for name in self._violations if name in self._soft),
            reasons={k: text for k, text in self._reasons.items() if k < n},
            pushes=self._pushes,
            stopped=stopped,
            control_names=control_rows.names,
            coordinate_names=tuple(problem.state.coordinate_names),
            every=self._every,
            missed=missed_goals(problem.state, self._xs[: n + 1], self._ends[:n], self._horizon, self._late),
            biased=words,
            bias_cure=cure,
            estimated={}
            if self._estimator is None
            else dict(zip(self._estimator.names, self._estimated[:n].swapaxes(0, 1))),
            motion=self._motion(samples) if n else None,
            **(self._facts | {"sensing": sensing}),
        )

    def _bias(self, samples: Ints) -> tuple[str, str]:
        """See `ClosedLoop.biased` and `ClosedLoop.bias_cure`.

        Another contact model differs by as much in a gait that goes well, so that only failed steps of one count.
        """
        touching = any(model.model_parts.contacts is not None for model in self._models)
        fine = touching and not np.any(self._columns["statuses"][: self._n] == MPCStatus.FAILED.value)
        if not len(samples) or fine or (self._facts["plant"] == OWN_MODEL and not self._pushes):
            return "", ""
        some = np.unique(np.linspace(0, len(samples) - 1, COMPARED).astype(int))
        ks, state, nu = samples[some], self._problem.state, self._problem.nu
        offset_free = self._controller.options.offset_free
        us = self._applied[ks] + (self._estimated[ks, -nu:, 0] if offset_free else 0.0)
        expected = np.array([self._next(i, self._xs[k], u) for i, k, u in zip(some, ks, us)])
        differences = steady_differences(state, self._xs[ks], expected, self._xs[ks + 1], self._dt)
        words = biased(state, differences)
        if not words:
            return "", ""
        i, x, u = (each[len(ks) // 2] for each in (some, self._xs[ks], us))
        moved = [state.difference(self._next(i, x, u), self._next(i, x, u + SLIGHT * e)) for e in np.eye(nu)]
        effects, first = np.array(moved).T / (SLIGHT * self._dt), first_rate(state)
        if not offset_free and of_controls(effects[first:], differences[first:]):
            return words, "MPCOptions(offset_free=True) estimates and subtracts it"
        return words, self._estimate_instead(estimable(self.knot_of(self._models[self._model_of_sample[i]])))

    def _estimate_instead(self, known: Sequence[str]) -> str:
        """Advice on a difference that no constant control makes, for a model with these parameters."""
        begun = list(self._controller.options.estimate or {})
        if self._estimator is not None and (held := self._estimator.held_back(self._estimated[: self._n, :, 0])):
            wider = ", ".join(f'"{name}": ...' for name in held)
            return (
                f"estimates of {', '.join(held)} are held back, as they stay within three deviations of their first "
                f"values: MPCOptions(estimate={{{wider}}}) with larger ones"
            )
        cure = "MPCOptions(estimate={...}) estimates a parameter of the dynamics, as no constant control makes this; "
        if begun:
            cure = f"the estimates of {', '.join(begun)} do not explain this, others may; "
        others = ", ".join(name for name in known if name not in begun)
        return f"{cure}{f'the model has {others}; if none of these does, ' if others else ''}{DECLARE}"

    def _next(self, sample: int, x: Reals, u: Reals) -> Reals:
        """State (nx,) of the controller's model after one period, with its parameters at a sample."""
        knot = self.knot_of(self._models[self._model_of_sample[sample]])
        knot.parameters[:] = self._rows[sample, : len(knot.parameters)]
        knot.set_time_step(self._dt)
        return knot.next_state(x, u[: knot.model.nu])

    def _motion(self, samples: Ints) -> Solution:
        """The closed loop as a trajectory of samples."""
        count, n = len(samples), self._n
        models = [self._models[i] for i in self._model_of_sample[:count]]
        durations = self._dt * np.diff(np.append(samples, n))
        xs, us = self._xs[np.append(samples, n)], self._applied[samples]
        return motion_of(models, self._rows[:count], durations, xs, us)
