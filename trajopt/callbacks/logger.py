"""Logger that collects the records of a solve as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.callbacks.base import Callback
from trajopt.checks import check_flag, check_items
from trajopt.errors import InvalidArgumentError, shown
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord


_FIELDS = {
    "iterations": "iteration",
    "costs": "cost",
    "stops": "stop",
    "step_lengths": "step_length",
    "accepted": "accepted",
    "regularizations": "regularization",
    "gap_norms": "gap_norm",
    "expected_decreases": "expected_decrease",
    "decreases": "decrease",
    "constraint_violations": "constraint_violation",
    "complementarities": "complementarity",
    "blends": "blend",
    "bent": "bent",
    "feasible": "feasible",
    "seconds": "seconds",
}
"""Names of the arrays, and the fields of a record in them."""


class CallbackLogger(Callback):
    """Stores the record of every iteration; each array has one entry per iteration, shape (iterations,).

    A new solve starts a new log. The arrays can be read at any time, also during a solve.

    Args:
        records: Initial records, for example `solution.history`.
        trajectories: Whether to store the states of every iteration too, for `trajopt.display.show(iterates=...)`.
    """

    def __init__(self, records: Iterable[IterationRecord] = (), *, trajectories: bool = False) -> None:
        self._kept: list[Reals] | None = [] if check_flag("trajectories", trajectories) else None
        self._records = list(check_items("records", records, "iteration records"))
        if not all(hasattr(record, "iteration") for record in self._records):
            raise InvalidArgumentError(f"records: expected iteration records, got {shown(records)}")

    def start(self, problem: ShootingProblem, solver_name: str) -> None:
        """Discards the records of the previous solve."""
        self._records.clear()
        if self._kept is not None:
            self._kept.clear()

    def __call__(self, record: IterationRecord) -> None:
        """Stores the record."""
        self._records.append(record)
        if self._kept is not None:
            self._kept.append(record.trajectory[0])

    @property
    def trajectories(self) -> tuple[Reals, ...]:
        """States (T + 1, nx) after each iteration; empty unless the logger was created with `trajectories=True`."""
        return tuple(self._kept or ())

    @property
    def records(self) -> tuple[IterationRecord, ...]:
        """The records, in the order of the iterations."""
        return tuple(self._records)

    @property
    def iterations(self) -> npt.NDArray[np.int64]:
        """Number of each iteration, from 1 [-]."""
        return np.array(self._column("iteration"), dtype=np.int64)

    @property
    def costs(self) -> npt.NDArray[np.float64]:
        """Cost after each iteration [cost]."""
        return self._reals("cost")

    @property
    def stops(self) -> npt.NDArray[np.float64]:
        """Value that each iteration compared with the tolerance in the stopping test [cost]."""
        return self._reals("stop")

    @property
    def step_lengths(self) -> npt.NDArray[np.float64]:
        """Step length of each iteration [-]; the last one tried if no step was accepted."""
        return self._reals("step_length")

    @property
    def accepted(self) -> npt.NDArray[np.bool_]:
        """Whether each iteration accepted a step."""
        return np.array(self._column("accepted"), dtype=np.bool_)

    @property
    def regularizations(self) -> npt.NDArray[np.float64]:
        """Regularisation with which each direction was computed [-]."""
        return self._reals("regularization")

    @property
    def gap_norms(self) -> npt.NDArray[np.float64]:
        """Largest gap of the trajectory before each step [-]."""
        return self._reals("gap_norm")

    @property
    def expected_decreases(self) -> npt.NDArray[np.float64]:
        """Decrease of the cost that the quadratic model predicted for each step [cost]."""
        return self._reals("expected_decrease")

    @property
    def decreases(self) -> npt.NDArray[np.float64]:
        """Decrease of the cost that each step achieved [cost]."""
        return self._reals("decrease")

    @property
    def constraint_violations(self) -> npt.NDArray[np.float64]:
        """Largest violation of a constraint after each step [-]; NaN for a solver without constraints."""
        return self._reals("constraint_violation")

    @property
    def complementarities(self) -> npt.NDArray[np.float64]:
        """Largest product of a multiplier and its slack after each step [-]; NaN for a solver without constraints."""
        return self._reals("complementarity")

    @property
    def blends(self) -> npt.NDArray[np.float64]:
        """Fraction of the exact Hessian in each step [-]: 0 is Gauss-Newton, 1 exact; NaN for other solvers."""
        return self._reals("blend")

    @property
    def bent(self) -> npt.NDArray[np.bool_]:
        """Whether each step followed a parabola (geodesic acceleration)."""
        return np.array(self._column("bent"), dtype=np.bool_)

    @property
    def feasible(self) -> npt.NDArray[np.bool_]:
        """Whether the trajectory was a rollout, without gaps, after each iteration."""
        return np.array(self._column("feasible"), dtype=np.bool_)

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """Wall time since the start of the solve [s]."""
        return self._reals("seconds")

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the log as lists of plain numbers by name, for `json.dumps` or a data frame, with None for NaN."""
        columns = {name: self._column(field) for name, field in _FIELDS.items()}
        return {name: [None if value != value else value for value in column] for name, column in columns.items()}

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        last = f", last cost {self._records[-1].cost:.6g}" if self._records else ""
        return f"CallbackLogger({len(self)} iterations{last})"

    def _column(self, field: str) -> list[Any]:
        return [getattr(record, field) for record in self._records]

    def _reals(self, field: str) -> npt.NDArray[np.float64]:
        return np.array(self._column(field), dtype=np.float64)
