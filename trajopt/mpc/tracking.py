"""Comparison of a closed loop with its references."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.analysis.lines import state_lines
from trajopt.errors import TrajoptError
from trajopt.residuals import (
    ResidualModelAbstract,
    ResidualModelFramePlacement,
    ResidualModelFrameTranslation,
    ResidualModelState,
)
from trajopt.shooting.kinds import Kind
from trajopt.solution import Solution
from trajopt.types import Reals

_AXES = ("x", "y", "z")
_FEW = 3  # largest number of coordinates whose names are those of their panel [-]


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """A quantity and its reference, at the samples of a motion.

    Attributes:
        name: Name of the cost term with the reference.
        labels: Name of each element (n,).
        unit: Unit of the elements; empty if it is unknown.
        actual: Actual values (samples, n) [unit].
        reference: Reference values (samples, n) [unit]; NaN where there is none.
        frame: Name of the robot's frame whose position it is; empty for other quantities.
    """

    name: str
    labels: tuple[str, ...]
    unit: str
    actual: Reals
    reference: Reals
    frame: str = ""

    @property
    def moves(self) -> bool:
        """Whether the reference changes over time."""
        finite = self.reference[np.isfinite(self.reference).all(axis=1)]
        return bool(len(finite)) and bool(np.ptp(finite, axis=0).max(initial=0.0) > 0.0)

    @property
    def measure(self) -> str:
        """Words for the distance from the reference: an error only where there is a path to follow."""
        return "error" if self.moves else "from a constant reference"

    @property
    def errors(self) -> Reals:
        """Distance from the reference (samples,) [unit]; NaN where there is no reference."""
        return np.asarray(np.linalg.norm(self.actual - self.reference, axis=1))


def with_targets(tracked: Sequence[Tracked]) -> list[Tracked]:
    """Leaves out constant references of 0 beside others that move: weights on speeds and the like have no target."""
    moving = any(each.moves for each in tracked)
    return [each for each in tracked if not moving or each.moves or np.nan_to_num(each.reference).any()]


def tracked_quantities(motion: Solution) -> tuple[Tracked, ...]:
    """Returns the quantities with a reference; those whose references changed over time come first.

    Such a quantity belongs to a cost term of positive weight that compares it with a parameter: y(x) of
    r = y(x) - reference, the coordinates of a state, or the position of a placement. Terms of controls and forces are
    left out.

    Args:
        motion: The motion, with its problem.
    """
    return tuple(sorted(_all_tracked(motion), key=lambda each: not each.moves))


def _all_tracked(motion: Solution) -> Iterator[Tracked]:
    problem = motion.problem
    assert problem is not None
    parts: dict[tuple[str, str], list[tuple[list[int], Tracked]]] = {}
    for kind in problem.kinds[:-1]:
        for term in kind.model.model_parts.terms:
            if term.residual.uses_control or term.residual.uses_solution:
                continue
            knots = list(kind.knots)
            try:
                own = _tracked(motion, kind, term, knots)
            except TrajoptError:  # for example of a black box
                continue
            for each in own:
                parts.setdefault((each.name, each.unit), []).append((knots, each))
    for quantities in parts.values():
        yield _joined(quantities, problem.T)


def _joined(parts: list[tuple[list[int], Tracked]], T: int) -> Tracked:
    """Joins one quantity of several kinds of knots; NaN at knots without it."""
    first = parts[0][1]
    actual, reference = (np.full((T, len(first.labels)), np.nan) for _ in range(2))
    for knots, part in parts:
        if part.labels == first.labels:
            actual[knots], reference[knots] = part.actual, part.reference
    return dataclasses.replace(first, actual=actual, reference=reference)


def _tracked(motion: Solution, kind: Kind, term: Any, knots: list[int]) -> Iterator[Tracked]:
    """Tracked quantities of a cost term at the knots of a kind."""
    assert motion.problem is not None
    rows = kind.rows(motion.problem.table.values)
    weight = rows[:, kind.layout.slices[f"{term.name}.weight"]]
    if not np.any(weight > 0.0):
        return
    active = weight[:, 0] > 0.0
    for each in _of_residual(motion, kind, term, knots, rows):
        yield dataclasses.replace(each, reference=np.where(active[:, None], each.reference, np.nan))


def _of_residual(motion: Solution, kind: Kind, term: Any, knots: list[int], rows: Reals) -> Iterator[Tracked]:
    """Quantities that the residual of a term compares with its parameters."""
    instant, residual = kind.model.instant(), term.residual
    if isinstance(residual, ResidualModelState):
        yield from _coordinates(motion, term, rows, kind, knots)
    elif isinstance(residual, ResidualModelFramePlacement):
        reference = rows[:, kind.layout.slices[f"{term.name}.reference"]].reshape(len(rows), 4, 3)[:, 3]
        position = _values(kind, instant, instant.robot.frame_placement(residual.frame_id)[1], motion.xs[knots], rows)
        frame = str(residual.frame)
        yield Tracked(name=term.name, labels=_AXES, unit="m", actual=position, reference=reference, frame=frame)
    else:
        r = residual.expression(instant)
        weighed = _weighed(kind, term, rows, r.numel())
        values = _values(kind, instant, r, motion.xs[knots], rows)
        for name in [name for name in kind.parameters if name.startswith(f"{term.name}.")]:
            if _is_subtracted(r, kind.parameters[name].symbol):
                reference = rows[:, kind.layout.slices[name]]
                labels = _labels(reference.shape[1], residual)
                yield Tracked(
                    name=term.name,
                    labels=tuple(label for label, counts in zip(labels, weighed) if counts),
                    unit="" if residual.unit == "-" else residual.unit,
                    actual=(values + reference)[:, weighed],
                    reference=reference[:, weighed],
                    frame=str(residual.frame) if isinstance(residual, ResidualModelFrameTranslation) else "",
                )


def _weighed(kind: Kind, term: Any, rows: Reals, size: int) -> npt.NDArray[np.bool_]:
    """Whether each element of a residual has a weight > 0 (size,)."""
    place = kind.layout.slices.get(f"{term.name}.weights")
    return np.ones(size, dtype=np.bool_) if place is None else np.asarray(np.any(rows[:, place] > 0.0, axis=0))


def _labels(n: int, residual: ResidualModelAbstract) -> tuple[str, ...]:
    if n == 1:
        return ("",)
    if residual.row_names:
        return residual.row_names
    return _AXES[:n] if n <= 3 and residual.unit in ("m", "m/s") else tuple(str(i) for i in range(n))


def _values(kind: Kind, instant: Any, expression: SX, xs: Reals, rows: Reals) -> Reals:
    """Values (n, size) of an expression of state and parameters at several knots."""
    function = ca.Function("tracked", [instant.x, kind.layout.symbols], [ca.densify(expression)])  # type: ignore[attr-defined]
    return np.asarray(function(xs.T, rows.T)).T


def _is_subtracted(r: SX, symbol: SX) -> bool:
    """Whether r = y - symbol."""
    if symbol.numel() != r.numel() or symbol.shape[1] != 1:
        return False
    J = ca.jacobian(r, symbol)
    return bool(J.is_constant()) and bool(np.array_equal(np.asarray(ca.DM(J)), -np.eye(r.numel())))


def _coordinates(motion: Solution, term: Any, rows: Reals, kind: Kind, knots: list[int]) -> Iterator[Tracked]:
    """Coordinates of a state by joint, quantity and unit, except quaternions and those of weight 0.

    The names of a few coordinates stand for their quantity; positions and velocities of joints have the same names.
    """
    units = np.array(motion.problem.state.tangent_units)  # type: ignore[union-attr]
    counts = np.zeros(len(units), dtype=np.bool_)
    counts[term.residual.elements] = _weighed(kind, term, rows, len(term.residual.elements))
    references = motion.xs.copy()
    references[knots] = rows[:, kind.layout.slices[f"{term.name}.reference"]]
    panels: dict[tuple[str, str, str, bool], list[tuple[str, Reals, Reals]]] = {}
    lines = (state_lines(motion.problem, xs) for xs in (motion.xs, references))  # type: ignore[arg-type]
    for line, target in zip(*lines):
        weighed = counts[line.tangent] if line.tangent is not None else np.any(counts[units == (line.unit or "-")])
        if line.quantity != "quaternion" and weighed:
            actual, reference = line.values[knots], target.values[knots]
            if line.tangent is None and line.unit == "rad":
                reference = reference + 2.0 * np.pi * np.round((actual - reference) / (2.0 * np.pi))
            key = (line.owner, line.quantity, line.unit, line.group == "state")
            panels.setdefault(key, []).append((line.name, actual, reference))
    for (owner, quantity, unit, own), columns in panels.items():
        labels = tuple(name for name, *_ in columns)
        named = own and len(labels) <= _FEW
        yield Tracked(
            name=f"{term.name}: {', '.join(labels) if named else f'{owner} {quantity}'.strip()}",
            labels=labels,
            unit=unit,
            actual=np.stack([actual for _, actual, _ in columns], axis=1),
            reference=np.stack([reference for *_, reference in columns], axis=1),
        )
