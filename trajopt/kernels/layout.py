"""Layout of the scratch in which a program keeps its arrays while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trajopt.kernels.program import Program


@dataclass(frozen=True)
class Layout:
    """Layout of a program's scratch, in scalars of W lanes each from its start.

    Attributes:
        arrays: The arrays that are neither inputs nor outputs, by number.
        steps: Scratch of the step that runs.
        end: The end of what the program itself needs.
    """

    arrays: dict[int, int]
    steps: int
    end: int


def layout(program: Program) -> Layout:
    """Layout of the scratch of a program."""
    outside = {array.number for array in (*program.inputs, *program.outputs)}
    offsets, end = {}, 0
    for array in program.arrays:
        if array.number not in outside:
            offsets[array.number] = end
            end += array.size
    return Layout(offsets, end, end + max((step.scratch for step in program.steps), default=0))
