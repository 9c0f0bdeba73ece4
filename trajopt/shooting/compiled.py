"""Knots whose model is an expression: compiled code evaluates them in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from trajopt.actions.expression import ActionModelExpression
from trajopt.kernels import KernelCall, Rows, blocks_of, kernel, lane_count, lane_rows, rows
from trajopt.kernels.program import Program
from trajopt.shooting import programs
from trajopt.shooting.kinds import Kind, KnotsCall
from trajopt.types import Reals

if TYPE_CHECKING:
    from trajopt.shooting.evaluator import Evaluator
    from trajopt.shooting.linear_trial import LinearTrial
    from trajopt.shooting.trials import Trials


class CompiledKind(Kind):
    """Kind of knot whose model is an expression; the arguments are those of `Kind`."""

    model: ActionModelExpression

    def __init__(self, model: ActionModelExpression, knots: Sequence[int], *, terminal: bool) -> None:
        super().__init__(model, knots, terminal=terminal, layout=model.layout)

    def can_fail(self, evaluator: Evaluator) -> bool:
        return self._expansion(evaluator).status is not None

    def _expansion(self, e: Evaluator) -> Program:
        if self.terminal:
            return programs.terminal_expansion(self.model, e.nc)
        return programs.expansion(self.model, e.nu, e.nc, lift=e.lift_size, kept=e.kept.shape[1])

    @property
    def lift_size(self) -> int | None:
        return self.model.lift_size

    @property
    def constant_states(self) -> int:
        return self.model.constant_states

    @classmethod
    def expansions(cls, kinds: Sequence[Self], evaluator: Evaluator) -> list[KnotsCall]:
        """Knots in blocks of lanes. Impulses run one by one: a horizon has few, so most lanes would be idle."""
        groups: dict[tuple[int, bool], list[Self]] = {}
        for kind in kinds:
            width = 1 if kind.model.instantaneous else lane_count()
            groups.setdefault((width, kind.can_fail(evaluator)), []).append(kind)
        return [_expansion(evaluator, group, width, status) for (width, status), group in groups.items()]

    def terminal_expansion(self, evaluator: Evaluator) -> KnotsCall:
        e = evaluator
        program = self._expansion(e)
        ends = [rows(e.costs), Rows(e.terminal_g, 0), Rows(e.terminal_H, 0)]
        if e.nc:
            ends += [rows(e.c), Rows(e.terminal_C, 0)]
        if program.status is not None:
            ends.append(rows(e.status))
        return call_at([(program, [e.T])], 1, [rows(e.xs), rows(e.parameters), *ends])

    @classmethod
    def steps(cls, kinds: Sequence[Self], trials: Trials) -> KnotsCall:
        e, number = trials.evaluator, np.zeros(trials.evaluator.T, dtype=np.int64)
        for i, kind in enumerate(kinds):
            number[list(kind.knots)] = i  # blocks of other knots never run
        inputs = [
            *(lane_rows(trials.xs), rows(e.xs), rows(e.us), rows(e.k), rows(e.K), rows(trials.gaps, offset=1)),
            *(Rows(trials.alphas, 0, trials.alphas.strides[0]), rows(e.parameters)),
        ]
        inputs += [rows(trials.lower), rows(trials.upper)] if trials.clipped else []
        outputs = [lane_rows(trials.xs, offset=1), *map(lane_rows, (trials.us, trials.costs, trials.dx))]
        outputs += [lane_rows(trials.c)] if e.nc else []
        indices = np.repeat(np.arange(e.T)[:, None], trials.width, axis=1)
        kernels = [kernel(programs.step(kind.model, e.nc, clipped=int(trials.clipped)), trials.width) for kind in kinds]
        return KernelCall(kernels, number, indices, inputs + outputs)

    def terminal_step(self, trials: Trials) -> KnotsCall:
        e = trials.evaluator
        inputs = [lane_rows(trials.xs), rows(e.xs), rows(e.parameters)]
        outputs = [lane_rows(trials.costs), lane_rows(trials.dx), *([lane_rows(trials.c)] if e.nc else [])]
        return call_at([(programs.terminal_step(self.model, e.nc), [e.T])], trials.width, inputs + outputs)

    @classmethod
    def points(cls, kinds: Sequence[Self], trial: LinearTrial) -> list[KnotsCall]:
        groups: dict[int, list[Self]] = {}
        for kind in kinds:
            groups.setdefault(1 if kind.model.instantaneous else lane_count(), []).append(kind)
        return [_points(trial, group, width) for width, group in groups.items()]

    def terminal_point(self, trial: LinearTrial) -> KnotsCall:
        e = trial.evaluator
        inputs = [rows(e.xs), rows(trial.dx), Rows(trial.alpha, 0), rows(e.parameters)]
        outputs = [rows(trial.xs), rows(trial.costs), *([rows(trial.c)] if e.nc else [])]
        return call_at([(programs.terminal_point(self.model, e.nc), [e.T])], 1, inputs + outputs)

    def quasi_static(self, x: Reals, values: Reals) -> Reals:
        named = {name: p.shaped(values[self.layout.slices[name]]) for name, p in self.parameters.items()}
        return self.model.quasi_static(x, named)

    def cost_terms(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        return self.model.term_values(xs, None if self.terminal else us, values)

    def contact_forces(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        return self.model.force_values(xs, us, values)

    def torques(self, xs: Reals, us: Reals, values: Reals) -> dict[str, Reals]:
        return self.model.torque_values(xs, us, values)


def _expansion(e: Evaluator, kinds: Sequence[CompiledKind], width: int, status: bool) -> KernelCall:
    inputs = [rows(e.xs), rows(e.us), rows(e.parameters), rows(e.xs, offset=1)]
    outputs = [rows(e.xnext), rows(e.costs), rows(e.f, offset=1), rows(e.F, zeroed=True)]
    if e.lift_size is not None:
        outputs += [rows(e.dt), rows(e.J0), rows(e.J1dt)]
    if e.constant:
        outputs.append(rows(e.E, zeroed=True))
    s = e.H.shape[-1]
    lower = tuple((i * s, i * s + i + 1) for i in range(s))
    outputs += [rows(e.g), rows(e.H, runs=lower, zeroed=True)]
    outputs += [rows(e.c), rows(e.C, zeroed=True)] if e.nc else []
    outputs += [rows(e.kept, zeroed=True)] if e.kept.size else []
    if status:
        outputs.append(rows(e.status))
    return call_at([(kind._expansion(e), kind.knots) for kind in kinds], width, inputs + outputs)


def _points(trial: LinearTrial, kinds: Sequence[CompiledKind], width: int) -> KernelCall:
    e = trial.evaluator
    inputs = [rows(e.xs), rows(e.us), rows(trial.dx), rows(trial.du), rows(e.xs, offset=1), rows(trial.dx, offset=1)]
    inputs += [Rows(trial.alpha, 0), rows(e.parameters)]
    outputs = [rows(trial.xs), rows(trial.us), rows(trial.costs), rows(trial.f, offset=1)]
    outputs += [rows(trial.c)] if e.nc else []
    return call_at([(programs.point(kind.model, e.nc), kind.knots) for kind in kinds], width, inputs + outputs)


def call_at(parts: Sequence[tuple[Program, Sequence[int]]], width: int, arguments: Sequence[Rows]) -> KernelCall:
    """Call of programs at knots of their own, in lanes.

    Args:
        parts: Each program with its knots.
        width: Number of lanes.
        arguments: Arrays of all programs.
    """
    blocks = [blocks_of(knots, width) for _, knots in parts]
    numbers = np.concatenate([np.full(len(own), i) for i, own in enumerate(blocks)])
    return KernelCall([kernel(program, width) for program, _ in parts], numbers, np.concatenate(blocks), arguments)
