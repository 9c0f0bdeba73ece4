"""State of a solve: everything that a solver knows beyond its problem and its options."""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trajopt.solution import IterationRecord, SolverStatus
from trajopt.types import Reals


@dataclass(kw_only=True)
class Progress:
    """State of a solve. The trajectory is replaced as a whole, so that it is consistent at any interruption.

    Attributes:
        x0: Initial state (nx,).
        trajectory: States (T + 1, nx) and controls (T, nu), the best so far; replace both, never write into them.
        feasible: Whether the trajectory is a rollout, without gaps.
        cost: Cost of the trajectory [cost]; NaN before the first iteration.
        iterations: Iterations begun [-].
        history: Records of the iterations.
        status: Why the solve is over; None as long as it is not.
        multipliers: Multipliers by name that came with the guess, as in `Solution`; none by default.
        failed_knot: Knot where a direction could not be computed, if that ended the solve.
        called: When the solve was asked for, by time.perf_counter() [s].
        started: When the first iteration began, later by what was compiled since [s].
    """

    methods_explain = ()  # solvers call them in each iteration, see `trajopt.objects.calls`

    x0: Reals
    trajectory: tuple[Reals, Reals]
    feasible: bool
    cost: float = float("nan")
    iterations: int = 0
    history: list[IterationRecord] = field(default_factory=list)
    status: SolverStatus | None = None
    multipliers: Mapping[str, Reals] = field(default_factory=dict)
    failed_knot: int | None = None
    called: float = field(default_factory=time.perf_counter)
    _recorded: tuple[Reals, Reals] | None = field(default=None, init=False)
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Wall time since the start of the solve, without compiling [s]."""
        return time.perf_counter() - self.started

    @property
    def compile_seconds(self) -> float:
        """Wall time beside `seconds`: building, loading and compiling code, with the guess [s]."""
        return self.started - self.called

    def record(self, **columns: Any) -> IterationRecord:
        """Returns the record of the current iteration, with number, cost, time, and the solver's `columns`."""
        xs, us = self._recorded = self.trajectory  # a record refers to them weakly
        columns["iteration"], columns["cost"], columns["feasible"] = self.iterations, self.cost, self.feasible
        columns["seconds"], columns["kept"] = self.seconds, (weakref.ref(xs), weakref.ref(us))
        return IterationRecord.of(columns)
