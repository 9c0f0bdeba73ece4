"""Results of inverse kinematics, and why it stopped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from trajopt.types import Reals


class IKStatus(Enum):
    """Why inverse kinematics stopped; the value is the sentence that the user reads."""

    SOLVED = "every constraint holds within tolerance, and no cost can be lowered nearby"
    UNREACHABLE = (
        "no configuration within limits was found that meets the constraints: this is the nearest one that was found"
    )
    MAX_ITERATIONS = "the constraints hold, but costs could still be lowered: loosen a weight that dwarfs the others"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class TaskResidual:
    """Residual of one task.

    Attributes:
        value: Its residual r(q, 0), (nr,) [`unit`].
        violation: How far each row is beyond its bounds, (nr,) [`unit`]; zeros for a cost.
        unit: Unit of the residual's elements.
    """

    value: Reals
    violation: Reals
    unit: str

    def __repr__(self) -> str:
        values = np.array2string(self.value, precision=6, suppress_small=False, threshold=20)
        return f"{values} [{self.unit}]"


@dataclass(frozen=True, kw_only=True)
class IKResult:
    """A configuration that tasks ask for.

    Attributes:
        q: The best configuration (nq,) [rad, m].
        configurations: All that were found from different starts and meet the constraints, best first, (k, nq): by
            cost, then by how far they stay from limits. The nearest one alone where none meets them.
        status: Why the solve stopped.
        cost: Value of the costs at q [cost].
        distance: Norm of the violations of the constraints at q [units of their rows]; 0 within tolerance.
        iterations: Passes of Levenberg-Marquardt, all groups of starts together [-].
        starts: Starts that were tried [-].
        active_limits: Names of the tangent coordinates that are at a limit at q, such as "q:panda_joint4".
    """

    q: Reals
    configurations: Reals
    status: IKStatus
    cost: float
    distance: float
    iterations: int
    starts: int
    active_limits: tuple[str, ...]
    judge: Callable[[Reals], dict[str, TaskResidual]] = field(repr=False)
    """Residual of each task at a configuration (nq,), of the targets that were given."""

    @property
    def solved(self) -> bool:
        """Whether every constraint holds, and costs are as low as they get nearby."""
        return self.status is IKStatus.SOLVED

    @functools.cached_property
    def residuals(self) -> dict[str, TaskResidual]:
        """Residual of each task at q, by name."""
        return self.judge(self.q)

    def __str__(self) -> str:
        lines = [f"status     {self.status}", f"q          {np.array2string(self.q, precision=6, max_line_width=100)}"]
        lines += [f"{name:<10} {residual}" for name, residual in self.residuals.items()]
        if self.distance:
            lines.append(f"distance   {self.distance:.6g}")
        if self.active_limits:
            lines.append(f"at limits  {', '.join(self.active_limits)}")
        return "\n".join([*lines, f"iterations {self.iterations} from {self.starts} starts"])


@dataclass(frozen=True, kw_only=True)
class IKBatch:
    """Configurations for many targets.

    Attributes:
        q: The best configuration for each target, (n, nq) [rad, m].
        solved: Whether each meets all constraints (and, where there are costs, is optimal nearby), (n,).
        violation: Largest violation of a row, (n,) [unit of the row].
        cost: Value of the costs, (n,) [cost].
        starts: Starts that were tried for each, (n,) [-].
    """

    q: Reals
    solved: np.ndarray[tuple[int], np.dtype[np.bool_]]
    violation: Reals
    cost: Reals
    starts: np.ndarray[tuple[int], np.dtype[np.int64]]

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        return (
            f"IKBatch({int(np.sum(self.solved))} of {len(self)} solved, {np.mean(self.starts):.3g} starts on average)"
        )
