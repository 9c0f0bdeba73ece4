"""Constraint rows at the stages of an integrator, besides those at the knot.

Several stages may have one time, such as two of the classical method at dt/2. The first one is chosen. It is on a
tangent of the motion, so that q + v dt/2 is the middle Bézier point of a parabola: a bound on it and on the ends holds
in between. At the second of these stages, q + v dt/2 + a dt²/4, a motion may pass a bound unseen: with both ends at the
bound, this stage is at the bound too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import numpy.typing as npt
from casadi import SX

from trajopt.actions.differential.base import DifferentialActionModelAbstract
from trajopt.actions.integrated.control import ControlParametrizationAbstract, place_words
from trajopt.constraints.row_block import RowBlock
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array
from trajopt.model.parts import call_formula, computed
from trajopt.model.programs import kept

Flags = npt.NDArray[np.bool_]
ROWS = ("knot", "stages")
"""Where constraint rows hold: at the knot, or at all stages of a step."""
_DIGITS = 12  # of times, which are sums of coefficients


@dataclass(frozen=True)
class StageRows:
    """Constraint rows of one stage of a step.

    Attributes:
        c: Time of the stage, from 0 to 1 of the step.
        blocks: The rows by constraint.
        rows: Their indices among the rows of the continuous-time model; all of them at the knot.
        size: Number of rows of the continuous-time model [-].
    """

    c: float
    blocks: tuple[RowBlock, ...]
    rows: tuple[int, ...]
    size: int

    def of(self, values: SX) -> SX:
        """Selects the rows of this stage from an expression (size, columns)."""
        return values[list(self.rows), :] if len(self.rows) < self.size else values

    def added(self, program: Program, values: Array) -> Array:
        """Adds the call that selects the rows of this stage from an array (size, columns)."""
        if len(self.rows) == self.size:
            return values
        return call_formula(program, "rows_of_stage", lambda each: [self.of(each)], values)[0]


def rows_of_stages(
    d: DifferentialActionModelAbstract, control: ControlParametrizationAbstract, times: Sequence[float]
) -> dict[int, StageRows]:
    """Chooses the rows of each stage, by its number; stages without rows are left out.

    All constraints have rows at the first stage, which is the knot. At later times, the first stage with that time has
    those that differ from rows elsewhere. A constraint that reads no state differs if the control is parametrized. One
    that reads no control is left to the next knot at the end of the step.

    Args:
        d: Continuous-time model.
        control: The control within the step.
        times: Time c of each stage.
    """
    own, size, seen = d.constraints.blocks(d.stage_nu), sum(d.constraints.sizes(d.stage_nu).values()), {0.0}
    if not own:
        return {}
    chosen = {0: StageRows(0.0, own, tuple(range(size)), size)}
    if len(times) == 1:
        return chosen
    by_state, by_control = kept(d, "states and controls in rows", lambda: _reads(d))
    for stage, c in enumerate(times):
        if round(c, _DIGITS) in seen:
            continue
        seen.add(round(c, _DIGITS))
        blocks, rows, first = list[RowBlock](), list[int](), 0
        at_state, at_control = round(c, _DIGITS) != 1.0, not control.is_constant
        for block in own:
            mine = slice(first, first + block.size)
            state, input_ = by_state[mine].any(), by_control[mine].any()
            if (state and input_) or (state and at_state) or (input_ and at_control):
                blocks.append(RowBlock(block.constraint, block.size, place_words(c)))
                rows += range(mine.start, mine.stop)
            first = mine.stop
        if blocks:
            chosen[stage] = StageRows(c, tuple(blocks), tuple(rows), size)
    return chosen


def _reads(d: DifferentialActionModelAbstract) -> tuple[Flags, Flags]:
    """Masks of the rows that read the state, and of those that read the control; solved quantities read both."""
    D, n = d.row_derivative(), d.state.ndx
    reads = np.zeros(D.shape, dtype=np.bool_)
    reads[D.sparsity().get_triplet()] = True
    state, control, solved = (np.array(part.any(axis=1)) for part in np.split(reads, [n, n + d.nu], axis=1))
    return state | solved, control | solved


def stacked(program: Program, parts: Sequence[Array | None]) -> Array | None:
    """Adds the call that stacks the rows of all stages, or their derivatives; None if no stage has rows."""
    arrays = [each for each in parts if each is not None]
    if len(arrays) < 2:
        return arrays[0] if arrays else None
    return call_formula(program, "rows_of_all_stages", lambda *each: [SX(ca.vertcat(*each))], *arrays)[0]


def multipliers_of(program: Program, chosen: Mapping[int, StageRows], y: Array | None) -> dict[int, Array]:
    """Adds the calls that give each stage its multipliers (size,), from those of all rows; 0 for other rows."""
    if y is None or len(chosen) < 2:
        return {} if y is None else dict.fromkeys(chosen, y)
    found, first = dict[int, Array](), 0
    for stage, own in chosen.items():
        found[stage] = computed(program, "multipliers_of_stage", _scattered(own, first), y)
        first += len(own.rows)
    return found


def _scattered(own: StageRows, first: int) -> Callable[[SX], SX]:
    """Function that takes the multipliers of one stage from those of all rows, where they begin at `first`."""

    def multipliers(y: SX) -> SX:
        whole = SX.zeros(own.size)
        whole[list(own.rows)] = y[first : first + len(own.rows)]
        return whole

    return multipliers
