"""Results of inverse kinematics, with the reason why it stopped."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from trajopt import notebook
from trajopt.checks import check_count
from trajopt.errors import UnsupportedOperationError
from trajopt.files import write_columns
from trajopt.ik import batch_file
from trajopt.ik.reasons import (
    COSTLY,
    OUT_OF_REACH,
    cause_words,
    exceeding,
    less_margin,
    misses,
    too_far,
    unchecked,
    why_failed,
)
from trajopt.objects.attributes import ExplainsAttributes
from trajopt.types import Reals

SEARCHED = 500
"""Targets of a batch whose causes are searched for a summary, some milliseconds each [-]."""


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
        value: Residual r(q, 0), (nr,) [`unit`].
        violation: Distance of each row beyond its bounds (nr,) [`unit`]; zeros for a cost.
        unit: Unit of the residual's elements.
        soft: Whether its rows are soft: their violation is a slack, which has a price and is no failure.
        bodies: What each row of collisions measures (nr,), such as "panda_hand and table", for several configurations
            at that with the least distance; empty for other tasks.
        unchecked: Text that names links which collisions leave out although they might touch, see
            `CollisionShapes.left_out`.
        far: For each configuration text on a target of a frame that no posture reaches, "" for others; empty for tasks
            without one.
        is_cost: Whether the task is a cost, which has no bounds.
        touching: For each configuration the two bodies that are closest to their margin or beyond it, "" if none is
            near, and that margin [m]; empty for other tasks.
    """

    value: Reals
    violation: Reals
    unit: str
    soft: bool = False
    bodies: tuple[str, ...] = ()
    unchecked: str = ""
    touching: tuple[tuple[str, float], ...] = ()
    far: tuple[str, ...] = ()
    is_cost: bool = False

    @property
    def closest(self) -> str:
        """Text with the least distance of a task of collisions, and its bodies; empty for other tasks."""
        if not self.bodies:
            return ""
        nearest = int(self.value.argmin())
        bodies = self.bodies[nearest % len(self.bodies)]
        return f"{self.value.flat[nearest]:.6g} {self.unit} between {bodies}, the nearest bodies"

    def __repr__(self) -> str:
        if self.bodies and self.value.ndim == 1:
            return self.closest
        values = np.array2string(self.value, precision=6, suppress_small=False, threshold=20)
        return f"{values} [{self.unit}]"


