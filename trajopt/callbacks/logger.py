"""Logger that collects the records of a solve as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trajopt.callbacks.base import Callback
from trajopt.checks import check_flag, check_items
from trajopt.errors import InvalidArgumentError, shown
from trajopt.objects.read import Read, T
from trajopt.types import Ints, Reals

Flags = npt.NDArray[np.bool_]

if TYPE_CHECKING:
    from trajopt.shooting import ShootingProblem
    from trajopt.solution import IterationRecord


class _Column(Read[T]):
    """Array of one field of all records, shape (iterations,).

    Args:
        field: Name of the field.
        dtype: Type of the numbers.
    """

    def __init__(self, field: str, dtype: type = np.float64) -> None:
        super().__init__(lambda log: np.array([getattr(record, field) for record in log.records], dtype=dtype))
        self.field = field


class CallbackLogger(Callback):
    """Stores the record of every iteration; each array has one entry per iteration, shape (iterations,).

    A new solve starts a new log. The arrays can be read at any time, also during a solve.

    Args:
        records: Initial records, for example `solution.history`.
        trajectories: Whether to store the states of every iteration too, for `trajopt.display.show(iterates=...)`.

    Attributes:
        iterations: Number of each iteration, from 1 [-].
        costs: Cost after each iteration [cost].
        stops: Value that each iteration compared with the tolerance in the stopping test [cost].
        step_lengths: Step length of each iteration [-]; the last one tried if no step was accepted.
        accepted: Whether each iteration accepted a step.
        regularizations: Regularisation with which each direction was computed [-].
        gap_norms: Largest gap of the trajectory before each step [-].
        expected_decreases: Decrease of the cost that the quadratic model predicted for each step [cost].
        decreases: Decrease of the cost that each step achieved [cost].
        constraint_violations: Largest violation of a constraint after each step [-]; NaN for a solver without
            constraints.
        complementarities: Largest product of a multiplier and its slack after each step [-]; NaN for a solver
            without constraints.
        blends: Fraction of the exact Hessian in each step [-]: 0 is Gauss-Newton, 1 exact; NaN for other solvers.
        bent: Whether each step followed a parabola (geodesic acceleration).
        feasible: Whether the trajectory was a rollout, without gaps, after each iteration.
        seconds: Wall time since the start of the solve [s].
    """

    iterations = _Column[Ints]("iteration", np.int64)
    costs = _Column[Reals]("cost")
    stops = _Column[Reals]("stop")
    step_lengths = _Column[Reals]("step_length")
    accepted = _Column[Flags]("accepted", np.bool_)
    regularizations = _Column[Reals]("regularization")
    gap_norms = _Column[Reals]("gap_norm")
    expected_decreases = _Column[Reals]("expected_decrease")
    decreases = _Column[Reals]("decrease")
    constraint_violations = _Column[Reals]("constraint_violation")
    complementarities = _Column[Reals]("complementarity")
    blends = _Column[Reals]("blend")
    bent = _Column[Flags]("bent", np.bool_)
    feasible = _Column[Flags]("feasible", np.bool_)
    seconds = _Column[Reals]("seconds")

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

    def to_dict(self) -> dict[str, list[Any]]:
        """Returns the log as lists of plain numbers by name, for `json.dumps` or a data frame, with None for NaN."""
        fields = {name: each.field for name, each in vars(CallbackLogger).items() if isinstance(each, _Column)}
        columns = {name: [getattr(record, field) for record in self._records] for name, field in fields.items()}
        return {name: [None if value != value else value for value in column] for name, column in columns.items()}

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        last = f", last cost {self._records[-1].cost:.6g}" if self._records else ""
        return f"CallbackLogger({len(self)} iterations{last})"
