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
        arrays: The arrays that steps write and that are neither outputs nor slices of inputs, by number.
        steps: Scratch of the step that runs.
        end: The end of what the program itself needs.
    """

    arrays: dict[int, int]
    steps: int
    end: int


def layout(program: Program) -> Layout:
    """Layout of the scratch of a program."""
    written = {array: None for step in program.steps for array in step.writes if not step.names_only}
    offsets, end = {}, 0
    for array in sorted(written.keys() - {*program.outputs}, key=lambda array: array.number):
        offsets[array.number] = end
        end += array.size
    return Layout(offsets, end, end + max((step.scratch for step in program.steps), default=0))
