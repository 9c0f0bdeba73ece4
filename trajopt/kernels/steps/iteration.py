"""Step that repeats a program until it is done, lane by lane."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trajopt.errors import InvalidArgumentError
from trajopt.kernels.builder import Builder
from trajopt.kernels.layout import layout
from trajopt.kernels.numbers import Numbers
from trajopt.kernels.operations import LaneType
from trajopt.kernels.steps.base import Array, Step, ValuesByNumber

if TYPE_CHECKING:
    from trajopt.kernels.entry import EntryWriter
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Iteration(Step):
    """Repeats (state, left) = body(state, constants) in each lane until left is 0 or NaN, at most `limit` times.

    A lane that has ended keeps its bits while others continue, so that lanes do not affect each other. A lane in which
    `where` is 0 makes no pass.
    """

    body: Program
    state: tuple[Array, ...]
    constants: tuple[Array, ...]
    left: Array
    limit: int
    where: Array | None = None

    @classmethod
    def new(
        cls,
        program: Program,
        body: Program,
        state: tuple[Array, ...],
        constants: tuple[Array, ...],
        limit: int,
        where: Array | None = None,
    ) -> Iteration:
        """Creates the iteration with a new array for `left`; see `Program.iterate`."""
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidArgumentError(f"limit: expected a whole number >= 1, got {limit!r}")
        if len({*state, *constants}) < len(state) + len(constants):
            raise InvalidArgumentError(f"state, given: expected different arrays, got {(*state, *constants)}; copy one")
        _check("inputs", body, body.inputs, (*state, *constants), "those of `state`, then those of `given`")
        _check("outputs", body, body.outputs, (*state, Array(0, (1, 1))), "those of `state`, then (1, 1) for `left`")
        if where is not None and (where.shape != (1, 1) or where in state):
            raise InvalidArgumentError(f"where: expected an array (1, 1) other than a state, got {where}")
        return cls(body.judged(), state, constants, program.array(1), limit, where)

    @property
    def reads(self) -> tuple[Array, ...]:
        return (*self.state, *self.constants, *([] if self.where is None else [self.where]))

    @property
    def writes(self) -> tuple[Array, ...]:
        return (*self.state, self.left)

    @property
    def status(self) -> Array:
        return self.left

    @property
    def content(self) -> tuple[object, ...]:
        numbers = [tuple(a.number for a in arrays) for arrays in (self.state, self.constants)]
        where = [] if self.where is None else [self.where.number]
        return (self.body.digest(), *numbers, self.left.number, self.limit, *where)

    @property
    def work(self) -> int:
        return self.limit * self.body.work

    @property
    def programs(self) -> tuple[Program, ...]:
        return (self.body,)

    @property
    def scratch(self) -> int:
        """Scratch of the step [scalars of W lanes]: the new state, `left`, and what the body needs."""
        return sum(a.size for a in self.writes) + layout(self.body).end

    def evaluate(self, values: ValuesByNumber, numbers: Numbers) -> None:
        state, constants = [values[a.number] for a in self.state], [values[a.number] for a in self.constants]
        if self.where is not None and values[self.where.number][0, 0] == 0:
            values[self.left.number] = values[self.where.number].copy()
            return
        for _ in range(self.limit):
            *state, left = self.body.evaluate(*state, *constants, numbers=numbers)
            if not (left[0, 0] != 0 and left[0, 0] == left[0, 0]):
                break
        values.update(zip([a.number for a in self.writes], [*state, left]))

    def write(self, writer: EntryWriter) -> None:
        body = writer.program(self.body)
        about = repr((body, [a.size for a in self.writes], len(self.constants), self.limit))
        about += "" if self.where is None else " where"
        name = f"trajopt_iterate_{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        writer.define(name, self._text(name, body, writer.lanes))
        writer.call(name, *self.reads, self.left, writer.scratch, writer.spill)

    def _text(self, name: str, body: str, lanes: LaneType) -> str:
        """LLVM text of `void name(double *state0, ..., *constant0, ..., *where, *left, *room, *spill)`."""
        real, mask, align = lanes.real, lanes.mask, lanes.align
        inputs = [f"%a{i}" for i in range(len(self.state) + len(self.constants))]
        where = [] if self.where is None else ["%where"]
        arguments = ", ".join(f"ptr {a}" for a in (*inputs, *where, "%left", "%room", "%spill"))
        b = Builder(f"define internal void @{name}({arguments})")
        outputs, end = [], 0
        for array in self.writes:
            outputs.append(b.at("%room", end * lanes.width))
            end += array.size
        scratch = b.at("%room", end * lanes.width)
        table = b.op(f"alloca ptr, i64 {len(inputs) + len(outputs)}")
        for i, address in enumerate((*inputs, *outputs)):
            b.store(address, b.op(f"getelementptr ptr, ptr {table}, i64 {i}"), "ptr")
        zero, first, some = lanes.constant(0.0), lanes.mask_true, None
        if where:
            first = b.op(f"fcmp une {real} {b.load(where[0], real, align)}, {zero}")
            some = b.any(first, lanes.width)
        with b.loop(0, self.limit, carried=[(mask, first), (real, zero)], only_if=some) as loop:
            active, left = loop.values
            b.do(f"call void @{body}(ptr {table}, ptr {scratch}, ptr %spill)")
            for array, old, new in zip(self.state, inputs, outputs):
                _replace(b, lanes, active, array.size, old, new)
            left = b.op(f"select {mask} {active}, {real} {b.load(outputs[-1], real, align)}, {real} {left}")
            active = b.op(f"fcmp one {real} {left}, {zero}")
            loop.only_while(b.any(active, lanes.width))
            loop.carry(active, left)
        b.store(loop.results[1], "%left", real, align)
        return b.text()


def _check(what: str, body: Program, has: list[Array], wanted: tuple[Array, ...], words: str) -> None:
    shapes, expected = [a.shape for a in has], [a.shape for a in wanted]
    if shapes != expected:
        raise InvalidArgumentError(
            f"body: expected {what} of the shapes {expected} ({words}), got {shapes} of program {body.name!r}"
        )


def _replace(b: Builder, lanes: LaneType, active: str, size: int, old: str, new: str) -> None:
    """Replaces values of an array by new ones in active lanes."""
    real = lanes.real
    if not size:
        return
    with b.loop(0, size) as e:
        place = b.at(old, (e.index, lanes.width))
        before = b.load(place, real, lanes.align)
        after = b.load(b.at(new, (e.index, lanes.width)), real, lanes.align)
        b.store(b.op(f"select {lanes.mask} {active}, {real} {after}, {real} {before}"), place, real, lanes.align)
