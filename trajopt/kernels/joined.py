"""Consecutive calls joined into one function, so that common subexpressions are computed once.

Dynamics, costs and constraint rows are separate functions, so that an edit compiles only the edited part. Optimised
code joins them; a placement computed by the dynamics then serves the costs too. A joined function has the instructions
of its parts, and so their bits. Equal instructions are merged, and those without effect outside are dropped.
"""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from trajopt.kernels import patterns
from trajopt.kernels.expression import Code
from trajopt.kernels.instruction_list import InstructionList, InstructionWriter, drop_unused
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.program import Program
from trajopt.kernels.steps import Array, Call, PatternOf, Slice, Step, ValuesByNumber
from trajopt.kernels.steps.call import CodeCall
from trajopt.kernels.tables import Table

Place = tuple[int, int]


def joined(program: Program) -> Program:
    """Returns the program in which each call that may be joined is in one function with the calls before it."""
    slices = [step for step in program.steps if isinstance(step, Slice)]  # slices of inputs exist from the start
    runs: list[list[Step]] = [[step] for step in slices]
    for step in program.steps:
        if isinstance(step, Slice):
            continue
        if runs and isinstance(step, Call) and step.joins and isinstance(runs[-1][-1], Call):
            runs[-1].append(step)
        else:
            runs.append([step])
    if len(runs) == len(program.steps):
        return program
    result = copy.copy(program)
    result.steps = [run[0] if len(run) == 1 else _joined_call(program, run) for run in runs]
    return result


def _joined_call(program: Program, run: Sequence[Step]) -> JoinedCall:
    calls = tuple(step for step in run if isinstance(step, Call))
    others = [step for step in program.steps if step not in calls]
    wanted = {a.number for a in program.outputs} | {a.number for step in others for a in (*step.reads, *step.writes)}
    written = [a for call in calls for a in call.outputs]
    inputs = dict.fromkeys(a for call in calls for a in call.inputs if a not in written)
    return JoinedCall(calls, tuple(inputs), tuple(a for a in written if a.number in wanted))


@dataclass(frozen=True)
class JoinedCall(CodeCall):
    """Step that calls one function instead of several.

    Attributes:
        calls: The original calls.
        inputs: Arrays that they read and none of them writes.
        outputs: Arrays that they write and other steps read.
    """

    calls: tuple[Call, ...]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]

    @functools.cached_property
    def function(self) -> Joined:
        """The joined function, which the step calls."""
        places: dict[Array, Place] = {array: (-1, i) for i, array in enumerate(self.inputs)}
        sources = []
        for k, call in enumerate(self.calls):
            sources.append([places[array] for array in call.inputs])
            places |= {array: (k, i) for i, array in enumerate(call.outputs)}
        shapes = [array.shape for array in self.inputs]
        return Joined([call.expression for call in self.calls], shapes, sources, [places[a] for a in self.outputs])

    @property
    def work(self) -> int:
        return sum(call.work for call in self.calls)

    def zeros_read(self, pattern_of: PatternOf) -> Iterable[Array]:
        return {a for call in self.calls for a in call.zeros_read(pattern_of) if a in self.inputs}

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        for call in self.calls:
            call.evaluate(values, numbers)


class Joined:
    """Code of several expressions in one function, see `trajopt.kernels.expression.Code`.

    Args:
        parts: The expressions or other code to join.
        shapes: Shape of each input.
        sources: Source of each part's inputs: (part, output), or (-1, input) for an input of the joined function.
        results: Outputs of the parts that are outputs of the joined function: (part, output).
    """

    def __init__(
        self,
        parts: Sequence[Code],
        shapes: Sequence[tuple[int, int]],
        sources: Sequence[Sequence[Place]],
        results: Sequence[Place],
    ) -> None:
        self._parts, self._sources, self._results = list(parts), sources, results
        self.label = " and ".join(part.label for part in parts)
        self.instructions = sum(part.instructions for part in parts)
        self.inputs = [patterns.full(shape) for shape in shapes]
        self.outputs = [parts[k].outputs[i] for k, i in results]

    @functools.cached_property
    def digest(self) -> str:
        """Hash of everything that determines the function's instructions."""
        about = ([part.digest for part in self._parts], self._sources, self._results)
        return hashlib.sha256(repr(about).encode()).hexdigest()

    @property
    def tables(self) -> dict[int, Table]:
        """Tables that the parts read, by number."""
        return {number: table for part in self._parts for number, table in part.tables.items()}

    @property
    def code(self) -> InstructionList:
        """Instructions of the joined function."""
        writer = InstructionWriter()
        values: dict[Place, list[int | None]] = {}
        for k, (part, sources) in enumerate(zip(self._parts, self._sources)):
            new: list[int] = []
            for op, a, b in part.code.operations:
                if op == ca.OP_INPUT:
                    new.append(_input(writer, sources[int(a)], b, values))
                elif op == ca.OP_CONST:
                    new.append(writer.constant(a))
                else:
                    new.append(writer.add(op, new[int(a)], new[b] if b >= 0 else -1))
            for i, output in enumerate(part.code.outputs):
                values[k, i] = [None if v is None else new[v] for v in output]
        outputs = [values[place] for place in self._results]
        shapes_in, shapes_out = ([mask.shape for mask in masks] for masks in (self.inputs, self.outputs))
        return drop_unused(InstructionList(writer.operations, outputs, shapes_in, shapes_out))


def _input(writer: InstructionWriter, source: Place, element: int, values: Mapping[Place, list[int | None]]) -> int:
    """Index of the value of an element of a part's input; a structural zero of an earlier part is the number 0."""
    if source[0] < 0:
        return writer.add(ca.OP_INPUT, source[1], element)
    value = values[source][element]
    return writer.constant(0.0) if value is None else value