@dataclass(frozen=True, kw_only=True)
class IKResult:
    """Result of inverse kinematics for one target.

    Attributes:
        q: The best configuration (nq,) [rad, m].
        configurations: All configurations found that satisfy the constraints (k, nq), sorted by cost, then by distance
            from `start`, or without one from limits. If none does, only the nearest one. Of angles that differ by whole
            turns they have those nearest to `start`, or without one to the neutral configuration.
        status: Reason why the solve stopped.
        cost: Value of the costs at q, with the prices of slacks of soft rows [cost].
        distance: Norm of the violations of the hard constraints at q [units of their rows]; 0 within tolerance.
        iterations: Iterations of Levenberg-Marquardt, for all groups of starts [-].
        starts: Number of starts [-].
        active_limits: Names of the tangent coordinates that are at a limit at q, such as "q:panda_joint4"; without
            those that move tasks hardly, such as the head of a humanoid its centre of mass, or collisions only.
        tolerance: Largest violation of a row that counts as none [unit of the row].
        causes: Constraints without any one of which all others hold, if the tasks are out of reach; empty if more than
            one has to give way.
    """

    q: Reals
    configurations: Reals
    status: IKStatus
    cost: float
    distance: float
    iterations: int
    starts: int
    active_limits: tuple[str, ...]
    tolerance: float = 1e-6  # results of old files have none of their own
    causes: tuple[str, ...] = ()
    judge: Callable[[Reals], dict[str, TaskResidual]] = field(repr=False)
    """Residual of each task at a configuration (nq,), for the targets of this result."""

    @property
    def solved(self) -> bool:
        """Whether every constraint holds, and the costs are at a local minimum."""
        return self.status is IKStatus.SOLVED

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the constraints that do not hold at q: `causes` first, then those with the largest violations.

        The nearest configuration shares the misfit among constraints, so that one out of reach bends others, too.
        """
        hard = {name: each.violation for name, each in self.residuals.items() if not each.soft}
        worst = {name: float(np.max(np.abs(violation), initial=0.0)) for name, violation in hard.items()}
        return tuple(sorted(exceeding(worst, self.tolerance), key=lambda name: name not in self.causes))

    @functools.cached_property
    def residuals(self) -> dict[str, TaskResidual]:
        """Residual of each task at q, by name."""
        return self.judge(self.q)

    def explain(self) -> str:
        """Text with the status, the constraints that do not hold and by how much, the cause, and unchecked links."""
        lines = [str(self.status)]
        lines += [f"  {words}" for words in misses(self.residuals, self.failed)]
        if self.status is IKStatus.UNREACHABLE:
            why = why_failed(self.residuals, self.causes, self.failed, self.active_limits, self.starts)
            lines += [f"  {words}" for words in why]
            lines += [f"-> {words}" for words in less_margin(self.residuals, [(0, self.causes)])]
            lines.append("-> move a target, or make a row soft: tasks.add(..., soft=(linear, quadratic))")
        return "\n".join([*lines, *unchecked(self.residuals)])

    def _words(self) -> dict[str, str]:
        """The result in text by keyword."""
        words = {"status": str(self.status), "q": np.array2string(self.q, precision=6, max_line_width=100)}
        words |= {name: repr(residual) for name, residual in self.residuals.items()}
        unchecked = [each.unchecked for each in self.residuals.values() if each.unchecked]
        words |= dict(zip(["unchecked"], unchecked))
        if self.distance:
            words["distance"] = f"{self.distance:.6g}"
            words["failed"] = ", ".join(self.failed)
            if far := too_far(self.residuals, self.failed):
                words["reach"] = "; ".join(far)
            elif self.causes:
                words["cause"] = cause_words(self.residuals, self.causes, self.failed, self.starts)[0]
        if self.active_limits:
            words["at limits"] = ", ".join(self.active_limits)
        return {**words, "iterations": f"{self.iterations} from {self.starts} starts"}

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {words}" for name, words in self._words().items())

    def _repr_html_(self) -> str:
        return notebook.table("IKResult", self._words())


@dataclass(frozen=True, kw_only=True)
class IKBatch(ExplainsAttributes):
    """Results of inverse kinematics for many targets.

    Attributes:
        q: The best configuration for each target (n, nq) [rad, m].
        solved: Whether each satisfies all constraints and, if there are costs, is a local minimum (n,).
        violation: Largest violation of a hard row (n,) [unit of the row].
        cost: Value of the costs, with the prices of slacks of soft rows (n,) [cost].
        starts: Number of starts for each target (n,) [-].
        tolerance: Largest violation of a row that counts as none [unit of the row].
        active_limits: For each target what `IKResult.active_limits` says; n tuples.
        unchecked: Text that names links which collisions leave out although they might touch; "" without any.
        names: Name of each coordinate of a configuration (nq,), such as "q:panda_joint4".
        units: Unit of each coordinate of a configuration (nq,).
    """

    attribute_hints = dict.fromkeys(("status", "statuses", "success", "converged"), "solved")

    q: Reals
    solved: np.ndarray[tuple[int], np.dtype[np.bool_]]
    violation: Reals
    cost: Reals
    starts: np.ndarray[tuple[int], np.dtype[np.int64]]
    tolerance: float = 1e-6  # results of old files have none of their own
    active_limits: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    unchecked: str = field(default="", repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)
    units: tuple[str, ...] = field(default=(), repr=False)
    judge: Callable[[Reals], dict[str, TaskResidual]] = field(repr=False)
    """Residuals of each task at configurations (n, nq), for the targets of this result."""
    blame: Callable[[Iterable[int], Reals], dict[int, tuple[str, ...]]] | None = field(default=None, repr=False)
    """Search for the causes of some targets; None in results of old files."""

    @functools.cached_property
    def causes(self) -> tuple[tuple[str, ...], ...]:
        """For each target the constraints without any one of which all others hold, as `IKResult.causes`; n tuples.

        It is empty for targets within reach. The first call searches, for some milliseconds per target out of reach.
        """
        found = self._causes(np.flatnonzero(self.violation > self.tolerance).tolist())
        return tuple(found.get(i, ()) for i in range(len(self)))

    def _causes(self, targets: Sequence[int]) -> dict[int, tuple[str, ...]]:
        if self._searched:
            return {i: self.causes[i] for i in targets}
        return {} if self.blame is None else self.blame(targets, self.q)

    @property
    def _searched(self) -> bool:
        """Whether `causes` is there already."""
        return "causes" in vars(self)

    @functools.cached_property
    def residuals(self) -> dict[str, TaskResidual]:
        """Residuals of each task at q, by name; arrays (n, nr)."""
        return self.judge(self.q)

    @property
    def failed(self) -> tuple[tuple[str, ...], ...]:
        """For each target the names of the constraints that do not hold, as `IKResult.failed`; n tuples."""
        violations = {name: np.abs(each.violation) for name, each in self.residuals.items() if not each.soft}
        worst = {name: np.max(each, axis=1, initial=0.0).tolist() for name, each in violations.items()}
        rows = ({name: values[i] for name, values in worst.items()} for i in range(len(self)))
        return tuple(exceeding(row, self.tolerance) for row in rows)

    def explain(self, most: int = 10) -> str:
        """Text with how many targets failed for which reason, and names of such targets with rows, misses and causes.

        Args:
            most: Largest number of targets to name [-].

        Raises:
            InvalidArgumentError: `most` is no number > 0.
        """
        rows, failed = np.flatnonzero(~self.solved).tolist(), self.failed
        named = rows[: check_count("most", most, least=1)]
        alone = sum(not each.soft for each in self.residuals.values()) == 1  # without others there is no search
        looked_at = rows if alone or self._searched else rows[: max(most, SEARCHED)]
        causes = self._causes([i for i in looked_at if failed[i]])
        lines = [f"{len(self) - len(rows)} of {len(self)} targets solved"]
        if rows:
            kinds = Counter(self._kind(i, causes.get(i, ())) for i in looked_at)
            part = "" if looked_at == rows else f", of the first {len(looked_at)}"
            lines.append(f"{len(rows)} failed{part}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
            if part:
                lines.append("  each search for causes takes milliseconds; after `batch.causes` this text counts all")
        for i in named:
            words = misses(self.residuals, failed[i], i)
            lines.append(f"  target {i}: {', '.join(words) or COSTLY}")
            if failed[i]:
                own, starts = causes.get(i, ()), int(self.starts[i])
                why = why_failed(self.residuals, own, failed[i], self._pressed(i), starts, i)
                lines += [f"    {words}" for words in why]
        if len(rows) > most:
            lines.append(f"  and {len(rows) - most} more")
        lines += [f"-> {words}" for words in less_margin(self.residuals, causes.items())]
        return "\n".join([*lines, *unchecked(self.residuals)])

    def table(self) -> dict[str, Any]:
        """Columns (n,) of outcomes and configurations, a row a target; `pandas.DataFrame(batch.table())` accepts it."""
        outcomes = {name: getattr(self, name).copy() for name in ("solved", "violation", "cost", "starts")}
        heads = [f"{name} [{unit}]" for name, unit in zip(self.names, self.units)]
        return {**outcomes, **{head: column.copy() for head, column in zip(heads, self.q.T)}}

    def to_csv(self, path: str | Path) -> Path:
        """Writes `table` to a .csv file, one line per target, and returns its path.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .csv.
        """
        return write_columns(path, self.table())

    def save(self, path: str | Path) -> Path:
        """Writes the batch with residuals and causes to a .npz file and returns its path; `load` reads it.

        It searches for `causes` first, unless they have been found.

        Raises:
            InvalidArgumentError: The folder does not exist or cannot be written, or the suffix is not .npz.
        """
        return batch_file.write(path, self)

    @classmethod
    def load(cls, path: str | Path) -> IKBatch:
        """Reads a file that `save` has written; it has everything but residuals at other configurations.

        Raises:
            InvalidArgumentError: The file cannot be read.
        """
        found = batch_file.read(path)
        residuals = {name: TaskResidual(**task) for name, task in found.pop("residuals").items()}
        causes, judge = found.pop("causes"), functools.partial(_saved_residuals, found["q"], residuals)
        batch = cls(**found, judge=judge)
        vars(batch)["causes"] = causes
        return batch

    def _pressed(self, target: int) -> tuple[str, ...]:
        return self.active_limits[target] if self.active_limits else ()

    def _kind(self, target: int, causes: tuple[str, ...]) -> str:
        """Words for why a target is not solved."""
        if self.violation[target] <= self.tolerance:
            return COSTLY
        if too_far(self.residuals, self.residuals, target):
            return OUT_OF_REACH
        collided = [name for name in causes if self.residuals[name].bodies]
        if collided or len(causes) > 1:
            several = " or ".join(collided or causes)
            every = not collided and len(causes) > 2 and len(causes) == len(self.residuals)
            return f"{'only ' if collided else ''}because of {'all tasks together' if every else several}"
        return "with joints at their limits" if self._pressed(target) else OUT_OF_REACH

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        counts = f"{int(np.sum(self.solved))} of {len(self)} solved, {np.mean(self.starts):.3g} starts on average"
        return f"IKBatch({counts}{self.unchecked and f'; not checked for collisions: {self.unchecked}'})"


def _saved_residuals(saved: Reals, residuals: dict[str, TaskResidual], q: Reals) -> dict[str, TaskResidual]:
    """Residuals of a batch from a file, which has those of its own configurations only."""
    if not np.array_equal(q, saved):
        raise UnsupportedOperationError("judge: a batch from a file has the residuals at its own q only")
    return residuals
